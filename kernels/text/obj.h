// Reads the vertices and faces of a Wavefront OBJ, and skips all other lines.
//
//   v x y z [w | colour]                    w is 1
//   f corner corner corner [corner ...]      corner = number[/[number]][/[number]]
//
// Vertices are numbered from 1; a negative number counts back from the face. A # starts a
// comment, and a backslash before a line end joins the next line to a vertex or a face. Lines end
// in LF or CR LF.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "platform/thread_team.h"
#include "text/words.h"

namespace geodomain::text {

enum class ObjFault : std::int64_t { none, number, whole, finite, vertex, face, index, weight };

struct ObjTold {
  ObjFault fault = ObjFault::none;
  std::int64_t begin = 0, end = 0,
               count = 0;  // the faulty word or key, and how many words follow it
};

// Whether a backslash before a line end joins the next line.
inline bool is_joined(const char* feed, const char* text) {
  if (feed > text && feed[-1] == '\r') --feed;
  return feed > text && feed[-1] == '\\';
}

// The whole lines of a stretch of text.
class ObjPiece {
 public:
  ObjPiece(const char* text, const char* begin, const char* end)
      : text_(text), at_(begin), end_(end), axes_(3, RealReader(text)) {}

  // Stops at corner number `watched`, and reports where it is.
  void read(std::int64_t watched = -1) {
    watched_ = watched;
    Word key;
    while (at_ < end_ && told_.fault == ObjFault::none) {
      const char letter = next(key) ? letter_of(key) : '\0';
      if (letter == 'v') read_vertex(key);
      if (letter == 'f') read_face(key);
      finish_line(letter == 'v' || letter == 'f');
    }
  }

  const ObjTold& told() const { return told_; }
  const std::vector<double>& places() const { return places_; }
  const std::vector<std::int64_t>& corners() const { return corners_; }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  const std::vector<UnsureNumber>& unsure() const { return unsure_; }
  std::int64_t vertex_count() const { return static_cast<std::int64_t>(places_.size()) / 3; }

  // A corner that counts back, and the number of the piece's vertices before it.
  struct Backward {
    std::int64_t corner, vertices;
  };
  const std::vector<Backward>& backward() const { return backward_; }

 private:
  // 'v' or 'f' for a vertex or a face, which old files call "fo", another letter or NUL for others.
  static char letter_of(Word key) {
    const auto lower = [](char c) { return static_cast<char>(c | 0x20); };
    const auto length = key.end - key.begin;
    const bool is_old = length == 2 && lower(key.begin[0]) == 'f' && lower(key.begin[1]) == 'o';
    return length == 1 || is_old ? lower(*key.begin) : '\0';
  }

  // The next word of the line; false at its end or at a comment.
  bool next(Word& word) {
    while (at_ < end_ && *at_ != '\n' && *at_ != '#' && (is_between_words(*at_) || joins(at_))) {
      at_ += joins(at_) ? joins(at_) : 1;
    }
    if (at_ == end_ || *at_ == '\n' || *at_ == '#') return false;
    word.begin = at_;
    while (at_ < end_ && !ends_word(at_)) ++at_;
    word.end = at_;
    return true;
  }

  bool ends_word(const char* at) const {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte > '#' && byte != '\\') return false;
    return byte == '#' || is_between_words(*at) || joins(at);
  }

  // The length of a backslash with the line end after it, or 0.
  int joins(const char* at) const {
    if (*at != '\\' || end_ - at < 2) return 0;
    if (at[1] == '\n') return 2;
    return end_ - at >= 3 && at[1] == '\r' && at[2] == '\n' ? 3 : 0;
  }

  // Only lines that are read continue after a backslash, and comments do not: other lines may end
  // in a backslash for another reason, such as the name of a folder.
  void finish_line(bool is_read) {
    for (bool joined = true; joined && at_ < end_;) {
      const auto* feed =
          static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
      const char* const end = feed == nullptr ? end_ : feed;
      const bool has_comment =
          std::memchr(at_, '#', static_cast<std::size_t>(end - at_)) != nullptr;
      joined = is_read && !has_comment && feed != nullptr && is_joined(feed, text_);
      at_ = feed == nullptr ? end_ : feed + 1;
    }
  }

  void read_vertex(Word key) {
    Word words[3];
    int count = 0;
    while (count < 3 && next(words[count])) ++count;
    if (count < 3) return fail(ObjFault::vertex, key, count);
    for (int axis = 0; axis < 3; ++axis) {
      double value;
      const Word word = words[axis];
      const Reading reading = axes_[static_cast<std::size_t>(axis)].read(word, value);
      if (reading == Reading::word) return fail(ObjFault::number, word);
      if (reading == Reading::unsure) {
        const auto slot = static_cast<std::int64_t>(places_.size());
        unsure_.push_back({slot, word.begin - text_, word.end - text_});
      } else if (!std::isfinite(value)) {
        return fail(ObjFault::finite, word);
      }
      places_.push_back(value);
    }
    Word weight, colour;
    if (next(weight) && !next(colour)) require_one(weight);
  }

  // Some programs take a fourth number as a weight of rational curves, others divide x, y and z by
  // it: only 1 means the same to all.
  void require_one(Word word) {
    double value;
    const Reading reading = axes_[0].read(word, value);
    if (reading == Reading::number && value != 1.0) fail(ObjFault::weight, word);
  }

  void read_face(Word key) {
    std::int64_t count = 0;
    for (Word word; next(word); ++count) {
      const char* slash = word.begin;
      while (slash < word.end && *slash != '/') ++slash;
      word.end = slash;
      std::int64_t number;
      if (!read_whole(word, number)) return fail(ObjFault::whole, word);
      const auto corner = static_cast<std::int64_t>(corners_.size());
      if (corner == watched_) return fail(ObjFault::index, word);
      if (number < 0) backward_.push_back({corner, vertex_count()});
      corners_.push_back(number);
    }
    if (count < 3) return fail(ObjFault::face, key, count);
    sizes_.push_back(count);
  }

  void fail(ObjFault fault, Word word, std::int64_t count = 0) {
    told_ = {fault, word.begin - text_, word.end - text_, count};
  }

  const char* text_;
  const char* at_;
  const char* end_;
  std::int64_t watched_ = -1;
  ObjTold told_;
  std::vector<RealReader> axes_;
  std::vector<double> places_;
  std::vector<std::int64_t> corners_, sizes_;
  std::vector<Backward> backward_;
  std::vector<UnsureNumber> unsure_;
};

class ObjMesh {
 public:
  ObjMesh(const char* text, std::int64_t size, int threads) : text_(text), threads_(threads) {
    cut(size);
    Team(threads_).run(count(), 1, [&](std::int64_t i, std::int64_t, int) { piece(i).read(); });
    for (std::int64_t i = 0; i < count(); ++i) {
      starts_.push_back({vertices_, faces_, corners_});
      vertices_ += piece(i).vertex_count();
      faces_ += static_cast<std::int64_t>(piece(i).sizes().size());
      corners_ += static_cast<std::int64_t>(piece(i).corners().size());
      unsure_ += static_cast<std::int64_t>(piece(i).unsure().size());
      if (told_.fault == ObjFault::none) told_ = piece(i).told();
    }
    if (told_.fault == ObjFault::none) require_indices();
  }

  std::int64_t vertices() const { return vertices_; }
  std::int64_t faces() const { return faces_; }
  std::int64_t corners() const { return corners_; }
  std::int64_t unsure() const { return unsure_; }
  const ObjTold& told() const { return told_; }

  // Returns the results; corners become vertex numbers from 0.
  void take(double* places, std::int64_t* corners, std::int64_t* sizes, UnsureNumber* unsure) {
    for (std::int64_t i = 0; i < count(); ++i) {
      for (UnsureNumber number : piece(i).unsure()) {
        number.slot += 3 * start(i).vertices;
        *unsure++ = number;
      }
    }
    Team(threads_).run(count(), 1, [&](std::int64_t i, std::int64_t, int) {
      const ObjPiece& from = piece(i);
      std::copy(from.places().begin(), from.places().end(), places + 3 * start(i).vertices);
      std::copy(from.sizes().begin(), from.sizes().end(), sizes + start(i).faces);
      numbers(i, corners + start(i).corners);
    });
  }

 private:
  static constexpr std::int64_t kPiece = 1 << 20;

  struct Start {
    std::int64_t vertices, faces, corners;
  };

  ObjPiece& piece(std::int64_t i) { return pieces_[static_cast<std::size_t>(i)]; }
  const Start& start(std::int64_t i) const { return starts_[static_cast<std::size_t>(i)]; }
  std::int64_t count() const { return static_cast<std::int64_t>(pieces_.size()); }

  void cut(std::int64_t size) {
    const char* const end = text_ + size;
    for (const char* at = text_; at < end;) {
      cuts_.push_back(at);
      at = end - at > kPiece ? at + kPiece : end;
      for (bool joined = true; joined && at < end;) {
        const auto* feed =
            static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        joined = feed != nullptr && is_joined(feed, text_);
        at = feed == nullptr ? end : feed + 1;
      }
    }
    cuts_.push_back(end);
    for (std::size_t i = 0; i + 1 < cuts_.size(); ++i) {
      pieces_.emplace_back(text_, cuts_[i], cuts_[i + 1]);
    }
  }

  void numbers(std::int64_t i, std::int64_t* out) {
    const std::vector<std::int64_t>& written = piece(i).corners();
    for (std::size_t k = 0; k < written.size(); ++k) out[k] = written[k] - 1;
    for (const ObjPiece::Backward& reference : piece(i).backward()) {
      const auto k = static_cast<std::size_t>(reference.corner);
      out[k] = start(i).vertices + reference.vertices + written[k];
    }
  }

  // Finds the first corner without a vertex, and reads its piece again to locate it.
  void require_indices() {
    LowestRow bad;
    Team(threads_).run(count(), 1, [&](std::int64_t i, std::int64_t, int) {
      std::vector<std::int64_t> indices(piece(i).corners().size());
      numbers(i, indices.data());
      for (std::size_t k = 0; k < indices.size(); ++k) {
        const bool is_zero = piece(i).corners()[k] == 0;
        if (is_zero || indices[k] < 0 || indices[k] >= vertices_) {
          return bad.keep(start(i).corners + static_cast<std::int64_t>(k));
        }
      }
    });
    if (bad.row() < 0) return;
    std::int64_t i = 0;
    while (i + 1 < count() && start(i + 1).corners <= bad.row()) ++i;
    const auto k = static_cast<std::size_t>(i);
    ObjPiece again(text_, cuts_[k], cuts_[k + 1]);
    again.read(bad.row() - start(i).corners);
    told_ = again.told();
  }

  const char* text_;
  int threads_;
  std::vector<const char*> cuts_;
  std::vector<ObjPiece> pieces_;
  std::vector<Start> starts_;
  ObjTold told_;
  std::int64_t vertices_ = 0, faces_ = 0, corners_ = 0, unsure_ = 0;
};

}  // namespace geodomain::text

// Reads text whose words are rows of a table, whatever its lines: the elements of a text PLY, and
// of an OFF whose rows are lines.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "platform/thread_team.h"
#include "text/words.h"

namespace geodomain::text {

enum class WordKind : std::uint8_t { real, whole, same, any };  // same: as in the first row

enum class WordFault : std::int64_t { none, real, whole, other };

class WordTable {
 public:
  WordTable(const char* text, std::int64_t size, int threads)
      : text_(text), end_(text + size), threads_(threads), before_(1, 0) {
    const std::int64_t pieces = (size + kPiece - 1) / kPiece;
    before_.resize(static_cast<std::size_t>(pieces) + 1);
    Team(threads_).run(pieces, 1, [&](std::int64_t piece, std::int64_t, int) {
      before_[static_cast<std::size_t>(piece) + 1] = count_starts(piece);
    });
    for (std::size_t i = 1; i < before_.size(); ++i) before_[i] += before_[i - 1];
  }

  std::int64_t count() const { return before_.back(); }

  // The offset of a word.
  std::int64_t place(std::int64_t word) const {
    const auto above = std::upper_bound(before_.begin(), before_.end(), word);
    const std::int64_t piece = above - before_.begin() - 1;
    const char* at = first_start(piece);
    for (std::int64_t i = before_[static_cast<std::size_t>(piece)]; i < word; ++i) at = after(at);
    return at - text_;
  }

  struct Told {
    WordFault fault = WordFault::none;
    std::int64_t row = 0, begin = 0, end = 0;
  };

  // Reads rows of `width` words from word `first` on; integers are stored as 64 bits instead
  // of a double. Reports the first word that does not suit its column.
  Told read(std::int64_t first, std::int64_t rows, std::int64_t width, const WordKind* kinds,
            double* cells) {
    std::vector<Part> parts(before_.size() - 1);
    Row row{{}, kinds};
    const char* top = rows > 0 ? text_ + place(first) : end_;
    for (std::int64_t i = 0; i < width && top < end_; ++i, top = after(top)) {
      row.first.push_back({top, end_of(top)});
    }
    in_pieces(first, rows, width,
              [&](const char* at, std::int64_t begin, std::int64_t end, std::size_t piece) {
                read_rows(at, begin, end, row, cells, parts[piece]);
              });
    unsure_.clear();
    for (const Part& part : parts) {
      if (part.told.fault != WordFault::none) return part.told;
      unsure_.insert(unsure_.end(), part.unsure.begin(), part.unsure.end());
    }
    return {};
  }

  const std::vector<UnsureNumber>& unsure() const { return unsure_; }

  // Whether each row of `width` words from word `first` on ends a line, and no line ends inside it.
  bool are_lines(std::int64_t first, std::int64_t rows, std::int64_t width) const {
    std::atomic<bool> all{true};
    in_pieces(first, rows, width,
              [&](const char* at, std::int64_t begin, std::int64_t end, std::size_t) {
                for (std::int64_t left = (end - begin) * width; left > 0 && all; --left) {
                  const char* const gap = end_of(at);
                  at = after(gap);
                  const bool is_end = at == end_ || std::find(gap, at, '\n') != at;
                  if (is_end != (left % width == 1 || width == 1)) all = false;
                }
              });
    return all;
  }

 private:
  static constexpr std::int64_t kPiece = 1 << 18;
  static constexpr std::size_t kReaders = 8;

  struct Row {
    std::vector<Word> first;  // the words of the first row
    const WordKind* kinds;
  };

  struct Part {
    Told told;
    std::vector<UnsureNumber> unsure;
  };

  // Calls body(first word, begin, end, piece) for the rows that start in each piece of the text.
  template <class Body>
  void in_pieces(std::int64_t first, std::int64_t rows, std::int64_t width,
                 const Body& body) const {
    const auto pieces = static_cast<std::int64_t>(before_.size()) - 1;
    Team(threads_).run(pieces, 1, [&](std::int64_t piece, std::int64_t, int) {
      const auto at_piece = static_cast<std::size_t>(piece);
      const std::int64_t low = before_[at_piece], high = before_[at_piece + 1];
      const std::int64_t begin = std::max<std::int64_t>(row_at(low, first, width), 0);
      const std::int64_t end = std::min(row_at(high, first, width), rows);
      if (begin >= end) return;
      const char* at = first_start(piece);
      for (std::int64_t skip = first + begin * width - low; skip > 0; --skip) at = after(at);
      body(at, begin, end, at_piece);
    });
  }

  // The first row that starts at or after a word.
  static std::int64_t row_at(std::int64_t word, std::int64_t first, std::int64_t width) {
    return word <= first ? 0 : (word - first + width - 1) / width;
  }

  bool starts_at(const char* at) const {
    return !is_between_words(*at) && (at == text_ || is_between_words(at[-1]));
  }

  std::int64_t count_starts(std::int64_t piece) const {
    const char* at = text_ + piece * kPiece;
    const char* end = std::min(at + kPiece, end_);
    std::int64_t count = 0;
    bool between = at == text_ || is_between_words(at[-1]);
    for (; at < end; ++at) {
      const bool now = is_between_words(*at);
      count += between && !now;
      between = now;
    }
    return count;
  }

  const char* first_start(std::int64_t piece) const {
    const char* at = text_ + piece * kPiece;
    while (at < end_ && !starts_at(at)) ++at;
    return at;
  }

  const char* end_of(const char* at) const { return end_of_word(at, end_); }

  // The word after the one at `at`.
  const char* after(const char* at) const {
    at = end_of(at);
    while (at < end_ && is_between_words(*at)) ++at;
    return at;
  }

  void read_rows(const char* at, std::int64_t begin, std::int64_t end, const Row& row_of_words,
                 double* cells, Part& part) const {
    const auto width = static_cast<std::int64_t>(row_of_words.first.size());
    // A reader for each column, or for a few: the numbers of most columns repeat.
    std::vector<RealReader> readers(kReaders, RealReader(text_));
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t column = 0; column < width; ++column) {
        const Word word{at, end_of(at)};
        const std::int64_t slot = row * width + column;
        const WordFault fault = read_cell(
            word, row_of_words.kinds[column], row_of_words.first[static_cast<std::size_t>(column)],
            readers[static_cast<std::size_t>(column) % kReaders], slot, cells[slot], part.unsure);
        if (fault != WordFault::none) {
          part.told = {fault, row, word.begin - text_, word.end - text_};
          return;
        }
        at = after(word.end);
      }
    }
  }

  WordFault read_cell(Word word, WordKind kind, Word same, RealReader& reader, std::int64_t slot,
                      double& cell, std::vector<UnsureNumber>& unsure) const {
    if (kind == WordKind::any) return WordFault::none;
    if (kind == WordKind::real) {
      const Reading reading = reader.read(word, cell);
      if (reading == Reading::word) return WordFault::real;
      if (reading == Reading::unsure) {
        unsure.push_back({slot, word.begin - text_, word.end - text_});
      }
      return WordFault::none;
    }
    if (kind == WordKind::whole) {
      std::int64_t value;
      if (!read_whole(word, value)) return WordFault::whole;
      std::memcpy(&cell, &value, sizeof cell);
      return WordFault::none;
    }
    const auto length = word.end - word.begin;
    const bool alike = same.end - same.begin == length &&
                       std::memcmp(same.begin, word.begin, static_cast<std::size_t>(length)) == 0;
    return alike ? WordFault::none : WordFault::other;
  }

  const char* text_;
  const char* end_;
  int threads_;
  std::vector<std::int64_t> before_;  // words that start before each piece
  std::vector<UnsureNumber> unsure_;
};

}  // namespace geodomain::text

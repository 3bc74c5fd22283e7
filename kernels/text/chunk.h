// A stretch of the file: all its whole rows, found by several threads.
//
// The text is cut at line feeds into pieces of a fixed size, and every piece is
// read as if a row started where it starts. That is only a guess, since the line
// feed may stand within quotes, so each guess is checked afterwards, in order:
//
//   The state of the reader at the start of a row does not depend on anything
//   before it. So a piece that was read from a place where a row does start was
//   read rightly, and says rightly where the next row after it starts. Row 0
//   starts at 0. If the rows before piece i end where piece i starts, its guess
//   was right; if not, it is read again from where they end, or emptied when
//   they end beyond it. By induction every piece that is kept was read from the
//   start of a row, and rows, numbers and the first fault are those of one
//   reader going through the whole text, whatever the threads and the pieces.
//
// Counting quotes would not do: a quote within an unquoted field is literal.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "platform/thread_team.h"
#include "text/piece.h"

namespace geodomain::text {

class Chunk {
 public:
  explicit Chunk(Dialect dialect) : dialect_(std::move(dialect)) {}

  void scan(const Text& text, Offset piece_size, int threads) {
    cut(text, piece_size);
    Team team(std::min<int>(threads, static_cast<int>(pieces_.size())));
    if (marks_.size() < static_cast<std::size_t>(team.size())) {
      marks_.resize(static_cast<std::size_t>(team.size()));
    }
    team.run(static_cast<std::int64_t>(pieces_.size()), 1,
             [&](std::int64_t begin, std::int64_t end, int member) {
               for (std::int64_t i = begin; i < end; ++i) {
                 pieces_[static_cast<std::size_t>(i)].read(
                     text, dialect_, marks_[static_cast<std::size_t>(member)]);
               }
             });
    check(text);
  }

  const Dialect& dialect() const { return dialect_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  Offset consumed() const { return pieces_.empty() ? 0 : pieces_.back().next; }

  const Trouble& trouble() const {
    static const Trouble none;
    return pieces_.empty() ? none : pieces_.back().trouble;
  }

  template <class Measure>
  std::int64_t total(const Measure& measure) const {
    std::int64_t sum = 0;
    for (const Piece& piece : pieces_) sum += measure(piece);
    return sum;
  }

 private:
  // Pieces that were used before keep their memory.
  void cut(const Text& text, Offset piece_size) {
    std::size_t count = 0;
    for (Offset begin = 0; begin < text.size; ++count) {
      if (count == pieces_.size()) pieces_.push_back(spare());
      Piece& piece = pieces_[count];
      piece.begin = begin;
      piece.limit = begin = piece_end(text, begin, piece_size);
    }
    keep(count);
  }

  static Offset piece_end(const Text& text, Offset begin, Offset piece_size) {
    if (text.size - begin <= piece_size) return text.size;
    const char* from = text.bytes + begin + piece_size - 1;
    const std::size_t rest = static_cast<std::size_t>(text.bytes + text.size - from);
    const void* feed = std::memchr(from, '\n', rest);
    if (feed == nullptr) return text.size;
    return static_cast<Offset>(static_cast<const char*>(feed) - text.bytes) + 1;
  }

  void check(const Text& text) {
    Offset place = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Piece& piece = pieces_[i];
      if (piece.begin != place) {
        piece.clear_at(place);
        if (place < piece.limit) piece.read(text, dialect_, marks_[0]);
      }
      place = piece.next;
      if (piece.unfinished || piece.trouble.fault != Fault::none) return keep(i + 1);
    }
  }

  Piece spare() {
    if (spares_.empty()) return {};
    Piece piece = std::move(spares_.back());
    spares_.pop_back();
    return piece;
  }

  void keep(std::size_t count) {
    while (pieces_.size() > count) {
      spares_.push_back(std::move(pieces_.back()));
      pieces_.pop_back();
    }
  }

  Dialect dialect_;
  std::vector<Piece> pieces_, spares_;
  std::vector<Marks> marks_;  // one for each member of the team
};

}  // namespace geodomain::text

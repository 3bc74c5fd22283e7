// Many segments asked about by one thread of a CPU, several of them in turns: a step waits for
// the one before it, for the node and for the comparisons, and meanwhile the others' go on.
#pragma once

#include "find.h"

namespace geodomain {

constexpr int kTurns = 8;

template <class Question>
struct Asked {
  std::int64_t row;
  Segment segment;
  Walk walk;
  Stack stack;
  Question question;
};

// For each row in [begin, end): a question by make(row), asked about segment(row), and
// done(row, question). Arithmetic is `Full`, which always tells.
template <class Question, class SegmentOf, class Make, class Done>
void ask_many(const BvhView& bvh, std::int64_t begin, std::int64_t end, SegmentOf&& segment_of,
              Make&& make, Done&& done) {
  Asked<Question> turns[kTurns];
  std::int64_t next = begin;
  // The next row that has something to walk through, into a place; false where there is none.
  const auto refill = [&](Asked<Question>& asked) {
    for (; next < end; ++next) {
      asked.row = next;
      asked.segment = segment_of(next);
      asked.question = make(next);
      if (asked.walk.begin(bvh, asked.segment)) return ++next, true;
      done(next, asked.question);
    }
    return false;
  };
  int active = 0;
  while (active < kTurns && refill(turns[active])) ++active;
  while (active > 0) {
    for (int i = 0; i < active; ++i) {
      Asked<Question>& asked = turns[i];
      if (step<Full, Doubles4>(bvh, asked.segment, asked.walk, asked.stack, asked.question))
        continue;
      done(asked.row, asked.question);
      if (!refill(asked) && i < --active) asked = turns[active];
    }
  }
}

}  // namespace geodomain

// A column that is not a coordinate: which of its fields say what, for conditions.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/chunk.h"

namespace geodomain::text {

// The values are known to Python.
enum class Kind : std::uint8_t { missing = 0, number = 1, word = 2, unsure = 3 };

struct Word {
  const char *begin, *end;  // without outer blanks
  bool quoted;              // a doubled quote stands for one
};

inline Word word_at(const char* text, Range place) {
  const char *begin = text + place.begin, *end = text + place.end;
  while (begin < end && is_blank(*begin)) ++begin;
  while (begin < end && is_blank(end[-1])) --end;
  // The byte before an unquoted field is a delimiter or a line end.
  return {begin, end, place.begin > 0 && text[place.begin - 1] == '"'};
}

inline bool same(const Word& word, const std::string& wanted) {
  std::size_t at = 0;
  for (const char* byte = word.begin; byte < word.end; ++byte, ++at) {
    if (at == wanted.size() || *byte != wanted[at]) return false;
    if (word.quoted && *byte == '"' && byte + 1 < word.end && byte[1] == '"') ++byte;
  }
  return at == wanted.size();
}

inline bool is_any(const Word& word, const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const std::string& one) { return same(word, one); });
}

inline Kind read_cell(const Word& word, const Dialect& dialect, double& value) {
  value = kMissing;
  if (word.begin == word.end || is_any(word, dialect.missing_words)) return Kind::missing;
  const Number number = read_number(word.begin, word.end, dialect.mark);
  if (number.reading == Reading::missing) return Kind::missing;
  if (number.reading == Reading::unsure) return Kind::unsure;
  if (number.reading != Reading::number) return Kind::word;
  for (const double code : dialect.missing) {
    if (number.value == code) return Kind::missing;
  }
  value = number.value;
  return Kind::number;
}

// body(place, row) for the field `which` of `also` in every row of a chunk.
template <class Body>
void each_cell(const Chunk& chunk, std::int32_t which, const Body& body) {
  const std::size_t step = chunk.dialect().also.size();
  std::int64_t row = 0;
  for (const Piece& piece : chunk.pieces()) {
    const Range* place = piece.places.data() + which;
    for (std::int64_t i = 0; i < piece.rows(); ++i, place += step) body(*place, row++);
  }
}

// Number the different spellings of the field `which` in the order in which rows first have them:
// codes[row], and where the first of each stands, without outer blanks, as places[2 * code].
// Returns how many there are.
inline std::int32_t number_spellings(const Chunk& chunk, const char* text, std::int32_t which,
                                     std::int32_t* codes, std::int64_t* places) {
  std::unordered_map<std::string_view, std::int32_t> known;
  std::string_view last;  // neighbours often say the same
  std::int32_t last_code = -1;
  each_cell(chunk, which, [&](Range place, std::int64_t row) {
    const Word word = word_at(text, place);
    const std::string_view spelled(word.begin, static_cast<std::size_t>(word.end - word.begin));
    if (last_code >= 0 && spelled == last) {
      codes[row] = last_code;
      return;
    }
    const auto code = static_cast<std::int32_t>(known.size());
    const auto [found, is_new] = known.try_emplace(spelled, code);
    codes[row] = last_code = found->second;
    last = spelled;
    if (!is_new) return;
    places[2 * code] = word.begin - text;
    places[2 * code + 1] = word.end - text;
  });
  return static_cast<std::int32_t>(known.size());
}

}  // namespace geodomain::text

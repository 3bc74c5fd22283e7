// How a function of the C ABI fails, and how Python learns its arguments. Host only.
//
// GD_DESCRIBE(name), after a function, adds its types to a description that Python reads once:
// lines of "NAME RESULT ARGUMENT ARGUMENT...". Python then refuses a wrong number of arguments, a
// number out of range, and an array of another type, with gaps, or that may not be written to. A
// number is its letter in Python's struct module ("i", "q", "d"), a character "c". A pointer is "<"
// if the function only reads the memory and ">" if it writes to it, then the letter of its
// contents: "P" for a pointer, "v" for memory of any type or a handle, "#" and the size of a
// structure in bytes. A "?" follows if null is allowed: GD_DESCRIBE(name, 2) declares that for the
// third argument. A result can also be "-" for nothing, "!" for a Status, and "s" for text.
#pragma once

#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

namespace geodomain {

// How a C function ended.
enum Status : int {
  kDone,
  kOutOfMemory,
  kTooLarge,   // an array beyond what a container can hold
  kNoThread,   // the system cannot start more threads
  kUndecided,  // coordinates below the range of the arithmetic
  kFailed,     // anything else, which is a fault of the core
};

// Runs the body of a C function; no exception leaves it.
template <class Body>
Status guarded(const Body& body) noexcept {
  try {
    if constexpr (std::is_same_v<decltype(body()), Status>) {
      return body();
    } else {
      body();
      return kDone;
    }
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::length_error&) {
    return kTooLarge;
  } catch (const std::system_error&) {
    return kNoThread;
  } catch (...) {
    return kFailed;
  }
}

// The letter of a number in Python's struct module.
template <class Number>
constexpr char number_letter() {
  if constexpr (std::is_same_v<Number, char>) {
    return 'c';
  } else if constexpr (std::is_floating_point_v<Number>) {
    return sizeof(Number) == 8 ? 'd' : 'f';
  } else {
    return (std::is_signed_v<Number> ? "bh_i___q" : "BH_I___Q")[sizeof(Number) - 1];
  }
}

namespace c_function {

template <class Type>
std::string kind() {
  using Plain = std::remove_cv_t<Type>;
  if constexpr (std::is_void_v<Plain>) {
    return "v";
  } else if constexpr (std::is_pointer_v<Plain>) {
    return "P";
  } else if constexpr (std::is_enum_v<Plain>) {
    return kind<std::underlying_type_t<Plain>>();
  } else if constexpr (std::is_arithmetic_v<Plain>) {
    return {number_letter<Plain>()};
  } else {
    return '#' + std::to_string(sizeof(Plain));
  }
}

template <class Type>
std::string argument() {
  if constexpr (std::is_pointer_v<Type>) {
    using There = std::remove_pointer_t<Type>;
    return (std::is_const_v<There> ? '<' : '>') + kind<There>();
  } else {
    return kind<Type>();
  }
}

template <class Result>
std::string result() {
  if constexpr (std::is_same_v<Result, Status>) {
    return "!";
  } else if constexpr (std::is_same_v<Result, const char*>) {
    return "s";
  } else if constexpr (std::is_void_v<Result>) {
    return "-";
  } else {
    return kind<Result>();
  }
}

// One line of the description; built when it is read, because most processes call few functions.
struct Description {
  const char* name;
  std::string (*types)();
  std::vector<int> nullable;
};

inline std::vector<Description>& all() {
  static std::vector<Description> descriptions;
  return descriptions;
}

inline std::string line(const Description& function) {
  std::string text = std::string(function.name) + ' ' + function.types() + ' ';
  std::size_t at = text.find(' ') + 1;  // the result
  for (int argument = 0; (at = text.find(' ', at) + 1) < text.size(); ++argument) {
    for (const int nullable : function.nullable) {
      if (nullable == argument) text.insert(text.find(' ', at), "?");
    }
  }
  text.back() = '\n';
  return text;
}

template <class Result, class... Arguments>
std::string types() {
  std::string text = result<Result>();
  ((text += ' ' + argument<Arguments>()), ...);
  return text;
}

template <class Result, class... Arguments>
bool describe(const char* name, Result (*)(Arguments...), std::initializer_list<int> nullable) {
  all().push_back({name, types<Result, Arguments...>, nullable});
  return true;
}

}  // namespace c_function

// A page calls functions by their names, and has no use for a description.
#if defined(__wasm__)
#define GD_DESCRIBE(function, ...) static_assert(true, "")
#else
#define GD_DESCRIBE(function, ...)                          \
  [[maybe_unused]] static const bool described_##function = \
      geodomain::c_function::describe(#function, &function, {__VA_ARGS__})
#endif

}  // namespace geodomain

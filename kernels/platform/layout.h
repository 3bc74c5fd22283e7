// A description of structures and constants in words, from which Python packs and reads what it
// shares with kernels: lines of "structure NAME BYTES", "field NAME OFFSET KIND COUNTS..." for each
// of its fields, and "constant NAME VALUE". A kind is a number's letter (as of Python's struct and
// NumPy), "P" for an address, or the name of a structure described before. Host only.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeindex>

namespace geodomain {

class Layout {
 public:
  // Fields follow; `GD_FIELD` adds one.
  template <class Whole>
  Layout& structure(const char* name) {
    static_assert(std::is_standard_layout_v<Whole> && std::is_trivially_copyable_v<Whole>,
                  "what travels as bytes");
    names_[typeid(Whole)] = name;
    text_ += std::string("structure ") + name + ' ' + std::to_string(sizeof(Whole)) + '\n';
    return *this;
  }

  // One that kernels take by value: Python puts each of these at a multiple of eight bytes.
  template <class Whole>
  Layout& argument(const char* name) {
    static_assert(alignof(Whole) == 8, "an argument is aligned as eight bytes are");
    return structure<Whole>(name);
  }

  template <class Field>
  Layout& field(const char* name, std::size_t offset) {
    text_ += std::string("field ") + name + ' ' + std::to_string(offset) + ' ' +
             kind<std::remove_all_extents_t<Field>>() + counts<Field>() + '\n';
    return *this;
  }

  template <class Value>
  Layout& constant(const char* name, Value value) {
    char exact[40];
    if constexpr (std::is_floating_point_v<Value>) {
      std::snprintf(exact, sizeof exact, "%a", value);
    } else {
      std::snprintf(exact, sizeof exact, "%lld", static_cast<long long>(value));
    }
    text_ += std::string("constant ") + name + ' ' + exact + '\n';
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  template <class Field>
  std::string kind() const {
    if constexpr (std::is_pointer_v<Field>) {
      return "P";
    } else if constexpr (std::is_floating_point_v<Field>) {
      return sizeof(Field) == 8 ? "d" : "f";
    } else if constexpr (std::is_integral_v<Field>) {
      const std::string letters = std::is_signed_v<Field> ? "bh_i___q" : "BH_I___Q";
      return letters.substr(sizeof(Field) - 1, 1);
    } else {
      const auto found = names_.find(typeid(Field));
      if (found == names_.end()) throw std::logic_error("a field's structure is not described");
      return found->second;
    }
  }

  template <class Field>
  static std::string counts() {
    if constexpr (std::is_array_v<Field>) {
      return ' ' + std::to_string(std::extent_v<Field>) + counts<std::remove_extent_t<Field>>();
    } else {
      return "";
    }
  }

  std::map<std::type_index, std::string> names_;
  std::string text_;
};

#define GD_FIELD(Whole, name) .field<decltype(Whole::name)>(#name, offsetof(Whole, name))
#define GD_CONSTANT(name) .constant(#name, name)

}  // namespace geodomain

// The data that Python reads from a core before any other call: the processor's instruction set,
// the stamp of the sources, and the types of the functions.
#include <utility>

#include "platform/c_function.h"
#include "platform/cpu_level.h"
#include "platform/portable.h"

#if !defined(GEODOMAIN_BUILD_STAMP)
#define GEODOMAIN_BUILD_STAMP ""  // without CMake, to see whether it compiles
#endif

using namespace geodomain;

namespace {

std::string description() {
  std::string text;
  for (const auto& [name, value] : {std::pair("kOutOfMemory", kOutOfMemory),
                                    {"kTooLarge", kTooLarge},
                                    {"kNoThread", kNoThread},
                                    {"kFailed", kFailed}}) {
    text += std::string("status ") + name + ' ' + std::to_string(value) + '\n';
  }
  for (const c_function::Description& function : c_function::all()) {
    text += c_function::line(function);
  }
  return text;
}

}  // namespace

GD_API int geodomain_cpu_level() { return cpu_level(); }

GD_API const char* geodomain_build_stamp() { return GEODOMAIN_BUILD_STAMP; }

// The description explained in c_function.h; it exists as long as the core.
GD_API const char* geodomain_functions() {
  static const std::string text = description();
  return text.c_str();
}

// What this core was built from; Python refuses one that was built from other sources.
#include "platform/portable.h"

#if !defined(GEODOMAIN_BUILD_STAMP)
#define GEODOMAIN_BUILD_STAMP ""  // without CMake, to see whether it compiles
#endif

GD_API const char* geodomain_build_stamp() { return GEODOMAIN_BUILD_STAMP; }

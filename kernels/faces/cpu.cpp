// What the loader asks of the baseline build before it picks another.
#include "platform/cpu_level.h"
#include "platform/portable.h"

GD_API int geodomain_cpu_level() { return geodomain::cpu_level(); }

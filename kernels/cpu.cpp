// What the loader asks of the baseline build before it picks another.
#include "portable.h"

GD_API int geodomain_cpu_level() { return geodomain::cpu_level(); }

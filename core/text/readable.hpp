// SPDX-License-Identifier: Apache-2.0
// Figures as people read them: four digits, or all before the point, and the unit that suits them.
// Thread safety: pure functions.
#pragma once

#include <string>

namespace weft {

/// A time: "12.5 us", "3.2 h"; hours from one hour on.
std::string readable(double seconds);

/// A number of bytes, in powers of ten: "5.234 GB", "21 TB".
std::string readable_bytes(double bytes);

/// A share: "12.5 %".
std::string readable_share(double share);

/// GPU-seconds, as GPU-hours from ten of them on.
std::string readable_gpu_time(double gpu_s);

}  // namespace weft

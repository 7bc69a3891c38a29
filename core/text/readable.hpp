// Figures as people read them.
// Thread safety: pure functions.
#pragma once

#include <cstdio>
#include <string>

namespace weft {

/// A time: four digits and the unit that suits it.
inline std::string readable(double seconds) {
  struct Scale {
    double limit_s;
    double unit_s;
    const char* unit;
  };
  constexpr Scale kScales[] = {{1e-6, 1e-9, "ns"}, {1e-3, 1e-6, "us"}, {1.0, 1e-3, "ms"},
                               {600, 1, "s"},      {36000, 60, "min"}, {1e18, 3600, "h"}};
  for (const Scale& scale : kScales) {
    if (seconds < scale.limit_s) {
      char buffer[48];
      std::snprintf(buffer, sizeof buffer, "%.4g %s", seconds / scale.unit_s, scale.unit);
      return buffer;
    }
  }
  return "never";
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "core/text/name_pattern.hpp"

#include <fnmatch.h>

namespace weft {

bool matches_pattern(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "core/text/version.hpp"

namespace weft {

std::string version_text() { return WEFT_VERSION; }

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Version of this build, as `weft --version` and the manifest print it.
#pragma once

#include <string>

namespace weft {

std::string version_text();

}  // namespace weft

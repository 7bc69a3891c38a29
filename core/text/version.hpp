// Version of this build, as `weft --version` and the manifest print it.
#pragma once

#include <string>

namespace weft {

std::string version_text();

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Beside a file: the paths that a file names are relative to its folder.
// Thread safety: pure function.
#pragma once

#include <filesystem>
#include <string>

namespace weft {

/// `path`, written in `file`, as it is looked up from where the program runs. Absolute ones stay,
/// and "" does.
inline std::string beside(const std::string& file, const std::string& path) {
  return path.empty() ? path : (std::filesystem::path(file).parent_path() / path).string();
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/loading.hpp"

#include <filesystem>

namespace weft {

void Loading::keep(const InputError& error) {
  for (const Diagnostic& found : error.diagnostics()) {
    if (caught.insert(found.to_text()).second) diagnostics.add(found);
  }
}

std::string Loading::beside_scenario(const std::string& path) const {
  const std::filesystem::path given(path);
  if (given.is_absolute()) return path;
  return (std::filesystem::path(flags.scenario_file).parent_path() / given).string();
}

}  // namespace weft

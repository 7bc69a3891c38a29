// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/notes.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace weft {

namespace {

/// "PATH: " of the inputs whose name no other one has, with that name.
std::map<std::string, std::string> short_names(const std::vector<std::string>& inputs) {
  std::map<std::string, std::set<std::string>> paths_by_name;
  for (const std::string& path : inputs) paths_by_name[std::filesystem::path(path).filename().string()].insert(path);
  std::map<std::string, std::string> names;
  for (const auto& [name, paths] : paths_by_name) {
    if (!name.empty() && paths.size() == 1) names.emplace(fmt::format("{}: ", *paths.begin()), fmt::format("{}: ", name));
  }
  return names;
}

}  // namespace

std::vector<std::string> readable_notes(std::vector<std::string> notes, const std::vector<std::string>& inputs) {
  const std::map<std::string, std::string> names = short_names(inputs);
  std::set<std::string> known;
  std::vector<std::string> readable;
  for (std::string& note : notes) {
    const auto of_input = std::ranges::find_if(names, [&](const auto& name) { return note.starts_with(name.first); });
    if (of_input != names.end()) note.replace(0, of_input->first.size(), of_input->second);
    if (known.insert(note).second) readable.push_back(std::move(note));
  }
  return readable;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/notes.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace weft {

namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

std::vector<std::string> readable_notes(std::vector<std::string> notes, const std::vector<std::string>& inputs) {
  std::map<std::string, std::set<std::string>> paths_by_name;
  for (const std::string& path : inputs) paths_by_name[file_name(path)].insert(path);
  std::set<std::string> known;
  std::vector<std::string> readable;
  for (std::string& note : notes) {
    for (const std::string& path : inputs) {
      const std::string name = file_name(path);
      if (note.starts_with(fmt::format("{}: ", path)) && !name.empty() && paths_by_name.at(name).size() == 1) {
        note = fmt::format("{}{}", name, note.substr(path.size()));
        break;
      }
    }
    if (known.insert(note).second) readable.push_back(std::move(note));
  }
  return readable;
}

}  // namespace weft

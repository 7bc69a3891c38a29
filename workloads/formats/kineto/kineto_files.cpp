// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto_files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

namespace fs = std::filesystem;

bool is_trace_name(std::string_view name) { return name.ends_with(".json") || name.ends_with(".json.gz"); }

/// Traces in a folder whose names start so, sorted.
std::vector<std::string> traces_in(const fs::path& folder, const std::string& start, bool with_folder) {
  std::vector<std::string> files;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    if (is_trace_name(name) && name.starts_with(start)) files.push_back(with_folder ? (folder / name).string() : name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> kineto_files(const std::string& path) {
  std::error_code ec;
  if (fs::exists(path, ec) && !fs::is_directory(path, ec)) return {path};
  const fs::path given(path);
  if (fs::is_directory(given, ec)) return traces_in(given, "", true);
  const fs::path folder = given.has_parent_path() ? given.parent_path() : fs::path(".");
  return traces_in(folder, given.filename().string(), given.has_parent_path());
}

std::vector<std::string> require_kineto_files(const std::string& path) {
  std::vector<std::string> files = kineto_files(path);
  if (!files.empty()) return files;
  std::error_code ec;
  const fs::path given(path);
  const bool is_folder = fs::is_directory(given, ec);
  std::string help = "name a trace (.json or .json.gz), a folder of traces, or the beginning of their names";
  if (!is_folder) {
    const fs::path folder = given.has_parent_path() ? given.parent_path() : fs::path(".");
    std::vector<std::string> known = traces_in(folder, "", false);
    for (std::string& name : known) name = fs::path(name).filename().string();
    if (!known.empty()) help = fmt::format("{}; {}", suggestion(given.filename().string(), known, "trace"), help);
  }
  fail("no-file", is_folder ? "there is no Kineto trace in this folder" : "there is no Kineto trace of this name",
       SourcePlace::named(path), help);
}

std::optional<std::uint32_t> kineto_rank_in_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  for (const std::string_view extension : {".gz", ".json", ".trace", ".pt"}) {
    if (name.ends_with(extension)) name.resize(name.size() - extension.size());
  }
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string::npos) return std::nullopt;
  const std::size_t before = name.find_last_not_of("0123456789", end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  std::uint32_t rank = 0;
  const auto [last, error] = std::from_chars(name.data() + begin, name.data() + end + 1, rank);
  if (error != std::errc{} || rank >= workload_rank_count_max) return std::nullopt;
  return rank;
}

}  // namespace weft

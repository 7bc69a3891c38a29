// SPDX-License-Identifier: Apache-2.0
// Helpers of the workload tests: temporary files, error texts, and the longest path computed the
// slow way.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

/// A folder that vanishes with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft_workloads_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    // A new file each time: some file systems wait for the disk when a file is overwritten.
    std::filesystem::remove(path(name));
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

/// All diagnostics of the InputError that `action` throws; "" if it throws none.
inline std::string errors_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    std::string text;
    for (const Diagnostic& diagnostic : error.diagnostics()) text += diagnostic.to_text();
    return text;
  }
  return {};
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "wanted: " << (part) << "\nin: " << (text)

/// The folder of real data; tests skip where it is absent.
inline std::string data_path(const std::string& name) { return std::string(WEFT_SOURCE_DIR "/../shared/data/") + name; }

/// End of the last op if every op starts when its predecessors have ended and communication takes
/// no time.
inline Duration longest_path(const RoleDag& dag) {
  std::vector<Duration> start(dag.size());
  Duration end;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const Duration done = start[i] + dag.op(OpId(i)).duration;
    end = std::max(end, done);
    for (const OpId next : dag.successors(OpId(i))) start[next.index()] = std::max(start[next.index()], done);
  }
  return end;
}

}  // namespace weft

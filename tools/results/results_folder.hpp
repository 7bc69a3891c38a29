// SPDX-License-Identifier: Apache-2.0
// Results folder: whose files are whose, and when they get their names.
//
// One run at a time: `manifest.json.partial` is there while a run goes on, and is locked (flock) by
// its process; the lock dies with it.
// Claims: the manifest lists the files of its run (`results`), from the beginning. A new run
// removes what a manifest in the folder lists, finished or not, and nothing else: another file
// under a name that the run would write is refused, and so is a file that the run reads. The report
// of an earlier run goes with its results.
// All at once: files grow as NAME.partial, and publish() gives all of them their names in one step
// (tools/results/file_moves); if one cannot have its name none gets it. A run that fails or is
// killed leaves .partial files, whose finished rows are readable; old results are gone by then, as
// they would be taken for its own.
// Threads: belongs to one thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/text/manifest.hpp"

namespace weft {

inline constexpr const char* manifest_file = "manifest.json";
inline constexpr const char* report_file = "report.html";

/// Whether a file is a page that tools/report has written.
bool is_report(const std::filesystem::path& file);

class ResultsFolder {
 public:
  /// Creates the folder, locks it and clears it of an earlier run's results. `names`: all that the
  /// run may write, the manifest apart. Throws InputError [cannot-write], [folder-in-use],
  /// [input-in-the-way], [file-in-the-way]; then all files are as they were.
  ResultsFolder(std::filesystem::path folder, RunManifest manifest, std::vector<std::string> names);
  ~ResultsFolder();
  ResultsFolder(const ResultsFolder&) = delete;
  ResultsFolder& operator=(const ResultsFolder&) = delete;

  /// Where an OutputFile for a result goes; publish() expects it. Requires: one of `names`
  /// (WEFT_CHECK).
  std::filesystem::path result(const std::string& name);
  /// After all of them were closed. Throws InputError [cannot-write]; then none has its name.
  void publish();

 private:
  void lock();
  void clear(const std::vector<std::string>& claimed);
  std::vector<std::string> claimed() const;
  void write_manifest(const std::vector<std::string>& results);
  std::filesystem::path partial(const std::string& name) const { return folder_ / (name + ".partial"); }

  std::filesystem::path folder_;
  RunManifest manifest_;
  std::vector<std::string> names_;
  std::vector<std::string> written_;
  int lock_ = -1;  ///< file descriptor of manifest.json.partial
};

}  // namespace weft

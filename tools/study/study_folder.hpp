// SPDX-License-Identifier: Apache-2.0
// Study folder: what the runs of a study came to, a file each, and study.csv of all of them.
//
// Where it sits: study_runner writes a record as soon as a run is over, so that a study that is
// killed loses what was under way and nothing else.
// Files:
//   study.json        which study the records are of - a digest of the study's file, the inputs of
//                     its first point and the version of Weft - and what columns study.csv has
//   points/000042.json
//   study.csv         when every run that counts has a record: a row for each, in their order
// Records get their names when they are whole (OutputFile). study.csv is made of records and the
// study alone, so that it is the same however often the study was interrupted. Several processes
// may work at one study in one folder, each at runs of its own.
// Threads: add() from any thread, for different runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/study/study.hpp"
#include "tools/study/study_points.hpp"

namespace weft {

/// What a run came to.
struct StudyRecord {
  std::string error;  ///< empty: it went to its end
  std::string fingerprint;
  std::vector<std::optional<double>> values;  ///< by metric; empty if it failed
  std::vector<std::string> notes;             ///< of its inputs and of its end
  /// Of all that it read: path and SHA-256.
  std::vector<std::pair<std::string, std::string>> inputs;

  bool has_failed() const { return !error.empty(); }
};

class StudyFolder {
 public:
  enum class Earlier : std::uint8_t { refused, kept };

  /// Creates the folder. Throws InputError [study-there] if there are records and they are to be
  /// refused, [other-study] if they are of another study, or it, its inputs or Weft were changed
  /// since, [cannot-write].
  StudyFolder(std::filesystem::path folder, const Study& study, Earlier earlier);

  /// Of the run of this number; none: it has none yet, or one that is damaged.
  std::optional<StudyRecord> record(std::size_t number) const;
  /// Throws InputError [cannot-write], as do the next two.
  void add(std::size_t number, const StudyRecord& record) const;
  /// Of the runs that have records.
  void write_table(const Study& study, const std::vector<StudyPoint>& points,
                   const std::vector<std::optional<StudyRecord>>& records) const;

 private:
  std::filesystem::path path_of(std::size_t number) const;

  std::filesystem::path folder_;
  std::size_t metrics_ = 0;
};

}  // namespace weft

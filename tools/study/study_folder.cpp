// SPDX-License-Identifier: Apache-2.0
#include "tools/study/study_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"
#include "tools/results/output_file.hpp"

namespace weft {

namespace {

constexpr const char* study_file = "study.json";
constexpr const char* table_file = "study.csv";
constexpr const char* points_folder = "points";

/// Held by one process at a time; it dies with it.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder)
      : file_(::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ < 0 || ::flock(file_, LOCK_EX) != 0) fail_write(folder, "it cannot be locked");
  }
  ~FolderLock() { ::close(file_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_;
};

/// Null: there is none, or it is damaged.
nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return nullptr;
  return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
}

/// Of an object; "" where there is none.
std::string text_in(const nlohmann::json& json, const char* name) {
  if (!json.is_object()) return "";
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string sampling_text(const Study& study) {
  if (!study.listed.empty()) return "LISTED";
  switch (study.sampling) {
    case Sampling::grid:
      return "GRID";
    case Sampling::one_at_a_time:
      return "ONE_AT_A_TIME";
    case Sampling::latin_hypercube:
      return "LATIN_HYPERCUBE";
  }
  return "";
}

/// Of study.json.
std::string description_of(const Study& study) {
  nlohmann::ordered_json json = {{"name", study.name},
                                 {"question", study.question},
                                 {"file", study.file},
                                 {"digest", study.digest},
                                 {"settings", study.names()},
                                 {"sampling", sampling_text(study)},
                                 {"axes", nlohmann::ordered_json::array()},
                                 {"metrics", nlohmann::ordered_json::array()},
                                 {"replicates", study.replicates}};
  for (const StudyAxis& axis : study.axes) json["axes"].push_back(axis.names);
  for (const StudyMetric& metric : study.metrics) {
    json["metrics"].push_back({{"name", metric.name}, {"unit", unit_of(metric)}});
    if (!metric.numbering.empty()) json["metrics"].back()["numbering"] = metric.numbering;
  }
  return printed_json(json) + "\n";
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  OutputFile file(path);
  file.write(text);
  file.commit_durably();
}

}  // namespace

StudyFolder::StudyFolder(std::filesystem::path folder, const Study& study, Earlier earlier)
    : folder_(std::move(folder)), metrics_(study.metrics.size()) {
  make_folder(folder_);
  make_folder(folder_ / points_folder);
  const FolderLock lock(folder_);
  const nlohmann::json there = read_json(folder_ / study_file);
  const std::string digest = text_in(there, "digest");
  const bool has_records =
      !digest.empty() || std::filesystem::directory_iterator(folder_ / points_folder) != std::filesystem::directory_iterator();
  if (has_records && earlier == Earlier::refused) {
    fail("study-there", fmt::format("{} has results of a study already", folder_.string()), SourcePlace::named("--out"),
         digest == study.digest ? "--resume goes on with it" : "give another folder, or remove this one");
  }
  if (has_records && digest != study.digest) {
    fail("other-study",
         fmt::format("{} has results of another study than {}, or it, its inputs or Weft were changed since", folder_.string(),
                     in_quotes(study.name)),
         SourcePlace::named("--out"), "give another folder");
  }
  if (has_records) return;
  write_file(folder_ / study_file, description_of(study));
}

std::filesystem::path StudyFolder::path_of(std::size_t number) const {
  return folder_ / points_folder / fmt::format("{:06}.json", number);
}

std::optional<StudyRecord> StudyFolder::record(std::size_t number) const {
  const nlohmann::json json = read_json(path_of(number));
  if (!json.is_object()) return std::nullopt;
  StudyRecord record;
  record.error = text_in(json, "error");
  if (record.has_failed()) return record;
  const auto values = json.find("values");
  record.fingerprint = text_in(json, "fingerprint");
  if (values == json.end() || !values->is_array() || values->size() != metrics_ || record.fingerprint.empty()) return std::nullopt;
  if (const auto notes = json.find("notes"); notes != json.end() && notes->is_array()) {
    for (const nlohmann::json& note : *notes) record.notes.push_back(note.is_string() ? note.get<std::string>() : "");
  }
  if (const auto inputs = json.find("inputs"); inputs != json.end() && inputs->is_object()) {
    for (const auto& [path, hash] : inputs->items())
      record.inputs.emplace_back(path, hash.is_string() ? hash.get<std::string>() : "");
  }
  for (const nlohmann::json& value : *values) {
    if (!value.is_number() && !value.is_null()) return std::nullopt;
    record.values.push_back(value.is_number() ? std::optional(value.get<double>()) : std::nullopt);
  }
  return record;
}

void StudyFolder::add(std::size_t number, const StudyRecord& record) const {
  nlohmann::ordered_json json;
  if (record.has_failed()) {
    json["error"] = record.error;
  } else {
    json["fingerprint"] = record.fingerprint;
    json["values"] = nlohmann::ordered_json::array();
    for (const std::optional<double>& value : record.values)
      json["values"].push_back(value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json());
    json["notes"] = record.notes;
    json["inputs"] = nlohmann::ordered_json::object();
    for (const auto& [path, hash] : record.inputs) json["inputs"][path] = hash;
  }
  write_file(path_of(number), printed_json(json) + "\n");
}

void StudyFolder::write_table(const Study& study, const std::vector<StudyPoint>& points,
                              const std::vector<std::optional<StudyRecord>>& records) const {
  const std::vector<std::string> names = study.names();
  std::string header = "run,point,replicate,seed";
  for (const std::string& name : names) header += ',' + name;
  for (const StudyMetric& metric : study.metrics) header += ',' + metric.name;
  header += ",fingerprint,error";
  const FolderLock lock(folder_);
  CsvFile table(folder_ / table_file, header);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!records[i]) continue;
    const StudyPoint& point = points[i];
    const StudyRecord& record = *records[i];
    table.number(std::uint64_t{point.number}).number(std::uint64_t{point.number / study.replicates});
    table.number(std::uint64_t{point.replicate}).number(point.seed);
    for (const std::string& name : names) table.text(point.value_of(name));
    for (std::size_t k = 0; k < metrics_; ++k) table.number_if_known(record.values.empty() ? NAN : record.values[k].value_or(NAN));
    table.text(record.fingerprint).text(record.error);
    table.end_row();
  }
  table.commit();
}

}  // namespace weft

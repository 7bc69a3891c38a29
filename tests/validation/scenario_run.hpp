// SPDX-License-Identifier: Apache-2.0
// Runs a scenario as `weft run` does, in a folder of its own, and reads back the tables it wrote.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// A CSV table as rows of column -> text. No field of these tables holds a quoted comma.
using Table = std::vector<std::map<std::string, std::string>>;

inline Table parse_table(std::istream& file) {
  const auto split = [](const std::string& line) {
    std::vector<std::string> fields;
    std::string field;
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        fields.push_back(std::move(field));
        field.clear();
      } else {
        field += c;
      }
    }
    fields.push_back(std::move(field));
    return fields;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = split(line);
  Table table;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split(line);
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < header.size() && i < fields.size(); ++i) row[header[i]] = fields[i];
    table.push_back(std::move(row));
  }
  return table;
}

inline Table read_table(const std::filesystem::path& path) {
  std::ifstream file(path);
  return parse_table(file);
}

/// A table that is taken apart when somebody looks into it: most tests look into one or two.
class WrittenTable {
 public:
  WrittenTable() = default;
  explicit WrittenTable(const std::filesystem::path& path) {
    text_.resize(std::filesystem::file_size(path));
    std::ifstream(path).read(text_.data(), static_cast<std::streamsize>(text_.size()));
  }

  const Table& rows() const {
    if (!rows_) {
      std::istringstream file(text_);
      rows_ = parse_table(file);
    }
    return *rows_;
  }
  operator const Table&() const { return rows(); }
  auto begin() const { return rows().begin(); }
  auto end() const { return rows().end(); }
  std::size_t size() const { return rows().size(); }
  bool empty() const { return rows().empty(); }
  const auto& operator[](std::size_t row) const { return rows()[row]; }
  const auto& at(std::size_t row) const { return rows().at(row); }
  const auto& front() const { return rows().front(); }
  const auto& back() const { return rows().back(); }
  friend bool operator==(const WrittenTable& a, const WrittenTable& b) { return a.text_ == b.text_; }

 private:
  std::string text_;
  mutable std::optional<Table> rows_;
};

/// A folder that goes away with its owner.
class ScratchFolder {
 public:
  ScratchFolder() {
    static std::atomic<int> counter{0};
    path_ = std::filesystem::temp_directory_path() / fmt::format("weft_validation_{}_{}", getpid(), counter.fetch_add(1));
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  /// Writes a file into the folder and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

struct ScenarioRun {
  RunSummary summary;
  WrittenTable jobs;
  WrittenTable iterations;
  WrittenTable collectives;
  WrittenTable flows;
  WrittenTable links;
  WrittenTable link_samples;    ///< if they were asked for
  WrittenTable pause_storms;    ///< if there is a watchdog
  WrittenTable congestion;      ///< if it was looked for
  WrittenTable congested_jobs;  ///< likewise
  std::string trace;            ///< if it was asked for
};

struct ScenarioRunOptions {
  std::uint32_t threads = 1;
  std::string zeta = "auto";
  bool trace = false;
  std::optional<Duration> sample = {};
  /// leaves to the rules what the scenario does not say of collectives
  bool collectives_by_rules = false;
  std::optional<Time> until = {};
  bool reads_flows = true;  ///< of runs of very many nobody wants to read the table
};

/// Says of collectives what the scenario does not: rings, all pairs at once, and no cost beside the
/// network's, so that times follow by hand.
inline void state_collectives(Scenario& scenario) {
  for (const auto& [name, value] :
       {std::pair("all_reduce", "ring"), std::pair("all_gather", "ring"), std::pair("reduce_scatter", "ring"),
        std::pair("all_to_all", "direct"), std::pair("broadcast", "ring"), std::pair("reduce", "ring"),
        std::pair("gather", "direct"), std::pair("scatter", "direct"), std::pair("barrier", "direct"),
        std::pair("all_to_all_v", "direct"), std::pair("protocol", "ideal")}) {
    if (scenario.parameters.of("collective").is_given(name)) continue;
    scenario.parameters.apply(std::string("collective.") + name, value, SourcePlace::named("test"));
  }
}

inline ScenarioRun run_scenario(const RunFlags& flags, const ScenarioRunOptions& options) {
  const ScratchFolder scratch;
  Scenario scenario = load_scenario(flags);
  if (!options.collectives_by_rules) state_collectives(scenario);
  RunOptions how;
  how.threads = options.threads;
  how.zeta = options.zeta;
  how.until = options.until;
  how.sample_links = options.sample;
  FolderContents contents = folder_contents(scenario);
  contents.trace = options.trace;
  contents.link_samples = options.sample.has_value();
  const std::filesystem::path out = scratch.path() / "out";
  FolderSink folder(out, manifest_of(scenario, how), contents);
  ScenarioRun run;
  run.summary = finish_run(scenario, folder, how).summary;
  folder.complete();
  folder.finish(run.summary);
  run.jobs = WrittenTable(out / "jobs.csv");
  run.iterations = WrittenTable(out / "iterations.csv");
  run.collectives = WrittenTable(out / "collectives.csv");
  if (options.reads_flows) run.flows = WrittenTable(out / "flows.csv");
  run.links = WrittenTable(out / "links.csv");
  if (std::filesystem::exists(out / "pause_storms.csv")) run.pause_storms = WrittenTable(out / "pause_storms.csv");
  if (run.summary.congestion) {
    run.congestion = WrittenTable(out / "congestion.csv");
    run.congested_jobs = WrittenTable(out / "congested_jobs.csv");
  }
  if (options.trace) {
    std::ostringstream trace;
    trace << std::ifstream(out / "trace.json").rdbuf();
    run.trace = trace.str();
  }
  if (options.sample) run.link_samples = WrittenTable(out / "link_samples.csv");
  return run;
}

/// Runs on 1, 2 and 8 threads, expects one fingerprint and one makespan, and returns the first run.
inline ScenarioRun run_scenario(const RunFlags& flags) {
  ScenarioRun first = run_scenario(flags, ScenarioRunOptions{});
  for (const std::uint32_t threads : {2u, 8u}) {
    ScenarioRunOptions options;
    options.threads = threads;
    const ScenarioRun other = run_scenario(flags, options);
    EXPECT_EQ(other.summary.fingerprint, first.summary.fingerprint) << threads << " threads";
    EXPECT_EQ(other.summary.makespan, first.summary.makespan) << threads << " threads";
  }
  return first;
}

/// Path of a file of the real data beside the project, or "" where it is not there.
inline std::string real_data(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(WEFT_SOURCE_DIR) / ".." / "shared" / "data" / name;
  return std::filesystem::exists(path) ? path.string() : "";
}

}  // namespace weft

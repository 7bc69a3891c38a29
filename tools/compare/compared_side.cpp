// SPDX-License-Identifier: Apache-2.0
#include "tools/compare/compared_side.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/engine/parallel_loop.hpp"
#include "core/text/csv_reader.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/printed_json.hpp"
#include "core/text/source_text.hpp"
#include "tools/results/results_folder.hpp"
#include "tools/results/summary_figures.hpp"
#include "tools/results/tables.hpp"
#include "tools/simulation/run.hpp"

namespace weft {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json json_of(const fs::path& path) {
  const SourceText source = SourceText::read(path.string());
  Json json = Json::parse(source.text(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) fail("bad-results", "the file is no JSON object", source.whole_file(), "was it written by weft?");
  return json;
}

std::string text_of(const Json& json) { return json.is_string() ? json.get<std::string>() : printed_json(json, -1); }

std::string text_in(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

void take_manifest(const Json& manifest, ComparedSide& side) {
  // What changes no result: a run's name, how it was carried out, its files.
  static const std::set<std::string> skipped = {"name", "threads", "zeta", "results", "inputs", "parameters"};
  for (const auto& [key, value] : manifest.items()) {
    if (!skipped.contains(key) && value.is_primitive()) side.facts.emplace_back(key, text_of(value));
  }
  if (const auto inputs = manifest.find("inputs"); inputs != manifest.end() && inputs->is_array()) {
    for (const Json& input : *inputs) {
      if (input.is_object()) side.inputs.push_back({text_in(input, "role"), text_in(input, "path"), text_in(input, "sha256")});
    }
  }
  if (const auto modules = manifest.find("parameters"); modules != manifest.end() && modules->is_object()) {
    for (const auto& [module, parameters] : modules->items()) {
      for (const auto& [name, parameter] : parameters.items()) side.parameters[module + '.' + name] = text_in(parameter, "value");
    }
  }
}

/// A second name of a figure, one of the engine's and not of what was simulated, or of the run in
/// flow mode beside one in packet mode, which `weft run` adds.
bool is_left_out(const std::string& name) {
  return name == "events" || name.ends_with("_ticks_10ps") || name.starts_with("flow_mode.");
}

std::map<std::string, double> take_figures(const std::string& summary, ComparedSide& side, bool takes_texts) {
  std::map<std::string, double> values;
  const SummaryFigures figures = figures_in(summary);
  for (const auto& [name, number] : figures.numbers) {
    if (is_left_out(name)) continue;
    if (std::ranges::find(side.figures, name) == side.figures.end()) side.figures.push_back(name);
    values[name] = number;
  }
  if (!takes_texts) return values;
  for (const auto& [name, text] : figures.texts) {
    if (name != "name" && name != "mode") side.texts[name] = text;
  }
  return values;
}

/// A table with a row for each `key`, and its columns that are compared.
struct ComparedTable {
  std::string_view name;
  std::string_view key;
  std::span<const std::string_view> columns;
};

constexpr std::array<std::string_view, 4> job_columns = {"jct_s", "wait_s", "mean_iteration_s", "exposed_comm_s"};
constexpr std::array<std::string_view, 5> link_columns = {"mean_utilization", "peak_queue_bytes", "ecn_marks", "pause_ns", "drops"};
constexpr ComparedTable compared_jobs = {"jobs", "job", job_columns};
constexpr ComparedTable compared_links = {"links", "link", link_columns};

/// Of a table's file; one that the run did not write has none.
void take_cells(const fs::path& folder, const ComparedTable& table, ComparedSide& side) {
  const fs::path path = folder / fmt::format("{}.csv", table.name);
  if (!fs::exists(path)) return;
  const SourceText source = SourceText::read(path.string());
  std::vector<CsvColumn> wanted = {{table.key, true}};
  for (const std::string_view column : table.columns) wanted.push_back({column, false});
  Diagnostics diagnostics;
  CsvReader reader(source, wanted, OtherColumns::allowed, diagnostics);
  while (reader.next()) {
    for (std::size_t k = 1; k < wanted.size(); ++k) {
      if (!reader.has(k) || !reader.is_given(k)) continue;
      const std::optional<double> number = plain_number<double>(std::string(reader.field(k)));
      if (number) side.cells[{std::string(table.name), std::string(reader.field(0)), std::string(wanted[k].name)}] = *number;
    }
  }
  diagnostics.throw_if_errors();
}

/// The same cells of a run that leaves no folder.
class CellSink final : public ResultSink {
 public:
  explicit CellSink(ComparedSide& side) : side_(side) {}
  void begin() override { side_.cells.clear(); }
  void add_job(const JobRow& row) override { take(row, compared_jobs, row.job); }
  void add_link(const LinkRow& row) override { take(row, compared_links, row.link); }

 private:
  template <class Row>
  void take(const Row& row, const ComparedTable& table, std::string_view key) {
    for (const Column<Row>& column : TableOf<Row>::columns()) {
      if (std::ranges::find(table.columns, column.info.name) == table.columns.end()) continue;
      const std::optional<double> number = number_of(column.cell(row));
      if (number && !std::isnan(*number))
        side_.cells[{std::string(table.name), std::string(key), std::string(column.info.name)}] = *number;
    }
  }

  ComparedSide& side_;
};

void read_run(const fs::path& folder, ComparedSide& side) {
  const Json summary = json_of(folder / "summary.json");
  const auto interrupted = summary.find("interrupted");
  if (interrupted != summary.end() && interrupted->is_boolean() && interrupted->get<bool>()) {
    fail("unfinished-run", "the run was interrupted", SourcePlace::named(side.name), "run it to its end");
  }
  take_manifest(json_of(folder / manifest_file), side);
  std::uint64_t seed = 1;
  for (const auto& [name, value] : side.facts) {
    if (name == "seed") seed = plain_number<std::uint64_t>(value).value_or(1);
  }
  ComparedCase& run = side.cases.emplace_back();
  run.figures[seed] = take_figures(printed_json(summary, -1), side, true);
  take_cells(folder, compared_jobs, side);
  take_cells(folder, compared_links, side);
}

void read_study(const fs::path& folder, ComparedSide& side) {
  side.is_study = true;
  const Json study = json_of(folder / "study.json");
  if (!fs::exists(folder / "study.csv"))
    fail("unfinished-run", "the study has not ended: it has no study.csv", SourcePlace::named(side.name),
         "weft study --resume goes on");
  side.facts.emplace_back("study", text_in(study, "name"));
  side.inputs.push_back({"study", text_in(study, "file"), text_in(study, "digest")});
  if (!study.contains("settings") || !study.contains("metrics"))
    fail("bad-results", "study.json does not say what study.csv has", SourcePlace::named(side.name),
         "another version of weft wrote it");
  std::vector<std::string> settings;
  if (const auto names = study.find("settings"); names != study.end() && names->is_array()) {
    for (const Json& name : *names) settings.push_back(text_of(name));
  }
  if (const auto metrics = study.find("metrics"); metrics != study.end() && metrics->is_array()) {
    for (const Json& metric : *metrics) side.figures.push_back(text_in(metric, "name"));
  }
  const SourceText source = SourceText::read((folder / "study.csv").string());
  std::vector<CsvColumn> wanted = {{"seed", true}};
  for (const std::string& name : settings) wanted.push_back({name, true});
  for (const std::string& name : side.figures) wanted.push_back({name, true});
  Diagnostics diagnostics;
  CsvReader reader(source, wanted, OtherColumns::allowed, diagnostics);
  std::size_t runs = 0;
  while (reader.next()) {
    std::string label;
    for (std::size_t k = 1; k <= settings.size(); ++k) {
      if (reader.field(k).empty()) continue;
      label += fmt::format("{}{}={}", label.empty() ? "" : ", ", settings[k - 1], reader.field(k));
    }
    if (side.cases.empty() || side.cases.back().label != label) side.cases.push_back({label, {}});
    const std::optional<std::uint64_t> seed = plain_number<std::uint64_t>(std::string(reader.field(0)));
    if (!seed) continue;
    ++runs;
    for (std::size_t k = settings.size() + 1; k < wanted.size(); ++k) {
      if (const auto number = plain_number<double>(std::string(reader.field(k))))
        side.cases.back().figures[*seed][std::string(wanted[k].name)] = *number;
    }
  }
  diagnostics.throw_if_errors();
  side.facts.emplace_back("runs", std::to_string(runs));
}

}  // namespace

ComparedSide read_side(const std::string& folder) {
  ComparedSide side{.name = folder};
  const fs::path path(folder);
  if (fs::exists(path / "study.json")) {
    read_study(path, side);
  } else if (fs::exists(path / "summary.json") && fs::exists(path / manifest_file)) {
    read_run(path, side);
  } else if (fs::exists(path / (std::string(manifest_file) + ".partial"))) {
    fail("unfinished-run", "the run has not ended: it has no summary.json", SourcePlace::named(folder), "run it to its end");
  } else {
    fail("no-results", fs::exists(path) ? "the folder has no results of a run or a study" : "there is no such folder",
         SourcePlace::named(folder), "give a folder that weft run --out or weft study --out wrote, or a scenario");
  }
  return side;
}

ComparedSide run_side(const RunFlags& flags, const SideRuns& runs) {
  ComparedSide side{.name = flags.scenario_file};
  std::vector<std::optional<RunSummary>> summaries(runs.seeds);
  const auto scenario_of = [&](std::uint32_t k) {
    RunFlags own = flags;
    if (runs.seeds > 1) own.seed = k + 1;
    return load_scenario(own);
  };
  const Scenario first = scenario_of(0);
  take_manifest(Json::parse(manifest_of(first, {}).to_json()), side);
  if (runs.seeds > 1) std::erase_if(side.facts, [](const auto& fact) { return fact.first == "seed"; });
  ParallelLoop loop(runs.threads);
  std::mutex telling;
  std::vector<std::exception_ptr> failures(runs.seeds);
  std::atomic<bool> has_failed = false;
  std::uint32_t done = 0;
  loop.run(runs.seeds, [&](std::size_t /*worker*/, std::size_t k) {
    try {
      if (has_failed || (runs.interrupt != nullptr && *runs.interrupt)) return;
      RunOptions options;
      options.interrupt = runs.interrupt;
      ResultSink nobody;
      CellSink cells(side);
      ResultSink& sink = runs.seeds == 1 ? static_cast<ResultSink&>(cells) : nobody;
      RunSummary summary = finish_run(scenario_of(static_cast<std::uint32_t>(k)), sink, options).summary;
      const std::lock_guard lock(telling);
      if (!summary.interrupted) summaries[k] = std::move(summary);
      if (runs.progress) runs.progress(++done);
    } catch (...) {
      failures[k] = std::current_exception();
      has_failed = true;
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  ComparedCase& run = side.cases.emplace_back();
  for (std::uint32_t k = 0; k < runs.seeds; ++k) {
    if (summaries[k])
      run.figures[runs.seeds > 1 ? k + 1 : first.seed] = take_figures(summaries[k]->to_json(), side, runs.seeds == 1);
  }
  return side;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/calibration_cases.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "calibration/nccl_tests.hpp"
#include "core/check.hpp"
#include "core/text/textproto.hpp"
#include "tools/calibrate/case_entries.hpp"
#include "tools/calibrate/profile_use.hpp"
#include "tools/calibrate/simulated_times.hpp"

namespace weft {

namespace {

void note_rows(const MeasuredTimes& table, std::vector<std::string>& notes) {
  for (const LeftOutRows& rows : table.left_out) notes.push_back(fmt::format("{}: {}", table.file, rows.to_text()));
}

}  // namespace

std::vector<const Scenario*> CalibrationCases::scenarios() const {
  std::vector<const Scenario*> all;
  for (const CalibrationCase& one : cases) all.push_back(&one.scenario);
  return all;
}

std::vector<std::string> CalibrationCases::input_paths() const {
  std::vector<std::string> paths;
  for (const CalibrationCase& one : cases) std::ranges::move(one.scenario.manifest.input_paths(), std::back_inserter(paths));
  for (const MeasuredTimes& table : measured.tables()) paths.push_back(table.file);
  return paths;
}

MeasuredTimes read_measured_file(const std::string& text) {
  constexpr std::string_view nccl_tests = ":nccl-tests";
  const std::size_t at = text.find(nccl_tests);
  const std::string rest = at == std::string::npos ? "" : text.substr(at + nccl_tests.size());
  if (at == std::string::npos || (!rest.empty() && rest.front() != ':')) return read_measured_times(SourceText::read(text));
  return read_nccl_tests(SourceText::read(text.substr(0, at)), rest.empty() ? rest : rest.substr(1));
}

CalibrationCases one_case(Scenario scenario, std::vector<MeasuredTimes> measured) {
  CalibrationCases all{{}, MeasuredTables(std::move(measured)), scenario.assumptions};
  for (const MeasuredTimes& table : all.measured.tables()) note_rows(table, all.notes);
  CalibrationCase& one = all.cases.emplace_back();
  one.name = scenario.name;
  one.scenario = std::move(scenario);
  one.tables.resize(all.measured.tables().size());
  std::iota(one.tables.begin(), one.tables.end(), std::size_t{0});
  return all;
}

std::vector<CaseFiles> read_case_files(const std::string& path) {
  const SourceText source = SourceText::read(path);
  calibration::Cases message;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, message, diagnostics);
  diagnostics.throw_if_errors();
  std::vector<CaseFiles> files = read_case_entries(message, document.places(), path, diagnostics);
  diagnostics.throw_if_errors();
  return files;
}

std::vector<CalibrationCase> load_scenarios(const std::vector<CaseFiles>& files, const RunFlags& flags) {
  WEFT_CHECK(!files.empty(), "there is a case");
  std::vector<CalibrationCase> cases;
  Diagnostics diagnostics;
  for (const CaseFiles& from : files) {
    CalibrationCase& one = cases.emplace_back();
    one.is_held_out = from.is_held_out;
    one.weight = from.weight;
    RunFlags of_case = flags;
    of_case.scenario_file = from.scenario;
    of_case.topology = from.topology;
    of_case.workload = from.workload;
    of_case.flows = from.flows;
    if (!from.mode.empty()) of_case.mode = from.mode;
    try {
      one.scenario = load_scenario(of_case);
    } catch (const InputError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) diagnostics.add(diagnostic);
    }
    one.name = from.name.empty() ? one.scenario.name : from.name;
  }
  diagnostics.throw_if_errors();
  for (std::size_t i = 1; i < cases.size(); ++i) {
    const std::string machine = machine_of(cases[i].scenario);
    if (machine == machine_of(cases[0].scenario)) continue;
    fail("other-machine",
         fmt::format("{} has other servers than {}: {} and {}", in_quotes(cases[i].name), in_quotes(cases[0].name),
                     in_quotes(machine), in_quotes(machine_of(cases[0].scenario))),
         files[i].place, "values are fitted to one kind of machine at a time");
  }
  return cases;
}

CalibrationCases with_tables(std::vector<CalibrationCase> cases, const std::vector<CaseFiles>& files) {
  std::vector<MeasuredTimes> tables;
  std::vector<std::string> notes;
  Diagnostics diagnostics;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const std::string& assumption : cases[i].scenario.assumptions)
      notes.push_back(fmt::format("{}: {}", cases[i].name, assumption));
    for (const std::string& file : files[i].measured) {
      try {
        tables.push_back(read_measured_file(file));
        cases[i].tables.push_back(tables.size() - 1);
        note_rows(tables.back(), notes);
      } catch (const InputError& error) {
        for (const Diagnostic& diagnostic : error.diagnostics()) diagnostics.add(diagnostic);
      }
    }
  }
  diagnostics.throw_if_errors();
  return {std::move(cases), MeasuredTables(std::move(tables)), std::move(notes)};
}

CalibrationCases read_cases(const std::string& cases, const std::vector<std::string>& measured, const RunFlags& flags) {
  if (!cases.empty()) {
    const std::vector<CaseFiles> files = read_case_files(cases);
    return with_tables(load_scenarios(files, flags), files);
  }
  Scenario scenario = load_scenario(flags);
  std::vector<MeasuredTimes> tables;
  for (const std::string& file : measured) tables.push_back(read_measured_file(file));
  return one_case(std::move(scenario), std::move(tables));
}

MatchBy match_called(std::string_view name) {
  if (name == "id") return MatchBy::flow_id;
  if (name == "input_row") return MatchBy::input_row;
  return name == "ends" ? MatchBy::ends : MatchBy::automatic;
}

std::vector<double> weights_of(const CalibrationCases& all, const KindWeights& kinds) {
  std::vector<double> weights(all.measured.size());
  for (const CalibrationCase& one : all.cases) {
    for_times_of(all.measured, one,
                 [&](std::size_t i) { weights[i] = one.weight * kinds[static_cast<std::size_t>(all.measured.kind_of(i))]; });
  }
  return weights;
}

void simulate_case(const CalibrationCases& all, std::size_t one, Scenario scenario, std::span<const TimeMatcher> matchers,
                   std::span<double> times_s) {
  const CalibrationCase& of = all.cases[one];
  std::vector<TimedKind> kinds;
  for (const std::size_t table : of.tables) {
    const TimedKind kind = all.measured.tables()[table].kind;
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  const std::vector<TimedEntity> simulated = simulate_times(std::move(scenario), kinds);
  for (const std::size_t table : of.tables) {
    const std::vector<double> matched = matchers[table].match(simulated);
    std::ranges::copy(matched, times_s.begin() + static_cast<std::ptrdiff_t>(all.measured.begin_of(table)));
  }
}

}  // namespace weft

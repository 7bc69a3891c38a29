// SPDX-License-Identifier: Apache-2.0
// Calibration cases: scenarios and what was measured of each.
//
// Where it sits: the calibrator fits one set of values to all of them. `weft calibrate` makes one
// case of its flags, or as many as a file says (calibrate.proto); a night makes those of its own.
// Threads: values; const functions from any thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/measured_times.hpp"
#include "calibration/time_matcher.hpp"
#include "core/text/diagnostics.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

struct CalibrationCase {
  std::string name;
  Scenario scenario;
  std::vector<std::size_t> tables;  ///< numbers of its tables among all, ascending
  bool is_held_out = false;         ///< no search sees any of its times
  double weight = 1;                ///< of each of its times
};

/// Of each time of a kind, by TimedKind. A time counts by the product of its kind's and its case's.
using KindWeights = std::array<double, timed_kinds.size()>;
inline constexpr KindWeights kinds_alike = {1, 1, 1};
inline constexpr double weight_max = 1e9;
inline bool is_weight(double weight) { return weight > 0 && weight <= weight_max; }
inline constexpr const char* weight_range = "weights are above 0 and at most 1e9";

struct CalibrationCases {
  std::vector<CalibrationCase> cases;  ///< at least one
  MeasuredTables measured;             ///< of all cases
  std::vector<std::string> notes;      ///< rows left out of tables, assumptions of scenarios

  std::vector<const Scenario*> scenarios() const;
  /// Every file that was read.
  std::vector<std::string> input_paths() const;
};

/// What a case is read from.
struct CaseFiles {
  std::string name;      ///< empty: the scenario's
  std::string scenario;  ///< empty: the next four, as RunFlags has them
  std::string topology;
  std::string workload;
  std::string flows;
  std::string mode;
  std::vector<std::string> measured;  ///< as read_measured_file() has them
  bool is_held_out = false;
  double weight = 1;
  SourcePlace place;
};

/// "FILE.csv", or "FILE:nccl-tests", perhaps with ":KIND". Throws InputError.
MeasuredTimes read_measured_file(const std::string& text);

/// A scenario and all that was measured.
CalibrationCases one_case(Scenario scenario, std::vector<MeasuredTimes> measured);

/// What a file of cases names, paths made relative to where the program runs. Throws InputError:
/// what the text format's reader does, [missing-field].
std::vector<CaseFiles> read_case_files(const std::string& path);

/// Reads the scenarios, with these settings in all of them. Throws InputError: what readers of
/// scenarios do, [other-machine] if servers differ. Requires: a case at least.
std::vector<CalibrationCase> load_scenarios(const std::vector<CaseFiles>& files, const RunFlags& flags);
/// Reads the tables, too. Throws InputError: what readers of tables do.
CalibrationCases with_tables(std::vector<CalibrationCase> cases, const std::vector<CaseFiles>& files);

/// All that a fit is held against: the file of cases, or without one the scenario of the flags and
/// these tables. Throws what the functions above do.
CalibrationCases read_cases(const std::string& cases, const std::vector<std::string>& measured, const RunFlags& flags);

/// "id", "input_row", "ends"; automatic by any other name.
MatchBy match_called(std::string_view name);

/// Calls `of_time` with the numbers of a case's measured times.
void for_times_of(const MeasuredTables& measured, const CalibrationCase& one, const auto& of_time) {
  for (const std::size_t table : one.tables) {
    const std::size_t begin = measured.begin_of(table);
    for (std::size_t i = begin; i < begin + measured.tables()[table].times.size(); ++i) of_time(i);
  }
}

/// By measured time.
std::vector<double> weights_of(const CalibrationCases& all, const KindWeights& kinds);

/// Simulates `scenario`, in place of that of the case of this number, and writes what belongs to
/// the case's measured times, NaN where nothing does. `matchers`: of all tables. `times_s`: by
/// measured time. Throws what simulate_times() does.
void simulate_case(const CalibrationCases& all, std::size_t one, Scenario scenario, std::span<const TimeMatcher> matchers,
                   std::span<double> times_s);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Study: one question, asked of many runs that differ in little.
//
// Where it sits: read from STUDY.textproto (study.proto); study_points says which runs there are,
// study_runner carries them out.
// Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/params.hpp"
#include "tools/simulation/scenario/run_flags.hpp"
#include "tools/study/prices.hpp"
#include "tools/study/study_metric.hpp"

namespace weft {

/// A parameter "module.param", or a field of the base such as "mode".
struct StudySetting {
  std::string name;
  std::string value;
};

/// Numbers of a parameter between two.
struct StudyRange {
  double from = 0;
  double to = 0;
  std::string unit = {};
  std::uint32_t values = 0;
  bool is_log = false;
  /// Null: a whole number of a run's flags. Of a text, such as "auto" or a size, numbers have six
  /// digits.
  const ParamSpec* spec = nullptr;

  /// `share` of the way from one end to the other, to what the parameter can be set to. Requires:
  /// 0 <= share <= 1, and the ends are values of the parameter.
  std::string value_at(double share) const;
};

struct StudyAxis {
  std::vector<std::string> names;                ///< its own, then those along it
  std::vector<std::vector<std::string>> values;  ///< by position: a value for each name
  std::optional<StudyRange> range;               ///< of one name; `values` are its
};

/// When a point has had runs enough.
struct StudyStop {
  double precision = 0;                   ///< half the interval as a share of the mean
  std::vector<std::size_t> metrics = {};  ///< by number; empty: all
  std::uint32_t replicates_min = 3;
  std::uint64_t runs = 0;  ///< of all points; 0: no limit
};

/// Points are projections of training across sites.
struct StudyProjection {
  bool simulates = false;  ///< beside what formulas say
};

enum class Sampling : std::uint8_t { grid, one_at_a_time, latin_hypercube };

struct Study {
  std::string name;
  std::string question;
  std::string file;
  std::string digest;  ///< of the file, what its base reads, and this version of Weft
  RunFlags base;
  std::optional<StudyProjection> projection;  ///< in place of runs; its settings are in `base`
  std::vector<StudyAxis> axes;
  Sampling sampling = Sampling::grid;
  std::uint32_t samples = 0;                      ///< of the hypercube
  std::vector<std::vector<StudySetting>> listed;  ///< points in place of axes
  std::uint32_t replicates = 1;                   ///< with a stopping rule: at most
  std::uint64_t seed = 1;
  std::optional<StudyStop> stop;
  std::optional<Prices> prices;
  std::vector<StudyMetric> metrics;
  bool measures_machine = false;  ///< runs are processes of their own, one after the other

  /// What points set, in order: columns of study.csv.
  std::vector<std::string> names() const;
};

/// `flags` with this setting in place of another of its name. Throws InputError [bad-value] where a
/// number was to be one.
void apply(const StudySetting& setting, RunFlags& flags, const SourcePlace& place);

/// Reads the study, and checks what needs no run: the first point as a whole, names and values of
/// all axes, metrics. Throws InputError: what the text format's reader and load_scenario() do,
/// [missing-field], [unused-field], [empty-axis], [bad-axis], [unknown-axis], [duplicate-setting],
/// [bad-value], [out-of-range], [unused-setting], [unknown-metric], [unknown-column],
/// [not-a-number], [bad-name], [too-many-points].
Study read_study(const std::string& path);

}  // namespace weft

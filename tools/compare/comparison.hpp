// SPDX-License-Identifier: Apache-2.0
// Comparison: what differs between two sides, in what went in and in what came out.
//
// Where it sits: `weft compare` prints it.
// Model: figures of equal names are held against each other, case by case. Where both sides have
// several seeds a difference is significant if chance makes one as large less than once in twenty
// times: Student's paired test where the seeds are the same, as runs of equal seeds draw alike,
// else Welch's, with Holm's correction (Scand. J. Statistics 6, 1979) for as many figures as were
// tested, those that are watched by themselves. Of one seed each any difference counts: runs are
// deterministic.
// Threads: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/mean_interval.hpp"
#include "tools/compare/compared_side.hpp"

namespace weft {

/// Of inputs, parameters and texts; "" where a side has none.
struct ComparedText {
  std::string what;  ///< "parameter packet.buffer", "input workload", "mode"
  std::string a;
  std::string b;
};

struct ComparedFigure {
  std::string label;  ///< of the case
  std::string name;
  std::optional<MeanInterval> a;  ///< none: the side has none
  std::optional<MeanInterval> b;
  std::optional<double> p_value = {};  ///< none: a side has one seed only
  bool is_significant = true;
  bool is_past_threshold = false;

  /// (b - a) / |a|; infinite from 0, none where a side has no value.
  std::optional<double> change() const;
};

struct ComparedNumber {
  ComparedCell cell;
  std::optional<double> a;
  std::optional<double> b;

  std::optional<double> change() const;  ///< as of figures
};

struct Comparison {
  std::vector<ComparedText> inputs;     ///< what went in and differs: inputs, parameters, facts
  std::vector<ComparedFigure> figures;  ///< that differ
  std::vector<ComparedText> texts;      ///< of the results, that differ
  std::vector<ComparedNumber> cells;    ///< of jobs and links, that differ; largest changes first
  std::vector<std::string> only_a;      ///< cases
  std::vector<std::string> only_b;
  std::uint64_t figures_compared = 0;
  std::uint64_t seeds = 1;  ///< of either side, the fewest

  bool are_identical() const {
    return inputs.empty() && figures.empty() && texts.empty() && cells.empty() && only_a.empty() && only_b.empty();
  }
  /// Whether any figure's change counts.
  bool is_past_threshold() const;
};

struct ComparisonLimits {
  double threshold = 0;                   ///< share of a's value beyond which a change counts
  std::vector<std::string> figures = {};  ///< whose changes count; empty: of all
};

/// Throws InputError [bad-value] of a run against a study, [unknown-metric] of a limit's figure
/// that neither side has.
Comparison compare(const ComparedSide& a, const ComparedSide& b, const ComparisonLimits& limits);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Calibrator: finds the parameters with which scenarios take as long as was measured.
//
// Where it sits: `weft calibrate` and the nightly run; each candidate is a run of its own
// (tools/simulation/run), several at a time.
//
// Model:
//   1. Scenarios as they stand are simulated. Measured times that nothing simulated belongs to are
//      left out and told of.
//   2. Cases that say so are held out, and of the others' times a share: one drawn from every so
//      many in order of size and time, so that both parts have all sizes. Repetitions of a
//      collective or iteration stay together.
//   3. A search (calibration/search) makes the objective small on the rest, with lambda = 0. Unless
//      lambda is given, it goes on from there with lambda = 0.1, 0.3, 0.5, 1, 2 and 5 sigma, sigma
//      being the standard deviation of the objective's errors; the largest counts with which the
//      mean percentage error is no more than 1.001 times what it was (appendix C.1 of the paper).
//   4. Every parameter gets an interval (calibration/confidence). Where the simulation around the
//      best point leads to one that costs less, that is the best.
//   5. On request, iterations get an alignment (calibration/alignment) on top.
//   6. On request, times of some kinds or cases weigh more: in the objective, in intervals, and in
//      all mean errors and shares, but not in outliers and in the alignment.
//   7. Of two fidelities, flow mode proposes and packet mode decides, on request: 3 is done in flow
//      mode first.
// Results depend neither on threads nor on where a search was cut off before, unless it was cut off
// by the clock.
// Threads: one at a time; takes others inside.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/alignment.hpp"
#include "calibration/confidence.hpp"
#include "calibration/objective.hpp"
#include "core/text/params.hpp"
#include "tools/calibrate/calibration_cases.hpp"
#include "tools/calibrate/candidate_journal.hpp"
#include "tools/calibrate/fit_space.hpp"

namespace weft {

struct CalibrationOptions {
  ParamSet search;  ///< of a module of searches(), whose name it has
  ErrorScale scale = ErrorScale::per_flow;
  KindWeights weights = kinds_alike;
  /// By measured time, with the scenarios as they stand; empty: not known, and simulated.
  std::vector<double> before_s = {};
  std::optional<double> lambda = {};  ///< none: found
  /// Share of the measured times, < 1; none: 0.25, or 0 if a case is held out.
  std::optional<double> hold_out = {};
  MatchBy match = MatchBy::automatic;
  bool drops_outliers = false;
  std::optional<AlignedGpus> align = {};  ///< an alignment is fitted to iterations, too
  /// Candidates of all searches together, without intervals; those that are proposed apart.
  std::uint64_t points_max = 10'000;
  /// In packet mode: flow mode, whose runs are cheap, is searched first, and packet mode decides
  /// among the best it finds and searches on around that.
  bool flow_mode_proposes = false;
  std::uint32_t threads = 1;
  ConfidenceOptions confidence = {};
  std::string journal = {};  ///< file of what candidates came to, to go on from; empty: none
  CandidateJournal::Other other_journal = CandidateJournal::Other::refused;

  struct Progress {
    const char* doing = "";
    std::uint64_t points = 0;
    std::uint64_t points_max = 0;
    double mape = 0;  ///< the best so far
  };
  std::function<void(const Progress&)> progress = {};
  /// Asked between batches of candidates; the best so far is the result.
  std::function<bool()> stop = {};
};

/// How far simulated times are from measured ones.
struct TimeErrors {
  std::size_t count = 0;
  double mape = 0;
  double ordering_accuracy = 1;
  double plain = 0;  ///< equation 3 in s^2, with lambda in s
};

struct CalibrationResult {
  FitPoint start;
  FitPoint best;
  KindWeights weights = kinds_alike;  ///< as in the options
  double sigma = 0;                   ///< of the objective's errors with lambda = 0
  double lambda = 0;
  TimeErrors before;  ///< of all that were matched, with scenarios as they stand
  TimeErrors training;
  TimeErrors hold_out;
  std::vector<Confidence> confidence;  ///< by parameter; empty if it was stopped before
  std::uint64_t runs = 0;
  std::uint64_t proposing_runs = 0;  ///< in flow mode, for packet mode; not among runs
  bool stopped = false;              ///< told to stop
  bool spent_budget = false;         ///< points_max
  std::vector<std::size_t> unmatched;
  std::vector<std::size_t> dropped;  ///< outliers of the first fit that the second was made without
  /// Errors beyond five standard deviations, as the middle ones tell it, and 1 %.
  std::vector<std::size_t> outliers;
  std::vector<bool> is_held_out;  ///< by measured time
  std::vector<double> before_s;   ///< likewise, NaN where unmatched
  std::vector<double> after_s;
  std::optional<Alignment> alignment;  ///< of what trained
  TimeErrors aligned_hold_out;         ///< of iterations held out, with the alignment
  std::vector<double> aligned_s;       ///< NaN of what is no iteration, or unmatched; empty without
};

/// Throws InputError: what run() does for scenarios as they stand, [nothing-matches],
/// [too-few-measurements], [no-simulation], [no-iterations] to align, [not-in-packet-mode] to
/// propose to, [unused-weight], [other-journal], [cannot-write].
CalibrationResult calibrate(const CalibrationCases& all, const FitSpace& space, const CalibrationOptions& options);

/// The files of a journal of this name: of the fit, and of what goes before and after it.
void remove_journals(const std::string& journal);

}  // namespace weft

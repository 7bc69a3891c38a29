// SPDX-License-Identifier: Apache-2.0
// Folding planner: which ranks of a run are simulated for others that are alike.
//
// Where it sits: an Assembly asks it for every job that is placed. With fast forward the scheduler
// folds instead (host/symmetry/coupled_jobs), and the planner does nothing.
//
// Model: ranks are alike with regard to all jobs of a run and their placements, which are known
// only once the scheduler has placed them. So whenever a pass of the scheduler places jobs that the
// plan did not foresee, ranks are compared anew, and if that changes who is simulated, the run
// begins again by the new plan. Ranks themselves are compared by host/symmetry/rank_folding.
// Threads: belongs to the scheduler's logical process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/values/units.hpp"
#include "host/ranks/host_settings.hpp"
#include "host/ranks/host_speed.hpp"
#include "host/ranks/job.hpp"
#include "host/symmetry/rank_folding.hpp"
#include "network/flow/flow_settings.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// Which jobs are known to be placed where, and what follows from it.
struct FoldingPlan {
  std::vector<PlacedJob> jobs;                 ///< by AttemptId
  std::shared_ptr<const RankFolding> folding;  ///< of these jobs; null: every rank is simulated
  std::uint32_t restarts = 0;                  ///< of the run, so far
  bool given_up = false;                       ///< every rank is simulated whatever comes
  std::uint32_t classes_if_sprayed = 0;        ///< not 0: only hashed paths tell the ranks apart
  std::string told;                            ///< the last that was told of it
};

class FoldingPlanner {
 public:
  /// Keeps references. `flow`: null in job mode. `on_note`: told how many ranks are simulated as
  /// soon as that is known; may be empty.
  FoldingPlanner(const Scenario& scenario, const FlowSettings* flow, const HostSpeeds& speeds, FoldingPlan plan,
                 std::function<void(const std::string&)> on_note);

  /// Throws InputError [cannot-fold] where ranks were to be folded and cannot be.
  void check() const;
  /// Whether ranks of the scenario are looked at at all.
  bool may_fold() const;
  /// How much the start of ranks may differ that count as alike.
  Duration tolerance() const { return settings_.fold_tolerance; }
  /// A job was placed, and its collectives are known; it gets its folding. Requires:
  /// !`folded_by_scheduler` of the run, may_fold().
  void note_placed(RunningJob& job);
  /// After a pass of the scheduler: false if the run has to begin again, by plan().
  bool still_holds();
  const FoldingPlan& plan() const { return plan_; }
  /// Why ranks were not folded where that says something; "" otherwise.
  std::string not_folded_because() const;

 private:
  bool is_max_min() const;
  /// Whether lines between sites slow transfers down or delay them.
  bool lines_act() const;
  void look_for_folding();
  /// How many of the ranks placed so far are simulated, and why not fewer.
  std::string verdict() const;
  void tell();

  const Scenario& scenario_;
  HostSettings settings_;
  const FlowSettings* flow_;
  const HostSpeeds& speeds_;
  FoldingPlan plan_;
  std::function<void(const std::string&)> on_note_;
  bool placed_new_job_ = false;  ///< in this pass of the scheduler, and the plan did not foresee it
};

}  // namespace weft

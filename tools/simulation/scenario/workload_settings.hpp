// SPDX-License-Identifier: Apache-2.0
// Workload settings: what --set says of the workloads that a scenario makes - "llm.dp=4" of all
// that come from the template llm, "plan.tensor_parallel=4" of all models' plans.
//
// Where it sits: a scenario takes them out of its flags; workload_entries adds them to what each
// workload's own `set`s say; studies have them as axes.
// Threads: belongs to one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/params.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft {

class WorkloadSettings {
 public:
  /// Texts "name=value", as given to --set.
  explicit WorkloadSettings(std::span<const std::string> texts);

  /// Whether "llm.dp" or "plan.zero_stage" is a workload's.
  static bool is_of_workload(std::string_view name);
  /// The table's row of a template's parameter; null: there is none, or it is a plan's field.
  static const ParamSpec* spec_of(std::string_view name);
  /// Throws what ParamSet::set() does; of plans nothing is known here. Requires: is_of_workload().
  static void check(const std::string& name, const std::string& value, const SourcePlace& place);

  /// Those that are no workload's.
  const std::vector<std::string>& others() const { return others_; }

  /// Sets those of this template.
  void apply(ParamSet& params);
  /// Adds those of plans after the plan's own, before which they stand.
  void apply(PlanRequest& plan);
  /// Says which of them no workload took [unused-setting], and which stand twice
  /// [duplicate-setting].
  void check_used(Diagnostics& diagnostics) const;
  /// "llm.dp=4, plan.zero_stage=1", or "".
  std::string text() const;

 private:
  struct Setting {
    std::string module;
    std::string name;
    std::string value;
    SourcePlace place;
    bool is_used = false;
  };
  std::vector<Setting> settings_;
  std::vector<std::string> others_;
};

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/handlers/priority_boost.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/text/param_rows.hpp"

namespace weft {
namespace {

struct PriorityBoostSettings {
  std::int32_t boost;
  std::int32_t most;
};

constexpr std::array priority_boost_params = {
    param<&PriorityBoostSettings::boost>({.name = "boost",
                                          .default_text = "1",
                                          .minimum = "1",
                                          .maximum = "1000000",
                                          .meaning = "what each failure adds to the priority of a job that it stops",
                                          .origin = "one class"}),
    param<&PriorityBoostSettings::most>({.name = "most",
                                         .default_text = "3",
                                         .minimum = "1",
                                         .maximum = "1000000",
                                         .meaning = "what all failures of a job add at most",
                                         .origin = "round figure"}),
};

std::unique_ptr<EventHandler> make_priority_boost(const ParamSet& params) {
  const auto settings = filled<PriorityBoostSettings>(params);
  return std::make_unique<PriorityBoost>(settings.boost, settings.most);
}

}  // namespace

void PriorityBoost::happened(const ClusterEvent& cluster_event, ClusterControl& control) {
  if (cluster_event.kind != ClusterEvent::Kind::job_failed) return;
  std::int32_t& boosted = boosted_[cluster_event.job];
  const std::int32_t now = control.job(cluster_event.job).priority;
  const std::int32_t more = std::min({boost_, most_ - boosted, std::numeric_limits<std::int32_t>::max() - std::max(now, 0)});
  if (more > 0 && control.set_priority(cluster_event.job, now + more)) boosted += more;
}

Module<EventHandlerFactory> priority_boost_module() {
  return {{"handler", "priority_boost",
           "Raises the priority of jobs that failures have stopped, for policies that go by priorities.", priority_boost_params},
          make_priority_boost};
}

}  // namespace weft

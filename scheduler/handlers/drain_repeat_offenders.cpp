#include "scheduler/handlers/drain_repeat_offenders.hpp"

#include <array>

namespace weft {
namespace {

constexpr std::array kDrainRepeatOffendersParams = {
    ParamSpec{"failures", ParamKind::integer, "3", "1", "1000000", "", "so many within the window, and the host is drained",
              "round figure"},
    ParamSpec{"window", ParamKind::duration, "672h", "1s", "8760h", "", "failures further back do not count", "four weeks"},
    ParamSpec{"duration", ParamKind::duration, "24h", "1s", "8760h", "", "how long the host is looked at",
              "round figure; hosts whose parts are replaced are away for days"},
};

std::unique_ptr<EventHandler> make_drain_repeat_offenders(const ParamSet& params) {
  return std::make_unique<DrainRepeatOffenders>(static_cast<std::size_t>(params.integer("failures")), params.duration("window"),
                                                params.duration("duration"));
}

}  // namespace

void DrainRepeatOffenders::happened(const ClusterEvent& cluster_event, ClusterControl& control) {
  if (cluster_event.kind == ClusterEvent::Kind::called) known_.clear();
  if (cluster_event.kind != ClusterEvent::Kind::part_failed || cluster_event.host.is_none()) return;
  std::deque<Time>& failures = known_[cluster_event.host];
  failures.push_back(control.now());
  while (control.now() - failures.front() > window_) failures.pop_front();
  if (failures.size() < failures_) return;
  if (control.drain(cluster_event.host, duration_)) failures.clear();
}

Module<EventHandlerFactory> drain_repeat_offenders_module() {
  return {
      {"handler", "drain_repeat_offenders",
       "Drains hosts that fail again and again (lemon nodes), so that they are looked at instead of being given to the next job.",
       kDrainRepeatOffendersParams},
      make_drain_repeat_offenders};
}

}  // namespace weft

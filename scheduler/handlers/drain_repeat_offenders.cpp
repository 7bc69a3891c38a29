// SPDX-License-Identifier: Apache-2.0
#include "scheduler/handlers/drain_repeat_offenders.hpp"

#include <array>

#include "core/text/param_rows.hpp"

namespace weft {
namespace {

struct RepeatOffenderSettings {
  std::size_t failures;
  Duration window;
  Duration duration;
};

constexpr std::array drain_repeat_offenders_params = {
    param<&RepeatOffenderSettings::failures>({.name = "failures",
                                              .default_text = "3",
                                              .minimum = "1",
                                              .maximum = "1000000",
                                              .meaning = "so many within the window, and the host is drained",
                                              .origin = "round figure"}),
    param<&RepeatOffenderSettings::window>({.name = "window",
                                            .default_text = "672h",
                                            .minimum = "1s",
                                            .maximum = "8760h",
                                            .meaning = "failures further back do not count",
                                            .origin = "four weeks"}),
    param<&RepeatOffenderSettings::duration>({.name = "duration",
                                              .default_text = "24h",
                                              .minimum = "1s",
                                              .maximum = "8760h",
                                              .meaning = "how long the host is looked at",
                                              .origin = "round figure; hosts whose parts are replaced are away for days"}),
};

std::unique_ptr<EventHandler> make_drain_repeat_offenders(const ParamSet& params) {
  const auto settings = filled<RepeatOffenderSettings>(params);
  return std::make_unique<DrainRepeatOffenders>(settings.failures, settings.window, settings.duration);
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
       drain_repeat_offenders_params},
      make_drain_repeat_offenders};
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/handlers/stranding_alarm.hpp"

#include <array>
#include <string>

#include "core/text/counted.hpp"
#include "core/text/param_rows.hpp"

namespace weft {
namespace {

struct StrandingAlarmSettings {
  std::uint32_t gpus;
  Duration after;
};

constexpr std::array stranding_alarm_params = {
    param<&StrandingAlarmSettings::gpus>({.name = "gpus",
                                          .default_text = "0",
                                          .minimum = "0",
                                          .maximum = "16777216",
                                          .meaning = "more than so many have to be stranded",
                                          .origin = "any"}),
    param<&StrandingAlarmSettings::after>({.name = "after",
                                           .default_text = "1h",
                                           .minimum = "1s",
                                           .maximum = "8760h",
                                           .meaning = "for so long",
                                           .origin = "round figure"}),
};

std::unique_ptr<EventHandler> make_stranding_alarm(const ParamSet& params) {
  const auto settings = filled<StrandingAlarmSettings>(params);
  return std::make_unique<StrandingAlarm>(settings.gpus, settings.after);
}

}  // namespace

void StrandingAlarm::happened(const ClusterEvent& cluster_event, ClusterControl& control) {
  const std::uint32_t stranded = control.queue().empty() ? 0 : control.cluster().free_gpus();
  const std::string subject = counted(stranded, "GPU", "GPUs");
  if (cluster_event.kind == ClusterEvent::Kind::called) control.note("stranded", subject);
  // What was over at an earlier instant, and not just within it, was over.
  if (over_ && *over_ < control.now()) {
    since_.reset();
    over_.reset();
    is_on_ = false;
  }
  if (stranded <= gpus_) {
    if (since_ && !over_) over_ = control.now();
    return;
  }
  over_.reset();
  if (!since_) {
    since_ = control.now();
    if (after_ < Time::max() - control.now()) control.wake_at(control.now() + after_);
  }
  if (is_on_ || control.now() - *since_ < after_) return;
  control.note("stranding", subject);
  is_on_ = true;
}

Module<EventHandlerFactory> stranding_alarm_module() {
  return {{"handler", "stranding_alarm", "Notes in events.csv when many GPUs stand idle for long while jobs wait, each time once.",
           stranding_alarm_params},
          make_stranding_alarm};
}

}  // namespace weft

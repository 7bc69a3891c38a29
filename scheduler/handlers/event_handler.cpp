// SPDX-License-Identifier: Apache-2.0
#include "scheduler/handlers/event_handler.hpp"

#include <array>

#include "scheduler/handlers/drain_repeat_offenders.hpp"
#include "scheduler/handlers/priority_boost.hpp"
#include "scheduler/handlers/stranding_alarm.hpp"

namespace weft {

std::span<const Module<EventHandlerFactory>> event_handlers() {
  static const std::array modules = {drain_repeat_offenders_module(), priority_boost_module(), stranding_alarm_module()};
  return modules;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/compute_clock.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace weft {

ComputeClock::End ComputeClock::end_of(const Running& running) const {
  const double ticks = std::ceil(running.work / speed_of(running.processor));
  // An op never ends in the instant in which it starts or is slowed down: time goes by.
  return {running.op, running.version, Duration::ticks(std::max<std::int64_t>(1, static_cast<std::int64_t>(ticks)))};
}

ComputeClock::End ComputeClock::start(OpId op, Processor processor, Duration duration, Time now) {
  WEFT_CHECK(duration > Duration::zero(), "an op that runs takes time");
  Running running{op, processor, version_, static_cast<double>(duration.in_ticks()), now};
  running_.push_back(running);
  return {op, running.version, time_of(processor, duration)};
}

Duration ComputeClock::time_of(Processor processor, Duration duration) const {
  if (speed_of(processor) == 1) return duration;
  return end_of({OpId(0), processor, version_, static_cast<double>(duration.in_ticks()), Time::zero()}).in;
}

bool ComputeClock::finish(OpId op, std::uint64_t version) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const Running& running) { return running.op == op && running.version == version; });
  if (found == running_.end()) return false;
  running_.erase(found);
  return true;
}

std::vector<ComputeClock::End> ComputeClock::set_host_speed(double speed, Time now) {
  return change(host_speed_, speed, true, now);
}

std::vector<ComputeClock::End> ComputeClock::set_gpu_speed(double speed, Time now) { return change(gpu_speed_, speed, false, now); }

std::vector<ComputeClock::End> ComputeClock::change(double& speed, double value, bool moves_cpu, Time now) {
  WEFT_CHECK(value > 0, "a speed is above 0");
  std::vector<End> ends;
  if (value == speed) return ends;
  ++version_;
  for (Running& running : running_) {
    if (running.processor == Processor::cpu && !moves_cpu) continue;
    const double done = static_cast<double>((now - running.since).in_ticks()) * speed_of(running.processor);
    running.work = std::max(0.0, running.work - done);
    running.since = now;
    running.version = version_;
  }
  speed = value;
  for (const Running& running : running_) {
    if (running.processor == Processor::gpu || moves_cpu) ends.push_back(end_of(running));
  }
  return ends;
}

}  // namespace weft

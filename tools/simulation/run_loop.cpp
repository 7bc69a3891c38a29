// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/run_loop.hpp"

#include <algorithm>
#include <vector>

#include "host/ranks/host_entity.hpp"
#include "network/flow/flow_fabric.hpp"

namespace weft {

namespace {

const Duration look_interval = Duration::ms(10);
/// A host that pauses for good holds up what it holds up; others may have waited for a time-out
/// meanwhile.
constexpr int idle_looks_max = 100;

/// The first multiple of the interval after `time`.
Time look_after(Time time) {
  const std::int64_t looks = (time - Time::zero()).in_ticks() / look_interval.in_ticks() + 1;
  const std::int64_t looks_max = (Time::max() - Time::zero()).in_ticks() / look_interval.in_ticks();
  return looks > looks_max ? Time::max() : Time::zero() + look_interval * looks;
}

/// Others than the packets on their way: flows, ranks that compute, jobs that run by the clock,
/// what is still to come.
bool others_may_get_on(const Assembly& parts, const Engine& engine, Time now) {
  if (engine.entity_as<FlowFabric>(parts.fabric).is_busy()) return true;
  if (parts.scenario.flows) {
    return std::ranges::any_of(parts.scenario.flows->flows,
                               [now](const ListedFlow& flow) { return Time::zero() + flow.start >= now; });
  }
  if (parts.lifecycle != nullptr && !parts.lifecycle->all_wait_for_ranks(now)) return true;
  return std::ranges::any_of(parts.hosts, [&](EntityId host) { return engine.entity_as<HostEntity>(host).is_busy(now); });
}

/// Looks whether packets get on.
class ProgressLooks {
 public:
  explicit ProgressLooks(const Assembly& parts) : parts_(parts) {
    if (!parts.packet_network) return;
    if (!network_changes(parts.scenario)) repeats_max_ = parts.packet_network->results().repeats_max();
    if (parts.packet_network->refreshes_pauses() || repeats_max_) next_ = Time::zero();
  }

  /// max(): there is nothing to look for.
  Time next() const { return next_; }
  /// At next(); whether the run is to end. `later`: the next event.
  bool look(const Engine& engine, Time later) {
    const PacketNetwork& network = *parts_.packet_network;
    const std::uint64_t received = network.results().counters(engine, next_).data_received;
    const bool is_idle = received == received_;
    if (received > 0 && is_idle && !network.results().deadlock(engine).empty()) return true;
    idle_looks_ = is_idle ? idle_looks_ + 1 : 0;
    if (idle_looks_ >= idle_looks_max && network.is_held_by_hosts() && !network.results().unfinished(engine).empty()) return true;
    if (repeats_max_) look_for_repeats(engine, is_idle);
    received_ = received;
    next_ = look_after(later);
    return livelock_.has_value();
  }
  const std::optional<Livelock>& livelock() const { return livelock_; }

 private:
  void look_for_repeats(const Engine& engine, bool is_idle) {
    std::vector<std::uint64_t> repeats = parts_.packet_network->results().repeats(engine);
    if (!is_idle || repeats_.empty() || others_may_get_on(parts_, engine, next_)) {
      repeats_ = std::move(repeats);
      new_at_ = next_;
      return;
    }
    for (std::uint32_t host = 0; host < repeats.size() && !livelock_; ++host) {
      const std::uint64_t since = repeats[host] - repeats_[host];
      if (since >= *repeats_max_) livelock_ = {HostId(host), since, new_at_};
    }
  }

  const Assembly& parts_;
  std::optional<std::uint64_t> repeats_max_;
  Time next_ = Time::max();
  std::uint64_t received_ = 0;
  std::vector<std::uint64_t> repeats_;  ///< by host, when anything new came last
  Time new_at_;
  int idle_looks_ = 0;
  std::optional<Livelock> livelock_;
};

LoopResult run_with_looks(const Assembly& parts, Engine& engine, const LoopSamplers& samplers, RunControl& control) {
  const auto& [sampler, tiers] = samplers;
  ProgressLooks looks(parts);
  const Time stop = parts.options.until ? *parts.options.until + Duration::ticks(1) : Time::max();
  while (true) {
    control.until = std::min(
        {looks.next(), sampler != nullptr ? sampler->next() : Time::max(), tiers != nullptr ? tiers->next() : Time::max(), stop});
    const RunReport report = engine.run(control);
    const bool is_over = report.interrupted || report.next_event == Time::max() || control.until == stop;
    if (sampler != nullptr && !report.interrupted && (is_over || control.until == sampler->next())) {
      sampler->sample(engine, parts.has_flow_jobs ? &engine.entity_as<FlowFabric>(parts.fabric) : nullptr);
      sampler->skip_to(report.next_event);
    }
    if (tiers != nullptr && !report.interrupted && !is_over && control.until == tiers->next()) {
      tiers->sample(engine, parts.flows_on_cables(engine));
      tiers->skip_to(report.next_event);
    }
    if (is_over || (control.until == looks.next() && looks.look(engine, report.next_event))) return {report, looks.livelock()};
  }
}

}  // namespace

std::optional<LoopResult> run_to_end(const Assembly& parts, Engine& engine, const LoopSamplers& samplers, RunControl control) {
  try {
    LoopResult result = run_with_looks(parts, engine, samplers, control);
    if (!parts.abandoned) return result;
  } catch (...) {
    if (!parts.abandoned) throw;
  }
  return std::nullopt;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "network/routing/unloaded_paths.hpp"

#include <algorithm>
#include <map>

#include "topologies/topology.hpp"

namespace weft {

Duration UnloadedPath::leave_time(Bytes payload) const {
  if (payload == Bytes::zero()) return Duration::zero();
  return fluid_transmit_time(settings_->wire_bytes(payload, is_inside_host_).in_bits(), rate_bps_);
}

Duration UnloadedPath::message_time(Bytes payload) const {
  const Duration fixed = latencies_ + leave_time(payload);
  if (is_inside_host_) return fixed + delay_.fixed;
  const PacketTrain train = settings_->wire_format.train(part_of(payload, settings_->queue_pairs, 0));
  return fixed + (payload == Bytes::zero() ? delay_.of_empty(train) : delay_.of(train));
}

UnloadedPaths::UnloadedPaths(const Topology& topology, const FlowSettings& settings)
    : topology_(topology),
      settings_(settings),
      delays_(topology, settings.switching_delay, settings.forwarding),
      inside_host_(topology),
      staging_(topology, settings),
      spray_(topology, delays_, 1, settings.path_rule.weights),
      wide_area_(topology, settings) {}

UnloadedPath UnloadedPaths::path(NodeId source, NodeId destination, std::uint32_t connection) {
  UnloadedPath path;
  path.settings_ = &settings_;
  path.is_inside_host_ = inside_host_.joins(source, destination);
  std::map<LinkId, double> loads;
  double cap_bps = settings_.queue_pair_cap_bps(path.is_inside_host_);
  const auto slow_down = [&](std::span<const LinkId> links, std::span<const double> shares) {
    if (const std::optional<WideAreaRate> rate = wide_area_.rate(links, shares))
      cap_bps = std::min(cap_bps, rate->cap_bps / settings_.network_efficiency);
  };
  if (settings_.routing == Routing::spray) {
    const SprayedPath& sprayed = spray_.path(source, destination);
    for (std::size_t i = 0; i < sprayed.links.size(); ++i) loads[sprayed.links[i]] = sprayed.loads[i];
    path.delay_ = sprayed.delay;
    slow_down(sprayed.links, sprayed.loads);
  } else {
    const std::uint32_t queue_pairs = path.is_inside_host_ ? 1 : settings_.queue_pairs;
    for (std::uint32_t i = 0; i < queue_pairs; ++i) {
      PathDelay delay;
      const auto links = ecmp_path(topology_, settings_.path_rule, source, destination, connection, i);
      slow_down(links, {});
      for (const LinkId link : links) {
        loads[link] += 1.0 / queue_pairs;
        delay += delays_.of(link);
      }
      if (i == 0 || delay.fixed > path.delay_.fixed) path.delay_ = delay;
    }
  }
  path.rate_bps_ = cap_bps * settings_.queue_pairs;
  for (const auto& [link, load] : loads) {
    const double rate_bps = static_cast<double>(topology_.link(link).rate.in_bps()) / load;
    if (rate_bps >= path.rate_bps_) continue;
    path.rate_bps_ = rate_bps;
    path.slowest_ = link;
  }
  if (path.is_inside_host_) {
    path.latencies_ = settings_.nvlink_latency + settings_.completion_latency;
  } else {
    if (const double staged_bps = staging_.cap_bps(source, destination); staged_bps < path.rate_bps_) {
      path.rate_bps_ = staged_bps;
      path.slowest_ = LinkId::none();
    }
    path.delay_.limit_to(path.rate_bps_);
    path.latencies_ = settings_.wqe_latency + staging_.delay(source) + staging_.delay(destination) + settings_.receive_latency;
  }
  return path;
}

}  // namespace weft

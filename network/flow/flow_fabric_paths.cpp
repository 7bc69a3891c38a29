// SPDX-License-Identifier: Apache-2.0
// Ways of transfers in flow mode: which links, how fast at most, and how late.
#include <algorithm>

#include "network/flow/flow_fabric.hpp"
#include "topologies/topology.hpp"

namespace weft {

std::uint32_t FlowFabric::parts_of(const ActiveTransfer& active) const {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(queue_pairs_of(active), active.transfer.size.count()));
}

Bytes FlowFabric::wire_bytes_of(const ActiveTransfer& active, std::uint32_t queue_pair) const {
  return settings_.wire_bytes(part_of(active.transfer.size, queue_pairs_of(active), queue_pair), active.inside_host);
}

double FlowFabric::queue_pair_cap_bps(const ActiveTransfer& active, const FlowPath& path) const {
  if (active.inside_host) return settings_.queue_pair_cap_bps(true);
  double cap_bps = settings_.queue_pair_cap_bps(false);
  if (path.wide_area != nullptr) cap_bps = std::min(cap_bps, path.wide_area->cap_bps / settings_.network_efficiency);
  return std::min(cap_bps, staging_.cap_bps(active.transfer.source, active.transfer.destination) / parts_of(active));
}

void FlowFabric::load_alone(LinkId link, double bits) {
  if (load_bits_[link.index()] == 0) loaded_links_.push_back(link);
  load_bits_[link.index()] += bits;
}

Duration FlowFabric::moving_time_alone(Bytes largest, double cap_bps) {
  double longest_s = largest.in_bits() / cap_bps;
  for (const LinkId link : loaded_links_) {
    longest_s = std::max(longest_s, load_bits_[link.index()] / static_cast<double>(topology_.link(link).rate.in_bps()));
    load_bits_[link.index()] = 0;
  }
  loaded_links_.clear();
  return fluid_transmit_time(longest_s, 1.0);
}

Duration FlowFabric::last_delay(const ActiveTransfer& active) const {
  return last_latency(active.inside_host) + (active.inside_host ? Duration::zero() : staging_.delay(active.transfer.destination));
}

Duration FlowFabric::delay_of(const ActiveTransfer& active, PathDelay path, std::uint32_t queue_pair) const {
  if (active.inside_host) return path.fixed + last_delay(active);
  if (settings_.queue_pair_rate_max) path.limit_to(static_cast<double>(settings_.queue_pair_rate_max->in_bps()));
  return path.of(settings_.wire_format.train(part_of(active.transfer.size, settings_.queue_pairs, queue_pair))) +
         last_delay(active);
}

Duration FlowFabric::delay_of_empty(const ActiveTransfer& active, const TransferFolding::FoldedPath& folded) {
  const PathDelay path = active.is_folded ? folded.delay : path_of(active.transfer, 0, active.inside_host).delay;
  return path.of_empty(settings_.wire_format.train(Bytes::zero())) + last_delay(active);
}

FlowFabric::FlowPath FlowFabric::path_of(const Transfer& transfer, std::uint32_t queue_pair, bool inside_host) {
  FlowPath path;
  if (settings_.routing == Routing::spray) {
    const SprayedPath& sprayed = spray_.path(transfer.source, transfer.destination);
    path = {sprayed.links, sprayed.loads, sprayed.delay};
  } else {
    if (is_adaptive(settings_.routing)) {
      path.links = adaptive_.path(transfer.source, transfer.destination, transfer.connection, queue_pair, model_.policy().graph());
      for (const LinkId link : path.links) path.delay += link_delays_.of(link);
    } else {
      // Transfers without an attempt are of flow lists, each a connection of its own.
      const EcmpPaths::Path found = transfer.attempt.is_none()
                                        ? ecmp_.find_once(transfer.source, transfer.destination, transfer.connection, queue_pair)
                                        : ecmp_.find(transfer.source, transfer.destination, transfer.connection, queue_pair);
      path = {found.links, {}, found.delay, found.slowest_bps};
    }
  }
  if (inside_host) return path;
  slow_down(path);
  if (!staging_.is_on()) return path;
  staged_links_.assign(path.links.begin(), path.links.end());
  staged_loads_.assign(path.loads.begin(), path.loads.end());
  staging_.add_second_crossings(staged_links_, staged_loads_);
  return {staged_links_, staged_loads_, path.delay, 0, path.wide_area};
}

void FlowFabric::slow_down(FlowPath& path) {
  wide_area_rate_ = wide_area_.rate(path.links, path.loads);
  if (!wide_area_rate_) return;
  path.wide_area = &*wide_area_rate_;
  path.delay.limit_to(wide_area_rate_->cap_bps);
}

Duration FlowFabric::jitter_of(const ActiveTransfer& active, std::uint32_t queue_pair, const FlowPath& path) const {
  if (active.inside_host || !wide_area_.have_jitter()) return Duration::zero();
  return wide_area_.jitter(path.links, path.loads, active.transfer, queue_pair, active.start);
}

Time FlowFabric::in_order(const ActiveTransfer& active, std::uint32_t queue_pair, Time arrival) {
  if (active.inside_host || !wide_area_.have_jitter() || active.transfer.attempt.is_none()) return arrival;
  Time& last = last_arrivals_[QueuePairName(active.transfer, queue_pair)];
  return last = std::max(last, arrival);
}

Time FlowFabric::arrival_of_empty(const ActiveTransfer& active, Time arrival) {
  if (active.inside_host || !wide_area_.have_jitter()) return arrival;
  return in_order(active, 0, arrival + jitter_of(active, 0, path_of(active.transfer, 0, false)));
}

void FlowFabric::note_wide_area(const ActiveTransfer& active, const FlowPath& path) {
  if (path.wide_area != nullptr && !active.is_of_packets)
    wide_area_use_.count(*path.wide_area, parts_of(active), active.transfer, active.multiplicity);
}

std::span<const LinkId> FlowFabric::links_of(const Transfer& transfer) {
  if (SwitchOperationName::is_one(transfer.destination)) return operations_->at(transfer.destination).links;
  return hashed_path(transfer.source, transfer.destination, transfer.connection).links;
}

}  // namespace weft

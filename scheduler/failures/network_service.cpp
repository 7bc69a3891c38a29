// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/network_service.hpp"

#include "core/check.hpp"
#include "topologies/connected_parts.hpp"
#include "topologies/cut_off.hpp"

namespace weft {

NetworkService::NetworkService(std::shared_ptr<const NetworkParts> parts, FailureScope scope)
    : parts_(std::move(parts)),
      scope_(scope),
      nics_relay_(nics_relay(parts_->topology())),
      broken_(parts_->topology().link_count(), 0),
      is_out_(parts_->topology().link_count(), false),
      cut_off_(parts_->topology().endpoints().size(), false) {}

double NetworkService::share(LinkId cable) const {
  if (flapping_.contains(cable)) return 0;
  const auto shares = shares_.find(cable);
  return shares == shares_.end() ? 1.0 : shares->second.begin()->first;
}

std::vector<CableShare> NetworkService::lasting() const {
  std::vector<CableShare> result;
  for (const auto& [cable, shares] : shares_) result.push_back({cable, shares.begin()->first});
  return result;
}

std::vector<bool> NetworkService::find_cut_off(Turn turn) const {
  const Topology& topology = parts_->topology();
  std::vector<bool> cut_off = cut_off_endpoints(topology, is_out_, nics_relay_, cut_off_);
  bool is_smaller = false;
  for (std::size_t gpu = 0; gpu < cut_off.size(); ++gpu) is_smaller = is_smaller || (cut_off[gpu] && !cut_off_[gpu]);
  if (turn == Turn::fails && is_smaller) cut_off = cut_off_endpoints(topology, is_out_, nics_relay_);
  for (std::size_t gpu = 0; gpu < cut_off.size() && turn == Turn::is_repaired; ++gpu) cut_off[gpu] = cut_off[gpu] && cut_off_[gpu];
  if (scope_ == FailureScope::gpu) return cut_off;
  std::size_t begin = 0;
  for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
    const std::size_t end = begin + topology.endpoints_of(HostId(host)).size();
    bool is_cut_off = false;
    for (std::size_t gpu = begin; gpu < end; ++gpu) is_cut_off = is_cut_off || cut_off[gpu];
    for (std::size_t gpu = begin; gpu < end; ++gpu) cut_off[gpu] = is_cut_off;
    begin = end;
  }
  return cut_off;
}

NetworkService::Changes NetworkService::fail(const Failure& failure) { return turn(failure, Turn::fails); }

NetworkService::Changes NetworkService::repair(const Failure& failure) { return turn(failure, Turn::is_repaired); }

NetworkService::Changes NetworkService::turn(const Failure& failure, Turn turn) {
  const Topology& topology = parts_->topology();
  Changes changes;
  bool is_other_network = false;
  for (const LinkId cable : parts_->cables_of(failure.part)) {
    const double before = share(cable);
    if (failure.fault == Fault::flaps) {
      std::uint32_t& flaps = flapping_[cable];
      flaps += turn == Turn::fails ? 1U : UINT32_MAX;
      if (flaps == 0) flapping_.erase(cable);
    } else if (turn == Turn::fails) {
      ++shares_[cable][failure.share];
    } else {
      const auto shares = shares_.find(cable);
      WEFT_CHECK(shares != shares_.end() && shares->second.contains(failure.share), "only what has failed is repaired");
      if (--shares->second[failure.share] == 0) shares->second.erase(failure.share);
      if (shares->second.empty()) shares_.erase(shares);
    }
    if (share(cable) != before) changes.cables.push_back({cable, share(cable)});
    if (failure.fault != Fault::breaks) continue;
    broken_[cable.index()] += turn == Turn::fails ? 1U : UINT32_MAX;
    const bool is_out = broken_[cable.index()] > 0;
    if (is_out == is_out_[cable.index()]) continue;
    is_out_[cable.index()] = is_out;
    is_out_[topology.reverse(cable).index()] = is_out;
    is_other_network = true;
  }
  if (!is_other_network) return changes;
  std::vector<bool> cut_off = find_cut_off(turn);
  for (std::uint32_t gpu = 0; gpu < cut_off.size(); ++gpu) {
    if (cut_off[gpu] != cut_off_[gpu]) (cut_off[gpu] ? changes.cut_off : changes.connected).emplace_back(gpu);
  }
  cut_off_ = std::move(cut_off);
  return changes;
}

}  // namespace weft

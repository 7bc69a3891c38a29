// SPDX-License-Identifier: Apache-2.0
#include "host/inside/inside_traffic.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/containers/disjoint_sets.hpp"
#include "host/ranks/rank_runner.hpp"
#include "topologies/topology.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

InsideTraffic::InsideTraffic(InsideWiring& wiring, const Island::Runners& runners, bool may_go_ahead)
    : wiring_(wiring), runners_(runners), may_go_ahead_(may_go_ahead), slots_(runners.size()) {}

void InsideTraffic::start_ranks(const RunningJob& job, const std::vector<Island::Member>& ranks) {
  if (ranks.size() < 2 || job.folding != nullptr || job.collectives->uses_switches()) return;
  const std::vector<bool>& in_use = wiring_.communicators.of(*job.workload);
  DisjointSets sets(ranks.size());
  for (std::size_t c = 0; c < in_use.size(); ++c) {
    if (!in_use[c]) continue;
    std::map<GroupId, std::uint32_t> first;
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
      const GroupId group = job.workload->communicators[c].group_of(ranks[i].rank);
      if (group.is_none()) continue;
      const auto [known, is_new] = first.try_emplace(group, i);
      if (!is_new) sets.join(known->second, i);
    }
  }
  std::map<std::uint32_t, std::vector<Island::Member>> members;
  for (std::uint32_t i = 0; i < ranks.size(); ++i) members[sets.leader(i)].push_back(ranks[i]);
  for (const auto& [first, of_set] : members) {
    if (of_set.size() > 1) add_island(job, of_set);
  }
}

void InsideTraffic::add_island(const RunningJob& job, const std::vector<Island::Member>& members) {
  std::vector<NodeId> endpoints;
  for (const Island::Member& member : members) endpoints.push_back(member.endpoint);
  auto links = PrivateLinks::among(wiring_.topology, wiring_.delays, std::move(endpoints));
  if (links == nullptr) return;
  Island& island =
      *islands_.emplace_back(std::make_unique<Island>(islands_count_++, wiring_, job, members, std::move(links), runners_, told_));
  const std::vector<Communicator>& communicators = job.workload->communicators;
  for (const Island::Member& member : members) {
    OfSlot& of_slot = slots_[member.slot];
    of_slot.island = &island;
    of_slot.groups.assign(communicators.size(), nullptr);
  }
  const std::vector<bool>& in_use = wiring_.communicators.of(*job.workload);
  for (std::size_t c = 0; c < in_use.size(); ++c) {
    if (!in_use[c]) continue;
    std::map<GroupId, std::vector<std::uint32_t>> slots_of_group;
    for (const Island::Member& member : members) {
      const GroupId group = communicators[c].group_of(member.rank);
      if (!group.is_none()) slots_of_group[group].push_back(member.slot);
    }
    for (const auto& [id, slots] : slots_of_group) {
      const std::span<const RankId> ranks = communicators[c].ranks(id);
      if (slots.size() < 2 || slots.size() < ranks.size()) continue;
      const Island::Group& group = island.add_group(static_cast<std::uint16_t>(c), id, ranks);
      for (const std::uint32_t slot : slots) slots_[slot].groups[c] = &group;
    }
  }
  if (may_go_ahead_) let_go_ahead(job, island);
}

/// Where all that its ranks do inside the host is in order.
void InsideTraffic::let_go_ahead(const RunningJob& job, Island& island) {
  const std::vector<Communicator>& communicators = job.workload->communicators;
  std::vector<const InsideOrder*> orders;
  for (const Island::Member& member : island.members()) {
    const OfSlot& of_slot = slots_[member.slot];
    std::vector<bool> inside(communicators.size());
    for (std::size_t c = 0; c < communicators.size(); ++c) inside[c] = of_slot.groups[c] != nullptr;
    const RoleDag& dag = job.workload->dag_of(member.rank);
    const InsideOrder* const order = wiring_.orders.of(dag, inside);
    if (order == nullptr) return;
    const auto is_here = [&](RankId rank) { return rank != member.rank && island.has((*job.endpoint_of_rank)[rank.index()]); };
    for (const InsideOrder::Partner& partner : order->partners()) {
      if (is_here(communicators[partner.communicator].peer_of(member.rank, partner.addressing, partner.peer))) return;
    }
    // Collectives of ranks here and elsewhere.
    for (const std::uint16_t c : order->elsewhere()) {
      const GroupId group = communicators[c].group_of(member.rank);
      if (!group.is_none() && std::ranges::any_of(communicators[c].ranks(group), is_here)) return;
    }
    orders.push_back(order);
  }
  for (std::size_t i = 0; i < orders.size(); ++i) runners_[island.members()[i].slot]->go_ahead_in(*orders[i]);
  island.go_ahead();
}

InsideTraffic::Islands::iterator InsideTraffic::close(Islands::iterator island, Time now, Time ended) {
  (*island)->stop(now, ended);
  (*island)->add_to(records_, now);
  for (OfSlot& of_slot : slots_) {
    if (of_slot.island == island->get()) of_slot = {};
  }
  return islands_.erase(island);
}

void InsideTraffic::end_rank(std::uint32_t slot, Time now) {
  Island* const island = slots_[slot].island;
  if (island == nullptr || !island->end_rank()) return;
  close(std::ranges::find(islands_, island, &std::unique_ptr<Island>::get), now, now);
}

void InsideTraffic::stop(AttemptId attempt, Time now, Time ended) {
  for (auto island = islands_.begin(); island != islands_.end();)
    island = (*island)->attempt() == attempt ? close(island, now, ended) : std::next(island);
}

bool InsideTraffic::has_group(std::uint32_t slot, std::uint16_t communicator) const {
  const OfSlot& of_slot = slots_[slot];
  return of_slot.island != nullptr && of_slot.groups[communicator] != nullptr;
}

InsideAnswer InsideTraffic::begin(std::uint32_t slot, std::uint16_t communicator, const CollectiveTrial::Begin& begin,
                                  std::uint64_t stream, const CollectivePlan& plan, EventContext& context) {
  if (!has_group(slot, communicator)) return InsideAnswer::run_steps;
  return slots_[slot].island->begin(*slots_[slot].groups[communicator], begin, stream, plan, context);
}

bool InsideTraffic::start(std::uint32_t slot, const Transfer& transfer, EventContext& context) {
  Island* const island = slots_[slot].island;
  if (island == nullptr || !island->has(transfer.destination)) return false;
  island->start(transfer, context);
  return true;
}

void InsideTraffic::on_due(const InsideDue& due, EventContext& context) {
  const auto island = std::ranges::find(islands_, due.island, [](const auto& one) { return one->number(); });
  if (island != islands_.end()) (*island)->on_due(context);
}

Time InsideTraffic::busy_until(Time now) const {
  Time until = records_.busy_until;
  for (const std::unique_ptr<Island>& island : islands_) until = std::max(until, island->busy_until(now));
  return until;
}

std::vector<UnfinishedTransfer> InsideTraffic::unfinished() const {
  std::vector<UnfinishedTransfer> all;
  for (const std::unique_ptr<Island>& island : islands_) {
    const std::vector<UnfinishedTransfer> of_island = island->unfinished();
    all.insert(all.end(), of_island.begin(), of_island.end());
  }
  return all;
}

InsideRecords InsideTraffic::records(Time now) const {
  InsideRecords records = records_;
  for (const std::unique_ptr<Island>& island : islands_) island->add_to(records, now);
  return records;
}

}  // namespace weft

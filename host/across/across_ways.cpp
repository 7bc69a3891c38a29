// SPDX-License-Identifier: Apache-2.0
#include "host/across/across_ways.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/check.hpp"
#include "network/flow/flow_fabric.hpp"
#include "topologies/topology.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

AcrossWays::AcrossWays(const RunningJob& job, std::uint16_t communicator, GroupId group, const CollectivePlan& plan,
                       const Topology& topology, FlowFabric& fabric) {
  const std::span<const RankId> ranks = job.workload->communicators[communicator].ranks(group);
  const auto endpoint_at = [&](std::uint32_t position) { return (*job.endpoint_of_rank)[ranks[position].index()]; };
  std::unordered_map<LinkId, LinkId> numbers;
  const auto add = [&](std::uint32_t position, std::uint32_t peer, std::uint32_t connection, bool takes_room) {
    const NodeId destination = endpoint_at(peer);
    const auto is_this = [&](const Entry& entry) { return entry.destination == destination && entry.connection == connection; };
    if (std::ranges::any_of(ways_[position], is_this)) return;
    const EcmpPaths::Path path = fabric.hashed_path(endpoint_at(position), destination, connection);
    Entry& added = ways_[position].emplace_back();
    ++size_;
    added.destination = destination;
    added.connection = connection;
    added.way.delay = path.delay;
    added.way.slowest_bps = path.slowest_bps;
    if (!takes_room) return;
    for (const LinkId link : path.links) {
      const auto [known, is_new] = numbers.try_emplace(link, static_cast<std::uint32_t>(links_.size()));
      if (is_new) {
        links_.push_back(link);
        capacities_bps_.push_back(static_cast<double>(topology.link(link).rate.in_bps()));
      }
      added.way.links.push_back(known->second);
    }
  };
  ways_.resize(ranks.size());
  for (std::uint32_t position = 0; position < ranks.size(); ++position) {
    const CollectiveProgram& program = plan.program_of(position);
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const CollectiveStep& step = program.step(i);
      if (step.kind == StepKind::send && !plan.is_left_out(step, position))
        add(position, plan.peer(step, position), connection_number(communicator, step.channel), true);
    }
    // What is told of slots takes no room on links.
    for (const LimitedConnection& limited : plan.slots.limited(plan, position)) {
      if (!limited.sends) add(position, limited.peer, slots_connection(communicator, limited.channel, plan.request.type), false);
    }
  }
}

const PrivateWay& AcrossWays::way(std::uint32_t position, const Transfer& transfer) const {
  const auto is_its = [&](const Entry& entry) {
    return entry.destination == transfer.destination && entry.connection == transfer.connection;
  };
  const auto found = std::ranges::find_if(ways_[position], is_its);
  WEFT_CHECK(found != ways_[position].end(), "a collective's ways have all its messages");
  return found->way;
}

std::size_t connections_max(const CollectivePlan& plan) {
  std::size_t most = 0;
  for (std::uint32_t position = 0; position < plan.request.ranks(); ++position) {
    // Positions of one role send as often.
    if (plan.role_of.empty() && position > 0) break;
    std::set<std::pair<std::uint32_t, std::uint8_t>> connections;
    const CollectiveProgram& program = plan.program_of(position);
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      if (program.step(i).kind == StepKind::send)
        connections.emplace(plan.peer(program.step(i), position), program.step(i).channel);
    }
    most = std::max(most, connections.size());
  }
  return most;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/job_messages.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "core/check.hpp"
#include "core/values/fingerprint.hpp"
#include "host/ranks/message_tag.hpp"
#include "workloads/dag/overlaps.hpp"

namespace weft {

namespace {

std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = combined_hash(hash, static_cast<unsigned char>(c));
  return hash;
}

/// Equal divisions, equal numbers.
std::uint64_t division_hash(const Subgroups& division) {
  if (division.is_whole_group()) return 0;
  std::uint64_t hash = division.positions();
  for (std::uint32_t position = 0; position < division.positions(); ++position) {
    if (!division.contains(position)) continue;
    hash = combined_hash(hash, position);
    hash = combined_hash(hash, division.member(position, 0));
    hash = combined_hash(hash, division.index_of(position));
  }
  return hash;
}

/// A message from distance to distance in the whole group.
std::uint64_t distance_kind(std::uint32_t distance) { return combined_hash(1, distance); }

}  // namespace

JobMessages::JobMessages(std::span<const PlacedJob> jobs, const Topology& topology, const FlowSettings& settings,
                         const HostSpeeds& speeds, const Limits& limits, HashedWays hashed, Duration tolerance)
    : jobs_(jobs),
      topology_(topology),
      speeds_(speeds),
      limits_(limits),
      tolerance_(tolerance),
      endpoints_(endpoints_of(jobs)),
      paths_(topology, settings, endpoints_, limits.hops, hashed) {
  if (tolerance == Duration::zero()) return;
  for (std::uint32_t link = 0; link < topology.link_count(); ++link) {
    const Bandwidth rate = topology.link(LinkId(link)).rate;
    if (link == 0 || rate < slowest_) slowest_ = rate;
  }
}

bool JobMessages::collect() {
  for (job_ = 0; job_ < jobs_.size(); ++job_) {
    first_rank_.push_back(static_cast<std::uint32_t>(first_colours_.size()));
    collect_roles();
    if (!collect_messages()) return false;
  }
  return true;
}

std::vector<NodeId> JobMessages::endpoints_of(std::span<const PlacedJob> jobs) {
  std::vector<NodeId> endpoints;
  for (const PlacedJob& job : jobs) {
    WEFT_CHECK(job.endpoint_of_rank->size() == job.workload->rank_count, "every rank has an endpoint");
    endpoints.insert(endpoints.end(), job.endpoint_of_rank->begin(), job.endpoint_of_rank->end());
  }
  return endpoints;
}

std::set<std::uint16_t> JobMessages::communicators_with_overlaps(const RoleDag& dag, const std::map<std::uint16_t, RoleUse>& uses) {
  std::set<std::uint16_t> found;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::vector<std::uint32_t> resource_of;
  for (const auto& [communicator, use] : uses) {
    if (use.collectives.size() < 2) continue;
    if (edges.empty()) {
      edges.reserve(dag.edge_count());
      for (std::uint32_t i = 0; i < dag.size(); ++i) {
        for (const OpId next : dag.successors(OpId(i))) edges.emplace_back(i, next.index());
      }
    }
    resource_of.assign(dag.size(), no_resource);
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      if (dag.kind(OpId(i)) == OpKind::collective && dag.op(OpId(i)).communicator == communicator) resource_of[i] = 0;
    }
    if (count_overlaps(resource_of, edges) > 0) found.insert(communicator);
  }
  return found;
}

/// Of the job at hand.
void JobMessages::collect_roles() {
  const Workload& workload = *jobs_[job_].workload;
  role_uses_.assign(workload.roles.size(), {});
  for (std::size_t role = 0; role < workload.roles.size(); ++role) {
    const RoleDag& dag = workload.roles[role];
    std::map<std::uint16_t, RoleUse> uses;
    std::set<std::tuple<std::uint16_t, CollectiveType, PeerAddressing, std::int32_t, std::uint32_t, Bytes>> seen;
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      const OpKind kind = dag.kind(OpId(i));
      if (kind != OpKind::collective && kind != OpKind::send) continue;
      const Op op = dag.op(OpId(i));
      RoleUse& use = uses[op.communicator];
      use.communicator = op.communicator;
      if (kind == OpKind::collective) {
        if (seen.emplace(op.communicator, op.collective, op.addressing, op.peer, op.splits, op.bytes).second) {
          use.collectives.push_back(op);
        }
      } else if (const std::pair send(op.addressing, op.peer);
                 std::find(use.sends.begin(), use.sends.end(), send) == use.sends.end()) {
        use.sends.push_back(send);
      }
    }
    const std::set<std::uint16_t> overlapping = communicators_with_overlaps(dag, uses);
    for (auto& [communicator, use] : uses) {
      use.overlaps = overlapping.contains(communicator);
      role_uses_[role].push_back(std::move(use));
    }
  }
}

/// Ways in which a role of a plan finds receivers, each once.
const std::vector<JobMessages::Route>& JobMessages::routes_of(const CollectivePlan& plan, std::uint32_t position) {
  const CollectiveProgram& program = plan.program_of(position);
  const auto [found, is_new] = routes_.try_emplace(&program);
  if (!is_new) return found->second;
  std::unordered_map<std::uint64_t, std::size_t> seen;
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    const CollectiveStep& step = program.step(i);
    if (step.kind != StepKind::send) continue;
    const std::uint64_t kind = kind_of(plan, position, step);
    const auto [known, is_first] = seen.try_emplace(combined_hash(kind, step.channel), found->second.size());
    if (is_first) found->second.push_back({kind, i, step.channel, is_distance(plan, step)});
    found->second[known->second].slots += plan.slots.taken_by_all(plan, step);
  }
  return found->second;
}

bool JobMessages::is_distance(const CollectivePlan& plan, const CollectiveStep& step) {
  return plan.divisions[step.peer.division]->is_whole_group() && step.peer.kind == PeerRule::Kind::offset;
}

std::uint64_t JobMessages::kind_of(const CollectivePlan& plan, std::uint32_t position, const CollectiveStep& step) {
  const Subgroups& division = *plan.divisions[step.peer.division];
  if (is_distance(plan, step)) {
    return distance_kind(wrapped(step.peer.operand, division.positions()));
  }
  // Members of one role have peers of other roles perhaps, but all expect them by the same rule.
  const std::uint32_t peer = plan.peer(step, position);
  const PeerRule& back = plan.program_of(peer).step(step.remote_step).peer;
  const auto rule = [](const PeerRule& side) {
    return combined_hash(static_cast<std::uint64_t>(side.kind), static_cast<std::uint64_t>(std::int64_t{side.operand}));
  };
  const auto [found, is_new] = division_hashes_.try_emplace(&division, 0);
  if (is_new) found->second = division_hash(division);
  return combined_hash(combined_hash(rule(step.peer), rule(back)), found->second);
}

/// Equal for positions that send messages of equal sizes step by step.
std::uint64_t JobMessages::sizes_hash(const CollectivePlan& plan, std::uint32_t position) {
  if (plan.sizes_are_equal() || parts_count_as_equal(plan)) return 0;
  const CollectiveProgram& program = plan.program_of(position);
  const auto [found, is_new] = size_hashes_.try_emplace(&program);
  if (is_new) found->second.indices = indices_of(program);
  SizeHashes& known = found->second;
  std::vector<std::uint32_t> residues;
  for (const PartIndex& index : known.indices) {
    // Sizes repeat, so that of an offset's parts only the rest by the period matters, if they wrap
    // round after full periods.
    const Subgroups& division = *plan.divisions[index.division];
    const std::uint64_t first = std::uint64_t{division.index_of(position)} * index.stride;
    const std::uint64_t wrap = std::uint64_t{division.size_at(position)} * index.stride;
    const bool repeats = index.kind == PartIndex::Kind::offset && plan.request.splits == nullptr && wrap % plan.size_period() == 0;
    if (!repeats) return all_sizes_hash(plan, position);
    residues.push_back(static_cast<std::uint32_t>(first % plan.size_period()));
  }
  if (known.indices.empty()) return all_sizes_hash(plan, position);
  const auto [hash, is_first] = known.by_residues.try_emplace(std::move(residues), 0);
  if (is_first) hash->second = all_sizes_hash(plan, position);
  return hash->second;
}

/// Of n parts of a buffer each differs from the mean by less than a byte, and a message is of n at
/// most.
bool JobMessages::parts_count_as_equal(const CollectivePlan& plan) const {
  if (plan.request.splits != nullptr || slowest_ == Bandwidth::zero()) return false;
  const double differ_bits = 8.0 * static_cast<double>(plan.request.ranks());
  return differ_bits / static_cast<double>(slowest_.in_bps()) <= tolerance_.in_s();
}

std::uint64_t JobMessages::all_sizes_hash(const CollectivePlan& plan, std::uint32_t position) {
  const CollectiveProgram& program = plan.program_of(position);
  std::uint64_t hash = 1;
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    if (program.step(i).kind == StepKind::join) continue;
    hash = combined_hash(hash, static_cast<std::uint64_t>(plan.message_bytes(program.step(i), position).count()));
  }
  return hash;
}

/// The ways in which a program's parts depend on the position, each once and without its operand.
std::vector<PartIndex> JobMessages::indices_of(const CollectiveProgram& program) {
  std::set<std::tuple<PartIndex::Kind, std::uint8_t, std::uint32_t>> seen;
  std::vector<PartIndex> indices;
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    for (const PartIndex& index : {program.step(i).parts.outer, program.step(i).parts.inner}) {
      if (index.kind == PartIndex::Kind::zero) continue;
      if (seen.emplace(index.kind, index.division, index.stride).second) indices.push_back(index);
    }
  }
  return indices;
}

std::uint64_t JobMessages::costs_hash(const CollectiveProtocol& protocol) {
  std::uint64_t hash = text_hash(protocol.name);
  for (const Duration latency : {protocol.base_latency, protocol.hop_latency_inside, protocol.hop_latency_network}) {
    hash = combined_hash(hash, static_cast<std::uint64_t>(latency.in_ticks()));
  }
  for (const double share : {protocol.efficiency_inside, protocol.efficiency_network}) {
    hash = combined_hash(hash, std::bit_cast<std::uint64_t>(share));
  }
  return hash;
}

/// Messages of the job at hand with their paths, and the first colours of its ranks. False if
/// folding cannot be looked for.
bool JobMessages::collect_messages() {
  const PlacedJob& job = jobs_[job_];
  const Workload& workload = *job.workload;
  control_rules_.clear();
  for (std::uint32_t rank = 0; rank < workload.rank_count; ++rank) {
    const std::uint16_t role = workload.role_of[rank];
    const Node& endpoint = topology_.node((*job.endpoint_of_rank)[rank]);
    std::uint64_t colour = combined_hash(combined_hash(combined_hash(role, job_), speeds_.profile(endpoint.host)),
                                         static_cast<std::uint64_t>(endpoint.kind));
    ways_.clear();
    std::uint32_t times = 0;
    for (const RoleUse& use : role_uses_[role]) {
      const Communicator& communicator = workload.communicators[use.communicator];
      const GroupId group_id = communicator.group_of(RankId(rank));
      const std::span<const RankId> group = communicator.ranks(group_id);
      const auto size = static_cast<std::uint32_t>(group.size());
      const std::uint32_t position = communicator.position_of(RankId(rank));
      colour = combined_hash(colour, std::uint64_t{use.communicator} << 32 | size);
      ++sending_;
      const auto plan_of = [&](const Op& op) { return job.collectives->find(op, group_id, position); };
      const auto meets_by_place = [&](const CollectivePlan* plan) {
        return plan != nullptr &&
               std::ranges::any_of(routes_of(*plan, position), [](const Route& route) { return !route.is_distance; });
      };
      const bool all_meet = use.overlaps && std::ranges::any_of(use.collectives, meets_by_place, plan_of);
      for (const Op& op : use.collectives) {
        const CollectivePlan* plan = plan_of(op);
        if (plan == nullptr) continue;
        const bool may_meet = all_meet || (!use.overlaps && meets_by_place(plan));
        const std::uint32_t time = use.overlaps ? 0 : ++times;
        // Groups of one size may be carried out in several ways where rules pick them.
        colour = combined_hash(combined_hash(combined_hash(colour, text_hash(plan->algorithm)), costs_hash(plan->protocol)),
                               plan->slots.cuts() ? 1 : 0);
        colour = combined_hash(colour, plan->role_at(position));
        colour = combined_hash(colour, sizes_hash(*plan, position));
        for (const Route& route : routes_of(*plan, position)) {
          const CollectiveStep& step = plan->program_of(position).step(route.step);
          const RankId to = group[plan->peer(step, position)];
          const std::uint32_t connection = connection_number(use.communicator, route.channel);
          const std::optional<std::uint32_t> kind = add_message(rank, to, connection, route.kind, true);
          if (!kind) return false;
          if (may_meet && to != RankId(rank)) ways_.push_back({connection, to, time, *kind});
        }
        if (plan->slots.limits() && !add_controls(rank, *plan, position, use.communicator, group)) return false;
      }
      for (const auto& [addressing, peer] : use.sends) {
        const std::int64_t base = addressing == PeerAddressing::relative ? 0 : -static_cast<std::int64_t>(position);
        const std::uint32_t distance = wrapped(base + peer, size);
        const RankId to = communicator.peer_of(RankId(rank), addressing, peer);
        if (!add_message(rank, to, point_to_point_connection(use.communicator), distance_kind(distance), false)) return false;
      }
    }
    first_colours_.push_back(combined_hash(colour, shared_ways_hash()));
  }
  return true;
}

/// Two distances in a group lead to two peers, everywhere. Other rules lead to one peer from here
/// and to two from there: an exchange with the neighbour of an even rank goes where a ring does.
std::uint64_t JobMessages::shared_ways_hash() {
  std::ranges::sort(ways_);
  std::uint64_t hash = 0;  // a sum, as ranks that are alike have other peers, in another order
  for (auto from = ways_.begin(); from != ways_.end();) {
    const auto to = std::find_if(from, ways_.end(), [&](const Way& way) {
      return way.connection != from->connection || way.peer != from->peer || way.time != from->time;
    });
    std::uint64_t kinds = 0;
    for (auto way = from; way != to; ++way) {
      if (way == from || way->kind != (way - 1)->kind) kinds = combined_hash(kinds, kinds_[way->kind].hash);
    }
    hash += kinds;
    from = to;
  }
  return hash;
}

std::pair<std::uint32_t, bool> JobMessages::note_kind(std::uint32_t connection, std::uint64_t rule, bool in_collective) {
  const std::uint64_t hash = combined_hash(combined_hash(combined_hash(rule, connection), in_collective ? 1 : 2), job_);
  const auto [number, is_new] = kind_numbers_.try_emplace(hash, static_cast<std::uint32_t>(kinds_.size()));
  if (is_new) kinds_.push_back({hash, connection, in_collective});
  // Several collectives of a communicator may send by one rule.
  sent_by_.resize(kinds_.size());
  return {number->second, std::exchange(sent_by_[number->second], sending_) != sending_};
}

/// What comes back from those to whom the rank sends more than there are slots.
bool JobMessages::add_controls(std::uint32_t rank, const CollectivePlan& plan, std::uint32_t position, std::uint16_t communicator,
                               std::span<const RankId> group) {
  const std::vector<Route>& routes = routes_of(plan, position);
  // By peer and channel, which several routes may share
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> slots;
  const auto peer_of = [&](const Route& route) { return plan.peer(plan.program_of(position).step(route.step), position); };
  for (const Route& route : routes) slots[{peer_of(route), route.channel}] += route.slots;
  for (const Route& route : routes) {
    const std::uint32_t peer = peer_of(route);
    if (slots.at({peer, route.channel}) <= plan.slots.count() || peer == position) continue;
    const std::uint32_t connection = slots_connection(communicator, route.channel, plan.request.type);
    const auto [kind, is_first] = note_kind(connection, route.kind, true);
    // Who is told depends on the rule, and what is told does not name it.
    const auto rule = control_rules_.try_emplace({connection, group[peer].index(), group[position].index()}, kind).first->second;
    if (rule != kind) return false;
    if (!is_first) continue;
    const std::uint32_t source = first_rank_[job_] + group[peer].index();
    const std::uint32_t destination = first_rank_[job_] + rank;
    const std::optional<std::uint32_t> piece = paths_.piece_of(source, destination, connection);
    if (!piece || controls_.size() >= limits_.messages) return false;
    controls_.push_back({kind, source, destination, *piece});
  }
  return true;
}

/// Between two ranks of the job at hand. Its kind; nothing: folding cannot be looked for.
std::optional<std::uint32_t> JobMessages::add_message(std::uint32_t rank, RankId to, std::uint32_t connection, std::uint64_t rule,
                                                      bool in_collective) {
  const auto [kind, is_first] = note_kind(connection, rule, in_collective);
  if (!is_first || to == RankId(rank)) return kind;
  const std::uint32_t source = first_rank_[job_] + rank;
  const std::uint32_t destination = first_rank_[job_] + to.index();
  const std::optional<std::uint32_t> piece = paths_.piece_of(source, destination, connection);
  if (!piece || messages_.size() >= limits_.messages) return std::nullopt;
  messages_.push_back({kind, source, destination, *piece});
  return kind;
}

}  // namespace weft

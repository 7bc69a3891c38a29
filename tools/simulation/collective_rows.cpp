// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/collective_rows.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/values/fingerprint.hpp"
#include "host/collectives/collective_library.hpp"

namespace weft {

namespace {

/// nccl-tests' factor from algorithm bandwidth to bus bandwidth; the bytes it applies to are those
/// of the whole operation.
double bus_factor(CollectiveType type, double ranks) {
  switch (type) {
    case CollectiveType::all_reduce:
      return 2 * (ranks - 1) / ranks;
    case CollectiveType::all_gather:
    case CollectiveType::gather:
      return ranks - 1;  // (n-1)/n of the gathered n shards
    case CollectiveType::reduce_scatter:
    case CollectiveType::all_to_all:
    case CollectiveType::all_to_all_v:
    case CollectiveType::scatter:
      return (ranks - 1) / ranks;
    case CollectiveType::broadcast:
    case CollectiveType::reduce:
    case CollectiveType::barrier:
      return 1;
  }
  return 1;
}

/// What the members of a host send to other hosts, flags of the protocol included.
double bits_to_other_hosts(const CollectivePlan& plan, std::uint32_t host) {
  const GroupLayout& layout = *plan.request.layout;
  double bits = 0;
  for (std::uint32_t k = 0; k < layout.members_of_host(host); ++k) {
    const std::uint32_t position = layout.member_of_host(host, k);
    const CollectiveProgram& program = plan.program_of(position);
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const CollectiveStep& step = program.step(i);
      const auto is_elsewhere = [&](std::uint32_t member) { return layout.seat(member).host != host; };
      const bool leaves =
          (step.kind == StepKind::in_network && std::ranges::any_of(plan.members_of(step, position), is_elsewhere)) ||
          (step.kind == StepKind::send && is_elsewhere(plan.peer(step, position)));
      if (leaves) bits += plan.moved_bytes(step, position).in_bits();
    }
  }
  return bits;
}

/// Of the host that sends most; where all ranks do alike, of this one.
double most_bits_to_other_hosts(const CollectivePlan& plan, std::uint32_t host) {
  if (plan.role_of.empty()) return bits_to_other_hosts(plan, host);
  double most = 0;
  for (std::uint32_t any = 0; any < plan.request.layout->host_count(); ++any) most = std::max(most, bits_to_other_hosts(plan, any));
  return most;
}

/// The groups of a communicator whose members are of the same classes, by class.
class GroupKinds {
 public:
  GroupKinds(const Communicator& communicator, const JobFolding& folding) {
    // sorted classes -> first group, how many
    std::map<std::vector<std::uint32_t>, std::pair<GroupId, std::uint32_t>> kinds;
    for (std::uint32_t group = 0; group < communicator.group_count(); ++group) {
      std::vector<std::uint32_t> classes;
      for (const RankId rank : communicator.ranks(GroupId(group))) classes.push_back(folding.class_of(rank));
      std::sort(classes.begin(), classes.end());
      ++kinds.try_emplace(std::move(classes), GroupId(group), 0).first->second.second;
    }
    by_class_.resize(folding.class_count());
    for (const auto& [classes, kind] : kinds) {
      for (std::size_t i = 0; i < classes.size(); ++i) {
        if (i == 0 || classes[i] != classes[i - 1]) by_class_[classes[i]].push_back(kind);
      }
    }
  }

  /// The first group of each kind that has a member of the class, and how many groups are of that
  /// kind.
  const std::vector<std::pair<GroupId, std::uint32_t>>& with_class(std::uint32_t rank_class) const { return by_class_[rank_class]; }

 private:
  std::vector<std::vector<std::pair<GroupId, std::uint32_t>>> by_class_;
};

/// A collective of a group, a send or a receive, as its ranks recorded it.
struct GroupRecord {
  Time start = Time::max();
  Time end;
  OpRecord sample;  ///< of its first rank
  GroupId group;
  std::uint32_t multiplicity = 1;
};

/// Joins the records of ranks.
class GroupRecords {
 public:
  explicit GroupRecords(const JobTable& attempts) : attempts_(attempts) {}

  void add(const OpRecord& record) {
    const Workload& workload = *attempts_.at(record.attempt).workload;
    const RoleDag& dag = workload.dag_of(record.rank);
    if (dag.kind(record.op) == OpKind::compute) return;
    const Op op = dag.op(record.op);
    const Communicator& communicator = workload.communicators[op.communicator];
    const JobFolding* const folding = attempts_.at(record.attempt).folding.get();
    if (folding == nullptr) return note(record, op, dag, communicator.group_of(record.rank), 1);
    if (op.kind != OpKind::collective)
      return note(record, op, dag, communicator.group_of(record.rank), folding->alike(record.rank));
    const std::pair key(record.attempt, op.communicator);
    auto of_communicator = kinds_.find(key);
    if (of_communicator == kinds_.end()) of_communicator = kinds_.try_emplace(key, communicator, *folding).first;
    for (const auto& [group, multiplicity] : of_communicator->second.with_class(folding->class_of(record.rank)))
      note(record, op, dag, group, multiplicity);
  }

  /// All ranks of its group have recorded it.
  void add(const InsideRecords::Replayed& replayed) {
    const RunningJob& attempt = attempts_.at(replayed.attempt);
    const MessageTag tag = attempt.tags->unpack(replayed.stream);
    const std::span<const RankId> ranks = attempt.workload->communicators[tag.communicator].ranks(replayed.group);
    const auto first = static_cast<std::uint32_t>(std::distance(ranks.begin(), std::ranges::min_element(ranks)));
    const CollectiveReplay& replay = *replayed.replay;
    const Time start = replayed.begun - std::ranges::max(replay.ahead) - replay.plan->launch_latency;
    records_.push_back({{replayed.attempt, replayed.iteration, tag.communicator, replayed.group, tag.ordinal, UINT32_MAX},
                        {start, replayed.end(), op_record(replayed, attempt, first), replayed.group, 1}});
  }

  std::vector<const GroupRecord*> by_start() const {
    std::vector<const Keyed*> keyed;
    keyed.reserve(records_.size());
    for (const Keyed& one : records_) keyed.push_back(&one);
    std::ranges::sort(keyed, {}, [](const Keyed* one) { return std::tie(one->record.start, one->key); });
    std::vector<const GroupRecord*> ordered;
    ordered.reserve(keyed.size());
    for (const Keyed* const one : keyed) ordered.push_back(&one->record);
    return ordered;
  }

 private:
  /// Attempt, iteration, communicator, group, ordinal of the collective or number of the op, rank.
  using Key = std::tuple<AttemptId, std::uint32_t, std::uint16_t, GroupId, std::uint32_t, std::uint32_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      const auto& [attempt, iteration, communicator, group, number, rank] = key;
      const std::uint64_t first = mix64(std::uint64_t{attempt.index()} << 32 | iteration);
      const std::uint64_t second = mix64(first ^ (std::uint64_t{group.index()} << 16 | communicator));
      return mix64(second ^ (std::uint64_t{number} << 32 | rank));
    }
  };
  struct Keyed {
    Key key;
    GroupRecord record;
  };

  void note(const OpRecord& record, const Op& op, const RoleDag& dag, GroupId group, std::uint32_t multiplicity) {
    // Collectives of a group match by their ordinal; a point-to-point op stands for itself.
    const bool is_collective = op.kind == OpKind::collective;
    const std::uint32_t number = is_collective ? dag.match_ordinal(record.op) : record.op.index();
    const Key key{record.attempt, record.iteration, op.communicator,
                  group,          number,           is_collective ? UINT32_MAX : record.rank.index()};
    const auto [place, is_new] = places_.try_emplace(key, records_.size());
    if (is_new) records_.push_back({key, {}});
    GroupRecord& joined = records_[place->second].record;
    if (is_new || record.rank < joined.sample.rank) joined.sample = record;
    joined.start = std::min(joined.start, record.start);
    joined.end = std::max(joined.end, record.end);
    joined.group = group;
    joined.multiplicity = multiplicity;
  }

  const JobTable& attempts_;
  std::vector<Keyed> records_;
  std::unordered_map<Key, std::size_t, Hash> places_;  ///< in records_; looked up only
  std::map<std::pair<AttemptId, std::uint16_t>, GroupKinds> kinds_;
};

/// Makes rows of joined records; what it finds out of plans it keeps.
class RowMaker {
 public:
  RowMaker(const Scenario& scenario, const JobTable& attempts)
      : scenario_(scenario), attempts_(attempts), choices_(scenario.parameters.of("collective")) {}

  void add(const GroupRecord& joined, ResultSink& sink) {
    const RunningJob& attempt = attempts_.at(joined.sample.attempt);
    const Workload& workload = *attempt.workload;
    const RoleDag& dag = workload.dag_of(joined.sample.rank);
    const Op op = dag.op(joined.sample.op);
    const Communicator& communicator = workload.communicators[op.communicator];
    const bool is_collective = op.kind == OpKind::collective;
    const Duration duration = joined.end - joined.start;
    const std::string label = op_label(dag, joined.sample.op);
    CollectiveRow row;
    row.job = scenario_.jobs[attempt.job.index()].name;
    row.iteration = joined.sample.iteration;
    row.op = label;
    row.kind = is_collective ? to_text(op.collective) : to_text(op.kind);
    row.communicator = communicator.name();
    row.group = joined.group.index();
    row.ranks = 2;
    row.size = op.bytes;
    row.start = joined.start;
    row.end = joined.end;
    row.multiplicity = joined.multiplicity;
    double factor = 1;
    if (is_collective) {
      row.ranks = static_cast<std::uint32_t>(communicator.ranks(joined.group).size());
      factor = bus_factor(op.collective, row.ranks);
      const std::uint32_t position = communicator.position_of(joined.sample.rank);
      if (const CollectivePlan* const plan = attempt.collectives->find(op, joined.group, position)) {
        add_plan(*plan, position, duration, row);
      }
    }
    if (duration > Duration::zero()) row.bus_bandwidth_gbps = op.bytes.in_bits() * factor / duration.in_ns();
    sink.add_collective(row);
  }

 private:
  void add_plan(const CollectivePlan& plan, std::uint32_t position, Duration duration, CollectiveRow& row) {
    row.algorithm = plan.algorithm;
    row.protocol = plan.protocol.name;
    row.channels = plan.channels;
    row.is_by_rule = CollectiveLibrary::is_auto(choices_, row.kind);
    row.reason = plan.reason;
    const GroupLayout& layout = *plan.request.layout;
    if (layout.host_count() <= 1) return;
    const double nic_bps = static_cast<double>(layout.hardware().nic_bps) * layout.hardware().nics;
    const std::uint32_t host = layout.seat(position).host;
    const auto [known, is_new] = nic_bits_.try_emplace({&plan, plan.role_of.empty() ? host : 0}, 0.0);
    if (is_new) known->second = most_bits_to_other_hosts(plan, host);
    if (nic_bps > 0 && duration > Duration::zero()) row.nic_share = known->second * 1e9 / duration.in_ns() / nic_bps;
  }

  const Scenario& scenario_;
  const JobTable& attempts_;
  const ParamSet& choices_;
  /// by plan and host; looked up only
  std::map<std::pair<const CollectivePlan*, std::uint32_t>, double> nic_bits_;
};

}  // namespace

std::string op_label(const RoleDag& dag, OpId op) {
  const std::string_view name = dag.name(op);
  return name.empty() ? "op" + fmt::to_string(op.index()) : std::string(name);
}

std::uint32_t ranks_alike(const RunningJob& attempt, RankId rank) {
  return attempt.folding == nullptr ? 1 : attempt.folding->alike(rank);
}

void add_collective_rows(const Scenario& scenario, const JobTable& attempts, const HostRecords& records, ResultSink& sink) {
  GroupRecords joined(attempts);
  records.each([&](const OpRecord& record) { joined.add(record); },
               [&](const InsideRecords::Replayed& replayed) { joined.add(replayed); });
  RowMaker rows(scenario, attempts);
  for (const GroupRecord* const record : joined.by_start()) rows.add(*record, sink);
}

}  // namespace weft

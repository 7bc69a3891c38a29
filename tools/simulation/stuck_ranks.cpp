// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/stuck_ranks.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"

namespace weft {

namespace {

constexpr std::size_t ranks_named_max = 8;
constexpr std::size_t ops_named_max = 4;
constexpr const char* stuck_help = "ranks must join collectives and exchange messages in an order that can be met";

/// "1, 2 and 7", cut off after a few.
std::string listed(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t named_max = 6;
  std::string text;
  const std::size_t named = std::min(ranks.size(), named_max);
  for (std::size_t i = 0; i < named; ++i) {
    const bool last = i + 1 == ranks.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + fmt::to_string(ranks[i]);
  }
  if (ranks.size() > named) text += fmt::format(" and {} more", ranks.size() - named);
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

/// One job's ranks and what they are in.
class StuckJob {
 public:
  StuckJob(const Scenario& scenario, const JobSpec& job, std::vector<const WaitingRank*> waiting)
      : job_(job), workload_(*job.workload), waiting_(std::move(waiting)) {
    read_names(scenario);
    for (const WaitingRank* rank : waiting_) {
      const RoleDag& dag = workload_.dag_of(rank->rank);
      for (const OpId op : rank->ops) {
        if (dag.kind(op) != OpKind::collective) continue;
        joined_.emplace(rank->rank, rank->iteration, dag.op(op).communicator, dag.match_ordinal(op));
      }
    }
  }

  void report(Diagnostics& diagnostics) const {
    for (std::size_t i = 0; i < ranks_named(); ++i) {
      const WaitingRank& rank = *waiting_[i];
      std::string ops;
      for (std::size_t k = 0; k < std::min(rank.ops.size(), ops_named_max); ++k)
        ops += (k == 0 ? "" : "; and for ") + op_text(rank, rank.ops[k]);
      if (rank.ops.size() > ops_named_max) ops += fmt::format("; and for {} more", rank.ops.size() - ops_named_max);
      diagnostics.error("stuck",
                        fmt::format("job \"{}\" cannot go on: rank {} waits in iteration {} for {}", job_.name, rank.rank.index(),
                                    rank.iteration, ops.empty() ? "nothing that will come" : ops),
                        job_.place, stuck_help);
    }
    if (waiting_.size() > ranks_named_max) {
      diagnostics.error("stuck",
                        fmt::format("job \"{}\" cannot go on: {} like these", job_.name,
                                    counted(waiting_.size() - ranks_named_max, "more rank waits", "more ranks wait")),
                        job_.place, stuck_help);
    }
  }

 private:
  std::size_t ranks_named() const { return std::min(waiting_.size(), ranks_named_max); }

  /// If ops that will be named have no names, their workload is read again with those that its
  /// reader dropped.
  void read_names(const Scenario& scenario) {
    std::vector<std::uint32_t> unnamed;
    for (std::size_t i = 0; i < ranks_named(); ++i) {
      const WaitingRank& rank = *waiting_[i];
      const RoleDag& dag = workload_.dag_of(rank.rank);
      const auto has_no_name = [&dag](OpId op) { return dag.name(op).empty(); };
      if (std::any_of(rank.ops.begin(), rank.ops.end(), has_no_name)) unnamed.push_back(rank.rank.index());
    }
    if (unnamed.empty()) return;
    for (const WorkloadFile& file : scenario.workload_files) {
      if (file.workload != job_.workload) continue;
      WorkloadOptions options = file.options;
      options.named_ranks = std::move(unnamed);
      try {
        named_ = load_workload(file.path, file.format, options);
      } catch (const InputError&) {
        // The file is gone or has changed since: numbers must do.
      }
      return;
    }
  }

  std::string_view name_of(RankId rank, OpId op) const {
    const RoleDag& dag = workload_.dag_of(rank);
    if (!dag.name(op).empty() || !named_ || named_->rank_count != workload_.rank_count) return dag.name(op);
    const RoleDag& again = named_->dag_of(rank);
    return again.size() == dag.size() ? again.name(op) : std::string_view();
  }

  std::string op_text(const WaitingRank& rank, OpId id) const {
    const RoleDag& dag = workload_.dag_of(rank.rank);
    const Op op = dag.op(id);
    const std::string_view name = name_of(rank.rank, id);
    const std::string title = name.empty() ? fmt::format("op {}", id.index()) : fmt::format("\"{}\"", name);
    const Communicator& communicator = workload_.communicators[op.communicator];
    const std::span<const RankId> group = communicator.ranks(communicator.group_of(rank.rank));
    if (op.kind != OpKind::collective) {
      const RankId peer = communicator.peer_of(rank.rank, op.addressing, op.peer);
      return fmt::format("{} {}{}{}", to_text(op.kind), title, op.kind == OpKind::receive ? " from rank " : " to rank ",
                         peer.index());
    }
    std::vector<std::uint32_t> missing;
    for (const RankId member : group) {
      if (!joined_.contains({member, rank.iteration, op.communicator, dag.match_ordinal(id)})) missing.push_back(member.index());
    }
    std::string text = fmt::format("{} {} in communicator \"{}\"", to_text(op.collective), title, communicator.name());
    if (!missing.empty())
      text += fmt::format(", which {}{}", listed(missing), missing.size() == 1 ? " has not joined" : " have not joined");
    return text;
  }

  const JobSpec& job_;
  const Workload& workload_;
  std::optional<Workload> named_;  ///< the same once more, with names
  std::vector<const WaitingRank*> waiting_;
  /// Rank, iteration, communicator and ordinal of the collectives that ranks are in.
  std::set<std::tuple<RankId, std::uint64_t, std::uint16_t, std::uint32_t>> joined_;
};

}  // namespace

void report_stuck_ranks(const Scenario& scenario, const JobTable& jobs, std::span<const WaitingRank> waiting,
                        Diagnostics& diagnostics) {
  std::map<JobId, std::vector<const WaitingRank*>> by_job;
  for (const WaitingRank& rank : waiting) by_job[jobs.at(rank.attempt).job].push_back(&rank);
  for (auto& [job, ranks] : by_job) {
    std::sort(ranks.begin(), ranks.end(), [](const WaitingRank* a, const WaitingRank* b) { return a->rank < b->rank; });
    StuckJob(scenario, scenario.jobs[job.index()], std::move(ranks)).report(diagnostics);
  }
}

}  // namespace weft

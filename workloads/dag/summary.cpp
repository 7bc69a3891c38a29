// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/summary.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace weft {

namespace {

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

Duration add(Duration a, Duration b) { return Duration::ticks(saturating_add(a.in_ticks(), b.in_ticks())); }

RoleSummary summarise_role(const RoleDag& dag) {
  RoleSummary summary;
  std::set<std::uint16_t> streams;
  std::vector<Duration> start(dag.size());
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const Op op = dag.op(OpId(i));
    ++summary.ops_by_kind[static_cast<std::size_t>(op.kind)];
    if (op.stream != 0) streams.insert(op.stream);
    summary.compute_total = add(summary.compute_total, op.duration);
    const Duration end = add(start[i], op.duration);
    summary.critical_path = std::max(summary.critical_path, end);
    for (const OpId next : dag.successors(OpId(i))) start[next.index()] = std::max(start[next.index()], end);
  }
  summary.edges = dag.edge_count();
  summary.streams = static_cast<std::uint32_t>(streams.size());
  summary.memory_bytes = dag.memory_bytes();
  return summary;
}

/// Input of an all_to_all_v over all ranks of a role, whose sizes depend on their positions.
class SplitInputs {
 public:
  explicit SplitInputs(const Workload& workload) : workload_(workload) {}

  std::int64_t of(std::size_t role, const Op& op) {
    const auto [found, is_new] = known_.try_emplace({role, op.communicator, op.splits}, 0);
    if (!is_new) return found->second;
    for (std::uint32_t rank = 0; rank < workload_.rank_count; ++rank) {
      if (workload_.role_of[rank] != role) continue;
      const std::uint32_t position = workload_.communicators[op.communicator].position_of(RankId(rank));
      found->second = saturating_add(found->second, workload_.splits[op.splits].row_sum(position).count());
    }
    return found->second;
  }

 private:
  const Workload& workload_;
  std::map<std::tuple<std::size_t, std::uint16_t, std::uint32_t>, std::int64_t> known_;
};

/// "12345678" -> "12,345,678".
std::string grouped(std::uint64_t value) {
  std::string digits = fmt::format("{}", value);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string rounded(double value, const char* unit) {
  std::ostringstream out;
  out << std::setprecision(4) << value << unit;
  return out.str();
}

/// Four digits are enough to look at.
std::string readable(Duration value) {
  const double seconds = value.in_s();
  if (seconds >= 1) return rounded(seconds, "s");
  if (seconds >= 1e-3) return rounded(seconds * 1e3, "ms");
  return rounded(seconds * 1e6, "us");
}

std::string readable(Bytes value) {
  const auto count = static_cast<double>(value.count());
  if (count >= 1e12) return rounded(count / 1e12, "TB");
  if (count >= 1e9) return rounded(count / 1e9, "GB");
  if (count >= 1e6) return rounded(count / 1e6, "MB");
  if (count >= 1e3) return rounded(count / 1e3, "kB");
  return rounded(count, "B");
}

}  // namespace

WorkloadSummary summarise(const Workload& workload) {
  WorkloadSummary summary;
  summary.name = workload.name;
  summary.ranks = workload.rank_count;
  summary.assumptions = workload.assumptions;
  std::vector<std::uint32_t> players(workload.roles.size(), 0);
  for (const std::uint16_t role : workload.role_of) ++players[role];
  std::map<std::tuple<std::uint16_t, std::string, std::uint8_t>, CommunicationSummary> communication;
  SplitInputs split_inputs(workload);
  for (std::size_t r = 0; r < workload.roles.size(); ++r) {
    const RoleDag& dag = workload.roles[r];
    RoleSummary& role = summary.roles.emplace_back(summarise_role(dag));
    role.name = workload.role_names[r];
    role.ranks = players[r];
    summary.memory_bytes += role.memory_bytes;
    summary.ops += std::uint64_t{dag.size()} * players[r];
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      if (dag.kind(OpId(i)) == OpKind::compute || dag.kind(OpId(i)) == OpKind::receive) continue;
      const Op op = dag.op(OpId(i));
      const std::string type(op.kind == OpKind::send ? to_text(op.kind) : to_text(op.collective));
      CommunicationSummary& row = communication[{op.communicator, type, op.priority}];
      row.ops += players[r];
      const bool has_table = op.kind == OpKind::collective && op.collective == CollectiveType::all_to_all_v;
      const std::int64_t input = has_table ? split_inputs.of(r, op) : saturating_multiply(op.bytes.count(), players[r]);
      row.bytes = Bytes::of(saturating_add(row.bytes.count(), input));
    }
  }
  for (auto& [key, row] : communication) {
    const auto& [communicator_number, type, priority] = key;
    const Communicator& communicator = workload.communicators[communicator_number];
    row.communicator = communicator.name();
    row.type = type;
    row.priority = priority;
    row.group_size_min = UINT32_MAX;
    for (std::uint32_t g = 0; g < communicator.group_count(); ++g) {
      const auto size = static_cast<std::uint32_t>(communicator.ranks(GroupId(g)).size());
      row.group_size_min = std::min(row.group_size_min, size);
      row.group_size_max = std::max(row.group_size_max, size);
    }
    summary.communication.push_back(std::move(row));
  }
  return summary;
}

std::string to_text(const WorkloadSummary& summary) {
  std::ostringstream out;
  out << "workload  " << (summary.name.empty() ? "(no name)" : summary.name) << "\n"
      << "ranks     " << grouped(summary.ranks) << " in " << summary.roles.size()
      << (summary.roles.size() == 1 ? " role, " : " roles, ") << grouped(summary.ops) << " ops in total, "
      << readable(Bytes::of(static_cast<std::int64_t>(summary.memory_bytes))) << " of memory\n";
  constexpr std::size_t roles_shown = 20;
  for (std::size_t r = 0; r < std::min(roles_shown, summary.roles.size()); ++r) {
    const RoleSummary& role = summary.roles[r];
    out << "role      " << role.name << ": " << grouped(role.ranks) << (role.ranks == 1 ? " rank, " : " ranks, ")
        << grouped(role.ops_by_kind[0]) << " compute, " << grouped(role.ops_by_kind[1]) << " collectives, "
        << grouped(role.ops_by_kind[2]) << " sends, " << grouped(role.ops_by_kind[3]) << " receives, " << grouped(role.edges)
        << " edges, " << role.streams << " streams\n"
        << "          computes " << readable(role.compute_total) << " in total, critical path without communication "
        << readable(role.critical_path) << "\n";
  }
  if (summary.roles.size() > roles_shown) out << "          and " << summary.roles.size() - roles_shown << " more roles\n";
  for (const CommunicationSummary& row : summary.communication) {
    out << "traffic   " << row.type << " in " << row.communicator << " (groups of " << row.group_size_min;
    if (row.group_size_max != row.group_size_min) out << "-" << row.group_size_max;
    out << ")";
    if (row.priority > 0) out << " at priority " << int{row.priority};
    out << ": " << grouped(row.ops) << " ops, " << readable(row.bytes) << " of input over all ranks\n";
  }
  for (const std::string& assumption : summary.assumptions) out << "assumed   " << assumption << "\n";
  return out.str();
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/dag_writer.hpp"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "workloads/dag/rank_list.hpp"
#include "workloads/dag/workload_frame.hpp"

namespace weft {

namespace {

namespace pb = workload_file;

constexpr std::uint32_t ops_per_piece = 1U << 16;

/// Edges of a role by the op that waits, without those that its stream implies.
struct Dependencies {
  std::vector<std::uint64_t> begin;
  std::vector<std::uint32_t> on;

  explicit Dependencies(const RoleDag& dag) {
    std::vector<std::uint32_t> last_in_stream(std::size_t{UINT16_MAX} + 1, UINT32_MAX);
    std::vector<std::uint32_t> before_in_stream(dag.size(), UINT32_MAX);
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      const std::uint16_t stream = dag.op(OpId(i)).stream;
      if (stream == 0) continue;
      before_in_stream[i] = last_in_stream[stream];
      last_in_stream[stream] = i;
    }
    begin.assign(std::size_t{dag.size()} + 1, 0);
    const auto for_each_edge = [&](const auto& visit) {
      for (std::uint32_t from = 0; from < dag.size(); ++from) {
        for (const OpId to : dag.successors(OpId(from))) {
          if (before_in_stream[to.index()] != from) visit(from, to.index());
        }
      }
    };
    for_each_edge([this](std::uint32_t, std::uint32_t to) { ++begin[to + 1]; });
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    on.resize(begin.back());
    std::vector<std::uint64_t> next(begin.begin(), begin.end() - 1);
    for_each_edge([this, &next](std::uint32_t from, std::uint32_t to) { on[next[to]++] = from; });
  }

  std::span<const std::uint32_t> of(std::uint32_t op) const {
    return {on.data() + begin[op], static_cast<std::size_t>(begin[op + 1] - begin[op])};
  }
};

pb::Workload frame_of(const Workload& workload) {
  pb::Workload file;
  file.set_name(workload.name);
  file.set_ranks(workload.rank_count);
  for (std::size_t c = 1; c < workload.communicators.size(); ++c) {
    const Communicator& communicator = workload.communicators[c];
    pb::Communicator& out = *file.add_communicator();
    out.set_name(communicator.name());
    for (std::uint32_t g = 0; g < communicator.group_count(); ++g)
      out.add_group()->set_ranks(to_text(communicator.ranks(GroupId(g))));
  }
  for (const SplitTable& table : workload.splits) {
    pb::SplitTable& out = *file.add_splits();
    out.set_name(table.name());
    for (std::uint32_t from = 0; from < table.positions(); ++from) {
      pb::SplitRow& row = *out.add_row();
      for (std::uint32_t to = 0; to < table.positions(); ++to) row.add_size(to_text(table.at(from, to)));
    }
  }
  for (std::size_t r = 0; r < workload.roles.size(); ++r) {
    pb::Role& role = *file.add_role();
    role.set_name(workload.role_names[r]);
    std::vector<RankId> ranks;
    for (std::uint32_t rank = 0; rank < workload.rank_count; ++rank) {
      if (workload.role_of[rank] == r) ranks.emplace_back(rank);
    }
    role.set_ranks(to_text(std::span<const RankId>(ranks)));
  }
  return file;
}

std::vector<std::string> unique_names(const RoleDag& dag) {
  std::unordered_set<std::string> taken;
  std::vector<std::string> names(dag.size());
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    std::string name(dag.name(OpId(i)));
    if (!name.empty() && taken.insert(name).second) names[i] = std::move(name);
  }
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    if (!names[i].empty()) continue;
    std::string name = "op" + fmt::to_string(i);
    while (!taken.insert(name).second) name += "_";
    names[i] = std::move(name);
  }
  return names;
}

void describe(const Op& op, const Workload& workload, pb::Op& out) {
  const std::string communicator = op.communicator == 0 ? std::string() : workload.communicators[op.communicator].name();
  const auto point_to_point = [&](pb::PointToPoint& side) {
    side.set_communicator(communicator);
    if (op.addressing == PeerAddressing::relative) {
      side.set_peer_offset(op.peer);
    } else {
      side.set_peer(static_cast<std::uint32_t>(op.peer));
    }
    side.set_tag(op.tag);
    side.set_size(to_text(op.bytes));
    if (op.priority > 0) side.set_priority(op.priority);
  };
  out.set_stream(op.stream);
  switch (op.kind) {
    case OpKind::compute:
      out.mutable_compute()->set_duration(to_text(op.duration));
      out.mutable_compute()->set_cpu(op.processor == Processor::cpu);
      break;
    case OpKind::collective:
      out.mutable_collective()->set_type(to_file(op.collective));
      out.mutable_collective()->set_communicator(communicator);
      if (op.collective == CollectiveType::all_to_all_v) {
        out.mutable_collective()->set_splits(workload.splits[op.splits].name());
      } else if (op.collective != CollectiveType::barrier) {
        out.mutable_collective()->set_size(to_text(op.bytes));
      }
      out.mutable_collective()->set_root(static_cast<std::uint32_t>(op.peer));
      if (op.priority > 0) out.mutable_collective()->set_priority(op.priority);
      break;
    case OpKind::send:
      point_to_point(*out.mutable_send());
      break;
    case OpKind::receive:
      point_to_point(*out.mutable_receive());
      break;
  }
}

/// Arrays that hold nothing but zeros are left out.
template <class Array>
void drop_zeros(Array& array) {
  if (std::all_of(array.begin(), array.end(), [](auto value) { return value == 0; })) array.Clear();
}

void append_field(pb::Workload& field, const std::function<void(std::string_view)>& write) {
  write(field.SerializeAsString());
  field.Clear();
}

}  // namespace

std::string to_workload_text(const Workload& workload) {
  pb::Workload file = frame_of(workload);
  for (std::size_t r = 0; r < workload.roles.size(); ++r) {
    const RoleDag& dag = workload.roles[r];
    const Dependencies dependencies(dag);
    const std::vector<std::string> names = unique_names(dag);
    pb::Role& role = *file.mutable_role(static_cast<int>(r));
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      pb::Op& op = *role.add_op();
      op.set_name(names[i]);
      describe(dag.op(OpId(i)), workload, op);
      for (const std::uint32_t dependency : dependencies.of(i)) op.add_deps(names[dependency]);
    }
  }
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(file, &text);
  return text;
}

void write_workload_binary(const Workload& workload, const std::function<void(std::string_view)>& write) {
  pb::Workload file = frame_of(workload);
  for (std::size_t r = 0; r < workload.roles.size(); ++r) {
    const RoleDag& dag = workload.roles[r];
    file.mutable_role(static_cast<int>(r))->set_packed_op_count(dag.size());
    file.mutable_role(static_cast<int>(r))->set_packed_edge_count(Dependencies(dag).on.size());
  }
  append_field(file, write);
  for (std::size_t r = 0; r < workload.roles.size(); ++r) {
    const RoleDag& dag = workload.roles[r];
    const Dependencies dependencies(dag);
    for (std::uint32_t first = 0; first < dag.size(); first += std::min(ops_per_piece, dag.size() - first)) {
      pb::PackedOps& piece = *file.add_packed_ops();
      piece.set_role(static_cast<std::uint32_t>(r));
      const std::uint32_t end = first + std::min(ops_per_piece, dag.size() - first);
      piece.set_op_count(end - first);
      for (std::uint32_t i = first; i < end; ++i) {
        const Op op = dag.op(OpId(i));
        piece.add_kind(static_cast<std::uint32_t>(op.kind));
        piece.add_collective(op.kind == OpKind::collective ? static_cast<std::uint32_t>(to_file(op.collective)) : 0);
        piece.add_relative(op.addressing == PeerAddressing::relative ? 1 : 0);
        piece.add_communicator(op.communicator);
        piece.add_stream(op.stream);
        piece.add_peer(op.peer);
        piece.add_tag(op.tag);
        piece.add_amount(static_cast<std::uint64_t>(op.kind == OpKind::compute ? op.duration.in_ticks() : op.bytes.count()));
        piece.add_dependency_count(static_cast<std::uint32_t>(dependencies.of(i).size()));
        for (const std::uint32_t dependency : dependencies.of(i)) piece.add_distance(i - dependency);
        piece.add_splits(op.splits);
        piece.add_priority(op.priority);
        piece.add_cpu(op.processor == Processor::cpu ? 1 : 0);
        piece.add_name_length(static_cast<std::uint32_t>(dag.name(OpId(i)).size()));
        piece.mutable_names()->append(dag.name(OpId(i)));
      }
      drop_zeros(*piece.mutable_collective());
      drop_zeros(*piece.mutable_relative());
      drop_zeros(*piece.mutable_communicator());
      drop_zeros(*piece.mutable_stream());
      drop_zeros(*piece.mutable_peer());
      drop_zeros(*piece.mutable_tag());
      drop_zeros(*piece.mutable_amount());
      drop_zeros(*piece.mutable_dependency_count());
      drop_zeros(*piece.mutable_cpu());
      drop_zeros(*piece.mutable_splits());
      drop_zeros(*piece.mutable_priority());
      drop_zeros(*piece.mutable_name_length());
      append_field(file, write);
    }
  }
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/role_script.hpp"

#include <utility>

namespace weft {

namespace {

constexpr std::uint16_t compute_stream = 1;

}  // namespace

std::uint32_t RoleScript::add(const Op& op, std::string_view name, const After& after) {
  const std::uint32_t id = builder_.add(op, name);
  for (const std::uint32_t before : after) builder_.depend(id, before);
  return id;
}

std::uint32_t RoleScript::compute(std::string_view name, Duration duration, const After& after) {
  Op op;
  op.duration = duration;
  op.stream = compute_stream;
  return add(op, name, after);
}

std::uint32_t RoleScript::unordered_compute(std::string_view name, Duration duration, const After& after) {
  Op op;
  op.duration = duration;
  return add(op, name, after);
}

std::uint32_t RoleScript::collective(std::string_view name, CollectiveType type, std::uint16_t communicator, Bytes bytes,
                                     const After& after) {
  Op op;
  op.kind = OpKind::collective;
  op.collective = type;
  op.communicator = communicator;
  op.stream = stream_of(communicator);
  op.bytes = bytes;
  return add(op, name, after);
}

std::uint16_t RoleScript::stream_of(std::uint16_t communicator) {
  return static_cast<std::uint16_t>(compute_stream + 1 + communicator);
}

RoleDag RoleScript::finish() { return std::move(std::move(builder_).finish().dag); }

Workload start_workload(std::string_view name, std::uint32_t ranks) {
  Workload workload;
  workload.name = name;
  workload.rank_count = ranks;
  workload.communicators.push_back(Communicator::world(ranks));
  return workload;
}

void add_role_of_all(Workload& workload, RoleDag dag) {
  workload.roles.push_back(std::move(dag));
  workload.role_names.emplace_back("all");
  workload.role_of.assign(workload.rank_count, 0);
}

}  // namespace weft

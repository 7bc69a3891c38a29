// SPDX-License-Identifier: Apache-2.0
// Flow fabric, operations in switches: members join, one flow moves for all of them, and each has
// its result.
#include <algorithm>
#include <optional>

#include "core/check.hpp"
#include "core/containers/free_slots.hpp"
#include "network/flow/flow_fabric.hpp"
#include "network/flow/flow_tape.hpp"

namespace weft {

void FlowFabric::join(const Transfer& transfer, Time now, EventContext& context) {
  WEFT_CHECK(operations_ != nullptr, "operations in switches are registered");
  WEFT_CHECK(next_id_ < FlowId::none().index(), "transfers of a run are counted in 32 bits");
  const JointKey key(transfer.attempt, transfer.destination, transfer.tag);
  auto waiting = waiting_.find(key);
  if (waiting == waiting_.end()) {
    waiting = waiting_.emplace(key, take_slot(joint_, free_joint_)).first;
    JointOperation& added = joint_[waiting->second];
    added.operation = &operations_->at(transfer.destination);
    added.attempt = transfer.attempt;
    added.members.assign(added.operation->members.size(), {});
    added.joined = 0;
  }
  const std::uint32_t slot = waiting->second;
  JointOperation& joint = joint_[slot];
  JointOperation::Joined& member = joint.members[joint.operation->member_at(transfer.source)];
  WEFT_CHECK(member.id.is_none(), "a member joins an operation once");
  member = {transfer, FlowId(next_id_++), now};
  ++started_;
  if (tape_ != nullptr) {
    const Time start = now - entry_latency(joint.operation->inside_host);
    tape_->on_joins(slot, joint.operation->member_at(transfer.source), joint.members.size(), transfer, member.id, start, now);
  }
  if (++joint.joined < joint.members.size()) return;
  waiting_.erase(waiting);
  begin_joint(slot, now, context);
}

void FlowFabric::begin_joint(std::uint32_t slot, Time now, EventContext& context) {
  JointOperation& joint = joint_[slot];
  const SwitchOperation& operation = *joint.operation;
  Bytes operand;
  for (const JointOperation::Joined& member : joint.members) {
    const Bytes size = member.transfer.size;
    operand = operation.kind == SwitchOperationKind::all_gather ? operand + size : std::max(operand, size);
  }
  joint.begun = now;
  joint.moving_alone = Duration::zero();
  if (operand == Bytes::zero()) {
    finish_joint(slot, now, context);
    return;
  }
  FlowRequest request;
  request.path = operation.links;
  request.loads = operation.loads;
  request.wire_bytes = settings_.operation_wire_bytes(operand, operation.inside_host);
  if (settings_.priorities == Priorities::strict) {
    for (const JointOperation::Joined& member : joint.members) {
      request.priority = std::max(request.priority, static_cast<std::uint8_t>(member.transfer.priority));
    }
  }
  request.owner = FlowOwner::joint | slot;
  const FlowSlot flow = model_.start(request);
  note_flow(flow, Duration::zero(), 0);
  if (tape_ != nullptr) tape_->on_joint_starts(flow, slot, model_.policy().graph(), now);
  if (loads_) loads_->on_flow_starts(flow, true);
  if (congestion_ != nullptr) congestion_->on_flow_starts(flow, {joint.members.front().transfer.attempt});
  for (std::size_t hop = 0; hop < operation.links.size(); ++hop) {
    load_alone(operation.links[hop], request.wire_bytes.in_bits() * operation.loads[hop]);
  }
  joint.moving_alone = moving_time_alone(request.wire_bytes, request.cap_bps);
}

void FlowFabric::finish_joint(std::uint32_t slot, Time now, EventContext& context) {
  JointOperation& joint = joint_[slot];
  const SwitchOperation& operation = *joint.operation;
  for (std::size_t i = 0; i < joint.members.size(); ++i) {
    const JointOperation::Joined& member = joint.members[i];
    const std::optional<Duration> way = operation.members[i].result_delay;
    const Duration delay = way ? *way + last_latency(operation.inside_host) : settings_.completion_latency;
    ++finished_;
    payload_bytes_ += member.transfer.size;
    if (tape_ != nullptr)
      tape_->tell_of_joint(slot, i, (joint.begun - member.entered) + joint.moving_alone + delay, now, now + delay);
    context.send(host_entity(member.transfer.source), delay, transfer_delivered, member.transfer);
    if (tape_ != nullptr) tape_->stop_telling();
    if (observer_ == nullptr) continue;
    FinishedTransfer finished;
    finished.id = member.id;
    finished.transfer = member.transfer;
    finished.transfer.destination = operation.top;
    finished.start = member.entered - entry_latency(operation.inside_host);
    finished.end = now + delay;
    finished.ideal = (joint.begun - finished.start) + joint.moving_alone + delay;
    finished.inside_host = operation.inside_host;
    observer_->on_transfer_finished(finished);
  }
  joint.operation = nullptr;
  free_joint_.push_back(slot);
}

}  // namespace weft

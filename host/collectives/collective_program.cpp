// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/collective_program.hpp"

#include <algorithm>
#include <numeric>

#include "core/check.hpp"
#include "host/collectives/binary_tree.hpp"
#include "workloads/dag/split_tables.hpp"

namespace weft {

namespace {

/// floor(index * buffer / parts) without overflow.
std::int64_t part_start(Bytes buffer, std::uint32_t parts, std::uint32_t index) {
  const std::int64_t whole = buffer.count() / parts;
  const std::int64_t rest = buffer.count() % parts;
  return whole * index + rest * index / parts;
}

std::uint32_t in_parts(const PartIndex& part, const CollectivePlan& plan, std::uint32_t position) {
  if (part.kind == PartIndex::Kind::zero) return 0;
  const Subgroups& division = *plan.divisions[part.division];
  const std::uint32_t index = division.index_of(position);
  switch (part.kind) {
    case PartIndex::Kind::offset:
      return wrapped(std::int64_t{index} + part.operand, division.size_at(position)) * part.stride;
    case PartIndex::Kind::position:
      return division.member(position, wrapped(std::int64_t{index} + part.operand, division.size_at(position))) * part.stride;
    case PartIndex::Kind::own_block:
      return (index >> part.operand << part.operand) * part.stride;
    case PartIndex::Kind::other_block:
      return (((index >> part.operand) ^ 1U) << part.operand) * part.stride;
    case PartIndex::Kind::zero:
      break;
  }
  return 0;
}

}  // namespace

Bytes part_bytes(Bytes buffer, std::uint32_t parts, std::uint32_t index) {
  return Bytes::of(part_start(buffer, parts, index + 1) - part_start(buffer, parts, index));
}

std::span<const std::uint32_t> CollectiveProgram::successors(std::uint32_t index) const {
  return std::span(successors_).subspan(successors_begin_[index], successors_begin_[index + 1] - successors_begin_[index]);
}

std::uint32_t CollectiveProgramBuilder::add(const CollectiveStep& step) {
  program_.steps_.push_back(step);
  return program_.size() - 1;
}

std::span<const std::uint32_t> CollectiveProgram::sends_to(std::uint32_t remote_step) const {
  const auto remote_step_of = [this](std::uint32_t step) { return steps_[step].remote_step; };
  const auto first = std::ranges::lower_bound(sends_, remote_step, {}, remote_step_of);
  const auto last = std::ranges::upper_bound(sends_, remote_step, {}, remote_step_of);
  return {first, last};
}

void CollectiveProgramBuilder::after(std::uint32_t step, std::uint32_t earlier) {
  WEFT_CHECK(earlier < step && step < program_.size(), "a collective step waits for earlier steps only");
  edges_.emplace_back(earlier, step);
}

CollectiveProgram CollectiveProgramBuilder::build() && {
  program_.predecessor_counts_.assign(program_.size(), 0);
  program_.successors_begin_.assign(program_.size() + std::size_t{1}, 0);
  for (const auto& [earlier, step] : edges_) {
    ++program_.predecessor_counts_[step];
    ++program_.successors_begin_[earlier + 1];
  }
  for (std::size_t i = 1; i < program_.successors_begin_.size(); ++i) {
    program_.successors_begin_[i] += program_.successors_begin_[i - 1];
  }
  program_.successors_.resize(edges_.size());
  std::vector<std::uint32_t> next(program_.successors_begin_.begin(), program_.successors_begin_.end() - 1);
  for (const auto& [earlier, step] : edges_) program_.successors_[next[earlier]++] = step;
  for (std::uint32_t step = 0; step < program_.size(); ++step) {
    if (program_.step(step).kind == StepKind::send) program_.sends_.push_back(step);
    if (program_.predecessor_counts()[step] == 0) program_.first_steps_.push_back(step);
  }
  std::ranges::stable_sort(program_.sends_, {}, [&](std::uint32_t step) { return program_.step(step).remote_step; });
  return std::move(program_);
}

CollectivePlan::CollectivePlan(const CollectiveRequest& asked, std::uint32_t part_count, Bytes whole_buffer)
    : request(asked), parts(part_count), buffer(whole_buffer) {
  WEFT_CHECK(parts >= 1, "a collective's buffer has parts");
  divisions.push_back(std::make_shared<const Subgroups>(asked.ranks()));
}

std::uint8_t CollectivePlan::add_division(std::shared_ptr<const Subgroups> division) {
  WEFT_CHECK(division != nullptr && divisions.size() < UINT8_MAX, "a plan has few divisions");
  divisions.push_back(std::move(division));
  return static_cast<std::uint8_t>(divisions.size() - 1);
}

std::uint32_t CollectivePlan::program_size_max() const {
  std::uint32_t size = 0;
  for (const CollectiveProgram& program : programs) size = std::max(size, program.size());
  return size;
}

std::vector<std::uint32_t> CollectivePlan::members_of(const CollectiveStep& step, std::uint32_t position) const {
  const Subgroups& division = *divisions[step.peer.division];
  std::vector<std::uint32_t> members;
  for (std::uint32_t index = 0; index < division.size_at(position); ++index) members.push_back(division.member(position, index));
  return members;
}

std::uint32_t CollectivePlan::peer(const CollectiveStep& step, std::uint32_t position) const {
  const Subgroups& division = *divisions[step.peer.division];
  const std::uint32_t index = division.index_of(position);
  const std::uint32_t size = division.size_at(position);
  switch (step.peer.kind) {
    case PeerRule::Kind::offset:
      return division.member(position, wrapped(std::int64_t{index} + step.peer.operand, size));
    case PeerRule::Kind::exclusive_or:
      return division.member(position, index ^ static_cast<std::uint32_t>(step.peer.operand));
    case PeerRule::Kind::member:
      return division.member(position, static_cast<std::uint32_t>(step.peer.operand));
    case PeerRule::Kind::tree_parent:
      return division.member(position, in_binary_tree(index, size).parent);
    case PeerRule::Kind::tree_left:
      return division.member(position, in_binary_tree(index, size).left);
    case PeerRule::Kind::tree_right:
      return division.member(position, in_binary_tree(index, size).right);
  }
  return position;
}

PartSpan CollectivePlan::span(const CollectiveStep& step, std::uint32_t position) const {
  const PartRange& range = step.parts;
  PartSpan span;
  span.wrap_begin = range.base + in_parts(range.outer, *this, position);
  span.first = span.wrap_begin + in_parts(range.inner, *this, position);
  span.count = range.count;
  span.wrap_size = range.inner.kind == PartIndex::Kind::offset
                       ? divisions[range.inner.division]->size_at(position) * range.inner.stride
                       : span.first - span.wrap_begin + range.count;
  span.run = range.run;
  return span;
}

Bytes CollectivePlan::message_bytes(const CollectiveStep& step, std::uint32_t position) const {
  if (step.from_splits) {
    const std::uint32_t other = peer(step, position);
    return step.kind == StepKind::send ? request.splits->at(position, other) : request.splits->at(other, position);
  }
  if (step.kind == StepKind::in_network) {
    if (step.operation == SwitchOperationKind::broadcast && peer(step, position) != position) return Bytes::zero();
    if (step.operation == SwitchOperationKind::reduce_scatter) {
      if (buffer.count() % parts == 0) return parts_bytes(step, position) * divisions[step.peer.division]->size_at(position);
      Bytes sum;
      for (const std::uint32_t member : members_of(step, position)) sum += parts_bytes(step, member);
      return sum;
    }
  }
  return parts_bytes(step, position);
}

Bytes CollectivePlan::parts_bytes(const CollectiveStep& step, std::uint32_t position) const {
  if (buffer.count() % parts == 0) return Bytes::of(buffer.count() / parts * step.parts.count) * step.parts.blocks;
  const PartSpan parts_of_step = span(step, position);
  if (parts_of_step.run > 0) {
    Bytes sum;
    for (std::uint32_t i = 0; i < parts_of_step.count; i += parts_of_step.run) {
      sum += part_bytes(buffer, parts, parts_of_step.part(i)) * std::min(parts_of_step.run, parts_of_step.count - i);
    }
    return sum;
  }
  const std::uint32_t wrap_end = parts_of_step.wrap_begin + parts_of_step.wrap_size;
  const std::uint32_t end = parts_of_step.first + parts_of_step.count;
  const Bytes of_each_sender =
      end <= wrap_end ? bytes_of(parts_of_step.first, end)
                      : bytes_of(parts_of_step.first, wrap_end) + bytes_of(parts_of_step.wrap_begin, end - parts_of_step.wrap_size);
  return of_each_sender * step.parts.blocks;
}

bool CollectivePlan::is_inside(const CollectiveStep& step, std::uint32_t position) const {
  const GroupLayout& layout = *request.layout;
  if (step.kind == StepKind::in_network) {
    const std::vector<std::uint32_t> members = members_of(step, position);
    return std::all_of(members.begin(), members.end(),
                       [&](std::uint32_t member) { return layout.seat(member).host == layout.seat(position).host; });
  }
  return layout.seat(position).host == layout.seat(peer(step, position)).host;
}

Bytes CollectivePlan::moved_bytes(const CollectiveStep& step, std::uint32_t position) const {
  const bool differ = protocol.efficiency_inside != protocol.efficiency_network;
  return protocol.moved_bytes(message_bytes(step, position), differ && is_inside(step, position));
}

Duration CollectivePlan::hop_latency(const CollectiveStep& step, std::uint32_t position) const {
  const bool is_one = step.rounds == 1;
  if (is_one && protocol.hop_latency_inside == protocol.hop_latency_network) return protocol.hop_latency_inside;
  const bool inside = is_inside(step, position);
  const Duration hop = inside ? protocol.hop_latency_inside : protocol.hop_latency_network;
  if (is_one) return hop;
  const Duration message = Duration::from_us(inside ? empty_message_inside_us : empty_message_network_us);
  return hop * std::int64_t{step.rounds} + message * (std::int64_t{step.rounds} - 1);
}

Bytes CollectivePlan::bytes_of(std::uint32_t first, std::uint32_t end) const {
  if (pieces == 1) return Bytes::of(part_start(buffer, parts, end) - part_start(buffer, parts, first));
  const std::uint32_t shares = parts / pieces;
  const std::uint32_t piece = first / shares;
  const std::uint32_t before = piece * shares;
  // A share has `least` bytes or one more.
  const std::int64_t least = buffer.count() / shares;
  const std::int64_t all = part_start(buffer, shares, end - before) - part_start(buffer, shares, first - before);
  const std::int64_t larger = all - least * (end - first);
  return part_bytes(Bytes::of(least), pieces, piece) * (end - first - larger) +
         part_bytes(Bytes::of(least + 1), pieces, piece) * larger;
}

bool CollectivePlan::sizes_are_equal() const { return request.splits == nullptr && buffer.count() % (parts / pieces) == 0; }

std::uint32_t CollectivePlan::size_period() const {
  const std::uint32_t shares = parts / pieces;
  return shares / static_cast<std::uint32_t>(std::gcd(buffer.count() % shares, std::int64_t{shares}));
}

}  // namespace weft

#include "host/collectives/collective.hpp"

#include <array>

#include "core/check.hpp"
#include "host/collectives/direct.hpp"
#include "host/collectives/ring.hpp"

namespace weft {

namespace {

/// floor(index * buffer / parts) without overflow.
std::int64_t part_start(Bytes buffer, std::uint32_t parts, std::uint32_t index) {
  const std::int64_t whole = buffer.count() / parts;
  const std::int64_t rest = buffer.count() % parts;
  return whole * index + rest * index / parts;
}

}  // namespace

Bytes part_bytes(Bytes buffer, std::uint32_t parts, std::uint32_t index) {
  return Bytes::of(part_start(buffer, parts, index + 1) - part_start(buffer, parts, index));
}

std::span<const std::uint32_t> CollectiveProgram::successors(std::uint32_t index) const {
  return std::span(successors_).subspan(successors_begin_[index], successors_begin_[index + 1] - successors_begin_[index]);
}

std::uint32_t CollectiveProgram::peer(std::uint32_t index, std::uint32_t position) const {
  const std::int64_t shifted = (static_cast<std::int64_t>(position) + steps_[index].peer_offset) % ranks_;
  return static_cast<std::uint32_t>(shifted < 0 ? shifted + ranks_ : shifted);
}

Bytes CollectiveProgram::message_bytes(std::uint32_t index, std::uint32_t position) const {
  const CollectiveStep& step = steps_[index];
  const std::uint64_t base = step.absolute_parts ? 0 : position;
  const auto first = static_cast<std::uint32_t>((base + step.part_begin) % parts_);
  const std::uint64_t end = std::uint64_t{first} + step.part_count;
  if (end <= parts_) {
    return Bytes::of(part_start(buffer_, parts_, static_cast<std::uint32_t>(end)) - part_start(buffer_, parts_, first));
  }
  const auto wrapped = static_cast<std::uint32_t>(end - parts_);
  return Bytes::of(buffer_.count() - part_start(buffer_, parts_, first) + part_start(buffer_, parts_, wrapped));
}

CollectiveProgramBuilder::CollectiveProgramBuilder(std::uint32_t ranks, std::uint32_t parts, Bytes buffer) {
  WEFT_CHECK(ranks >= 1 && parts >= 1, "a collective program has ranks and parts");
  program_.ranks_ = ranks;
  program_.parts_ = parts;
  program_.buffer_ = buffer;
}

std::uint32_t CollectiveProgramBuilder::add(const CollectiveStep& step) {
  program_.steps_.push_back(step);
  return program_.size() - 1;
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
  return std::move(program_);
}

std::span<const Module<CollectiveAlgorithmFactory>> collective_algorithms() {
  static const std::array<Module<CollectiveAlgorithmFactory>, 2> modules = {ring_algorithm(), direct_algorithm()};
  return modules;
}

}  // namespace weft

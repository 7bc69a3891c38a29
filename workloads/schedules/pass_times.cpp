// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/pass_times.hpp"

#include <algorithm>

namespace weft {

PassTimes::PassTimes(const PipelineSizes& sizes, ChunkPlacement placement)
    : PassTimes(sizes, placement,
                std::vector<PositionTimes>(static_cast<std::size_t>(sizes.stages) * sizes.chunks,
                                           {.forward_transfer = sizes.transfer, .backward_transfer = sizes.transfer})) {}

PassTimes::PassTimes(const PipelineSizes& sizes, ChunkPlacement placement, std::span<const PositionTimes> positions)
    : sizes_(sizes),
      placement_(placement),
      transfers_forward_(positions.size()),
      transfers_backward_(positions.size()),
      forward_(positions.size() * sizes.microbatches, Time::max()),
      backward_(forward_) {
  const auto device = [&](std::size_t position) { return place_of(sizes, placement, static_cast<std::uint32_t>(position)).device; };
  for (std::size_t i = 0; i + 1 < positions.size(); ++i) {
    if (device(i) == device(i + 1)) continue;
    transfers_forward_[i] = positions[i].forward_transfer;
    transfers_backward_[i + 1] = positions[i + 1].backward_transfer;
  }
}

std::optional<Time> PassTimes::end_of(const std::vector<Time>& ends, std::uint32_t position, std::uint32_t microbatch) const {
  const Time end = ends[index(position, microbatch)];
  return end == Time::max() ? std::nullopt : std::optional(end);
}

std::optional<Time> PassTimes::ready(std::uint32_t device, const PipelinePass& pass) const {
  const std::uint32_t position = position_of(sizes_, placement_, device, pass.chunk);
  if (pass.kind == PassKind::forward) {
    if (position == 0) return Time::zero();
    const std::optional<Time> sent = end_of(forward_, position - 1, pass.microbatch);
    return sent ? std::optional(*sent + transfers_forward_[position - 1]) : std::nullopt;
  }
  if (pass.kind == PassKind::backward_weight) return end_of(backward_, position, pass.microbatch);
  const std::optional<Time> own = end_of(forward_, position, pass.microbatch);
  if (position + 1 == sizes_.stages * sizes_.chunks) return own;
  const std::optional<Time> sent = end_of(backward_, position + 1, pass.microbatch);
  if (!own || !sent) return std::nullopt;
  return std::max(*own, *sent + transfers_backward_[position + 1]);
}

Duration PassTimes::transfer_after(std::uint32_t device, const PipelinePass& pass) const {
  if (pass.kind == PassKind::backward_weight) return Duration::zero();
  const std::uint32_t position = position_of(sizes_, placement_, device, pass.chunk);
  return (pass.kind == PassKind::forward ? transfers_forward_ : transfers_backward_)[position];
}

void PassTimes::set_end(std::uint32_t device, const PipelinePass& pass, Time end) {
  const std::uint32_t position = position_of(sizes_, placement_, device, pass.chunk);
  if (pass.kind == PassKind::backward_weight) return;
  (pass.kind == PassKind::forward ? forward_ : backward_)[index(position, pass.microbatch)] = end;
}

}  // namespace weft

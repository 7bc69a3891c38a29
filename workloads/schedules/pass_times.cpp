// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/pass_times.hpp"

#include <algorithm>

namespace weft {

PassTimes::PassTimes(const PipelineSizes& sizes, ChunkPlacement placement)
    : sizes_(sizes),
      placement_(placement),
      forward_(static_cast<std::size_t>(sizes.stages) * sizes.chunks * sizes.microbatches, Time::max()),
      backward_(forward_) {}

std::optional<Time> PassTimes::arrival(const std::vector<Time>& ends, std::uint32_t from, std::uint32_t to,
                                       std::uint32_t microbatch) const {
  const Time end = ends[index(from, microbatch)];
  if (end == Time::max()) return std::nullopt;
  const bool is_sent = place_of(sizes_, placement_, from).device != place_of(sizes_, placement_, to).device;
  return is_sent ? end + sizes_.transfer : end;
}

std::optional<Time> PassTimes::ready(std::uint32_t device, const PipelinePass& pass) const {
  const std::uint32_t position = position_of(sizes_, placement_, device, pass.chunk);
  if (pass.kind == PassKind::forward)
    return position == 0 ? Time::zero() : arrival(forward_, position - 1, position, pass.microbatch);
  if (pass.kind == PassKind::backward_weight) return arrival(backward_, position, position, pass.microbatch);
  const std::optional<Time> own = arrival(forward_, position, position, pass.microbatch);
  if (position + 1 == sizes_.stages * sizes_.chunks) return own;
  const std::optional<Time> gradient = arrival(backward_, position + 1, position, pass.microbatch);
  if (!own || !gradient) return std::nullopt;
  return std::max(*own, *gradient);
}

void PassTimes::set_end(std::uint32_t device, const PipelinePass& pass, Time end) {
  const std::uint32_t position = position_of(sizes_, placement_, device, pass.chunk);
  if (pass.kind == PassKind::backward_weight) return;
  (pass.kind == PassKind::forward ? forward_ : backward_)[index(position, pass.microbatch)] = end;
}

}  // namespace weft

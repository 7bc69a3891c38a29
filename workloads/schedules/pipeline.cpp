// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/pipeline.hpp"

#include "core/check.hpp"

namespace weft {

namespace {

/// The part of `whole` that belongs to one of `chunks`.
Duration chunk_share(Duration whole, std::uint32_t chunks, std::uint32_t chunk) {
  return scaled(whole, chunk + 1, chunks) - scaled(whole, chunk, chunks);
}

}  // namespace

std::string_view to_text(PassKind kind) {
  switch (kind) {
    case PassKind::forward:
      return "F";
    case PassKind::backward_input:
      return "B";
    case PassKind::backward_weight:
      return "W";
    case PassKind::backward:
      return "BW";
  }
  return "";
}

std::uint32_t position_of(const PipelineSizes& sizes, ChunkPlacement placement, std::uint32_t device, std::uint32_t chunk) {
  if (placement == ChunkPlacement::loop) return chunk * sizes.stages + device;
  WEFT_CHECK(sizes.chunks == 2, "a V has two chunks per device");
  return chunk == 0 ? device : 2 * sizes.stages - 1 - device;
}

ChunkPlace place_of(const PipelineSizes& sizes, ChunkPlacement placement, std::uint32_t position) {
  const std::uint32_t chunk = position / sizes.stages;
  const std::uint32_t within = position % sizes.stages;
  if (placement == ChunkPlacement::v_shape && chunk == 1) return {sizes.stages - 1 - within, chunk};
  return {within, chunk};
}

Duration pass_duration(const PipelineSizes& sizes, PassKind kind, std::uint32_t chunk) {
  switch (kind) {
    case PassKind::forward:
      return chunk_share(sizes.forward, sizes.chunks, chunk);
    case PassKind::backward_input:
      return chunk_share(sizes.backward_input, sizes.chunks, chunk);
    case PassKind::backward_weight:
      return chunk_share(sizes.backward_weight, sizes.chunks, chunk);
    case PassKind::backward:
      return pass_duration(sizes, PassKind::backward_input, chunk) + pass_duration(sizes, PassKind::backward_weight, chunk);
  }
  return {};
}

Duration device_work(const PipelineSizes& sizes) {
  return (sizes.forward + sizes.backward_input + sizes.backward_weight) * sizes.microbatches;
}

Duration PositionTimes::of(PassKind kind) const {
  switch (kind) {
    case PassKind::forward:
      return forward;
    case PassKind::backward_input:
      return backward_input;
    case PassKind::backward_weight:
      return backward_weight;
    case PassKind::backward:
      return backward;
  }
  return {};
}

}  // namespace weft

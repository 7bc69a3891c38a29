// SPDX-License-Identifier: Apache-2.0
// Pass times: ends of the passes that are known so far, when others can start by them, and the
// activations that a device holds.
//
// Where it sits: what execute() and weight filling have in common. The equations of
// pipeline_execution.hpp are here only.
// Threads: an object is one user's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/values/units.hpp"
#include "workloads/schedules/pipeline.hpp"

namespace weft {

class PassTimes {
 public:
  PassTimes(const PipelineSizes& sizes, ChunkPlacement placement);
  /// With transfers of its own from each position, by position.
  PassTimes(const PipelineSizes& sizes, ChunkPlacement placement, std::span<const PositionTimes> positions);

  /// When everything that the pass needs is on its device; none while that is unknown.
  std::optional<Time> ready(std::uint32_t device, const PipelinePass& pass) const;
  /// How long what the pass made is under way to another device; 0 where it stays.
  Duration transfer_after(std::uint32_t device, const PipelinePass& pass) const;
  void set_end(std::uint32_t device, const PipelinePass& pass, Time end);

 private:
  std::size_t index(std::uint32_t position, std::uint32_t microbatch) const {
    return static_cast<std::size_t>(position) * sizes_.microbatches + microbatch;
  }
  /// None while it is unknown.
  std::optional<Time> end_of(const std::vector<Time>& ends, std::uint32_t position, std::uint32_t microbatch) const;

  PipelineSizes sizes_;
  ChunkPlacement placement_;
  /// From each position to the next, and to the one before; 0 on one device.
  std::vector<Duration> transfers_forward_;
  std::vector<Duration> transfers_backward_;
  std::vector<Time> forward_;   ///< ends, by position and microbatch; Time::max(): unknown
  std::vector<Time> backward_;  ///< of B or BW
};

/// Activations on one device, counted as passes are done.
class HeldActivations {
 public:
  void add(PassKind kind) {
    if (kind == PassKind::forward) ++before_backward_;
    if (kind == PassKind::backward || kind == PassKind::backward_input) --before_backward_;
    if (kind == PassKind::backward_input) ++for_weights_;
    if (kind == PassKind::backward_weight) --for_weights_;
  }
  /// In units of one microbatch in all chunks of a device.
  double in_microbatches(const PipelineSizes& sizes) const {
    return (static_cast<double>(before_backward_) + static_cast<double>(for_weights_) * sizes.weight_memory) / sizes.chunks;
  }
  /// Is there room for one more F below a limit in the same unit?
  bool has_room(const PipelineSizes& sizes, double limit) const {
    constexpr double rounding = 1e-9;
    return in_microbatches(sizes) + 1.0 / sizes.chunks <= limit + rounding;
  }

 private:
  std::int64_t before_backward_ = 0;  ///< microbatches of chunks
  std::int64_t for_weights_ = 0;
};

}  // namespace weft

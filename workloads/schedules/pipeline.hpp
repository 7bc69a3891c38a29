// SPDX-License-Identifier: Apache-2.0
// Pipeline: the common model of all pipeline schedules - devices, chunks of layers, passes and how
// long they take.
//
// Where it sits: a schedule (one file each in this folder) makes a PipelineOrder for a
// PipelineSizes; execute() (pipeline_execution.hpp) says when each pass runs.
//
// Model
//   p devices hold the layers of one model. Each holds v chunks of equal size; a microbatch passes
//   all p v chunks forward, in the order of their positions, and back. Placement says which chunk
//   is where:
//     loop     position = chunk * p + device   (Megatron-LM; v = 1 is the plain pipeline)
//     v_shape  positions go down the devices and back up: chunk 0 at `device`, chunk 1 at
//              2 p - 1 - device, so the first device also holds the last chunk (v = 2)
//   A pass is one kind of work for one microbatch in one chunk:
//     forward           F
//     backward_input    B   gradient of the chunk's input
//     backward_weight   W   gradient of its weights, any time after B
//     backward          BW  both in one; the gradient leaves at its end
//   F, B and W are given per device and shared out over its chunks, to the tick.
//   The activations of a microbatch are held from the start of F. After B the share that W needs,
//   weight_memory, is left, and after W or BW none.
// Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2: F, B and W, and
// memory: M_B before B, M_W after it, weight_memory = M_W / M_B.
// Threads: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/values/units.hpp"

namespace weft {

enum class ChunkPlacement : std::uint8_t { loop, v_shape };

enum class PassKind : std::uint8_t { forward, backward_input, backward_weight, backward };
inline constexpr std::array pass_kinds = {PassKind::forward, PassKind::backward_input, PassKind::backward_weight,
                                          PassKind::backward};

/// "F", "B", "W", "BW".
std::string_view to_text(PassKind kind);

/// What every schedule is made for. Durations are of one microbatch in all chunks of a device.
struct PipelineSizes {
  std::uint32_t stages = 0;  ///< devices, p
  std::uint32_t microbatches = 0;
  std::uint32_t chunks = 1;  ///< per device, v
  Duration forward = {};
  Duration backward_input = {};
  Duration backward_weight = {};
  Duration transfer = {};      ///< of activations or gradients from one device to the next
  double weight_memory = 1.0;  ///< share of the activations that is held from B to W

  friend bool operator==(const PipelineSizes&, const PipelineSizes&) = default;
};

/// Passes of one microbatch at one position, where positions differ: uneven layers, embedding and
/// output layer.
struct PositionTimes {
  Duration forward = {};
  Duration backward_input = {};
  Duration backward_weight = {};
  Duration backward = {};           ///< both in one
  Duration forward_transfer = {};   ///< to the next position, where another device has it
  Duration backward_transfer = {};  ///< to the position before

  Duration of(PassKind kind) const;

  friend bool operator==(const PositionTimes&, const PositionTimes&) = default;
};

struct PipelinePass {
  PassKind kind = PassKind::forward;
  std::uint32_t microbatch = 0;
  std::uint32_t chunk = 0;

  friend bool operator==(const PipelinePass&, const PipelinePass&) = default;
};

/// A schedule: which passes each device does, one after the other.
struct PipelineOrder {
  ChunkPlacement placement = ChunkPlacement::loop;
  std::vector<std::vector<PipelinePass>> devices;
};

/// Where in the model a chunk is, from 0. Requires: v_shape only with two chunks.
std::uint32_t position_of(const PipelineSizes& sizes, ChunkPlacement placement, std::uint32_t device, std::uint32_t chunk);

struct ChunkPlace {
  std::uint32_t device;
  std::uint32_t chunk;
};

/// Which chunk is there: the inverse of position_of().
ChunkPlace place_of(const PipelineSizes& sizes, ChunkPlacement placement, std::uint32_t position);

/// How long a pass of a chunk takes. Those of all chunks of a device add up exactly.
Duration pass_duration(const PipelineSizes& sizes, PassKind kind, std::uint32_t chunk);

/// What one device does for all microbatches: m (F + B + W).
Duration device_work(const PipelineSizes& sizes);

}  // namespace weft

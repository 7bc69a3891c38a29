// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/analytical_attention.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace weft {

namespace {

/// Heads are padded to a multiple of so many features: there are kernels for these widths only.
constexpr double width_step = 32;
/// Vector instructions per score beside the exponential. Forward: scaling and maximum, difference,
/// sum, conversion. Backward: the same without maximum and sum, then dP - D, times P, conversion.
constexpr double forward_instructions = 4;
constexpr double backward_instructions = 5;
/// Wider heads leave room for one block per multiprocessor only.
constexpr double wide_head = 128;
constexpr double sum_bytes = 4;  ///< of dQ while it is summed

/// Queries and keys of a step.
struct AttentionTile {
  double queries = 0;
  double keys = 0;
};

/// Fitted to a tenth of estimate-train-time's rows of A100 (bench/operator_times.cpp --fit).
constexpr AttentionKernel version_2_ampere = {
    .forward_products = 0.85, .backward_products = 0.62, .wide_products = 0.81, .serial = 0.41, .uneven = 0.89};
/// Likewise of GH200, whose matrix units need other instructions than this version has; backward
/// was not measured there, and is assumed to be to forward as on A100.
constexpr AttentionKernel version_2_hopper = {
    .forward_products = 0.5, .backward_products = 0.36, .wide_products = 0.82, .serial = 0.5, .uneven = 0.9};
/// From what its paper states for H100: forward up to 740 TFLOP/s, backward 1.5 to 1.75 times
/// version 2. The loss by padding is that of version 2.
constexpr AttentionKernel version_3 = {
    .forward_products = 0.97, .backward_products = 0.6, .wide_products = 1, .serial = 0.15, .uneven = 0.9};
/// From what its paper states for B200: forward up to 1,613 TFLOP/s, half of all exponentials by
/// polynomials on vector units. Backward is assumed to be that of version 3.
constexpr AttentionKernel version_4 = {
    .forward_products = 0.97, .backward_products = 0.6, .wide_products = 1, .exponentials = 2, .serial = 0.05, .uneven = 0.9};

/// Tiles of the kernels' own tables: the wider a head, the fewer keys fit.
AttentionTile forward_tile(double width) {
  if (width <= 64) return {128, 128};
  return {128, 64};
}
AttentionTile backward_tile(double width) {
  if (width <= 64) return {128, 128};
  if (width <= 128) return {64, 128};
  return {64, 64};
}

double padded(double value, double step) { return std::ceil(value / step) * step; }

/// Lengths of blocks in steps.
struct BlockLengths {
  double sum = 0;
  double most = 0;
};

/// `blocks` blocks, the i-th of which has first + i own elements of the other side, between none
/// and `most`, in steps of `step`: an arithmetic series between both bounds.
BlockLengths causal_lengths(double blocks, double first, double own, double most, double step) {
  const double idle = std::clamp(std::floor(-first / own), 0.0, blocks);
  const double full = std::clamp(blocks - std::ceil((most - first) / own) + 1.0, 0.0, blocks - idle);
  const double partial = blocks - idle - full;
  const double elements = partial * (first + own * (idle + (partial + 1.0) / 2.0)) + full * most;
  return {.sum = std::max(elements / step, blocks - idle), .most = std::ceil(most / step)};
}

/// Of one head. Causal queries and keys end together: queries that come before all keys are idle
/// in forward; in backward the last keys have the fewest queries.
BlockLengths block_lengths(const AttentionTile& tile, double queries, double keys, bool is_forward, bool is_causal) {
  const double blocks = is_forward ? std::ceil(queries / tile.queries) : std::ceil(keys / tile.keys);
  if (!is_causal) {
    const double steps = is_forward ? std::ceil(keys / tile.keys) : std::ceil(queries / tile.queries);
    return {.sum = blocks * steps, .most = steps};
  }
  if (is_forward) return causal_lengths(blocks, keys - blocks * tile.queries, tile.queries, keys, tile.keys);
  return causal_lengths(blocks, 0.0, tile.keys, std::min(queries, blocks * tile.keys), tile.queries);
}

struct StepTime {
  double products_s = 0;
  double softmax_s = 0;
  double l2_s = 0;

  double with(double serial) const {
    return std::max(std::max(products_s, softmax_s) + serial * std::min(products_s, softmax_s), l2_s);
  }
};

/// From the first block's start to the last one's end, as waves of equal blocks or, where they
/// differ, as a list that half of the longest block sticks out of.
double makespan_s(double blocks, const BlockLengths& lengths, double step_s, double tile_latency_s, double multiprocessors,
                  bool is_causal) {
  const double waves = std::ceil(blocks / multiprocessors);
  if (!is_causal) return waves * (lengths.most * step_s + tile_latency_s);
  const double longest_s = lengths.most * step_s;
  return std::max(longest_s, lengths.sum * step_s / multiprocessors + longest_s / 2.0) + waves * tile_latency_s;
}

}  // namespace

AttentionKernel attention_kernel(GpuGeneration generation, AttentionVersion version) {
  const bool is_hopper = generation == GpuGeneration::hopper;
  const bool is_blackwell = generation == GpuGeneration::blackwell;
  if (version == AttentionVersion::automatic) {
    version = is_blackwell ? AttentionVersion::flash_attention_4
              : is_hopper  ? AttentionVersion::flash_attention_3
                           : AttentionVersion::flash_attention_2;
  }
  switch (version) {
    case AttentionVersion::flash_attention_4:
      return version_4;
    case AttentionVersion::flash_attention_3:
      return version_3;
    case AttentionVersion::flash_attention_2:
    case AttentionVersion::automatic:
      break;
  }
  return is_hopper || is_blackwell ? version_2_hopper : version_2_ampere;
}

AttentionPlan plan_attention(const Gpu& gpu, MatrixType type, double element_bytes, const FusedAttention& shape, OperatorPass pass,
                             const AttentionKernel& kernel) {
  const std::optional<double> rate = gpu.product_rate(type);
  WEFT_CHECK(rate.has_value(), "the GPU has products of this type");
  WEFT_CHECK(pass == OperatorPass::forward || pass == OperatorPass::backward || pass == OperatorPass::backward_input,
             "attention has no gradient of weights");
  const bool is_forward = pass == OperatorPass::forward;
  const double multiprocessors = gpu.multiprocessors;
  const double key_width = padded(static_cast<double>(shape.key_width), width_step);
  const double value_width = padded(static_cast<double>(shape.value_width), width_step);
  const double widest = std::max(key_width, value_width);
  const double heads = static_cast<double>(shape.batch) * static_cast<double>(shape.query_heads);
  const double key_heads = static_cast<double>(shape.batch) * static_cast<double>(shape.key_value_heads);
  const auto queries = static_cast<double>(shape.query_length);
  const auto keys = static_cast<double>(shape.key_length);

  const AttentionTile tile = is_forward ? forward_tile(widest) : backward_tile(widest);
  const double scores = tile.queries * tile.keys;
  const double widths = is_forward ? key_width + value_width : 3.0 * key_width + 2.0 * value_width;
  const bool is_uneven = key_width > static_cast<double>(shape.key_width) || value_width > static_cast<double>(shape.value_width);
  const double product_share =
      (is_forward ? kernel.forward_products : kernel.backward_products) * (widest > wide_head ? kernel.wide_products : 1.0);
  const double clock_hz = gpu.matrix_clock_hz();
  const double lanes = gpu.vector_lanes();
  const double instructions = is_forward ? forward_instructions : backward_instructions;
  // What a step reads, and in backward adds to dQ, passes through L2.
  const double read_bytes = (is_forward ? tile.keys : tile.queries) * (key_width + value_width) * element_bytes;
  const double added_bytes = is_forward ? 0.0 : tile.queries * key_width * sum_bytes;
  const StepTime step{.products_s = 2.0 * scores * widths / (*rate * product_share / multiprocessors),
                      .softmax_s = scores * (1.0 / (gpu.exponentials * kernel.exponentials) + instructions / lanes) / clock_hz,
                      .l2_s = (read_bytes + added_bytes) * multiprocessors / gpu.l2_bytes_per_s()};

  AttentionPlan plan;
  BlockLengths lengths = block_lengths(tile, queries, keys, is_forward, shape.is_causal);
  lengths.sum *= heads;
  plan.blocks = heads * (is_forward ? std::ceil(queries / tile.queries) : std::ceil(keys / tile.keys));
  plan.steps = lengths.sum;

  const double query_bytes = queries * heads * element_bytes;
  const double key_bytes = keys * key_heads * element_bytes;
  const double memory_rate = gpu.memory_bytes_per_s();
  const double overhead_s = gpu.kernel_overhead.in_s();
  // Q and O, K and V once; in backward dO besides, and the gradients of all.
  double bytes = (query_bytes + key_bytes) * (key_width + value_width);
  if (!is_forward) {
    bytes = query_bytes * (key_width + value_width) + 2.0 * key_bytes * (key_width + value_width);
    const double before_bytes = query_bytes * 2.0 * value_width + queries * heads * key_width * sum_bytes;
    const double after_bytes = queries * heads * key_width * (sum_bytes + element_bytes);
    // Gradients of keys and values are made per query head, and then summed over those that share.
    const double shared_bytes =
        shape.query_heads > shape.key_value_heads ? keys * (heads + key_heads) * (key_width + value_width) * element_bytes : 0.0;
    plan.other_s = (before_bytes + after_bytes + shared_bytes) / memory_rate + (shared_bytes > 0.0 ? 3.0 : 2.0) * overhead_s;
  }
  const double blocks_s = makespan_s(plan.blocks, lengths, step.with(kernel.serial) / (is_uneven ? kernel.uneven : 1.0),
                                     gpu.tile_latency.in_s(), multiprocessors, shape.is_causal);
  plan.main_s = std::max(blocks_s, bytes / memory_rate);
  plan.time_s = overhead_s + plan.main_s + plan.other_s;
  return plan;
}

}  // namespace weft

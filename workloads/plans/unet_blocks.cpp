// SPDX-License-Identifier: Apache-2.0
// Blocks of U-Nets; model_blocks.hpp has their sizes.
#include <fmt/format.h>

#include "workloads/plans/block_sizes.hpp"
#include "workloads/plans/model_blocks.hpp"

namespace weft {

namespace {

class UNetWriter {
 public:
  UNetWriter(const UNetModel& model, const ParallelPlan& plan, const SourcePlace& place)
      : model_(model), sizes_(plan.precision, place), batch_(plan.microbatch) {}

  std::vector<ModelBlock> write() {
    for (std::uint64_t level = 0; level <= model_.levels; ++level) {
      add(encoder(level), level == 0 ? std::vector<std::uint32_t>() : std::vector<std::uint32_t>{last()});
    }
    for (std::uint64_t level = model_.levels; level-- > 0;) add(decoder(level), {last(), static_cast<std::uint32_t>(level)});
    return std::move(blocks_);
  }

 private:
  std::uint32_t last() const { return static_cast<std::uint32_t>(blocks_.size() - 1); }

  void add(ModelBlock block, std::vector<std::uint32_t> after) {
    block.after = std::move(after);
    blocks_.push_back(std::move(block));
  }

  std::uint64_t edge(std::uint64_t level) const { return model_.image >> level; }
  /// Points of all images of the microbatch.
  std::uint64_t points(std::uint64_t level) const { return sizes_.product({batch_, edge(level), edge(level)}); }

  void add_row_wise(ModelBlock& block, const char* name, RowOperator what, std::uint64_t level, std::uint64_t channels,
                    OperatorRole role) const {
    sizes_.product({points(level), channels});
    block.operators.push_back(sizes_.row_wise(name, what, points(level), channels, role));
  }

  void add_convolution(ModelBlock& block, const char* name, std::uint64_t level, std::uint64_t from, std::uint64_t to,
                       std::uint64_t kernel) const {
    block.operators.push_back(sizes_.make(name,
                                          Convolution{.batch = batch_,
                                                      .input_channels = from,
                                                      .output_channels = to,
                                                      .output_height = edge(level),
                                                      .output_width = edge(level),
                                                      .kernel = kernel},
                                          OperatorRole::product));
    sizes_.add(block.parameters, sizes_.product({kernel, kernel, from, to}));
  }

  /// A convolution of 3 x 3, its norm or bias, and the activation.
  void add_layer(ModelBlock& block, const char* name, std::uint64_t level, std::uint64_t from) const {
    constexpr std::uint64_t kernel = 3;
    const std::uint64_t own = model_.channels_of(level);
    add_convolution(block, name, level, from, own, kernel);
    // Under torch.amp batch norms keep the type of their input.
    if (model_.batch_norm) add_row_wise(block, "norm", RowOperator::batch_norm, level, own, OperatorRole::pass_through);
    sizes_.add(block.parameters, model_.batch_norm ? 2 * own : own);
    add_row_wise(block, "activation", RowOperator::activation, level, own, OperatorRole::pass_through);
  }

  ModelBlock encoder(std::uint64_t level) const {
    ModelBlock block{.name = fmt::format("encoder_{}", level)};
    const std::uint64_t from = level == 0 ? model_.channels : model_.channels_of(level - 1);
    if (level > 0) add_row_wise(block, "pool", RowOperator::pooling, level, from, OperatorRole::pass_through);
    add_layer(block, "convolution_0", level, from);
    add_layer(block, "convolution_1", level, model_.channels_of(level));
    return block;
  }

  ModelBlock decoder(std::uint64_t level) const {
    ModelBlock block{.name = fmt::format("decoder_{}", level)};
    const std::uint64_t own = model_.channels_of(level);
    constexpr std::uint64_t taps = 2 * 2;
    block.operators.push_back(sizes_.matmul("up", points(level + 1), sizes_.product({taps, own}), 2 * own, OperatorRole::product));
    sizes_.add(block.parameters, sizes_.product({taps, 2 * own, own}) + own);
    add_row_wise(block, "stack", RowOperator::permute, level, 2 * own, OperatorRole::pass_through);
    add_layer(block, "convolution_0", level, 2 * own);
    add_layer(block, "convolution_1", level, own);
    if (level > 0) return block;
    add_convolution(block, "head", level, own, model_.classes, 1);
    sizes_.add(block.parameters, model_.classes);
    add_row_wise(block, "loss", RowOperator::cross_entropy, level, model_.classes, OperatorRole::loss);
    return block;
  }

  const UNetModel& model_;
  BlockSizes sizes_;
  std::uint64_t batch_;
  std::vector<ModelBlock> blocks_;
};

}  // namespace

std::vector<ModelBlock> model_blocks(const UNetModel& model, const ParallelPlan& plan, const SourcePlace& place) {
  return UNetWriter(model, plan, place).write();
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/unet.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/templates/role_script.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

namespace {

constexpr std::string_view unet_origin = "U-Net (arXiv 1505.04597)";

struct UnetSettings {
  std::uint32_t ranks;
  std::uint32_t batch;
  std::uint32_t image;
  std::uint32_t in_channels;
  std::uint32_t classes;
  std::uint32_t base_channels;
  std::uint32_t levels;
  ElementType grad_dtype;
  Duration optimizer_time;
};

constexpr std::array unet_params = {
    param<&UnetSettings::ranks>({.name = "ranks",
                                 .default_text = "8",
                                 .minimum = "1",
                                 .maximum = "16777216",
                                 .meaning = "Data-parallel ranks.",
                                 .origin = "the GPUs of one server"}),
    param<&UnetSettings::batch>({.name = "batch",
                                 .default_text = "4",
                                 .minimum = "1",
                                 .maximum = "1048576",
                                 .meaning = "Images per rank.",
                                 .origin = "assumption: what a GPU's memory holds"}),
    param<&UnetSettings::image>({.name = "image",
                                 .default_text = "512",
                                 .minimum = "1",
                                 .maximum = "1048576",
                                 .meaning = "Points along an edge of the square image, a multiple of 2^levels.",
                                 .origin = "the paper's tiles of 572, rounded"}),
    param<&UnetSettings::in_channels>({.name = "in_channels",
                                       .default_text = "3",
                                       .minimum = "1",
                                       .maximum = "65536",
                                       .meaning = "Channels of the image.",
                                       .origin = "RGB"}),
    param<&UnetSettings::classes>({.name = "classes",
                                   .default_text = "2",
                                   .minimum = "1",
                                   .maximum = "65536",
                                   .meaning = "Channels of the result.",
                                   .origin = unet_origin}),
    param<&UnetSettings::base_channels>({.name = "base_channels",
                                         .default_text = "64",
                                         .minimum = "1",
                                         .maximum = "65536",
                                         .meaning = "Channels of the first level; each level doubles them.",
                                         .origin = unet_origin}),
    param<&UnetSettings::levels>({.name = "levels",
                                  .default_text = "4",
                                  .minimum = "1",
                                  .maximum = "12",
                                  .meaning = "Times that the resolution is halved.",
                                  .origin = unet_origin}),
    param_read<tensor_dtype, &UnetSettings::grad_dtype>({.name = "grad_dtype",
                                                         .default_text = "FP32",
                                                         .choices = tensor_dtypes,
                                                         .meaning = "Type in which gradients are reduced.",
                                                         .origin = "PyTorch's default"}),
    param<&TensorRate::tflops>({.name = "tflops",
                                .default_text = "100",
                                .minimum = "0.001",
                                .maximum = "1e9",
                                .meaning = tensor_rate_meaning,
                                .origin = "assumption: convolutions at a tenth of the dense BF16 peak of an H100"}),
    param<&UnetSettings::optimizer_time>({.name = "optimizer_time",
                                          .default_text = "1ms",
                                          .minimum = "0s",
                                          .meaning = "The optimizer's step.",
                                          .origin = "assumption: bound by memory"}),
};

struct Block {
  std::string name;
  double operations = 0;  ///< forward, per image
  std::uint64_t weights = 0;

  /// Adds a k x k convolution that makes `points` points.
  void convolve(std::uint64_t k, std::uint64_t in, std::uint64_t out, std::uint64_t points) {
    const std::uint64_t size = k * k * in * out;
    weights += size;
    operations += 2.0 * static_cast<double>(size) * static_cast<double>(points);
  }
};

class UnetBuilder {
 public:
  UnetBuilder(const TensorMath& math, const UnetSettings& settings) : math_(math), settings_(settings), levels_(settings.levels) {
    const std::uint64_t image = settings.image;
    const std::uint64_t base = settings.base_channels;
    math.require_divides("image", image, "2^levels", 1ULL << levels_);
    const auto channels = [base](std::uint32_t level) { return base << level; };
    const auto points = [image](std::uint32_t level) { return (image >> level) * (image >> level); };
    for (std::uint32_t level = 0; level <= levels_; ++level) {
      Block& block = encoder_.emplace_back();
      block.name = fmt::format("enc_{}", level);
      block.convolve(3, level == 0 ? settings.in_channels : channels(level - 1), channels(level), points(level));
      block.convolve(3, channels(level), channels(level), points(level));
    }
    for (std::uint32_t level = 0; level < levels_; ++level) {
      Block& block = decoder_.emplace_back();
      block.name = fmt::format("dec_{}", level);
      // The transposed convolution's four weights per pair of channels serve one of four points of
      // the result each.
      block.convolve(2, channels(level + 1), channels(level), points(level + 1));
      block.convolve(3, 2 * channels(level), channels(level), points(level));
      block.convolve(3, channels(level), channels(level), points(level));
      if (level == 0) block.convolve(1, channels(0), settings.classes, points(0));
    }
  }

  Workload build() {
    Workload workload = start_workload("unet", settings_.ranks);
    forward();
    backward();
    done_.push_back(last_);
    script_.compute("step", math_.checked(settings_.optimizer_time), done_);
    add_role_of_all(workload, script_.finish());
    workload.assumptions.push_back(math_.rate_note());
    return workload;
  }

 private:
  Duration forward_time(const Block& block) const { return math_.time(block.operations * settings_.batch); }

  void forward() {
    std::vector<std::uint32_t> skips;
    for (const Block& block : encoder_) {
      const RoleScript::After after = skips.empty() ? RoleScript::After() : RoleScript::After{skips.back()};
      skips.push_back(script_.compute(block.name, forward_time(block), after));
    }
    last_ = skips.back();
    for (std::uint32_t level = levels_; level-- > 0;) {
      last_ = script_.compute(decoder_[level].name, forward_time(decoder_[level]), {last_, skips[level]});
    }
  }

  /// Backward of a block, and the reduction of its gradients.
  std::uint32_t back(const Block& block, const RoleScript::After& after) {
    last_ = script_.compute(fmt::format("{}_bwd", block.name), math_.checked(forward_time(block) * 2), after);
    done_.push_back(script_.collective(fmt::format("reduce_{}", block.name), CollectiveType::all_reduce, 0,
                                       math_.bytes(block.weights, settings_.grad_dtype), {last_}));
    return last_;
  }

  void backward() {
    std::vector<std::uint32_t> skips;
    for (const Block& block : decoder_) skips.push_back(back(block, {last_}));
    back(encoder_[levels_], {last_});
    for (std::uint32_t level = levels_; level-- > 0;) back(encoder_[level], {last_, skips[level]});
  }

  const TensorMath& math_;
  const UnetSettings& settings_;
  std::uint32_t levels_;
  std::vector<Block> encoder_;
  std::vector<Block> decoder_;
  RoleScript script_;
  std::uint32_t last_ = 0;
  RoleScript::After done_;
};

Workload make_unet(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  const auto settings = filled<UnetSettings>(params);
  return UnetBuilder(math, settings).build();
}

}  // namespace

Module<WorkloadFactory> unet_module() {
  return {
      {"template", "unet",
       "A U-Net in data parallel: encoder, decoder and skip connections; every block's gradients are all-reduced as soon as they "
       "are there.",
       unet_params},
      make_unet};
}

}  // namespace weft

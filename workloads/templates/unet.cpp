// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/unet.hpp"

#include <array>
#include <variant>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/plans/block_workload.hpp"
#include "workloads/templates/rated_clock.hpp"
#include "workloads/templates/replica_plan.hpp"
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

Workload make_unet(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  const auto settings = filled<UnetSettings>(params);
  math.require_divides("image", settings.image, "2^levels", 1ULL << settings.levels);
  const UNetModel model{.image = settings.image,
                        .channels = settings.in_channels,
                        .base_channels = settings.base_channels,
                        .levels = settings.levels,
                        .classes = settings.classes};
  const ParallelPlan plan = replica_plan(settings.ranks, settings.batch, settings.grad_dtype);
  const OperatorClock clock = rated_clock(math, math.checked(settings.optimizer_time));
  Workload workload = make_training_workload("unet", model, plan, clock, place);
  workload.assumptions.push_back(math.rate_note());
  return workload;
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

// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/data_parallel.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/dag/role_script.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

namespace {

constexpr std::string_view resnet_origin = "ResNet-50 with a batch of 64 on a V100-class GPU, about 390 images per second";

struct DataParallelSettings {
  std::uint32_t ranks;
  std::uint64_t parameters;
  ElementType grad_dtype;
  std::uint32_t buckets;
  Duration forward_time;
  Duration backward_time;
  Duration optimizer_time;
};

constexpr std::array data_parallel_params = {
    param<&DataParallelSettings::ranks>({.name = "ranks",
                                         .default_text = "8",
                                         .minimum = "1",
                                         .maximum = "16777216",
                                         .meaning = "Data-parallel ranks.",
                                         .origin = "the GPUs of one server"}),
    param<&DataParallelSettings::parameters>({.name = "parameters",
                                              .default_text = "25557032",
                                              .minimum = "1",
                                              .maximum = "1000000000000000",
                                              .meaning = "Weights of the model.",
                                              .origin = "ResNet-50 in torchvision"}),
    param_read<tensor_dtype, &DataParallelSettings::grad_dtype>({.name = "grad_dtype",
                                                                 .default_text = "FP32",
                                                                 .choices = tensor_dtypes,
                                                                 .meaning = "Type in which gradients are reduced.",
                                                                 .origin = "PyTorch's default"}),
    param<&DataParallelSettings::buckets>({.name = "buckets",
                                           .default_text = "5",
                                           .minimum = "1",
                                           .maximum = "1000000",
                                           .meaning = "All-reduces per iteration; equal parts of the gradients.",
                                           .origin = "PyTorch's 25 MB buckets"}),
    param<&DataParallelSettings::forward_time>({.name = "forward_time",
                                                .default_text = "54ms",
                                                .minimum = "0s",
                                                .meaning = "Forward of an iteration.",
                                                .origin = resnet_origin}),
    param<&DataParallelSettings::backward_time>({.name = "backward_time",
                                                 .default_text = "108ms",
                                                 .minimum = "0s",
                                                 .meaning = "Backward of an iteration, spread evenly over the buckets.",
                                                 .origin = "twice the forward"}),
    param<&DataParallelSettings::optimizer_time>({.name = "optimizer_time",
                                                  .default_text = "2ms",
                                                  .minimum = "0s",
                                                  .meaning = "The optimizer's step.",
                                                  .origin = "assumption: bound by memory"}),
};

Workload make_data_parallel(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  const auto settings = filled<DataParallelSettings>(params);
  const std::uint32_t buckets = settings.buckets;
  const Duration backward = math.checked(settings.backward_time);
  Workload workload = start_workload("data_parallel", settings.ranks);
  RoleScript script;
  RoleScript::After last = {script.compute("forward", math.checked(settings.forward_time))};
  RoleScript::After reductions;
  // Differences of rounded sums, so that the parts add up to the whole.
  const auto part = [buckets](std::int64_t whole, std::uint32_t index) {
    const auto upto = [&](std::uint32_t parts) { return whole / buckets * parts + whole % buckets * parts / buckets; };
    return upto(index + 1) - upto(index);
  };
  for (std::uint32_t i = 0; i < buckets; ++i) {
    const std::string number = fmt::format("{}", buckets - 1 - i);
    last = {script.compute(fmt::format("backward.{}", number), Duration::ticks(part(backward.in_ticks(), i)), last)};
    const auto elements = static_cast<std::uint64_t>(part(static_cast<std::int64_t>(settings.parameters), i));
    reductions.push_back(script.collective(fmt::format("reduce.{}", number), CollectiveType::all_reduce, 0,
                                           math.bytes(elements, settings.grad_dtype), last));
  }
  last.insert(last.end(), reductions.begin(), reductions.end());
  script.compute("step", math.checked(settings.optimizer_time), last);
  add_role_of_all(workload, script.finish());
  return workload;
}

}  // namespace

Module<WorkloadFactory> data_parallel_module() {
  return {{"template", "data_parallel",
           "Every rank holds the whole model; gradients are all-reduced in buckets while backward goes on, as PyTorch's "
           "DistributedDataParallel does.",
           data_parallel_params},
          make_data_parallel};
}

}  // namespace weft

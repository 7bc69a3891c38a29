#include "workloads/templates/data_parallel.hpp"

#include <array>
#include <string>

#include "workloads/templates/role_script.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

namespace {

constexpr std::string_view resnet_origin = "ResNet-50 with a batch of 64 on a V100-class GPU, about 390 images per second";

constexpr std::array<ParamSpec, 7> kDataParallelParams = {{
    {"ranks", ParamKind::integer, "8", "1", "16777216", "", "Data-parallel ranks.", "the GPUs of one server"},
    {"parameters", ParamKind::integer, "25557032", "1", "1000000000000000", "", "Weights of the model.",
     "ResNet-50 in torchvision"},
    {"grad_dtype", ParamKind::choice, "FP32", "", "", tensor_dtypes, "Type in which gradients are reduced.", "PyTorch's default"},
    {"buckets", ParamKind::integer, "5", "1", "1000000", "", "All-reduces per iteration; equal parts of the gradients.",
     "PyTorch's 25 MB buckets"},
    {"forward_time", ParamKind::duration, "54ms", "0s", "", "", "Forward of an iteration.", resnet_origin},
    {"backward_time", ParamKind::duration, "108ms", "0s", "", "", "Backward of an iteration, spread evenly over the buckets.",
     "twice the forward"},
    {"optimizer_time", ParamKind::duration, "2ms", "0s", "", "", "The optimizer's step.", "assumption: bound by memory"},
}};

Workload make_data_parallel(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  const std::uint32_t buckets = math.count("buckets");
  const auto parameters = static_cast<std::uint64_t>(params.integer("parameters"));
  const Duration backward = math.checked(params.duration("backward_time"));
  Workload workload = start_workload("data_parallel", math.count("ranks"));
  RoleScript script;
  RoleScript::After last = {script.compute("forward", math.checked(params.duration("forward_time")))};
  RoleScript::After reductions;
  // Differences of rounded sums, so that the parts add up to the whole.
  const auto part = [buckets](std::int64_t whole, std::uint32_t index) {
    const auto upto = [&](std::uint32_t parts) { return whole / buckets * parts + whole % buckets * parts / buckets; };
    return upto(index + 1) - upto(index);
  };
  for (std::uint32_t i = 0; i < buckets; ++i) {
    const std::string number = std::to_string(buckets - 1 - i);
    last = {script.compute("backward." + number, Duration::ticks(part(backward.in_ticks(), i)), last)};
    const auto elements = static_cast<std::uint64_t>(part(static_cast<std::int64_t>(parameters), i));
    reductions.push_back(script.collective("reduce." + number, CollectiveType::all_reduce, 0,
                                           math.bytes(elements, math.element("grad_dtype")), last));
  }
  last.insert(last.end(), reductions.begin(), reductions.end());
  script.compute("step", math.checked(params.duration("optimizer_time")), last);
  add_role_of_all(workload, script.finish());
  return workload;
}

}  // namespace

Module<WorkloadFactory> data_parallel_module() {
  return {{"template", "data_parallel",
           "Every rank holds the whole model; gradients are all-reduced in buckets while backward goes on, as PyTorch's "
           "DistributedDataParallel does.",
           kDataParallelParams},
          make_data_parallel};
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/collectives.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/role_script.hpp"
#include "workloads/dag/strided_groups.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

namespace {

struct CollectivesSettings {
  std::uint32_t ranks;
  CollectiveType type;
  Bytes size;
  Bytes size_max;  ///< 0: one size
  std::uint32_t size_factor;
  std::uint32_t count;
  Duration gap;
  std::uint32_t group;  ///< 0: all
  std::uint32_t stride;
};

CollectiveType type_called(const std::string& name, const std::string& /*param*/) {
  for (const CollectiveType type :
       {CollectiveType::all_gather, CollectiveType::reduce_scatter, CollectiveType::all_to_all, CollectiveType::broadcast,
        CollectiveType::reduce, CollectiveType::gather, CollectiveType::scatter, CollectiveType::barrier}) {
    if (to_text(type) == name) return type;
  }
  return CollectiveType::all_reduce;
}

constexpr std::array collectives_params = {
    param<&CollectivesSettings::ranks>({.name = "ranks",
                                        .default_text = "8",
                                        .minimum = "1",
                                        .maximum = "16777216",
                                        .meaning = "Ranks.",
                                        .origin = "the GPUs of one server"}),
    param_read<type_called, &CollectivesSettings::type>(
        {.name = "collective",
         .default_text = "all_reduce",
         .choices = "all_reduce|all_gather|reduce_scatter|all_to_all|broadcast|reduce|gather|scatter|barrier",
         .meaning = "Which collective.",
         .origin = "the one that training uses most"}),
    param<&CollectivesSettings::size>({.name = "size",
                                       .default_text = "64MiB",
                                       .minimum = "0B",
                                       .maximum = "1024TiB",
                                       .meaning = "Input of one rank; for all_gather and gather its own part. A barrier has none.",
                                       .origin = "assumption: large enough for bandwidth to dominate"}),
    param<&CollectivesSettings::size_max>(
        {.name = "size_max",
         .default_text = "0B",
         .minimum = "0B",
         .maximum = "1024TiB",
         .meaning =
             "A sweep of sizes as nccl-tests makes it: from size to size_max, each size_factor times the one before. 0B: one size.",
         .origin = "none"}),
    param<&CollectivesSettings::size_factor>({.name = "size_factor",
                                              .default_text = "2",
                                              .minimum = "2",
                                              .maximum = "1024",
                                              .meaning = "A size of a sweep in terms of the one before.",
                                              .origin = "nccl-tests' usual -f 2"}),
    param<&CollectivesSettings::count>({.name = "count",
                                        .default_text = "1",
                                        .minimum = "1",
                                        .maximum = "16777216",
                                        .meaning = "How many of a size, one after the other.",
                                        .origin = "one"}),
    param<&CollectivesSettings::gap>(
        {.name = "gap", .default_text = "0s", .minimum = "0s", .meaning = "Computation between two of them.", .origin = "none"}),
    param<&CollectivesSettings::group>({.name = "group",
                                        .default_text = "0",
                                        .minimum = "0",
                                        .maximum = "16777216",
                                        .meaning = "Ranks of a group; 0: all. ranks is a multiple of group x stride.",
                                        .origin = "one group"}),
    param<&CollectivesSettings::stride>({.name = "stride",
                                         .default_text = "1",
                                         .minimum = "1",
                                         .maximum = "16777216",
                                         .meaning = "Distance between the ranks of a group.",
                                         .origin = "neighbours"}),
};

/// What is swept over, from the smallest on.
std::vector<Bytes> sizes_of(const CollectivesSettings& settings, const TensorMath& math) {
  std::vector<Bytes> sizes = {math.checked(settings.size)};
  if (settings.size_max == Bytes::zero()) return sizes;
  const std::int64_t largest = math.checked(settings.size_max).count();
  if (sizes.back() == Bytes::zero()) math.fail("bad-plan", "a sweep cannot begin with no bytes", "give size, too");
  if (sizes.back().count() > largest) math.fail("bad-plan", "size_max is below size", "give the larger one as size_max");
  while (sizes.back().count() <= largest / settings.size_factor) {
    sizes.push_back(Bytes::of(sizes.back().count() * settings.size_factor));
  }
  return sizes;
}

Workload make_collectives(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  const auto settings = filled<CollectivesSettings>(params);
  const std::uint32_t ranks = settings.ranks;
  const std::uint32_t group = settings.group;
  const std::uint32_t count = settings.count;
  const Duration gap = math.checked(settings.gap);
  const CollectiveType type = settings.type;
  const bool is_barrier = type == CollectiveType::barrier;
  if (is_barrier && !(params.is_default("size") && params.is_default("size_max"))) {
    math.fail("bad-plan", "a barrier has no size", "leave size and size_max out");
  }
  const std::vector<Bytes> sizes = is_barrier ? std::vector<Bytes>{Bytes::zero()} : sizes_of(settings, math);
  math.require_op_count(std::uint64_t{2} * count * sizes.size());
  Workload workload = start_workload("collectives", ranks);
  std::uint16_t communicator = 0;
  if (group == 0 && settings.stride != 1) {
    math.fail("bad-plan", "stride says nothing about one group of all ranks", "give group, too");
  }
  if (group > 0) {
    math.require_divides("ranks", ranks, "group x stride", math.product({group, settings.stride}));
    workload.communicators.push_back(strided_communicator("group", ranks, group, settings.stride));
    communicator = 1;
  }
  RoleScript script;
  RoleScript::After last;
  for (std::uint64_t i = 0; i < count * sizes.size(); ++i) {
    if (i > 0 && gap > Duration::zero()) last = {script.compute(fmt::format("gap.{}", i), gap, last)};
    last = {script.collective(fmt::format("{}.{}", to_text(type), i), type, communicator, sizes[i / count], last)};
  }
  add_role_of_all(workload, script.finish());
  return workload;
}

}  // namespace

Module<WorkloadFactory> collectives_module() {
  return {{"template", "collectives",
           "One collective after the other, with a pause between them: the plainest load for a fabric, or a sweep over sizes.",
           collectives_params},
          make_collectives};
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "workloads/templates/collectives.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/strided_groups.hpp"
#include "workloads/templates/role_script.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

namespace {

struct CollectivesSettings {
  std::uint32_t ranks;
  CollectiveType type;
  Bytes size;
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
    param<&CollectivesSettings::count>({.name = "count",
                                        .default_text = "1",
                                        .minimum = "1",
                                        .maximum = "16777216",
                                        .meaning = "How many, one after the other.",
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

Workload make_collectives(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  const auto settings = filled<CollectivesSettings>(params);
  const std::uint32_t ranks = settings.ranks;
  const std::uint32_t group = settings.group;
  const std::uint32_t count = settings.count;
  const Duration gap = math.checked(settings.gap);
  math.require_op_count(std::uint64_t{2} * count);
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
  const CollectiveType type = settings.type;
  const bool is_barrier = type == CollectiveType::barrier;
  if (is_barrier && !params.is_default("size")) math.fail("bad-plan", "a barrier has no size", "leave size out");
  const Bytes size = is_barrier ? Bytes::zero() : math.checked(settings.size);
  RoleScript script;
  RoleScript::After last;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0 && gap > Duration::zero()) last = {script.compute(fmt::format("gap.{}", i), gap, last)};
    last = {script.collective(fmt::format("{}.{}", to_text(type), i), type, communicator, size, last)};
  }
  add_role_of_all(workload, script.finish());
  return workload;
}

}  // namespace

Module<WorkloadFactory> collectives_module() {
  return {{"template", "collectives", "One collective after the other, with a pause between them: the plainest load for a fabric.",
           collectives_params},
          make_collectives};
}

}  // namespace weft

#include "workloads/templates/collectives.hpp"

#include <array>
#include <string>

#include "workloads/dag/limits.hpp"
#include "workloads/dag/strided_groups.hpp"
#include "workloads/templates/role_script.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 7> kCollectivesParams = {{
    {"ranks", ParamKind::integer, "8", "1", "16777216", "", "Ranks.", "the GPUs of one server"},
    {"collective", ParamKind::choice, "all_reduce", "", "",
     "all_reduce|all_gather|reduce_scatter|all_to_all|broadcast|reduce|gather|scatter|barrier", "Which collective.",
     "the one that training uses most"},
    {"size", ParamKind::bytes, "64MiB", "0B", "1024TiB", "",
     "Input of one rank; for all_gather and gather its own part. A barrier has none.",
     "assumption: large enough for bandwidth to dominate"},
    {"count", ParamKind::integer, "1", "1", "16777216", "", "How many, one after the other.", "one"},
    {"gap", ParamKind::duration, "0s", "0s", "", "", "Computation between two of them.", "none"},
    {"group", ParamKind::integer, "0", "0", "16777216", "", "Ranks of a group; 0: all. ranks is a multiple of group x stride.",
     "one group"},
    {"stride", ParamKind::integer, "1", "1", "16777216", "", "Distance between the ranks of a group.", "neighbours"},
}};

CollectiveType type_of(const std::string& name) {
  for (const CollectiveType type :
       {CollectiveType::all_gather, CollectiveType::reduce_scatter, CollectiveType::all_to_all, CollectiveType::broadcast,
        CollectiveType::reduce, CollectiveType::gather, CollectiveType::scatter, CollectiveType::barrier}) {
    if (to_text(type) == name) return type;
  }
  return CollectiveType::all_reduce;
}

Workload make_collectives(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  const std::uint32_t ranks = math.count("ranks");
  const std::uint32_t group = math.count("group");
  const std::uint32_t count = math.count("count");
  const Duration gap = math.checked(params.duration("gap"));
  math.require_op_count(std::uint64_t{2} * count);
  Workload workload = start_workload("collectives", ranks);
  std::uint16_t communicator = 0;
  if (group == 0 && math.count("stride") != 1) {
    math.fail("bad-plan", "stride says nothing about one group of all ranks", "give group, too");
  }
  if (group > 0) {
    math.require_divides("ranks", ranks, "group x stride", math.product({group, math.count("stride")}));
    workload.communicators.push_back(strided_communicator("group", ranks, group, math.count("stride")));
    communicator = 1;
  }
  const CollectiveType type = type_of(params.text("collective"));
  const bool is_barrier = type == CollectiveType::barrier;
  if (is_barrier && !params.is_default("size")) math.fail("bad-plan", "a barrier has no size", "leave size out");
  const Bytes size = is_barrier ? Bytes::zero() : math.checked(params.bytes("size"));
  RoleScript script;
  RoleScript::After last;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0 && gap > Duration::zero()) last = {script.compute("gap." + std::to_string(i), gap, last)};
    last = {script.collective(std::string(to_text(type)) + "." + std::to_string(i), type, communicator, size, last)};
  }
  add_role_of_all(workload, script.finish());
  return workload;
}

}  // namespace

Module<WorkloadFactory> collectives_module() {
  return {{"template", "collectives", "One collective after the other, with a pause between them: the plainest load for a fabric.",
           kCollectivesParams},
          make_collectives};
}

}  // namespace weft

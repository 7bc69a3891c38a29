// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/zero_bubble_optimal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/schedules/pass_order_program.hpp"

namespace weft {

namespace {

/// Beyond, the solver misses its time limit by far: it looks at the clock between relaxations only.
constexpr std::uint64_t binaries_max = 6'000;

struct OptimalSettings {
  std::uint32_t memory;  ///< 0: 2 p
  Duration time_limit;
  ScheduleObjective objective;
};

constexpr std::array optimal_params = {
    param<&OptimalSettings::memory>({.name = "memory",
                                     .default_text = "0",
                                     .minimum = "0",
                                     .maximum = "1000000",
                                     .meaning = "Microbatches whose activations a device may hold. 0: twice the number of stages.",
                                     .origin = "as zb_auto"}),
    param<&OptimalSettings::time_limit>(
        {.name = "time_limit",
         .default_text = "10s",
         .minimum = "100ms",
         .maximum = "24h",
         .meaning = "Wall time after which the solver stops, once it has solved the relaxation that it is at.",
         .origin = "assumption: as long as one waits for an answer"}),
    param<&OptimalSettings::objective>({.name = "objective",
                                        .default_text = "device_span",
                                        .choices = "device_span|step_time",
                                        .meaning = "What is made short, as for zb_auto.",
                                        .origin = "cost of Qi et al. 2024, section 3.1"}),
};

/// The solver's order, where it is one and better than what is known.
std::optional<PipelineSchedule> better_schedule(const PassOrderProblem& problem, std::optional<PipelineOrder> order,
                                                const PipelineTimeline& known) {
  if (!order) return std::nullopt;
  PipelineSchedule schedule = executed(problem.sizes, *std::move(order));
  constexpr double rounding = 1e-9;
  const bool has_room = schedule.timeline.activations_max <= problem.activations_max + rounding;
  const bool is_better = objective_value(schedule.timeline, problem.objective) < objective_value(known, problem.objective);
  if (!has_room || !is_better) return std::nullopt;
  return schedule;
}

PipelineScheduleResult make_zb_optimal(const PipelineSizes& sizes, const ParamSet& params) {
  if (auto broken = check_chunks(sizes, "zb_optimal", 1)) return *std::move(broken);
  const auto settings = filled<OptimalSettings>(params);
  const double limit = settings.memory == 0 ? 2 * sizes.stages : settings.memory;
  std::optional<PipelineSchedule> known = search_zero_bubble(sizes, limit, settings.objective);
  WEFT_CHECK(known.has_value(), "one microbatch after the other has room within any limit");
  const PassOrderProblem problem{sizes, limit, settings.objective, zero_bubble_lower_bound(sizes, settings.objective),
                                 settings.time_limit};
  if (objective_value(known->timeline, settings.objective) <= problem.lower_bound) {
    known->notes = {"zb_auto's schedule reaches the lower bound: none is shorter"};
    return *std::move(known);
  }
  if (const std::uint64_t binaries = binary_variables(sizes); binaries > binaries_max) {
    known->notes = {fmt::format("zb_auto's schedule: the integer program would have {} binary variables, more than {}", binaries,
                                binaries_max)};
    return *std::move(known);
  }
  PassOrderSolution solution = solve_pass_order(problem, known->timeline);
  const std::string proof = solution.is_proven ? "proved to be the shortest within the memory limit"
                                               : fmt::format("not proved to be the shortest in {}", to_text(settings.time_limit));
  if (auto better = better_schedule(problem, std::move(solution.order), known->timeline)) {
    better->notes = {fmt::format("integer programming: {} instead of zb_auto's {}, {}",
                                 to_text(objective_value(better->timeline, settings.objective)),
                                 to_text(objective_value(known->timeline, settings.objective)), proof)};
    return *std::move(better);
  }
  known->notes = {fmt::format("zb_auto's schedule: integer programming found none that is shorter; {}", proof)};
  return *std::move(known);
}

}  // namespace

Duration zero_bubble_lower_bound(const PipelineSizes& sizes, ScheduleObjective objective) {
  const Duration down = (sizes.forward + sizes.transfer) * (sizes.stages - 1);
  const Duration up = (sizes.backward_input + sizes.transfer) * (sizes.stages - 1);
  const Duration first = down + (sizes.forward + sizes.backward_input) * sizes.microbatches + up + sizes.backward_weight;
  const Duration work = device_work(sizes);
  return std::max(first, objective == ScheduleObjective::device_span ? work : down + work);
}

Module<PipelineScheduleMaker> zb_optimal_module() {
  return {{"schedule", "zb_optimal",
           "Zero bubble by integer programming under a time limit. Never worse than zb_auto within the same memory limit, and says "
           "whether it is the best there is. Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024; solver: COIN-OR CBC.",
           optimal_params},
          {1, make_zb_optimal}};
}

}  // namespace weft

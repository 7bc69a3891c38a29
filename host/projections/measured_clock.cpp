// SPDX-License-Identifier: Apache-2.0
#include "host/projections/measured_clock.hpp"

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "workloads/plans/pass_cost.hpp"

namespace weft {

namespace {

/// Over what the operators' clock says.
struct PassFactors {
  double forward = 1.0;
  double backward = 1.0;
};

class FactorFinder {
 public:
  FactorFinder(const OperatorClock& operators, const AxisClock& network, const SourcePlace& place)
      : operators_(operators), network_(network), place_(place) {}

  PassFactors of(BenchmarkLayer layer, const MeasuredLayer& measured, const PartPasses& passes) const {
    return {factor(layer, "forward", measured.forward, passes.forward),
            factor(layer, "backward", measured.backward, passes.backward)};
  }

 private:
  double factor(BenchmarkLayer layer, std::string_view direction, Duration measured, const TrainingPass& pass) const {
    const PassCost cost = cost_of(pass, operators_, network_);
    const Duration computing = measured - (cost.time - cost.compute);
    if (computing <= Duration::zero()) {
      fail("bad-benchmark",
           fmt::format("{} of {} took {}, and its communication alone takes {}", direction, to_text(layer), to_text(measured),
                       to_text(cost.time - cost.compute)),
           place_, "were forward_us and backward_us measured with it?");
    }
    return cost.compute == Duration::zero() ? 1.0 : computing.in_s() / cost.compute.in_s();
  }

  const OperatorClock& operators_;
  const AxisClock& network_;
  const SourcePlace& place_;
};

OperatorClock corrected(const OperatorClock& operators, const PassFactors& factors) {
  return [operators, factors](const Operator& op, OperatorPass pass) {
    const double factor = pass == OperatorPass::forward ? factors.forward : factors.backward;
    return Duration::from_seconds(operators(op, pass).in_s() * factor);
  };
}

}  // namespace

MeasuredLayers measured_layers(const LayerBenchmark& benchmark, const ReducedPlan& reduced, const OperatorClock& operators,
                               const AxisClock& network, const SourcePlace& place) {
  const LayerTimes calculated = timed_layers(reduced.model, reduced.plan, operators, network);
  MeasuredLayers result{.measured = calculated, .calculated = calculated, .clocks = operators};
  const TrainingSteps steps(reduced.model, reduced.plan);
  const FactorFinder finder(operators, network, place);
  const auto take = [&](BenchmarkLayer layer, UnitKind part, PartTimes LayerTimes::*times, const auto& passes) {
    const std::optional<MeasuredLayer>& measured = benchmark.of(layer);
    if (!measured) return;
    result.clocks.set(part, corrected(operators, finder.of(layer, *measured, passes())));
    result.measured.*times = {measured->forward, measured->backward};
  };
  if (reduced.model.dense_layers() > 0)
    take(BenchmarkLayer::dense, UnitKind::dense_layer, &LayerTimes::dense_layer, [&] { return steps.layer(false); });
  if (reduced.model.experts)
    take(BenchmarkLayer::expert, UnitKind::expert_layer, &LayerTimes::expert_layer, [&] { return steps.layer(true); });
  take(BenchmarkLayer::embedding, UnitKind::input, &LayerTimes::input, [&] { return steps.input(); });
  take(BenchmarkLayer::output, UnitKind::output, &LayerTimes::output, [&] { return steps.output(); });
  return result;
}

}  // namespace weft

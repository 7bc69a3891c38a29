// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/allocation_policy.hpp"

#include <array>
#include <utility>

#include "core/text/param_rows.hpp"
#include "network/max_min/max_min_solver.hpp"
#include "network/max_min/quantum_filling.hpp"

namespace weft {

namespace {

constexpr std::array max_min_params = {
    param<&MaxMinLayer::Options::repartition_updates>(
        {.name = "repartition_updates",
         .default_text = "5",
         .minimum = "1",
         .maximum = "1000000",
         .meaning =
             "Batches with departures after which a segment's connected components are searched anew, once enough was solved in "
             "it for the search to "
             "pay; between, segments only merge.",
         .origin = "paper, section 6.4: partitions are updated once every five job updates"}),
    param<&MaxMinSolver::Options::threads>(
        {.name = "threads",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1024",
         .meaning =
             "Threads that solve independent segments; 0 takes as many as the run has (--threads). Results do not depend on it.",
         .origin = "the run's threads"}),
};

struct QuantumSettings {
  Bandwidth quantum;
};

constexpr std::array quantum_filling_params = {
    param<&QuantumSettings::quantum>(
        {.name = "quantum",
         .default_text = "100Mbps",
         .minimum = "1Mbps",
         .meaning = "Rate that a flow of weight 1 gains per round. Rates err by up to about this much; a flow that cannot gain it "
                    "stands still.",
         .origin = "1/1000 of a 100 Gb/s link"}),
};

std::unique_ptr<AllocationPolicy> make_max_min(std::vector<double> capacities, const ParamSet& params) {
  MaxMinSolver::Options options;
  fill<MaxMinLayer::Options>(options, params);
  fill(options, params);
  return std::make_unique<MaxMinSolver>(std::move(capacities), options);
}

std::unique_ptr<AllocationPolicy> make_quantum_filling(std::vector<double> capacities, const ParamSet& params) {
  const Bandwidth quantum = filled<QuantumSettings>(params).quantum;
  return std::make_unique<QuantumFilling>(std::move(capacities), static_cast<double>(quantum.in_bps()));
}

constexpr std::array<Module<AllocationPolicyFactory>, 2> policies = {{
    {{"allocation", "max_min",
      "Weighted max-min fair rates, exact: no flow can gain without one of no larger rate per weight losing. Independent segments "
      "of the "
      "flow-link graph are solved in parallel. Flows of a higher priority class go first.",
      max_min_params},
     make_max_min},
    {{"allocation", "quantum_filling",
      "The paper's appendix B: all flows gain a fixed quantum per round until a link of theirs is full. Slow and approximate; a "
      "reference.",
      quantum_filling_params},
     make_quantum_filling},
}};

}  // namespace

std::span<const Module<AllocationPolicyFactory>> allocation_policies() { return policies; }

}  // namespace weft

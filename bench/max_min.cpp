// SPDX-License-Identifier: Apache-2.0
// Max-min solver: a full solve of random flows, from nothing, on one thread.
//
// full_solve/N         N random flows on a 1,024-host fat tree (k = 16): the bucket solve alone
// clos_from_scratch    32,768 random flows on the 4,096-host, 8-GPU Clos fabric: adding the flows
//                      and solving (required: under 1 s)
// clos_paths           choosing the paths of those flows by ECMP, nothing cached
// audit/N              the complete check of the definition
#include <benchmark/benchmark.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/values/random.hpp"
#include "network/flow/flow_model.hpp"
#include "network/max_min/bucket_solve.hpp"
#include "network/max_min/max_min_solver.hpp"
#include "network/routing/ecmp.hpp"
#include "tests/network/routing/fat_tree_paths.hpp"
#include "topologies/builders.hpp"

namespace weft {
namespace {

constexpr double no_cap = std::numeric_limits<double>::infinity();

FlowLinkGraph random_flows(std::int64_t count) {
  const FatTreePaths tree(16);
  FlowLinkGraph graph(std::vector<double>(tree.links(), 100e9));
  RandomStream random(1, 0, 0);
  for (std::int64_t i = 0; i < count; ++i) graph.add({tree.random_path(random), 1, no_cap});
  return graph;
}

void full_solve(benchmark::State& state) {
  const FlowLinkGraph graph = random_flows(state.range(0));
  std::vector<LinkId> links;
  for (std::uint32_t l = 0; l < graph.link_count(); ++l) {
    if (!graph.members(LinkId(l)).empty()) links.emplace_back(l);
  }
  BucketSolveState solve_state;
  solve_state.resize(graph);
  BucketSolve solve;
  for (auto _ : state) {
    solve.run(graph, links, solve_state);
    benchmark::DoNotOptimize(solve_state.rates.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(full_solve)->Arg(1024)->Arg(4096)->Arg(16384)->Arg(65536)->Unit(benchmark::kMicrosecond);

void audit(benchmark::State& state) {
  const FatTreePaths tree(16);
  MaxMinSolver solver(std::vector<double>(tree.links(), 100e9), {});
  RandomStream random(1, 0, 0);
  for (std::int64_t i = 0; i < state.range(0); ++i) solver.add_flow({tree.random_path(random), 1, no_cap});
  solver.update();
  for (auto _ : state) {
    const bool passed = solver.audit().passed();
    WEFT_CHECK(passed, "rates are max-min fair");
  }
}
BENCHMARK(audit)->Arg(1024)->Arg(4096)->Arg(65536)->Unit(benchmark::kMicrosecond);

constexpr std::uint32_t clos_flows = 32'768;

const Topology& clos() {
  static const std::shared_ptr<const Topology> topology = [] {
    const SourcePlace place{"bench", 0, 0, 1, ""};
    const auto& module = find_module(topology_builders(), "clos", place);
    return module.make(ParamSet("clos", module.info.params), place);
  }();
  return *topology;
}

/// One flow per GPU, to a GPU of another host drawn at random.
struct FlowEnds {
  NodeId source;
  NodeId destination;
};

std::vector<FlowEnds> one_flow_per_gpu(const Topology& topology) {
  std::vector<FlowEnds> flows;
  RandomStream random(2, 0, 0);
  const auto endpoints = topology.endpoints();
  for (std::uint32_t i = 0; i < clos_flows; ++i) {
    NodeId destination;
    do {
      destination = endpoints[random.below(endpoints.size())];
    } while (topology.node(destination).host == topology.node(endpoints[i]).host);
    flows.push_back({endpoints[i], destination});
  }
  return flows;
}

void clos_from_scratch(benchmark::State& state) {
  const Topology& topology = clos();
  EcmpPaths ecmp(topology, {.seed = 1}, 1);
  std::vector<std::vector<LinkId>> paths;
  for (const FlowEnds& flow : one_flow_per_gpu(topology)) {
    const auto path = ecmp.path(flow.source, flow.destination, 0, 0);
    paths.emplace_back(path.begin(), path.end());
  }
  const std::vector<double> capacities = link_capacities_bps(topology);
  for (auto _ : state) {
    MaxMinSolver solver(capacities, {});
    for (const auto& path : paths) solver.add_flow({path, 1, no_cap});
    benchmark::DoNotOptimize(solver.update().data());
    state.PauseTiming();
    WEFT_CHECK(solver.audit().passed(), "rates are max-min fair");
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * clos_flows);
}
BENCHMARK(clos_from_scratch)->Unit(benchmark::kMillisecond);

void clos_paths(benchmark::State& state) {
  const Topology& topology = clos();
  const std::vector<FlowEnds> flows = one_flow_per_gpu(topology);
  EcmpPaths ecmp(topology, {.seed = 1}, 1);
  for (auto _ : state) {
    for (const FlowEnds& flow : flows) benchmark::DoNotOptimize(ecmp.path(flow.source, flow.destination, 0, 0).data());
  }
  state.SetItemsProcessed(state.iterations() * clos_flows);
}
BENCHMARK(clos_paths)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();

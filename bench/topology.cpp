// SPDX-License-Identifier: Apache-2.0
// Topologies: time and memory to build the 32,768-GPU Clos network, and the speed of structural and
// searched next hops on it.
//
// peak_MB is the highest resident memory of the whole process so far: run one benchmark at a time
// (--benchmark_filter) to read it.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include "core/text/params.hpp"
#include "topologies/builders.hpp"
#include "topologies/searched_routes.hpp"
#include "topologies/topology_reader.hpp"
#include "topologies/topology_writer.hpp"

namespace {

using namespace weft;

std::shared_ptr<const Topology> build_clos(std::int64_t nics_per_host) {
  const auto& module = find_module(topology_builders(), "clos", {});
  ParamSet params("clos", module.info.params);
  params.set("nics_per_host", fmt::to_string(nics_per_host), {});
  return module.make(params, {});
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

/// 4,096 hosts of 8 GPUs, 4,096 leafs, 1,024 aggregation switches, 128 spines. Argument: NICs per
/// host.
void build_clos_32k(benchmark::State& state) {
  std::shared_ptr<const Topology> topology;
  for (auto _ : state) topology = build_clos(state.range(0));
  state.counters["nodes"] = static_cast<double>(topology->node_count());
  state.counters["links"] = static_cast<double>(topology->link_count());
  state.counters["peak_MB"] = peak_megabytes();
}

/// The same as a file with every node and link.
void read_clos_32k(benchmark::State& state) {
  const SourceText source("clos", write_topology(*build_clos(1), "weft", {}));
  for (auto _ : state) benchmark::DoNotOptimize(read_topology(source, "weft"));
  state.counters["file_MB"] = static_cast<double>(source.text().size()) / 1e6;
  state.counters["peak_MB"] = peak_megabytes();
}

/// Whole paths between far endpoints, first next hop each time; items are next-hop questions.
void walk_paths(benchmark::State& state, const Topology& topology, const Routes& routes, std::uint32_t destinations) {
  const auto endpoints = topology.endpoints();
  const auto count = static_cast<std::uint32_t>(endpoints.size());
  std::vector<LinkId> hops;
  std::int64_t questions = 0;
  std::uint32_t i = 0;
  for (auto _ : state) {
    NodeId at = endpoints[(i * 7919U) % count];
    const NodeId destination = endpoints[(i % destinations) * (count / destinations)];
    ++i;
    while (at != destination) {
      routes.next_hops(topology, at, destination, hops);
      at = topology.link(hops[i % hops.size()]).destination;
      ++questions;
    }
  }
  state.SetItemsProcessed(questions);
  state.counters["peak_MB"] = peak_megabytes();
}

void structural_next_hops(benchmark::State& state) {
  const auto topology = build_clos(1);
  walk_paths(state, *topology, topology->routes(), static_cast<std::uint32_t>(state.range(0)));
}

void searched_next_hops(benchmark::State& state) {
  const auto topology = build_clos(1);
  const auto searched = searched_routes(*topology);
  walk_paths(state, *topology, *searched, static_cast<std::uint32_t>(state.range(0)));
}

BENCHMARK(build_clos_32k)->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond);
BENCHMARK(read_clos_32k)->Unit(benchmark::kMillisecond);
BENCHMARK(structural_next_hops)->Arg(512)->Arg(32768);
BENCHMARK(searched_next_hops)->Arg(512)->Arg(32768);

}  // namespace

BENCHMARK_MAIN();

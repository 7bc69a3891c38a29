// SPDX-License-Identifier: Apache-2.0
// Flow mode: what segments cost and what they bring, and whole fluid runs.
//
// components_*         connected components of the flow-link graph of 128 jobs: depth-first search
//                      against Boost's disjoint sets
// resolve_*            all 128 jobs change one flow at once, solved from nothing: everything as one
//                      segment, segments one after another, segments in parallel
// one_job_*            one of 128 jobs changes one flow: everything as one segment, its segment
//                      alone, its levels repaired
// replace_*/N          one of N random flows on 1,024 hosts is replaced by another: as the solver
//                      chooses, by repairs, from nothing
// run_permutations     ten permutations of 10 MB at once on 1,024 hosts, to the last byte: flows
//                      per second
// run_rings            128 rings of 64 hosts, 12 dependent steps each, on 8,192 hosts
// run_poisson/N        N flows of 1 MB at 50 % load on 1,024 hosts, every arrival and completion a
//                      batch
// run_poisson_classes  the same in three priority classes
// run_random/N         N flows of distinct sizes between random hosts of 1,024, all at once
// *_d_mod_k            the same, routed by destination as SimGrid's fat trees are; the others are
//                      routed at random, as by ECMP
// run_jobs             65,536 flows of distinct sizes inside 128 jobs of 64 hosts, all at once
#include <benchmark/benchmark.h>

#include <boost/pending/disjoint_sets.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "core/values/random.hpp"
#include "network/flow/flow_model.hpp"
#include "network/max_min/bucket_solve.hpp"
#include "network/max_min/max_min_solver.hpp"
#include "network/max_min/segments.hpp"
#include "tests/network/routing/fat_tree_paths.hpp"

namespace weft {
namespace {

constexpr std::uint32_t jobs = 128;
constexpr std::uint32_t hosts_per_job = 64;
constexpr double no_cap = std::numeric_limits<double>::infinity();

/// 128 jobs of 64 hosts on an 8,192-host fat tree; each pod holds four jobs, whose flows stay
/// inside the pod. Random pairs, 512 per job.
struct JobFlows {
  FatTreePaths tree{32};
  std::vector<std::vector<LinkId>> paths;
};

const JobFlows& job_flows() {
  static const JobFlows flows = [] {
    JobFlows made;
    RandomStream random(1, 0, 0);
    for (std::uint32_t job = 0; job < jobs; ++job) {
      for (int i = 0; i < 512; ++i) {
        const auto a = static_cast<std::uint32_t>(random.below(hosts_per_job));
        const auto b = static_cast<std::uint32_t>((a + 1 + random.below(hosts_per_job - 1)) % hosts_per_job);
        made.paths.push_back(made.tree.path(job * hosts_per_job + a, job * hosts_per_job + b, random));
      }
    }
    return made;
  }();
  return flows;
}

FlowLinkGraph job_graph() {
  const JobFlows& flows = job_flows();
  FlowLinkGraph graph(std::vector<double>(flows.tree.links(), 100e9));
  for (const auto& path : flows.paths) graph.add({path, 1, no_cap});
  return graph;
}

void components_by_depth_first_search(benchmark::State& state) {
  const FlowLinkGraph graph = job_graph();
  for (auto _ : state) benchmark::DoNotOptimize(components_by_search(graph).data());
}
BENCHMARK(components_by_depth_first_search)->Unit(benchmark::kMicrosecond);

void components_by_disjoint_sets(benchmark::State& state) {
  const FlowLinkGraph graph = job_graph();
  for (auto _ : state) {
    std::vector<std::uint32_t> rank(graph.link_count());
    std::vector<std::uint32_t> parent(graph.link_count());
    std::iota(parent.begin(), parent.end(), 0U);
    boost::disjoint_sets sets(rank.data(), parent.data());
    for (std::uint32_t f = 0; f < graph.slot_count(); ++f) {
      const auto hops = graph.hops(FlowSlot(f));
      for (std::size_t i = 1; i < hops.size(); ++i) sets.union_set(hops[0].link.index(), hops[i].link.index());
    }
    std::vector<std::uint32_t> component(graph.link_count());
    for (std::uint32_t l = 0; l < graph.link_count(); ++l) component[l] = sets.find_set(l);
    benchmark::DoNotOptimize(component.data());
  }
}
BENCHMARK(components_by_disjoint_sets)->Unit(benchmark::kMicrosecond);

void solve_as_one_segment(benchmark::State& state) {
  const FlowLinkGraph graph = job_graph();
  std::vector<LinkId> links;
  for (std::uint32_t l = 0; l < graph.link_count(); ++l) {
    if (!graph.members(LinkId(l)).empty()) links.emplace_back(l);
  }
  BucketSolveState solve_state;
  solve_state.resize(graph);
  BucketSolve solve;
  for (auto _ : state) solve.run(graph, links, solve_state);
}
BENCHMARK(solve_as_one_segment)->Name("resolve_one_segment")->Unit(benchmark::kMicrosecond);
BENCHMARK(solve_as_one_segment)->Name("one_job_one_segment")->Unit(benchmark::kMicrosecond);

/// The first `changing` jobs lose their first flow and get it back, in one batch.
void change_jobs(benchmark::State& state, std::uint32_t threads, std::uint32_t changing, bool repair = false) {
  const JobFlows& flows = job_flows();
  MaxMinSolver::Options options;
  options.threads = threads;
  if (!repair) options.repaired_part_max = 0;
  MaxMinSolver solver(std::vector<double>(flows.tree.links(), 100e9), options);
  std::vector<FlowSlot> slots;
  for (const auto& path : flows.paths) slots.push_back(solver.add_flow({path, 1, no_cap}));
  solver.update();
  for (auto _ : state) {
    for (std::uint32_t job = 0; job < changing; ++job) {
      solver.remove_flow(slots[job * 512]);
      slots[job * 512] = solver.add_flow({flows.paths[job * 512], 1, no_cap});
    }
    benchmark::DoNotOptimize(solver.update().data());
  }
  state.counters["segments"] = static_cast<double>(solver.layer(0).segments().segment_count());
}
void resolve_segments_in_turn(benchmark::State& state) { change_jobs(state, 1, jobs); }
void resolve_segments_in_parallel(benchmark::State& state) { change_jobs(state, 0, jobs); }
void one_job_its_segment(benchmark::State& state) { change_jobs(state, 1, 1); }
void one_job_repaired(benchmark::State& state) { change_jobs(state, 1, 1, true); }
BENCHMARK(resolve_segments_in_turn)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(resolve_segments_in_parallel)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(one_job_its_segment)->Unit(benchmark::kMicrosecond);
BENCHMARK(one_job_repaired)->Unit(benchmark::kMicrosecond);

/// N flows between random hosts of 1,024; in turn, each is replaced by another. At 1,024 that moves
/// one rate of a hundred, at 65,536 most.
void replace_flows(benchmark::State& state, double repaired_part_max) {
  const FatTreePaths tree(16);
  MaxMinSolver::Options options;
  options.threads = 1;
  options.repaired_part_max = repaired_part_max;
  MaxMinSolver solver(std::vector<double>(tree.links(), 100e9), options);
  RandomStream random(8, 0, 0);
  std::vector<FlowSlot> slots;
  for (std::int64_t i = 0; i < state.range(0); ++i) slots.push_back(solver.add_flow({tree.random_path(random), 1, no_cap}));
  solver.update();
  std::size_t next = 0;
  std::uint64_t rate_changes = 0;
  for (auto _ : state) {
    solver.remove_flow(slots[next]);
    slots[next] = solver.add_flow({tree.random_path(random), 1, no_cap});
    rate_changes += solver.update().size();
    if (++next == slots.size()) next = 0;
  }
  const MaxMinSolver::Counters counters = solver.counters();
  const auto per_event = [&](std::uint64_t count) { return static_cast<double>(count) / static_cast<double>(state.iterations()); };
  state.counters["rate_changes"] = per_event(rate_changes);
  state.counters["given_up"] = per_event(counters.repairs_given_up);
  state.counters["full_solves"] = per_event(counters.full_solves);
  state.counters["flows_visited"] = per_event(counters.flows_visited);
}
void replace_as_it_chooses(benchmark::State& state) { replace_flows(state, MaxMinSolver::Options().repaired_part_max); }
void replace_by_repairs(benchmark::State& state) { replace_flows(state, std::numeric_limits<double>::infinity()); }
void replace_from_nothing(benchmark::State& state) { replace_flows(state, 0); }
BENCHMARK(replace_as_it_chooses)->Arg(1'024)->Arg(4'096)->Arg(16'384)->Arg(65'536)->Unit(benchmark::kMicrosecond)->Iterations(100);
BENCHMARK(replace_by_repairs)->Arg(1'024)->Arg(4'096)->Arg(16'384)->Arg(65'536)->Unit(benchmark::kMicrosecond)->Iterations(100);
BENCHMARK(replace_from_nothing)->Arg(1'024)->Arg(4'096)->Arg(16'384)->Arg(65'536)->Unit(benchmark::kMicrosecond)->Iterations(100);

enum class Routes : std::uint8_t { ecmp, d_mod_k };

std::vector<LinkId> path_by(Routes routes, const FatTreePaths& tree, FatTreePaths::Pair pair, RandomStream& random) {
  return routes == Routes::ecmp ? tree.path(pair.source, pair.destination, random)
                                : tree.d_mod_k_path(pair.source, pair.destination);
}

FlowModel empty_model(const FatTreePaths& tree) {
  return FlowModel(std::make_unique<MaxMinSolver>(std::vector<double>(tree.links(), 100e9), MaxMinSolver::Options{}));
}

/// Lets every flow end.
void drain(FlowModel& model, std::vector<FlowCompletion>& done) {
  for (Time now = model.next_completion(); now < Time::max(); now = model.next_completion()) {
    done.clear();
    model.take_completions(now, done);
    model.settle(now);
  }
}

void run_permutations(benchmark::State& state) {
  const FatTreePaths tree(16);
  RandomStream random(4, 0, 0);
  std::vector<std::vector<LinkId>> paths;
  for (int permutation = 0; permutation < 10; ++permutation) {
    std::vector<std::uint32_t> to(tree.hosts());
    std::iota(to.begin(), to.end(), 0U);
    for (std::size_t i = to.size() - 1; i > 0; --i) std::swap(to[i], to[random.below(i)]);
    for (std::uint32_t host = 0; host < tree.hosts(); ++host) paths.push_back(tree.path(host, to[host], random));
  }
  std::vector<FlowCompletion> done;
  std::uint64_t solves = 0;
  for (auto _ : state) {
    FlowModel model = empty_model(tree);
    for (const auto& path : paths) model.start({path, Bytes::of(10'000'000)});
    model.settle(Time::zero());
    drain(model, done);
    solves = model.solves();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(paths.size()));
  state.counters["solves"] = static_cast<double>(solves);
}
BENCHMARK(run_permutations)->Unit(benchmark::kMillisecond)->Iterations(1);

void count_updates(benchmark::State& state, const FlowModel& model) {
  const MaxMinSolver::Counters counters = dynamic_cast<const MaxMinSolver&>(model.policy()).counters();
  state.counters["rate_changes"] = static_cast<double>(model.rate_changes());
  state.counters["repairs"] = static_cast<double>(counters.repairs);
  state.counters["given_up"] = static_cast<double>(counters.repairs_given_up);
  state.counters["full_solves"] = static_cast<double>(counters.full_solves);
  state.counters["flows_visited"] = static_cast<double>(counters.flows_visited);
}

void rings(benchmark::State& state, Routes routes) {
  const FatTreePaths tree(32);
  RandomStream random(5, 0, 0);
  std::vector<std::uint32_t> host(tree.hosts());
  std::iota(host.begin(), host.end(), 0U);
  for (std::size_t i = host.size() - 1; i > 0; --i) std::swap(host[i], host[random.below(i + 1)]);
  std::vector<std::vector<LinkId>> paths;
  for (std::uint32_t i = 0; i < tree.hosts(); ++i) {
    const std::uint32_t next = i % hosts_per_job == hosts_per_job - 1 ? i + 1 - hosts_per_job : i + 1;
    paths.push_back(path_by(routes, tree, {host[i], host[next]}, random));
  }
  constexpr std::uint32_t steps = 12;
  std::uint64_t solves = 0;
  for (auto _ : state) {
    FlowModel model = empty_model(tree);
    // A host's next step starts when the message of the step before has arrived; in a ring that is
    // its predecessor's flow.
    std::vector<std::uint32_t> step(tree.hosts(), 0);
    for (std::uint32_t i = 0; i < tree.hosts(); ++i) model.start({paths[i], Bytes::of(1'000'000), 1.0, no_cap, i});
    model.settle(Time::zero());
    std::vector<FlowCompletion> done;
    for (Time now = model.next_completion(); now < Time::max(); now = model.next_completion()) {
      done.clear();
      model.take_completions(now, done);
      for (const FlowCompletion& completion : done) {
        const auto i = static_cast<std::uint32_t>(completion.owner);
        if (++step[i] < steps) model.start({paths[i], Bytes::of(1'000'000), 1.0, no_cap, i});
      }
      model.settle(now);
    }
    solves = model.solves();
    count_updates(state, model);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(paths.size()) * steps);
  state.counters["solves"] = static_cast<double>(solves);
}
void run_rings(benchmark::State& state) { rings(state, Routes::ecmp); }
void run_rings_d_mod_k(benchmark::State& state) { rings(state, Routes::d_mod_k); }
BENCHMARK(run_rings)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(run_rings_d_mod_k)->Unit(benchmark::kMillisecond)->Iterations(1);

/// 1 MB flows between random hosts, which keep the hosts' links half busy. Every arrival and every
/// completion is a batch of its own.
void poisson(benchmark::State& state, std::uint64_t classes, Routes routes) {
  const std::int64_t flows = state.range(0);
  const FatTreePaths tree(16);
  RandomStream random(6, 0, 0);
  std::vector<LinkId> paths;  // of six links at the most, those of flow i from 6 i on
  std::vector<std::uint8_t> lengths;
  std::vector<Time> starts;
  double start_s = 0;
  // 1 MB takes 80 us at 100 Gb/s; 1,024 hosts half busy start one every 160 us / 1,024.
  for (std::int64_t i = 0; i < flows; ++i) {
    start_s += random.exponential(160e-6 / tree.hosts());
    starts.push_back(Time::zero() + Duration::from_seconds(start_s));
    const std::vector<LinkId> path = path_by(routes, tree, tree.random_pair(random), random);
    lengths.push_back(static_cast<std::uint8_t>(path.size()));
    paths.insert(paths.end(), path.begin(), path.end());
    paths.resize(6 * static_cast<std::size_t>(i + 1), LinkId(0));
  }
  std::vector<FlowCompletion> done;
  std::uint64_t rate_changes = 0;
  std::size_t active_peak = 0;
  MaxMinSolver::Counters counters;
  for (auto _ : state) {
    FlowModel model = empty_model(tree);
    std::size_t next = 0;
    while (next < starts.size()) {
      const Time now = std::min(starts[next], model.next_completion());
      done.clear();
      model.take_completions(now, done);
      for (; next < starts.size() && starts[next] == now; ++next) {
        FlowRequest request{std::span(paths).subspan(6 * next, lengths[next]), Bytes::of(1'000'000)};
        request.priority = static_cast<std::uint8_t>(next % classes);
        model.start(request);
      }
      model.settle(now);
    }
    drain(model, done);
    rate_changes = model.rate_changes();
    active_peak = model.active_flows_peak();
    counters = dynamic_cast<const MaxMinSolver&>(model.policy()).counters();
  }
  state.SetItemsProcessed(state.iterations() * flows);
  state.counters["rate_changes"] = static_cast<double>(rate_changes);
  state.counters["active_peak"] = static_cast<double>(active_peak);
  state.counters["full_solves"] = static_cast<double>(counters.full_solves);
  state.counters["links_set"] = static_cast<double>(counters.links_set);
  state.counters["flows_visited"] = static_cast<double>(counters.flows_visited);
}
void run_poisson(benchmark::State& state) { poisson(state, 1, Routes::ecmp); }
void run_poisson_d_mod_k(benchmark::State& state) { poisson(state, 1, Routes::d_mod_k); }
void run_poisson_classes(benchmark::State& state) { poisson(state, 3, Routes::ecmp); }
BENCHMARK(run_poisson_classes)->Arg(20'000)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(run_poisson)->Arg(20'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(run_poisson_d_mod_k)->Arg(20'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond)->Iterations(1);

/// Flows of distinct sizes that start together, to the last byte.
void run_at_once(benchmark::State& state, const FatTreePaths& tree, const std::vector<std::vector<LinkId>>& paths) {
  std::vector<FlowCompletion> done;
  for (auto _ : state) {
    FlowModel model = empty_model(tree);
    std::int64_t bytes = 1'000'000;
    for (const auto& path : paths) model.start({path, Bytes::of(bytes += 100)});
    model.settle(Time::zero());
    drain(model, done);
    count_updates(state, model);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(paths.size()));
}
void random_at_once(benchmark::State& state, Routes routes) {
  const FatTreePaths tree(16);
  RandomStream random(7, 0, 0);
  std::vector<std::vector<LinkId>> paths;
  for (std::int64_t i = 0; i < state.range(0); ++i) paths.push_back(path_by(routes, tree, tree.random_pair(random), random));
  run_at_once(state, tree, paths);
}
void run_random(benchmark::State& state) { random_at_once(state, Routes::ecmp); }
void run_random_d_mod_k(benchmark::State& state) { random_at_once(state, Routes::d_mod_k); }
BENCHMARK(run_random)->Arg(4'096)->Arg(16'384)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(run_random_d_mod_k)->Arg(4'096)->Arg(16'384)->Unit(benchmark::kMillisecond)->Iterations(1);
void run_jobs(benchmark::State& state) { run_at_once(state, job_flows().tree, job_flows().paths); }
BENCHMARK(run_jobs)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();

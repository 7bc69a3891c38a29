// SPDX-License-Identifier: Apache-2.0
// PHOLD: events per second of the kernel, by threads, logical processes and number of entities.
//
// Arguments: threads, logical processes, entities. Jobs per entity 16, half of the hops remote,
// delays 100 ns + exponential 900 ns on average, so that a window of one lookahead holds about a
// tenth of the jobs.
#include <benchmark/benchmark.h>

#include "bench/cpu_time.hpp"
#include "core/engine/engine.hpp"
#include "tests/determinism/phold_model.hpp"

namespace {

using namespace weft;

void phold_run(benchmark::State& state) {
  const auto threads = static_cast<std::uint32_t>(state.range(0));
  const auto lps = static_cast<std::uint32_t>(state.range(1));
  phold::Config config;
  config.entities = static_cast<std::uint32_t>(state.range(2));
  config.jobs_per_entity = 16;
  PartitionExplicit partition;
  for (std::uint32_t i = 0; i < config.entities; ++i) {
    partition.lp_of_entity.push_back(LpId(static_cast<std::uint32_t>(std::uint64_t{i} * lps / config.entities)));
  }
  EngineOptions options;
  options.threads = threads;
  options.partition = partition;
  Engine engine = phold::make(config).build(options);
  // About two million events per iteration.
  const auto span = Duration::ns(static_cast<std::int64_t>(2e6 * 1000 / (config.entities * config.jobs_per_entity)));
  Time until = Time::zero() + Duration::us(10);
  RunReport report = engine.run({.until = until, .interrupt = nullptr, .progress = {}});
  const std::uint64_t events_before = report.events;
  const double cpu_before_s = process_cpu_s();
  for (auto _ : state) {
    until = until + span;
    report = engine.run({.until = until, .interrupt = nullptr, .progress = {}});
  }
  const auto events = static_cast<double>(report.events - events_before);
  state.counters["events_per_s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
  state.counters["events_per_cpu_s"] = events / (process_cpu_s() - cpu_before_s);
  state.counters["events_per_window"] = static_cast<double>(report.events) / static_cast<double>(report.windows);
}

BENCHMARK(phold_run)
    ->ArgNames({"threads", "lps", "entities"})
    ->ArgsProduct({{1}, {1, 16, 256, 1024}, {1024}})
    ->ArgsProduct({{1}, {1, 16, 1024}, {16384}})
    ->ArgsProduct({{2}, {2, 16, 256}, {1024}})
    ->ArgsProduct({{2}, {2, 16, 1024}, {16384}})
    ->Args({1, 8, 64})
    ->Args({2, 8, 64})
    ->Args({8, 8, 64})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();

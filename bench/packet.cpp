// Packet switches: packet-hops per CPU second, PFC and ECN on, endpoints sending at line rate.
//
// Every host of a k-ary fat tree at 100 Gb/s sends about as much as makes 20 million hops to another. Hops of data packets are counted, answers
// (84 bytes for every so many packets) are not.
//   shifted   to the same place in the next pod, every flow on a path of its own: nothing waits
//   random    to another host, over a path chosen at random: flows meet, fill buffers and pause each other
#include <benchmark/benchmark.h>

#include <algorithm>

#include "bench/cpu_time.hpp"
#include "core/random.hpp"
#include "tests/network/packet_traffic.hpp"

namespace weft {
namespace {

PacketSwitchSettings switch_settings() {
  PacketSwitchSettings settings;
  settings.pipeline = Duration::ns(400);
  settings.buffer = {32'000'000, 4096, 4096, 0.125};
  settings.classes = {{true, true, 0}, {true, false, 0}};
  settings.largest_packet = Bytes::of(4096);
  settings.seed = 1;
  return settings;
}

enum class Pattern : std::uint8_t { shifted, random };

void permutation(benchmark::State& state, Pattern pattern) {
  const auto k = static_cast<std::uint32_t>(state.range(0));
  const auto wire_bytes = static_cast<std::uint16_t>(state.range(1));
  const auto answer_every = static_cast<std::uint32_t>(state.range(2));
  const auto threads = static_cast<std::uint32_t>(state.range(3));
  // About 20 million packet-hops.
  const std::uint32_t hosts = k * k * k / 4;
  const std::uint32_t packets = 20'000'000 / (6 * hosts);
  double hops = 0;
  double cpu_s = 0;
  for (auto _ : state) {
    state.PauseTiming();
    traffic::FatTree tree(k, Bandwidth::gbps(100), Duration::us(1));
    tree.ecn = {400'000, 1'600'000, 0.2};
    RandomStream random(1, 0, 0);
    std::vector<std::uint32_t> to(hosts);
    for (std::uint32_t host = 0; host < hosts; ++host) to[host] = (host + k * k / 4) % hosts;
    if (pattern == Pattern::random) {
      for (std::uint32_t i = hosts - 1; i > 0; --i) std::swap(to[i], to[random.below(i + 1)]);
    }
    std::vector<std::vector<traffic::Endpoint::Stream>> streams(hosts);
    for (std::uint32_t host = 0; host < hosts; ++host) {
      if (to[host] == host) continue;
      streams[host].push_back({tree.open(host, 0, to[host], pattern == Pattern::shifted ? host : random.below(hosts)), packets,
                               wire_bytes, 0, Time::zero()});
      hops += static_cast<double>(packets) * tree.hops(host, to[host]);
    }
    EngineOptions options;
    options.threads = threads;
    Engine engine = tree.build(switch_settings(), streams, options, answer_every, 1);
    state.ResumeTiming();
    const double before_s = process_cpu_s();
    const RunReport report = engine.run({});
    cpu_s += process_cpu_s() - before_s;
    state.counters["windows"] = static_cast<double>(report.windows);
    std::uint64_t pauses = 0;
    for (std::uint32_t node = hosts; node < tree.node_count(); ++node)
      pauses += engine.entity_as<PacketSwitch>(EntityId(node)).pauses_sent();
    state.counters["pauses"] = static_cast<double>(pauses);
  }
  state.counters["packet_hops_per_cpu_s"] = hops / cpu_s;
  state.counters["packet_hops_per_s"] = benchmark::Counter(hops, benchmark::Counter::kIsRate);
}

void arguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"k", "bytes", "answer", "threads"})
      ->ArgsProduct({{8, 16, 32}, {1000, 4096}, {0, 1}, {1}})
      ->ArgsProduct({{16, 32}, {1000, 4096}, {1}, {2}})
      ->UseRealTime()
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(permutation, shifted, Pattern::shifted)->Apply(arguments);
BENCHMARK_CAPTURE(permutation, random, Pattern::random)->Apply(arguments);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();

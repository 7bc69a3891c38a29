// SPDX-License-Identifier: Apache-2.0
// Trace: reading 10 million nodes of GOAL text and of Chakra traces - nodes per second of CPU time,
// peak memory per node.
//
// 64 ranks, no two alike, so that nothing is shared. GOAL: a calc, a send and a receive in turn,
// each waiting for the one before.
// Chakra: compute nodes with the attributes that ASTRA-sim's generators write and one or two
// dependencies, an all-reduce in 50. Child processes write the files and read them, so that the
// peak memory that is reported is that of reading alone; reading includes check_workload().
// Argument: nodes. Counters: nodes_per_cpu_s, bytes_per_node (peak resident memory), file_MB.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "core/text/diagnostics.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/formats/workload_reader.hpp"

namespace {

using namespace weft;

constexpr std::uint32_t traced_ranks = 64;

/// CPU time and memory of a child process that does `work`.
rusage run_in_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      work();
    } catch (const InputError&) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (status != 0) std::abort();
  return usage;
}

void write_goal(const std::filesystem::path& folder, std::uint32_t nodes) {
  std::ofstream file(folder / "trace.goal");
  file << "num_ranks " << traced_ranks << "\n";
  const std::uint32_t steps = nodes / traced_ranks / 3;
  std::string text;
  for (std::uint32_t rank = 0; rank < traced_ranks; ++rank) {
    file << "rank " << rank << " {\n";
    for (std::uint32_t step = 0; step < steps; ++step) {
      const std::uint32_t id = 3 * step;
      const auto label = [&](std::uint32_t offset) { return fmt::format("l{}", id + offset); };
      text = fmt::format("{}: calc {} cpu 0\n", label(0), 1000 + (step * 7 + rank) % 9973);
      text +=
          fmt::format("{}: send {}b to {} tag {} cpu 0\n", label(1), 4096 + step % 1000, (rank + 1) % traced_ranks, step % 4096);
      text += fmt::format("{}: recv {}b from {} tag {} cpu 0\n", label(2), 4096 + step % 1000,
                          (rank + traced_ranks - 1) % traced_ranks, step % 4096);
      if (step > 0) text += fmt::format("{} requires l{}\n", label(0), id - 1);
      text += fmt::format("{} requires {}\n{} requires {}\n", label(1), label(0), label(2), label(1));
      file << text;
    }
    file << "}\n";
  }
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string number_field(std::uint32_t field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes_field(std::uint32_t field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string framed(const std::string& message) { return varint(message.size()) + message; }
/// An attribute whose value is in `field`, which is a number.
std::string attribute(const std::string& name, std::uint32_t field, std::uint64_t value) {
  return bytes_field(10, bytes_field(1, name) + number_field(field, value));
}

void write_chakra(const std::filesystem::path& folder, std::uint32_t nodes) {
  const std::uint32_t count = nodes / traced_ranks;
  for (std::uint32_t rank = 0; rank < traced_ranks; ++rank) {
    std::ofstream file(folder / fmt::format("trace.{}.et", rank), std::ios::binary);
    file << framed(bytes_field(1, "0.0.4"));
    for (std::uint32_t id = 0; id < count; ++id) {
      const bool is_collective = id % 50 == 49;
      std::string node = number_field(1, id) + bytes_field(2, (is_collective ? "COLL_" : "COMP_") + fmt::to_string(id));
      node += number_field(3, is_collective ? 7 : 4);
      if (id > 0) node += bytes_field(5, varint(id - 1) + (id > 100 && id % 2 == 0 ? varint(id - 100) : ""));
      if (!is_collective) node += number_field(7, 10 + (id + rank) % 97);
      node += attribute("is_cpu_op", 27, 0);
      if (is_collective) {
        node += attribute("comm_type", 9, 0) + attribute("comm_size", 9, 1 << 20);
      } else {
        node += attribute("num_ops", 9, 1'000'000 + id) + attribute("tensor_size", 13, 4096);
      }
      file << framed(node);
    }
  }
}

void read_trace(benchmark::State& state, void (*write)(const std::filesystem::path&, std::uint32_t), const char* file,
                const char* format) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  std::string name = (std::filesystem::temp_directory_path() / "weft_trace_XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(name.data());
  run_in_child([&] { write(folder, nodes); });
  rusage usage{};
  for (auto _ : state) {
    usage = run_in_child([&] { load_workload((folder / file).string(), format); });
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
  state.counters["nodes_per_cpu_s"] = nodes / (seconds(usage.ru_utime) + seconds(usage.ru_stime));
  state.counters["bytes_per_node"] = static_cast<double>(usage.ru_maxrss) * 1024 / nodes;
  state.counters["file_MB"] = static_cast<double>(bytes) / (1 << 20);
  std::filesystem::remove_all(folder);
}

void read_goal(benchmark::State& state) { read_trace(state, write_goal, "trace.goal", "goal"); }
void read_chakra(benchmark::State& state) { read_trace(state, write_chakra, "trace", "chakra"); }
BENCHMARK(read_goal)->Arg(1'000'000)->Arg(10'000'000)->Iterations(1)->Unit(benchmark::kSecond);
BENCHMARK(read_chakra)->Arg(1'000'000)->Arg(10'000'000)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace

BENCHMARK_MAIN();

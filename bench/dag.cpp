// SPDX-License-Identifier: Apache-2.0
// DAG: loading a role of 10 million ops from a binary workload file - seconds, peak memory, bytes
// per op.
//
// The DAG has 32 streams (one edge each), a second dependency per op, and an all-reduce on its own
// stream every 100 ops. A child process writes the file, so that the peak memory that is reported
// is that of loading alone.
// Argument: ops. Counters: peak_MB (resident, of the process that loads), kept_MB (the DAG's own
// arrays), file_MB, bytes_per_op (peak).
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "workloads/dag/dag.hpp"
#include "workloads/dag/dag_reader.hpp"
#include "workloads/dag/dag_writer.hpp"

namespace {

using namespace weft;

Workload make_workload(std::uint32_t ops) {
  Workload workload;
  workload.name = "bench";
  workload.rank_count = 128;
  workload.communicators.push_back(Communicator::world(128));
  workload.role_of.assign(128, 0);
  workload.role_names = {"all"};
  RoleBuilder builder;
  builder.reserve(ops, ops);
  constexpr std::uint32_t stream_count = 32;
  for (std::uint32_t i = 0; i < ops; ++i) {
    Op op;
    if (i % 100 == 99) {
      op.kind = OpKind::collective;
      op.bytes = Bytes::of(25'000'000 + i % 7);
      op.stream = stream_count + 1;
    } else {
      op.duration = Duration::ns(1000 + i % 9973);
      op.stream = static_cast<std::uint16_t>(1 + i % stream_count);
    }
    builder.add(op);
    if (i > 0) builder.depend(i, i - 1 - i % std::min<std::uint32_t>(i, 1000));
  }
  workload.roles.push_back(std::move(builder).finish().dag);
  return workload;
}

/// In a child, whose memory is gone when it ends.
void write_file(const std::string& path, std::uint32_t ops) {
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream file(path, std::ios::binary);
    write_workload_binary(make_workload(ops), [&file](std::string_view part) { file << part; });
    file.close();
    _exit(file ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void load_binary(benchmark::State& state) {
  const auto ops = static_cast<std::uint32_t>(state.range(0));
  std::string name = (std::filesystem::temp_directory_path() / "weft_dag_XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(name.data());
  const std::string path = (folder / "dag.pb").string();
  write_file(path, ops);
  std::uint64_t edges = 0;
  double kept_mb = 0;
  for (auto _ : state) {
    const Workload workload = read_workload(path);
    edges = workload.roles[0].edge_count();
    kept_mb = static_cast<double>(workload.roles[0].memory_bytes()) / (1 << 20);
  }
  state.counters["edges"] = static_cast<double>(edges);
  state.counters["kept_MB"] = kept_mb;
  state.counters["file_MB"] = static_cast<double>(std::filesystem::file_size(path)) / (1 << 20);
  state.counters["peak_MB"] = peak_mb();
  state.counters["bytes_per_op"] = peak_mb() * (1 << 20) / ops;
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * ops);
  std::filesystem::remove_all(folder);
}
BENCHMARK(load_binary)->Arg(1'000'000)->Arg(10'000'000)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace

BENCHMARK_MAIN();

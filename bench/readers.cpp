// SPDX-License-Identifier: Apache-2.0
// Readers: that reading takes time in proportion to the file, whatever the file is like.
//
// Every reader is fed texts of growing length: one line of many items, many mistakes, long cycles,
// many names. Each is read to its end or to its errors. "BigO" must be N (or NlgN where things are
// sorted), with a small RMS; what is quadratic here takes minutes in a file of some MB.
// Argument: items in the file. Counter: bytes_per_second.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/readers.hpp"

namespace {

using namespace weft;

/// A text: head, so many items, middle, so many other items, tail. In all of them @n stands for
/// their number and @m for one more, in items @i for 0 .. n - 1, @j for 1 .. n, and @k for the next
/// one's @i, in a circle.
struct Case {
  std::string_view reader;
  std::string_view what;
  std::string_view head;
  std::string_view item;
  std::string_view middle = "";
  std::string_view other_item = "";
  std::string_view tail = "";
  std::int64_t items_max = INT64_MAX;  ///< the format takes no more
};

void add(std::string& text, std::string_view pattern, std::int64_t i, std::int64_t n) {
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '@') {
      text += pattern[at];
      continue;
    }
    const char which = pattern[++at];
    text += fmt::to_string(which == 'n' ? n : which == 'm' ? n + 1 : which == 'i' ? i : which == 'j' ? i + 1 : (i + 1) % n);
  }
}

std::string text_of(const Case& of, std::int64_t n) {
  std::string text;
  add(text, of.head, 0, n);
  for (std::int64_t i = 0; i < n; ++i) add(text, of.item, i, n);
  add(text, of.middle, 0, n);
  for (std::int64_t i = 0; i < n; ++i) add(text, of.other_item, i, n);
  add(text, of.tail, 0, n);
  return text;
}

constexpr std::string_view simgrid_head = R"(<platform version="4.1"><zone id="world" routing="Full">)";
constexpr std::string_view simgrid_tail = "</zone></platform>";
constexpr std::string_view chakra_head = R"({"version": "0.0.4"})";
constexpr std::string_view kineto_head =
    R"({"traceEvents": [{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":1000000000})";

constexpr Case cases[] = {
    // Protocol buffers in text form.
    {"workload_weft", "one_line", "ranks: 2 role { ", R"(op { name: "o@i" compute { duration: "1us" } } )", "}"},
    {"workload_weft", "errors", "ranks: 2 role { ", R"(op { name: "o@i" deps: "none@k" compute { duration: "1" } } )", "}"},
    {"workload_weft", "cycle", "ranks: 2 role { ", R"(op { name: "o@i" deps: "o@k" compute { duration: "1us" } } )", "}"},
    {"workload_weft", "chain", R"(ranks: 2 role { op { name: "o0" compute { duration: "1us" } } )",
     R"(op { name: "o@j" deps: "o@i" compute { duration: "1us" } } )", "}"},
    {"workload_weft", "unknown_fields", "ranks: 2 ", "field@i: @k "},
    {"workload_weft", "communicators", "ranks: 2 ", R"(communicator { name: "c@i" size: 2 } )", "role { ",
     R"(op { name: "o@i" collective { type: ALL_REDUCE size: "1MB" communicator: "c1999" } } )", "}", 65'000},
    {"workload_weft", "roles", "ranks: @n ",
     R"(role { name: "r@i" ranks: "@i" op { name: "a" collective { type: ALL_REDUCE size: "1MB" } } } )", "", "", "", 65'000},
    {"workload_weft", "groups",
     R"(ranks: @n role { op { name: "a" collective { type: ALL_REDUCE size: "1MB" communicator: "c" } } } communicator { name: "c" )",
     R"(group { ranks: "@i" } )", "}"},
    {"workload_weft", "messages", R"(ranks: 2 role { name: "s" ranks: "0" )", R"(op { name: "o@i" send { peer: 1 size: "1MB" } } )",
     R"(} role { name: "r" ranks: "1" )", R"(op { name: "o@i" receive { peer: 0 size: "1MB" } } )", "}"},
    {"workload_weft", "mismatches", R"(ranks: 2 role { name: "s" ranks: "0" )",
     R"(op { name: "o@i" collective { type: ALL_REDUCE size: "@iB" } } )", R"(} role { name: "r" ranks: "1" )",
     R"(op { name: "o@k" collective { type: ALL_REDUCE size: "@kB" } } )", "}"},
    {"topology_weft", "one_line", R"(switch { name: "s" } )",
     R"(host { port: "h@i" } link { a: "h@i" b: "s" rate: "1Gbps" delay: "1us" } )"},
    {"topology_weft", "errors", R"(switch { name: "s" } )", R"(host { port: "h@i" } link { a: "h@kx" b: "s" rate: "1" } )"},
    {"collective_rules", "one_line", "", R"(rule { bytes_min: "@iB" algorithm: "ring" } )"},
    {"collective_program", "one_line", R"(collective: "all_reduce" ranks: 2 parts: 1 role { )",
     R"(step { send { peer_xor: 1 parts: "0" } receive { peer_xor: 1 parts: "0" } } )", "}"},
    {"routes", "one_line", "", R"(route { at: "s" to: "b" via: "t" } )"},
    // Words and lines.
    {"goal", "one_line", "num_ranks 1 rank 0 { ", "l@i: calc 10; ", "}"},
    {"goal", "cycle", "num_ranks 1\nrank 0 {\n", "l@i: calc 10\n", "", "l@i requires l@k\n", "}\n"},
    {"goal", "errors", "num_ranks 1 rank 0 { ", "l@i: clac 10; l@i requires x@k; ", "}"},
    {"goal", "ranks", "num_ranks @n\n", "rank @i {\n c: calc 10\n}\n"},
    {"htsim", "lines", "Nodes 4\nConnections @n\n", "0->1 id @j start 0 size 10\n"},
    {"htsim", "one_line", "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 10", " prio@i @k", "\n"},
    {"htsim", "triggers", "Nodes 4\nConnections @n\nTriggers @n\n", "0->1 id @j trigger @i size 10 send_done_trigger @k\n", "",
     "trigger id @i oneshot\n"},
    {"simai_text", "lines", "DATA all_gpus: 8\n@n\n", "conv@i\t-1\t100\tNONE\t0\t100\tNONE\t0\t100\tALLREDUCE\t4096\t10\n"},
    {"simai_text", "one_line", "DATA all_gpus: 8\n1\n", "conv@i\t-1\t@k\tNONE\t", "\n"},
    {"astrasim_text", "lines", "DATA\n@n\n", "a@i -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0\n"},
    {"flows_hpcc", "lines", "@n\n", "0 1 3 100 1000 0.0\n"},
    {"flows_hpcc", "one_line", "@n ", "0 1 3 100 1000 0.0 "},
    {"topology_hpcc", "one_line", "@m 1 @n @n ", "@i @n 100Gbps 0.001ms 0 "},
    {"topology_hpcc", "errors", "@m 1 @n\n@n\n", "@i @k 100Gbit 0.001 0\n"},
    {"topology_simai", "errors", "@m 2 1 1 @n H100\n2 3\n", "@i @k 100Gbit 0.001 0\n"},
    // XML and YAML.
    {"topology_simgrid", "one_line", simgrid_head, R"(<host id="h@i" speed="1Gf"/>)", simgrid_tail},
    {"topology_simgrid", "routes", R"(<platform version="4.1"><zone id="world" routing="Floyd"><router id="r"/>)",
     R"(<host id="h@i" speed="1Gf"/><link id="l@i" bandwidth="1Gbps" latency="1us"/><route src="h@i" dst="r"><link_ctn id="l@i"/></route>)",
     simgrid_tail},
    {"topology_simgrid", "errors", simgrid_head, R"(<hots id="h@i" seed="@k"/>)", simgrid_tail},
    {"topology_simgrid", "attributes", R"(<platform version="4.1"><zone id="world" )", R"(a@i="@k" )", "/></platform>"},
    {"topology_nccl", "one_line",
     R"(<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="0x8f">)",
     R"(<pci busid="0000:@i:00.0" class="0x030200" link_speed="33 GT/s" link_width="x16"><gpu dev="@i" sm="90" rank="@k"/></pci>)",
     "</cpu></system>"},
    {"topology_astra", "lists", "topology: [ Ring", ", Switch", " ]\nnpus_count: [ 4 ]\nbandwidth: [ 50GB ]\nlatency: [ 500 ]\n"},
    // JSON.
    {"chakra_json", "one_line", chakra_head, R"({"id": "@i", "name": "n", "type": "COMP_NODE", "durationMicros": "5"})"},
    {"chakra_json", "cycle", chakra_head, R"({"id": "@i", "name": "n", "type": "COMP_NODE", "dataDeps": ["@k"]})"},
    {"chakra_json", "errors", chakra_head, R"({"id": "@i", "nam": "n", "type": "COMP", "dataDeps": ["x@k"]})"},
    {"chakra_json", "collectives", chakra_head,
     R"({"id": "@i", "name": "n", "type": "COMM_COLL_NODE", "attr": [{"name": "comm_type", "int64Val": "3"}, )"
     R"({"name": "comm_size", "int64Val": "4096"}, {"name": "pg_name", "stringVal": "@i"}]})"},
    {"kineto", "one_line", kineto_head,
     R"(,{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":@i,"dur":0.5,"args":{"correlation":@i}})"
     R"(,{"ph":"X","cat":"kernel","name":"k","pid":2,"tid":0,"ts":@i,"dur":0.5,"args":{"correlation":@i}})",
     "]}"},
    {"kineto", "errors", kineto_head,
     R"(,{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":2,"tid":0,"ts":"@i","dur":-5,"args":{"correlation":@k}})",
     "]}"},
    {"gavel_throughputs", "one_line", R"x({"v100": {"('m', 1)": {"null": 0.5})x", R"x(, "('m@i', 1)": {"null": @k.5})x", "}}"},
    // CSV.
    {"jobs_weft", "columns", "job,submit_s,gpus,run_s", ",c@i", "\na,0,1,5\n"},
    {"jobs_weft", "cells", "job,submit_s,gpus,run_s\na,0,1,5", ",@i", "\n"},
    {"jobs_weft", "rows", "job,submit_s,gpus,run_s\n", "j@i,@k,1,5\n"},
    {"jobs_weft", "errors", "job,submit_s,gpus,run_s\n", "j@i,x@k,-1,\n"},
    {"jobs_philly", "rows", "timestamp,duration,num_gpus,gpu_time,cluster\n", "2017-10-09 07:01:55,10,1,10,a\n"},
    {"jobs_philly", "errors", "timestamp,duration,num_gpus,gpu_time,cluster\n", "2017-10-39,x@i,@k,10,a\n"},
    {"jobs_gavel", "errors", "", "ResNet-18\tpython3 main.py\timage@i\t--num_steps\t@kx\n"},
    {"jobs_helios", "errors", "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n",
     "@i,u1,vc@k,x,64,1,COMPLETED,2020-04-01,2020,2020,3600,20\n"},
    {"jobs_acme", "errors", "job_id,user,gpu_num,submit_time,duration\n", "@i,u,x@k,1585670411250,5\n"},
    {"jobs_openb", "errors",
     "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n",
     "pod-@i,12000,16384,x@k,1000,,LS,Running,0,90000,0\n"},
    {"jobs_muri", "errors",
     "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,resource_time_1,"
     "resource_time_2,priority\n",
     "@i,8,x@k,10,m,4,5000,100,437,1,2,3,0\n"},
    {"jobs_muri_result", "errors",
     "time,job_id,num_gpu,submit_time,start_time,end_time,executed_time,real_executed_time,JCT,duration,pending_time,job_counter,"
     "promote\n",
     "x@i,@k,8,10.0,20.1,210.25,190.1,180.5,200.25,170.0,19.75,1,0\n"},
    {"pollux", "errors", "placement,local_bsz,step_time,sync_time\n", "@i,8,x@k,0.1\n"},
    {"cluster_summary", "errors",
     "id,gpu_num,job_num,cpu_job_num,gpu_job_num,avg_run_time_gpu,avg_que_time_gpu,avg_gpu_num,complete_rate_gpu,cancel_rate_gpu,"
     "fail_rate_gpu,complete_gpu_time,cancel_gpu_time,fail_gpu_time\n",
     "A@i,x@k,100,40,60,1000.5,20.0,2.5,0.5,0.3,0.2,3000.0,2000.0,1000.0\n"},
    {"virtual_clusters", "rows", ",num\n", "vc@i,@k\n"},
    {"failure_log", "rows", "time_s,part,repair_s\n", "@i,host1/gpu2,0.5\n"},
    {"failure_log", "errors", "time_s,part,repair_s\n", "@i,hots@k,x\n"},
    {"maintenance_plan", "rows", "time_s,host,duration_s\n", "@i0,host1,5\n"},
    {"maintenance_plan", "overlaps", "time_s,host,duration_s\n", "@i,host1,1e9\n"},
};

void read(benchmark::State& state, const Case& of) {
  const auto readers = fuzzed_readers();
  const auto reader =
      std::find_if(readers.begin(), readers.end(), [&](const FuzzedReader& known) { return known.name == of.reader; });
  if (reader == readers.end()) return state.SkipWithError("there is no such reader");
  const std::string text = text_of(of, std::min(state.range(0), of.items_max));
  for (auto _ : state) feed(*reader, text);
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * static_cast<std::int64_t>(state.iterations()));
  state.SetComplexityN(std::min(state.range(0), of.items_max));
}

}  // namespace

int main(int argc, char** argv) {
  for (const Case& of : cases) {
    const std::string name = fmt::format("{}/{}", of.reader, of.what);
    benchmark::RegisterBenchmark(name.c_str(), [&of](benchmark::State& state) { read(state, of); })
        ->RangeMultiplier(4)
        ->Range(1 << 11, 1 << 17)
        ->Unit(benchmark::kMillisecond)
        ->Complexity();
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

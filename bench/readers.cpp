// Readers: that reading takes time in proportion to the file, whatever the file is like.
//
// Every reader is fed texts of growing length: one line of many items, many mistakes, long cycles, deep nesting where the format has it. Each is read to its end
// or to its errors. "BigO" must be N (or NlgN where things are sorted), with a small RMS; what is quadratic here takes minutes in a file of some MB.
// Argument: items in the file. Counters: bytes_per_second; ns_per_item in BigO.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/readers.hpp"

namespace {

using namespace weft;

/// `head`, then what `item` says of 0 .. n - 1, then `tail`.
template <class Item>
std::string repeated(std::int64_t n, const std::string& head, const Item& item, const std::string& tail = "") {
  std::string text = head;
  for (std::int64_t i = 0; i < n; ++i) text += item(std::to_string(i), std::to_string((i + 1) % n));
  return text + tail;
}

struct Case {
  std::string_view reader;
  std::string_view what;
  std::string (*text)(std::int64_t items);
};

#define ITEM [](const std::string& i, const std::string& next) -> std::string

constexpr Case cases[] = {
    // Protocol buffers in text form.
    {"workload_weft", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "ranks: 2 role { ",
           ITEM {
             static_cast<void>(next);
             return "op { name: \"o" + i + "\" compute { duration: \"1us\" } } ";
           },
           "}");
     }},
    {"workload_weft", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "ranks: 2 role { ",
           ITEM { return "op { name: \"o" + i + "\" deps: \"none" + next + "\" compute { duration: \"1\" } } "; }, "}");
     }},
    {"workload_weft", "cycle",
     [](std::int64_t n) {
       return repeated(
           n, "ranks: 2 role { ",
           ITEM { return "op { name: \"o" + i + "\" deps: \"o" + next + "\" compute { duration: \"1us\" } } "; }, "}");
     }},
    {"workload_weft", "chain",
     [](std::int64_t n) {
       return repeated(
           n, "ranks: 2 role { op { name: \"o0\" compute { duration: \"1us\" } } ",
           ITEM {
             return "op { name: \"o" + std::to_string(std::stoll(i) + 1) + "\" deps: \"o" + i +
                    "\" compute { duration: \"1us\" } } " + (next.empty() ? "" : "");
           },
           "}");
     }},
    {"workload_weft", "unknown_fields",
     [](std::int64_t n) {
       return repeated(
           n, "ranks: 2 ", ITEM { return "field" + i + ": " + next + " "; });
     }},
    {"workload_weft", "communicators",
     [](std::int64_t n) {
       const std::int64_t count = std::min<std::int64_t>(n, 65'000);
       return repeated(
                  count, "ranks: 2 ",
                  ITEM {
                    static_cast<void>(next);
                    return "communicator { name: \"c" + i + "\" size: 2 } ";
                  }) +
              repeated(
                  n, "role { ",
                  ITEM {
                    static_cast<void>(next);
                    return "op { name: \"o" + i + "\" collective { type: ALL_REDUCE size: \"1MB\" communicator: \"c1999\" } } ";
                  },
                  "}");
     }},
    {"workload_weft", "roles",
     [](std::int64_t n) {
       const std::int64_t count = std::min<std::int64_t>(n, 65'000);
       return repeated(
           count, "ranks: " + std::to_string(count) + " ", ITEM {
             static_cast<void>(next);
             return "role { name: \"r" + i + "\" ranks: \"" + i +
                    "\" op { name: \"a\" collective { type: ALL_REDUCE size: \"1MB\" } } } ";
           });
     }},
    {"workload_weft", "groups",
     [](std::int64_t n) {
       return repeated(
           n,
           "ranks: " + std::to_string(n) +
               " role { op { name: \"a\" collective { type: ALL_REDUCE size: \"1MB\" communicator: \"c\" } } } communicator { "
               "name: \"c\" ",
           ITEM {
             static_cast<void>(next);
             return "group { ranks: \"" + i + "\" } ";
           },
           "}");
     }},
    {"workload_weft", "messages",
     [](std::int64_t n) {
       return repeated(
                  n, "ranks: 2 role { name: \"s\" ranks: \"0\" ",
                  ITEM {
                    static_cast<void>(next);
                    return "op { name: \"o" + i + "\" send { peer: 1 size: \"1MB\" } } ";
                  },
                  "} ") +
              repeated(
                  n, "role { name: \"r\" ranks: \"1\" ",
                  ITEM {
                    static_cast<void>(next);
                    return "op { name: \"o" + i + "\" receive { peer: 0 size: \"1MB\" } } ";
                  },
                  "} ");
     }},
    {"workload_weft", "mismatches",
     [](std::int64_t n) {
       return repeated(
                  n, "ranks: 2 role { name: \"s\" ranks: \"0\" ",
                  ITEM {
                    static_cast<void>(next);
                    return "op { name: \"o" + i + "\" collective { type: ALL_REDUCE size: \"" + i + "B\" } } ";
                  },
                  "} ") +
              repeated(
                  n, "role { name: \"r\" ranks: \"1\" ",
                  ITEM {
                    static_cast<void>(i);
                    return "op { name: \"o" + next + "\" collective { type: ALL_REDUCE size: \"" + next + "B\" } } ";
                  },
                  "} ");
     }},
    {"goal", "ranks",
     [](std::int64_t n) {
       return repeated(
           n, "num_ranks " + std::to_string(n) + "\n",
           ITEM { return "rank " + i + " {\n s: send 8b to " + next + " tag 1\n r: recv 8b from * tag 1\n}\n"; });
     }},
    {"chakra_json", "collectives",
     [](std::int64_t n) {
       return repeated(
           n, "{\"version\": \"0.0.4\"}", ITEM {
             static_cast<void>(next);
             return "{\"id\": \"" + i +
                    "\", \"name\": \"n\", \"type\": \"COMM_COLL_NODE\", \"attr\": [{\"name\": \"comm_type\", \"int64Val\": \"3\"}, "
                    "{\"name\": \"comm_size\", \"int64Val\": \"4096\"}, {\"name\": \"pg_name\", \"stringVal\": \"" +
                    i + "\"}]}";
           });
     }},
    {"topology_weft", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "switch { name: \"s\" } ", ITEM {
             static_cast<void>(next);
             return "host { port: \"h" + i + "\" } link { a: \"h" + i + "\" b: \"s\" rate: \"1Gbps\" delay: \"1us\" } ";
           });
     }},
    {"topology_weft", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "switch { name: \"s\" } ",
           ITEM { return "host { port: \"h" + i + "\" } link { a: \"h" + next + "x\" b: \"s\" rate: \"1\" } "; });
     }},
    {"collective_rules", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "", ITEM {
             static_cast<void>(next);
             return "rule { bytes_min: \"" + i + "B\" algorithm: \"ring\" } ";
           });
     }},
    {"collective_program", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "collective: \"all_reduce\" ranks: 2 parts: 1 role { ",
           ITEM {
             static_cast<void>(i);
             static_cast<void>(next);
             return "step { send { peer_xor: 1 parts: \"0\" } receive { peer_xor: 1 parts: \"0\" } } ";
           },
           "}");
     }},
    {"routes", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "", ITEM {
             static_cast<void>(i);
             static_cast<void>(next);
             return "route { at: \"s\" to: \"b\" via: \"t\" } ";
           });
     }},
    // Words and lines.
    {"goal", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "num_ranks 1 rank 0 { ",
           ITEM {
             static_cast<void>(next);
             return "l" + i + ": calc 10; ";
           },
           "}");
     }},
    {"goal", "cycle",
     [](std::int64_t n) {
       return repeated(
                  n, "num_ranks 1\nrank 0 {\n",
                  ITEM {
                    static_cast<void>(next);
                    return "l" + i + ": calc 10\n";
                  }) +
              repeated(
                  n, "", ITEM { return "l" + i + " requires l" + next + "\n"; }, "}\n");
     }},
    {"goal", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "num_ranks 1 rank 0 { ", ITEM { return "l" + i + ": clac 10; l" + i + " requires x" + next + "; "; }, "}");
     }},
    {"htsim", "lines",
     [](std::int64_t n) {
       return repeated(
           n, "Nodes 4\nConnections " + std::to_string(n) + "\n", ITEM {
             static_cast<void>(next);
             return "0->1 id " + std::to_string(std::stoll(i) + 1) + " start 0 size 10\n";
           });
     }},
    {"htsim", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "Nodes 4\nConnections 1\n0->1 id 1 start 0 size 10", ITEM { return " prio" + i + " " + next; }, "\n");
     }},
    {"htsim", "triggers",
     [](std::int64_t n) {
       return repeated(
                  n, "Nodes 4\nConnections " + std::to_string(n) + "\nTriggers " + std::to_string(n) + "\n",
                  ITEM {
                    return "0->1 id " + std::to_string(std::stoll(i) + 1) + " trigger " + i + " size 10 send_done_trigger " + next +
                           "\n";
                  }) +
              repeated(
                  n, "", ITEM {
                    static_cast<void>(next);
                    return "trigger id " + i + " oneshot\n";
                  });
     }},
    {"simai_text", "lines",
     [](std::int64_t n) {
       return repeated(
           n, "DATA all_gpus: 8\n" + std::to_string(n) + "\n", ITEM {
             static_cast<void>(next);
             return "conv" + i + "\t-1\t100\tNONE\t0\t100\tNONE\t0\t100\tALLREDUCE\t4096\t10\n";
           });
     }},
    {"simai_text", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "DATA all_gpus: 8\n1\n", ITEM { return "conv" + i + "\t-1\t" + next + "\tNONE\t"; }, "\n");
     }},
    {"astrasim_text", "lines",
     [](std::int64_t n) {
       return repeated(
           n, "DATA\n" + std::to_string(n) + "\n", ITEM {
             static_cast<void>(next);
             return "a" + i + " -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0\n";
           });
     }},
    {"flows_hpcc", "lines",
     [](std::int64_t n) {
       return repeated(
           n, std::to_string(n) + "\n", ITEM {
             static_cast<void>(i);
             static_cast<void>(next);
             return "0 1 3 100 1000 0.0\n";
           });
     }},
    {"flows_hpcc", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, std::to_string(n) + " ", ITEM {
             static_cast<void>(i);
             static_cast<void>(next);
             return "0 1 3 100 1000 0.0 ";
           });
     }},
    {"topology_hpcc", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, std::to_string(n + 1) + " 1 " + std::to_string(n) + " " + std::to_string(n) + " ",
           [n](const std::string& i, const std::string&) { return i + " " + std::to_string(n) + " 100Gbps 0.001ms 0 "; });
     }},
    {"topology_hpcc", "errors",
     [](std::int64_t n) {
       return repeated(
           n, std::to_string(n + 1) + " 1 " + std::to_string(n) + "\n" + std::to_string(n) + "\n",
           ITEM { return i + " " + next + " 100Gbit 0.001 0\n"; });
     }},
    {"topology_simai", "errors",
     [](std::int64_t n) {
       return repeated(
           n, std::to_string(n + 1) + " 2 1 1 " + std::to_string(n) + " H100\n2 3\n",
           ITEM { return i + " " + next + " 100Gbit 0.001 0\n"; });
     }},
    // XML.
    {"topology_simgrid", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "<platform version=\"4.1\"><zone id=\"world\" routing=\"Full\">",
           ITEM {
             static_cast<void>(next);
             return "<host id=\"h" + i + "\" speed=\"1Gf\"/>";
           },
           "</zone></platform>");
     }},
    {"topology_simgrid", "routes",
     [](std::int64_t n) {
       return repeated(
           n, "<platform version=\"4.1\"><zone id=\"world\" routing=\"Floyd\"><router id=\"r\"/>",
           ITEM {
             static_cast<void>(next);
             return "<host id=\"h" + i + "\" speed=\"1Gf\"/><link id=\"l" + i +
                    "\" bandwidth=\"1Gbps\" latency=\"1us\"/><route src=\"h" + i + "\" dst=\"r\"><link_ctn id=\"l" + i +
                    "\"/></route>";
           },
           "</zone></platform>");
     }},
    {"topology_simgrid", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "<platform version=\"4.1\"><zone id=\"world\" routing=\"Full\">",
           ITEM { return "<hots id=\"h" + i + "\" seed=\"" + next + "\"/>"; }, "</zone></platform>");
     }},
    {"topology_simgrid", "attributes",
     [](std::int64_t n) {
       return repeated(
           n, "<platform version=\"4.1\"><zone id=\"world\" ", ITEM { return "a" + i + "=\"" + next + "\" "; }, "/></platform>");
     }},
    {"topology_nccl", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"0x8f\">",
           ITEM {
             return "<pci busid=\"0000:" + i + ":00.0\" class=\"0x030200\" link_speed=\"33 GT/s\" link_width=\"x16\"><gpu dev=\"" +
                    i + "\" sm=\"90\" rank=\"" + next + "\"/></pci>";
           },
           "</cpu></system>");
     }},
    {"topology_astra", "lists",
     [](std::int64_t n) {
       return repeated(
           n, "topology: [ Ring",
           ITEM {
             static_cast<void>(i);
             static_cast<void>(next);
             return ", Switch";
           },
           " ]\nnpus_count: [ 4 ]\nbandwidth: [ 50GB ]\nlatency: [ 500 ]\n");
     }},
    // JSON.
    {"chakra_json", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "{\"version\": \"0.0.4\"}", ITEM {
             static_cast<void>(next);
             return "{\"id\": \"" + i + "\", \"name\": \"n\", \"type\": \"COMP_NODE\", \"durationMicros\": \"5\"}";
           });
     }},
    {"chakra_json", "cycle",
     [](std::int64_t n) {
       return repeated(
           n, "{\"version\": \"0.0.4\"}",
           ITEM { return "{\"id\": \"" + i + "\", \"name\": \"n\", \"type\": \"COMP_NODE\", \"dataDeps\": [\"" + next + "\"]}"; });
     }},
    {"chakra_json", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "{\"version\": \"0.0.4\"}",
           ITEM { return "{\"id\": \"" + i + "\", \"nam\": \"n\", \"type\": \"COMP\", \"dataDeps\": [\"x" + next + "\"]}"; });
     }},
    {"kineto", "one_line",
     [](std::int64_t n) {
       return repeated(
           n,
           "{\"traceEvents\": "
           "[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":"
           "1000000000}",
           ITEM {
             static_cast<void>(next);
             return ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":" + i +
                    ",\"dur\":0.5,\"args\":{\"correlation\":" + i +
                    "}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":2,\"tid\":0,\"ts\":" + i +
                    ",\"dur\":0.5,\"args\":{\"correlation\":" + i + "}}";
           },
           "]}");
     }},
    {"kineto", "errors",
     [](std::int64_t n) {
       return repeated(
           n,
           "{\"traceEvents\": "
           "[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":"
           "1000000000}",
           ITEM {
             return ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":2,\"tid\":0,\"ts\":\"" + i +
                    "\",\"dur\":-5,\"args\":{\"correlation\":" + next + "}}";
           },
           "]}");
     }},
    {"gavel_throughputs", "one_line",
     [](std::int64_t n) {
       return repeated(
           n, "{\"v100\": {", ITEM { return (i == "0" ? "" : ", ") + ("\"('m" + i + "', 1)\": {\"null\": " + next + ".5}"); },
           "}}");
     }},
    // CSV.
    {"jobs_weft", "columns",
     [](std::int64_t n) {
       return repeated(
           n, "job,submit_s,gpus,run_s",
           ITEM {
             static_cast<void>(next);
             return ",c" + i;
           },
           "\na,0,1,5\n");
     }},
    {"jobs_weft", "cells",
     [](std::int64_t n) {
       return repeated(
           n, "job,submit_s,gpus,run_s\na,0,1,5",
           ITEM {
             static_cast<void>(next);
             return "," + i;
           },
           "\n");
     }},
    {"jobs_weft", "rows",
     [](std::int64_t n) {
       return repeated(
           n, "job,submit_s,gpus,run_s\n", ITEM { return "j" + i + "," + next + ",1,5\n"; });
     }},
    {"jobs_weft", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "job,submit_s,gpus,run_s\n", ITEM { return "j" + i + ",x" + next + ",-1,\n"; });
     }},
    {"jobs_philly", "rows",
     [](std::int64_t n) {
       return repeated(
           n, "timestamp,duration,num_gpus,gpu_time,cluster\n", ITEM {
             static_cast<void>(i);
             static_cast<void>(next);
             return "2017-10-09 07:01:55,10,1,10,a\n";
           });
     }},
    {"jobs_philly", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "timestamp,duration,num_gpus,gpu_time,cluster\n", ITEM { return "2017-10-39,x" + i + "," + next + ",10,a\n"; });
     }},
    {"jobs_gavel", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "", ITEM { return "ResNet-18\tpython3 main.py\timage" + i + "\t--num_steps\t" + next + "x\n"; });
     }},
    {"jobs_helios", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n",
           ITEM { return i + ",u1,vc" + next + ",x,64,1,COMPLETED,2020-04-01,2020,2020,3600,20\n"; });
     }},
    {"jobs_acme", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "job_id,user,gpu_num,submit_time,duration\n", ITEM { return i + ",u,x" + next + ",1585670411250,5\n"; });
     }},
    {"jobs_openb", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n",
           ITEM { return "pod-" + i + ",12000,16384,x" + next + ",1000,,LS,Running,0,90000,0\n"; });
     }},
    {"jobs_muri", "errors",
     [](std::int64_t n) {
       return repeated(
           n,
           "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,resource_"
           "time_1,resource_time_2,priority\n",
           ITEM { return i + ",8,x" + next + ",10,m,4,5000,100,437,1,2,3,0\n"; });
     }},
    {"jobs_muri_result", "errors",
     [](std::int64_t n) {
       return repeated(
           n,
           "time,job_id,num_gpu,submit_time,start_time,end_time,executed_time,real_executed_time,JCT,duration,pending_time,job_"
           "counter,promote\n",
           ITEM { return "x" + i + "," + next + ",8,10.0,20.1,210.25,190.1,180.5,200.25,170.0,19.75,1,0\n"; });
     }},
    {"pollux", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "placement,local_bsz,step_time,sync_time\n", ITEM { return i + ",8,x" + next + ",0.1\n"; });
     }},
    {"cluster_summary", "errors",
     [](std::int64_t n) {
       return repeated(
           n,
           "id,gpu_num,job_num,cpu_job_num,gpu_job_num,avg_run_time_gpu,avg_que_time_gpu,avg_gpu_num,complete_rate_gpu,cancel_rate_"
           "gpu,fail_rate_gpu,complete_gpu_time,cancel_gpu_time,fail_gpu_time\n",
           ITEM { return "A" + i + ",x" + next + ",100,40,60,1000.5,20.0,2.5,0.5,0.3,0.2,3000.0,2000.0,1000.0\n"; });
     }},
    {"virtual_clusters", "rows",
     [](std::int64_t n) {
       return repeated(
           n, ",num\n", ITEM { return "vc" + i + "," + next + "\n"; });
     }},
    {"failure_log", "rows",
     [](std::int64_t n) {
       return repeated(
           n, "time_s,part,repair_s\n", ITEM {
             static_cast<void>(next);
             return i + ",host1/gpu2,0.5\n";
           });
     }},
    {"failure_log", "errors",
     [](std::int64_t n) {
       return repeated(
           n, "time_s,part,repair_s\n", ITEM { return i + ",hots" + next + ",x\n"; });
     }},
    {"maintenance_plan", "rows",
     [](std::int64_t n) {
       return repeated(
           n, "time_s,host,duration_s\n", ITEM {
             static_cast<void>(next);
             return i + "0,host1,5\n";
           });
     }},
    {"maintenance_plan", "overlaps",
     [](std::int64_t n) {
       return repeated(
           n, "time_s,host,duration_s\n", ITEM {
             static_cast<void>(next);
             return i + ",host1,1e9\n";
           });
     }},
};

#undef ITEM

void read(benchmark::State& state, const Case& of) {
  const FuzzedReader* reader = nullptr;
  for (const FuzzedReader& known : fuzzed_readers()) {
    if (known.name == of.reader) reader = &known;
  }
  if (reader == nullptr) return state.SkipWithError("there is no such reader");
  const std::string text = of.text(state.range(0));
  for (auto _ : state) feed(*reader, text);
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * static_cast<std::int64_t>(state.iterations()));
  state.SetComplexityN(state.range(0));
}

}  // namespace

int main(int argc, char** argv) {
  for (const Case& of : cases) {
    const std::string name = std::string(of.reader) + "/" + std::string(of.what);
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

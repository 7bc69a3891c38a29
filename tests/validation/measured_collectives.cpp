// SPDX-License-Identifier: Apache-2.0
#include "measured_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "scenario_run.hpp"

namespace weft {

namespace {

constexpr double kMedium = 64 * 1024;
constexpr double kLarge = 16 * 1024 * 1024;

/// The first column of that name.
std::size_t column_of(const std::vector<std::string>& header, std::string_view name) {
  return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) {
    // Some files end their lines as on Windows.
    if (field.ends_with('\r')) field.pop_back();
    fields.push_back(field);
  }
  return fields;
}

std::vector<CollectiveTime> read_measured(const MeasuredCollectives& set) {
  std::ifstream file(real_data(std::string(set.file)));
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = fields_of(line);
  const std::size_t size = column_of(header, set.size_column);
  const std::size_t time = column_of(header, set.time_column);
  const auto counts = [&](const std::vector<std::string>& fields) {
    return std::all_of(set.conditions.begin(), set.conditions.end(), [&](std::string_view condition) {
      const std::size_t equals = condition.find('=');
      return fields.at(column_of(header, condition.substr(0, equals))) == condition.substr(equals + 1);
    });
  };
  std::vector<CollectiveTime> times;
  for (unsigned row = 0; std::getline(file, line);) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != header.size() || !counts(fields)) continue;
    const double bytes = std::stod(fields.at(size)) * set.bytes_per_size;
    if (row++ % set.row_stride == 0) times.push_back({bytes, std::stod(fields.at(time)) * set.us_per_time, 0});
  }
  std::sort(times.begin(), times.end(), [](const CollectiveTime& a, const CollectiveTime& b) { return a.bytes < b.bytes; });
  for (std::size_t i = 0; i < times.size(); ++i) times[i].held_out = !set.fitted || i % 2 == 1;
  std::erase_if(times, [](const CollectiveTime& one) { return one.bytes < kMedium; });
  return times;
}

std::string in_capitals(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c == '_' ? c : static_cast<char>(c - 'a' + 'A'); });
  return text;
}

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

}  // namespace

namespace {

std::string lone_server(std::string_view server, unsigned ranks) {
  return fmt::format(
      "builder: \"lone_server\" set {{ name: \"server\" value: \"{}\" }} set {{ name: \"gpus_per_host\" value: \"{}\" }}", server,
      ranks);
}

}  // namespace

const std::vector<MeasuredCollectives>& measured_collectives() {
  static const std::vector<MeasuredCollectives> sets = [] {
    std::vector<MeasuredCollectives> all;
    for (const auto& [ranks, file] : {std::pair(2u, "kernels/vtrain/trace/a100_AR_GPU2_1M_1024M.csv"),
                                      std::pair(4u, "kernels/vtrain/trace/a100_AR_GPU4_1M_1024M.csv")}) {
      // The column is headed "ns" and in microseconds times 1,000; the first of two times is that
      // of the run out of place.
      all.push_back(
          {"hgx_a100", "all_reduce", file, lone_server("hgx_a100", ranks), ranks, "size(B)", 1, "time(ns)", 1e-3, 5, true, {}});
    }
    for (const auto& [ranks, file] :
         {std::pair(2u, "kernels/estimate_train_time/Perlmutter/nccl/NVIDIAA100-SXM4-80GB_allreduce_fp16_1_2.csv"),
          std::pair(2u, "kernels/estimate_train_time/Perlmutter/nccl/NVIDIAA100-SXM4-80GB_allreduce_large_fp16_1_2.csv"),
          std::pair(4u, "kernels/estimate_train_time/Perlmutter/nccl/NVIDIAA100-SXM4-80GB_allreduce_fp16_1_4.csv"),
          std::pair(4u, "kernels/estimate_train_time/Perlmutter/nccl/NVIDIAA100-SXM4-80GB_allreduce_large_fp16_1_4.csv")}) {
      // Four A100 per node, every two joined by 4 of their 12 NVLinks.
      all.push_back({"4 x A100, full mesh",
                     "all_reduce",
                     file,
                     "builder: \"lone_server\" set { name: \"gpus_per_host\" value: \"4\" } set { name: \"inside\" value: "
                     "\"full_mesh\" } set { name: \"nvlink_rate\" value: \"2400Gbps\" }",
                     ranks,
                     "shape",
                     2,
                     "dur(us)",
                     1,
                     32,
                     false,
                     {}});
    }
    for (const auto& [ranks, file] :
         {std::pair(2u, "kernels/estimate_train_time/Vista/nccl/NVIDIAGH200120GB_allreduce_fp16_2_1.csv"),
          std::pair(2u, "kernels/estimate_train_time/Vista/nccl/NVIDIAGH200120GB_allreduce_large_fp16_2_1.csv"),
          std::pair(4u, "kernels/estimate_train_time/Vista/nccl/NVIDIAGH200120GB_allreduce_fp16_4_1.csv"),
          std::pair(4u, "kernels/estimate_train_time/Vista/nccl/NVIDIAGH200120GB_allreduce_large_fp16_4_1.csv")}) {
      all.push_back(
          {"gh200",
           "all_reduce",
           file,
           fmt::format(
               "builder: \"single_switch\" set {{ name: \"server\" value: \"gh200\" }} set {{ name: \"hosts\" value: \"{}\" }}",
               ranks),
           ranks,
           "shape",
           2,
           "dur(us)",
           1,
           16,
           true,
           {}});
    }
    for (const auto& [collective, name] :
         {std::pair("all_reduce", "collective=all_reduce"), std::pair("all_gather", "collective=all_gather"),
          std::pair("reduce_scatter", "collective=reduce_scatter"), std::pair("all_to_all", "collective=alltoall")}) {
      for (const auto& [ranks, gpus] : {std::pair(2u, "gpus=2"), std::pair(4u, "gpus=4"), std::pair(8u, "gpus=8")}) {
        all.push_back({"hgx_h100",
                       collective,
                       "network/nccl_perf/h100_sxm_nccl_2.29.2.csv",
                       lone_server("hgx_h100", ranks),
                       ranks,
                       "message_elements",
                       2,
                       "latency_ms",
                       1e3,
                       1,
                       true,
                       {name, gpus, "dtype=half"}});
      }
      for (const auto& [ranks, gpus] : {std::pair(2u, "gpus=2"), std::pair(4u, "gpus=4")}) {
        all.push_back({"gb200_nvl72",
                       collective,
                       "network/nccl_perf/gb200_nccl_2.29.2.csv",
                       lone_server("gb200_nvl72", ranks),
                       ranks,
                       "message_elements",
                       2,
                       "latency_ms",
                       1e3,
                       1,
                       true,
                       {name, gpus, "dtype=half"}});
      }
    }
    all.push_back({"hgx_b200",
                   "all_reduce",
                   "network/b200_allreduce_busbw.csv",
                   lone_server("hgx_b200", 8),
                   8,
                   "size_bytes",
                   1,
                   "n1node_us_computed",
                   1,
                   1,
                   true,
                   {}});
    return all;
  }();
  return sets;
}

void simulate(std::string_view collective, const std::string& topology, unsigned ranks, std::vector<CollectiveTime>& times) {
  const ScratchFolder folder;
  folder.write("work.textproto", collectives_workload_text(collective, ranks, times));
  RunFlags flags;
  flags.scenario_file =
      folder.write("scenario.textproto", "topology { " + topology + " }\njob { workload { file: \"work.textproto\" } }\n");
  ScenarioRunOptions options;
  options.collectives_by_rules = true;
  options.reads_flows = false;
  for (const auto& row : run_scenario(flags, options).collectives) {
    times.at(std::stoul(row.at("op").substr(1))).simulated_us = std::stod(row.at("duration_ns")) * 1e-3;
  }
}

std::vector<CollectiveTime> simulate(const MeasuredCollectives& set) {
  std::vector<CollectiveTime> times = read_measured(set);
  simulate(set.collective, set.topology, set.ranks, times);
  return times;
}

std::vector<CollectiveTime> held_out(const std::vector<CollectiveTime>& times, SizeClass sizes) {
  std::vector<CollectiveTime> chosen;
  for (const CollectiveTime& one : times) {
    if (one.held_out && (one.bytes >= kLarge) == (sizes == SizeClass::large)) chosen.push_back(one);
  }
  return chosen;
}

ErrorSummary summarize_errors(const std::vector<CollectiveTime>& times) {
  std::vector<double> errors;
  for (const CollectiveTime& time : times) errors.push_back(std::abs(time.error()));
  std::sort(errors.begin(), errors.end());
  const std::size_t half = errors.size() / 2;
  const double median = errors.size() % 2 == 1 ? errors.at(half) : (errors.at(half - 1) + errors.at(half)) / 2;
  return {median, errors.back()};
}

std::string collectives_workload_text(std::string_view collective, unsigned ranks, const std::vector<CollectiveTime>& times) {
  std::ostringstream text;
  text << "ranks: " << ranks << "\nrole { name: \"all\"\n";
  for (std::size_t i = 0; i < times.size(); ++i) {
    text << "  op { name: \"c" << i << "\" ";
    if (i > 0) text << "deps: \"c" << i - 1 << "\" ";
    // Of an all_gather a rank brings its share.
    const double bytes = collective == "all_gather" ? times[i].bytes / ranks : times[i].bytes;
    text << "collective { type: " << in_capitals(collective) << " size: \"" << static_cast<long long>(bytes) << "B\" } }\n";
  }
  text << "}\n";
  return text.str();
}

std::string error_cells(const std::vector<CollectiveTime>& times) {
  if (times.empty()) return "0 | | ";
  const ErrorSummary errors = summarize_errors(times);
  return fmt::format("{} | {} | {}", times.size(), percent_text(errors.median), percent_text(errors.worst));
}

std::string measured_collectives_table() {
  std::string table =
      "| machine | collective | ranks | sizes held out, 64 KiB to 16 MiB | median error | worst | from 16 MiB on | median error | "
      "worst |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  std::vector<CollectiveTime> all;
  const auto add_row = [&](const std::string& what, const std::vector<CollectiveTime>& times) {
    table += "| " + what + " | " + error_cells(held_out(times, SizeClass::medium)) + " | " +
             error_cells(held_out(times, SizeClass::large)) + " |\n";
  };
  for (const MeasuredCollectives& set : measured_collectives()) {
    const std::vector<CollectiveTime> times = simulate(set);
    add_row(fmt::format("{} | {} | {}", set.machine, set.collective, set.ranks), times);
    all.insert(all.end(), times.begin(), times.end());
  }
  add_row("all | | ", all);
  return table;
}

}  // namespace weft

#include "measured_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "scenario_run.hpp"

namespace weft {

namespace {

constexpr double kSizeMin = 16 * 1024 * 1024;

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
  std::vector<CollectiveTime> times;
  for (unsigned row = 0; std::getline(file, line);) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != header.size()) continue;
    const double bytes = std::stod(fields.at(size)) * set.bytes_per_size;
    if (bytes < kSizeMin || row++ % set.row_stride != 0) continue;
    times.push_back({bytes, std::stod(fields.at(time)) * set.us_per_time, 0});
  }
  std::sort(times.begin(), times.end(), [](const CollectiveTime& a, const CollectiveTime& b) { return a.bytes < b.bytes; });
  return times;
}

/// All sizes in one run: each collective begins when the one before has ended.
std::string workload_text(const MeasuredCollectives& set, const std::vector<CollectiveTime>& times) {
  std::ostringstream text;
  text << "ranks: " << set.ranks << "\nrole { name: \"all\"\n";
  for (std::size_t i = 0; i < times.size(); ++i) {
    text << "  op { name: \"c" << i << "\" ";
    if (i > 0) text << "deps: \"c" << i - 1 << "\" ";
    text << "collective { type: ALL_REDUCE size: \"" << static_cast<long long>(times[i].bytes) << "B\" } }\n";
  }
  text << "}\n";
  return text.str();
}

std::string size_text(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 1e9 ? "%.0f MB" : "%.1f GB", bytes < 1e9 ? bytes / 1e6 : bytes / 1e9);
  return text;
}

std::string time_text(double us) {
  char text[32];
  std::snprintf(text, sizeof text, us < 1e3 ? "%.0f us" : us < 1e5 ? "%.2f ms" : "%.1f ms", us < 1e3 ? us : us / 1e3);
  return text;
}

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

}  // namespace

const std::vector<MeasuredCollectives>& measured_collectives() {
  static const std::vector<MeasuredCollectives> sets = [] {
    std::vector<MeasuredCollectives> all;
    for (const auto& [ranks, file] : {std::pair(2u, "kernels/vtrain/trace/a100_AR_GPU2_1M_1024M.csv"),
                                      std::pair(4u, "kernels/vtrain/trace/a100_AR_GPU4_1M_1024M.csv")}) {
      // The column is headed "ns" and in microseconds times 1,000; the first of two times is that of the run out of place.
      all.push_back({"hgx_a100", file, "lone_server", "gpus_per_host", ranks, "size(B)", 1, "time(ns)", 1e-3, 16});
    }
    for (const auto& [ranks, file] :
         {std::pair(2u, "kernels/estimate_train_time/Vista/nccl/NVIDIAGH200120GB_allreduce_fp16_2_1.csv"),
          std::pair(2u, "kernels/estimate_train_time/Vista/nccl/NVIDIAGH200120GB_allreduce_large_fp16_2_1.csv"),
          std::pair(4u, "kernels/estimate_train_time/Vista/nccl/NVIDIAGH200120GB_allreduce_fp16_4_1.csv"),
          std::pair(4u, "kernels/estimate_train_time/Vista/nccl/NVIDIAGH200120GB_allreduce_large_fp16_4_1.csv")}) {
      all.push_back({"gh200", file, "single_switch", "hosts", ranks, "shape", 2, "dur(us)", 1, 16});
    }
    all.push_back({"hgx_b200", "network/b200_allreduce_busbw.csv", "lone_server", "gpus_per_host", 8, "size_bytes", 1,
                   "n1node_us_computed", 1, 1});
    return all;
  }();
  return sets;
}

std::vector<CollectiveTime> simulate(const MeasuredCollectives& set) {
  std::vector<CollectiveTime> times = read_measured(set);
  const ScratchFolder folder;
  folder.write("work.textproto", workload_text(set, times));
  const std::string machine(set.machine);
  RunFlags flags;
  flags.scenario_file = folder.write(
      "scenario.textproto", "topology { builder: \"" + std::string(set.builder) + "\" set { name: \"server\" value: \"" + machine +
                                "\" } set { name: \"" + std::string(set.rank_unit) + "\" value: \"" + std::to_string(set.ranks) +
                                "\" } }\njob { workload { file: \"work.textproto\" } }\nset { name: \"preset\" value: \"" +
                                machine + "\" }\n");
  for (const auto& row : run_scenario(flags, ScenarioRunOptions{}).collectives) {
    times.at(std::stoul(row.at("op").substr(1))).simulated_us = std::stod(row.at("duration_ns")) * 1e-3;
  }
  return times;
}

ErrorSummary summarize_errors(const std::vector<CollectiveTime>& times) {
  std::vector<double> errors;
  for (const CollectiveTime& time : times) errors.push_back(std::abs(time.error()));
  std::sort(errors.begin(), errors.end());
  const std::size_t half = errors.size() / 2;
  const double median = errors.size() % 2 == 1 ? errors.at(half) : (errors.at(half - 1) + errors.at(half)) / 2;
  return {median, errors.back()};
}

std::string measured_collectives_table() {
  std::string table =
      "| machine | ranks | sizes | smallest: measured, simulated | middle | largest | median error | worst |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const MeasuredCollectives& set : measured_collectives()) {
    const std::vector<CollectiveTime> times = simulate(set);
    const ErrorSummary errors = summarize_errors(times);
    const auto cell = [](const CollectiveTime& time) {
      return size_text(time.bytes) + ": " + time_text(time.measured_us) + ", " + time_text(time.simulated_us);
    };
    table += "| " + std::string(set.machine) + " | " + std::to_string(set.ranks) + " | " + std::to_string(times.size()) + " | " +
             cell(times.front()) + " | " + cell(times.at(times.size() / 2)) + " | " + cell(times.back()) + " | " +
             percent_text(errors.median) + " | " + percent_text(errors.worst) + " |\n";
  }
  return table;
}

}  // namespace weft

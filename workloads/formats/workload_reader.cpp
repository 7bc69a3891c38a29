// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/workload_reader.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/out_of_memory.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/dag/dag_reader.hpp"
#include "workloads/formats/chakra/chakra.hpp"
#include "workloads/formats/format_options.hpp"
#include "workloads/formats/goal/goal.hpp"
#include "workloads/formats/htsim/htsim_cm.hpp"
#include "workloads/formats/kineto/kineto.hpp"
#include "workloads/formats/kineto/kineto_files.hpp"
#include "workloads/formats/layer_text/layer_text.hpp"
#include "workloads/formats/ranks_option.hpp"

namespace weft {

namespace {

Workload load_weft(const std::string& path, const WorkloadOptions& options) {
  Workload workload = read_workload(path);
  if (options.ranks && *options.ranks != workload.rank_count) {
    fail_rank_conflict(
        *options.ranks, options.names, fmt::format("the file, which has {}", counted(workload.rank_count, "rank", "ranks")),
        SourcePlace::named(path), fmt::format("change ranks: in the file; {} replays traces of one rank", options.names("ranks")));
  }
  return workload;
}

Workload load_chakra(const std::string& path, const WorkloadOptions& options) {
  ChakraOptions chakra;
  chakra.ranks = options.ranks;
  chakra.process_groups_path = options.process_groups_path;
  chakra.collectives_as_recorded = options.collectives_as_recorded;
  chakra.group_sizes = options.group_sizes;
  chakra.names = options.names;
  return import_chakra(path, chakra);
}

Workload load_htsim(const std::string& path, const WorkloadOptions& options) {
  return import_htsim(path, options.ranks, options.names);
}

Workload load_kineto(const std::string& path, const WorkloadOptions& options) {
  KinetoOptions kineto;
  kineto.ranks = options.ranks;
  kineto.iteration = options.iteration;
  kineto.process_groups_path = options.process_groups_path;
  kineto.as_recorded = options.collectives_as_recorded;
  kineto.group_sizes = options.group_sizes;
  kineto.names = options.names;
  return import_kineto(path, kineto);
}

Workload load_goal(const std::string& path, const WorkloadOptions& options) {
  return import_goal(path, {options.ranks, options.time_unit, options.named_ranks, options.names});
}

Workload load_layers(const std::string& path, const WorkloadOptions& options, LayerDialect dialect) {
  LayerTextOptions text;
  text.ranks = options.ranks;
  text.time_unit = options.time_unit;
  text.names = options.names;
  return import_layer_text(SourceText::read(path), dialect, text);
}

Workload load_simai(const std::string& path, const WorkloadOptions& options) {
  return load_layers(path, options, LayerDialect::simai);
}

Workload load_astrasim_text(const std::string& path, const WorkloadOptions& options) {
  return load_layers(path, options, LayerDialect::astra_sim);
}

constexpr std::array known_formats = {
    WorkloadFormat{"weft",
                   "Weft's own workload: ranks, groups, roles and their ops in protobuf text (.textproto), or binary (.pb, .pb.gz) "
                   "for millions of ops. The schema is workloads/workload.proto.",
                   0, load_weft},
    WorkloadFormat{"chakra",
                   "MLCommons Chakra execution traces, one file per rank: PREFIX.0.et, PREFIX.1.et, ..., plain or gzip. Named by "
                   "the prefix. A set of one file can be replayed on N ranks.",
                   reads_process_groups | reads_as_recorded | reads_scale_group, load_chakra, chakra_files},
    WorkloadFormat{
        "kineto",
        "Traces of PyTorch's profiler (Chrome JSON, plain or gzip), one file per rank: one file, a folder, or the beginning of "
        "the names. One iteration is taken, with its kernels' mean over all alike; --as-recorded takes the whole file as "
        "measured. A single file can be replayed on N ranks.",
        reads_iteration | reads_process_groups | reads_as_recorded | reads_scale_group, load_kineto, kineto_files},
    WorkloadFormat{
        "goal", "GOAL schedules as LogGOPSim reads them (text): per rank send, recv and calc, ordered by requires and irequires.",
        reads_time_unit, load_goal},
    WorkloadFormat{
        "simai",
        "SimAI's text workload: a line with the parallelism policy and group sizes, the number of layers, then a row per "
        "layer with times and collectives of forward, input and weight gradient.",
        reads_time_unit, load_simai},
    WorkloadFormat{"astrasim-text",
                   "ASTRA-sim 1.0's text workload: as simai, without group sizes and suffixes; --ranks says how many ranks run it.",
                   reads_time_unit, load_astrasim_text},
    WorkloadFormat{
        "htsim",
        "Connection matrices of the htsim simulators (.cm): connections between nodes that start at a time or by triggers.", 0,
        load_htsim},
};

const WorkloadFormat& find_format(const std::string& path, std::string_view format) {
  std::vector<std::string> names;
  for (const WorkloadFormat& known : known_formats) {
    if (known.name == format || (format.empty() && known.name == "weft")) return known;
    names.emplace_back(known.name);
  }
  fail("unknown-format", fmt::format("there is no workload format \"{}\"", format), SourcePlace::named(path),
       suggestion(format, names, "format"), "format");
}

void refuse_unread_options(const std::string& path, const WorkloadFormat& format, const WorkloadOptions& options) {
  Diagnostics diagnostics;
  const auto refuse = [&](bool is_given, const char* name, WorkloadOption option) {
    refuse_unread_option(is_given, name, options.names, option, format, workload_formats(), "workload", path, diagnostics);
  };
  refuse(options.iteration.has_value(), "iteration", reads_iteration);
  refuse(!options.process_groups_path.empty(), "process_groups", reads_process_groups);
  refuse(!options.time_unit.empty(), "time_unit", reads_time_unit);
  refuse(options.collectives_as_recorded, "as_recorded", reads_as_recorded);
  refuse(!options.group_sizes.empty(), "scale_group", reads_scale_group);
  diagnostics.throw_if_errors();
}

}  // namespace

std::span<const WorkloadFormat> workload_formats() { return known_formats; }

Workload load_workload(const std::string& path, std::string_view format, const WorkloadOptions& options) {
  const WorkloadFormat& known = find_format(path, format);
  refuse_unread_options(path, known, options);
  return naming_memory_use(fmt::format("while reading {}", path), [&] { return known.load(path, options); });
}

std::vector<std::string> workload_files(const std::string& path, std::string_view format) {
  const WorkloadFormat& known = find_format(path, format);
  return known.files == nullptr ? std::vector<std::string>{path} : known.files(path);
}

}  // namespace weft

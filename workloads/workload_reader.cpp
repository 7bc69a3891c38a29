#include "workloads/workload_reader.hpp"

#include <array>
#include <vector>

#include "workloads/dag_reader.hpp"
#include "workloads/import_chakra.hpp"

namespace weft {

namespace {

Workload load_weft(const std::string& path, const WorkloadOptions& options) {
  Workload workload = read_workload(path);
  if (options.ranks && *options.ranks != workload.rank_count) {
    SourcePlace place;
    place.file = path;
    throw InputError({Severity::error, "rank-conflict",
                      "--ranks=" + std::to_string(*options.ranks) + " contradicts the file, which has " +
                          std::to_string(workload.rank_count) + " ranks",
                      place, "change ranks: in the file; --ranks replays traces of one rank"});
  }
  return workload;
}

Workload load_chakra(const std::string& path, const WorkloadOptions& options) {
  ChakraOptions chakra;
  chakra.ranks = options.ranks;
  chakra.process_groups_path = options.process_groups_path;
  chakra.collectives_as_recorded = options.collectives_as_recorded;
  return import_chakra(path, chakra);
}

constexpr std::array kFormats = {
    WorkloadFormat{"weft",
                   "Weft's own workload: ranks, groups, roles and their ops in protobuf text (.textproto), or binary (.pb, .pb.gz) "
                   "for millions of ops. The schema is workloads/workload.proto.",
                   load_weft},
    WorkloadFormat{"chakra",
                   "MLCommons Chakra execution traces, one file per rank: PREFIX.0.et, PREFIX.1.et, ..., plain or gzip. Named by "
                   "the prefix. A set of one file can be replayed on N ranks.",
                   load_chakra},
};

}  // namespace

std::span<const WorkloadFormat> workload_formats() { return kFormats; }

Workload load_workload(const std::string& path, std::string_view format, const WorkloadOptions& options) {
  if (format.empty()) return load_weft(path, options);
  std::vector<std::string> names;
  for (const WorkloadFormat& known : kFormats) {
    if (known.name == format) return known.load(path, options);
    names.emplace_back(known.name);
  }
  SourcePlace place;
  place.file = path;
  throw InputError({Severity::error, "unknown-format", "there is no workload format \"" + std::string(format) + "\"", place,
                    suggestion(format, names, "format")});
}

}  // namespace weft

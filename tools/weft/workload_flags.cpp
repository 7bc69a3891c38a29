#include "tools/weft/workload_flags.hpp"

namespace weft {

namespace {

/// "; read by a, b": the formats that read an option.
std::string readers_of(WorkloadOption option) {
  std::string names;
  for (const WorkloadFormat& format : workload_formats()) {
    if ((format.reads & option) != 0) names += (names.empty() ? "; read by " : ", ") + std::string(format.name);
  }
  return names;
}

}  // namespace

std::string workload_format_names() {
  std::string names;
  for (const WorkloadFormat& format : workload_formats()) names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

void add_workload_flags(CLI::App& command, WorkloadOptions& options) {
  command.add_option("--ranks", options.ranks, "Replay a one-rank trace on N ranks; default: the ranks in the files")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command
      .add_option(
          "--iteration", options.iteration,
          "Which iteration of a recorded trace to take, from 0; default: a typical one, and the whole trace with --as-recorded" +
              readers_of(reads_iteration))
      ->type_name("N");
  command
      .add_option("--process-groups", options.process_groups_path,
                  "Process groups that the trace itself does not hold: JSON" + readers_of(reads_process_groups))
      ->type_name("FILE");
  command
      .add_option("--time-unit", options.time_unit,
                  "Unit of bare times in the file: ns, us or ms; default: the format's own" + readers_of(reads_time_unit))
      ->type_name("UNIT")
      ->check(CLI::IsMember({"ns", "us", "ms"}));
  command.add_flag("--as-recorded", options.collectives_as_recorded,
                   "Collectives take the time that the trace recorded instead of being simulated" + readers_of(reads_as_recorded));
}

}  // namespace weft

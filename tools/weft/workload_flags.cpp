#include "tools/weft/workload_flags.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/weft/validators.hpp"
#include "workloads/formats/format_options.hpp"

namespace weft {

void add_workload_flags(CLI::App& command, WorkloadOptions& options) {
  command.add_option("--ranks", options.ranks, "Replay a one-rank trace on N ranks; default: the ranks in the files")
      ->type_name("N")
      ->transform(whole_number<std::uint32_t>(1));
  command
      .add_option("--iteration", options.iteration,
                  fmt::format("Which iteration of a recorded trace to take, from 0 among those that all ranks have; default: a "
                              "typical one, and the whole trace with --as-recorded; read by {}",
                              readers_of(workload_formats(), reads_iteration)))
      ->type_name("N")
      ->transform(whole_number<std::uint32_t>());
  command
      .add_option("--process-groups", options.process_groups_path,
                  fmt::format("Process groups that the trace itself does not hold: JSON; read by {}",
                              readers_of(workload_formats(), reads_process_groups)))
      ->type_name("FILE");
  command
      .add_option("--time-unit", options.time_unit,
                  fmt::format("Unit of bare times in the file: ns, us or ms; default: the format's own; read by {}",
                              readers_of(workload_formats(), reads_time_unit)))
      ->type_name("UNIT")
      ->check(one_of({"ns", "us", "ms"}));
  command.add_flag("--as-recorded", options.collectives_as_recorded,
                   fmt::format("Collectives take the time that the trace recorded instead of being simulated; read by {}",
                               readers_of(workload_formats(), reads_as_recorded)));
}

}  // namespace weft

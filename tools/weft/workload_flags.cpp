// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/workload_flags.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/weft/validators.hpp"
#include "workloads/formats/format_options.hpp"

namespace weft {

namespace {

CLI::Validator group_size() {
  const auto complaint = [](std::string& text) {
    return parse_group_size(text) ? std::string() : in_quotes(text) + " is no name and number of ranks, as in dp=64";
  };
  return {complaint, ""};
}

}  // namespace

void add_workload_flags(CLI::App& command, WorkloadOptions& options) {
  command.add_option("--ranks", options.ranks, "Replay a one-rank trace on N ranks; default: the ranks in the files")
      ->type_name("N")
      ->transform(whole_number<std::uint32_t>(1));
  // Only what parse_group_size() reads has passed the check.
  const auto take_sizes = [&options](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) options.group_sizes.push_back(parse_group_size(text).value_or(GroupSize()));
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--scale-group", take_sizes,
          "With --ranks: the process group of this name or description has so many ranks, as far apart as recorded, repeatable; "
          "default: a group of all recorded ranks becomes all ranks, others keep their size; read by " +
              readers_of(workload_formats(), reads_scale_group))
      ->type_name("NAME=SIZE")
      ->allow_extra_args(false)
      ->check(group_size());
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

// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/unused_flags.hpp"

#include <fmt/format.h>

#include "core/text/source_text.hpp"
#include "core/text/textproto.hpp"
#include "tools/simulation/scenario.pb.h"

namespace weft {

void refuse_unused_flag(bool is_given, const std::string& flag, bool has_owner, const std::string& owner,
                        Diagnostics& diagnostics) {
  if (!is_given || has_owner) return;
  diagnostics.error("unused-flag", fmt::format("{} says something about {}, which is not given", flag, owner),
                    SourcePlace::named(flag), fmt::format("add {}, or drop {}", owner, flag));
}

void refuse_unused_flags(const WorkloadOptions& options, bool has_owner, const std::string& owner, Diagnostics& diagnostics) {
  refuse_unused_flag(options.ranks.has_value(), "--ranks", has_owner, owner, diagnostics);
  refuse_unused_flag(options.iteration.has_value(), "--iteration", has_owner, owner, diagnostics);
  refuse_unused_flag(!options.process_groups_path.empty(), "--process-groups", has_owner, owner, diagnostics);
  refuse_unused_flag(!options.time_unit.empty(), "--time-unit", has_owner, owner, diagnostics);
  refuse_unused_flag(!options.group_sizes.empty(), "--scale-group", has_owner, owner, diagnostics);
  refuse_unused_flag(options.collectives_as_recorded, "--as-recorded", has_owner, owner, diagnostics);
}

void refuse_unused_flags(const JobTraceOptions& options, bool has_owner, bool is_of_scenario, const std::string& owner,
                         Diagnostics& diagnostics) {
  refuse_unused_flag(options.strict, "--strict", has_owner || is_of_scenario, owner, diagnostics);
  refuse_unused_flag(!options.time_zone.empty(), "--time-zone", has_owner, owner, diagnostics);
  refuse_unused_flag(!options.throughputs_path.empty(), "--throughputs", has_owner, owner, diagnostics);
  refuse_unused_flag(!options.gpu_type.empty(), "--gpu-type", has_owner, owner, diagnostics);
  refuse_unused_flag(!options.limit_share.empty(), "--limit-share", has_owner, owner, diagnostics);
}

bool names_job_traces(const std::string& scenario_file) {
  try {
    const SourceText source = SourceText::read(scenario_file);
    scenario::Scenario message;
    Diagnostics diagnostics;
    const TextprotoDocument document(source, message, diagnostics);
    return diagnostics.has_errors() || message.jobs_size() > 0;
  } catch (const InputError&) {
    return true;
  }
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// `weft schedule`: how long a step takes under a pipeline schedule, and what each stage does when.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/schedule_text.hpp"
#include "tools/weft/validators.hpp"
#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

namespace {

/// What a trace has room for.
constexpr std::uint64_t passes_max = 1'000'000;

struct ScheduleFlags {
  std::string name;
  std::uint32_t stages = 0;
  std::uint32_t microbatches = 0;
  std::uint32_t chunks = 0;  ///< 0: as the schedule has
  std::string forward;
  std::string backward_input;
  std::string backward_weight;
  std::string transfer = "0ns";
  double weight_memory = 1.0;
  std::string memory;
  std::string time_limit;
  std::string objective;
  std::string trace;
  bool json = false;
};

Duration read_time(const char* flag, const std::string& text, bool may_be_zero) {
  const ParsedQuantity<Duration> read = parse_duration(text);
  const SourcePlace place = SourcePlace::named(flag);
  if (!read.value) fail("bad-value", read.error.message, place, read.error.help);
  const Duration least = may_be_zero ? Duration::zero() : Duration::ticks(1);
  if (*read.value < least || *read.value > one_year) {
    fail("out-of-range", fmt::format("{} is not {} a year", in_quotes(text), may_be_zero ? "from 0ns to" : "above 0ns, up to"),
         place);
  }
  return *read.value;
}

PipelineSizes read_sizes(const ScheduleFlags& flags) {
  return {flags.stages,
          flags.microbatches,
          flags.chunks,
          read_time("--forward", flags.forward, false),
          read_time("--backward-input", flags.backward_input, false),
          read_time("--backward-weight", flags.backward_weight, false),
          read_time("--transfer", flags.transfer, true),
          flags.weight_memory};
}

void set_flag(ParamSet& params, const char* name, const char* flag, const std::string& value, bool is_for_all) {
  if (value.empty()) return;
  if (params.has(name)) {
    params.set(name, value, SourcePlace::named(fmt::format("{}={}", flag, value)));
  } else if (!is_for_all) {
    fail("unused-flag", fmt::format("{} has no parameter {}", params.module(), name), SourcePlace::named(flag),
         fmt::format("leave it out; `weft modules {}` lists its parameters", params.module()));
  }
}

NamedSchedule make_schedule(const Module<PipelineScheduleMaker>& module, PipelineSizes sizes, const ScheduleFlags& flags) {
  const std::string name(module.info.name);
  if (sizes.chunks == 0) sizes.chunks = module.make.chunks;
  const std::uint64_t passes = std::uint64_t{3} * sizes.stages * sizes.microbatches * sizes.chunks;
  if (passes > passes_max) {
    fail("too-large", fmt::format("{} passes are more than {}", passes, passes_max), SourcePlace::named("weft schedule"),
         "fewer microbatches: a schedule repeats itself after a few per stage");
  }
  ParamSet params(name, module.info.params);
  const bool is_for_all = flags.name == "all";
  set_flag(params, "memory", "--memory", flags.memory, is_for_all);
  set_flag(params, "time_limit", "--time-limit", flags.time_limit, is_for_all);
  set_flag(params, "objective", "--objective", flags.objective, is_for_all);
  return {name, sizes, module.make.make(sizes, params)};
}

int show_all(const ScheduleFlags& flags, const PipelineSizes& sizes) {
  if (!flags.trace.empty()) {
    fail("unused-flag", "a trace is of one schedule", SourcePlace::named("--trace"), "give its name with --name");
  }
  std::vector<NamedSchedule> all;
  for (const auto& module : pipeline_schedules()) all.push_back(make_schedule(module, sizes, flags));
  if (!flags.json) {
    std::cout << schedule_table(all);
    return exit_done;
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const NamedSchedule& named : all) json.push_back(schedule_json(named, false));
  std::cout << printed_json(json) << "\n";
  return exit_done;
}

int show_schedule(const ScheduleFlags& flags) {
  const PipelineSizes sizes = read_sizes(flags);
  if (flags.name == "all") return show_all(flags, sizes);
  const auto& module = find_module(pipeline_schedules(), flags.name, SourcePlace::named(fmt::format("--name={}", flags.name)));
  const NamedSchedule named = make_schedule(module, sizes, flags);
  if (const auto* broken = std::get_if<BrokenScheduleRule>(&named.result)) {
    fail("bad-schedule", broken->rule, SourcePlace::named("weft schedule"), broken->help);
  }
  if (!flags.trace.empty()) write_schedule_trace(named, flags.trace);
  if (flags.json) {
    std::cout << printed_json(schedule_json(named, true)) << "\n";
  } else {
    std::cout << schedule_page(named);
  }
  return exit_done;
}

std::string schedule_names() {
  std::string names;
  for (const auto& module : pipeline_schedules()) names += std::string(module.info.name) + ", ";
  return names + "or all to compare them";
}

}  // namespace

void add_schedule_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ScheduleFlags>();
  CLI::App* command = app.add_subcommand("schedule", "Tell how long a step takes under a pipeline schedule");
  command->footer(
      "Examples:\n"
      "  weft schedule --name=1f1b --stages=4 --microbatches=8 --forward=1ms --backward-input=1ms --backward-weight=1ms\n"
      "  weft schedule --name=all --stages=8 --microbatches=32 --forward=10ms --backward-input=12ms --backward-weight=8ms "
      "--transfer=0.5ms\n"
      "  weft schedule --name=zb_auto --memory=8 --stages=8 --microbatches=24 --forward=18.522ms --backward-input=18.086ms "
      "--backward-weight=9.337ms\n"
      "Times are of one microbatch in one stage and shared out over its chunks. The bubble ratio is the share of the step in "
      "which\n"
      "a device does nothing; that of the longest device leaves out its wait for the first microbatch and what follows its last "
      "pass.\n"
      "Activations are in microbatches of a whole stage.");
  command->add_option("--name", flags->name, schedule_names())->type_name("NAME")->required();
  command->add_option("--stages", flags->stages, "Devices of the pipeline")
      ->type_name("N")
      ->required()
      ->transform(whole_number<std::uint32_t>(1, 4096));
  command->add_option("--microbatches", flags->microbatches, "Microbatches of a step")
      ->type_name("N")
      ->required()
      ->transform(whole_number<std::uint32_t>(1, 65536));
  command->add_option("--forward", flags->forward, "Forward pass, F")->type_name("DURATION")->required();
  command->add_option("--backward-input", flags->backward_input, "Gradient of the stage's input, B")
      ->type_name("DURATION")
      ->required();
  command->add_option("--backward-weight", flags->backward_weight, "Gradient of its weights, W")->type_name("DURATION")->required();
  command->add_option("--transfer", flags->transfer, "From one stage to the next, not within a device")
      ->type_name("DURATION")
      ->capture_default_str();
  command
      ->add_option("--chunks", flags->chunks, "Chunks of layers per device; default: as the schedule has, 2 for interleaved_1f1b")
      ->type_name("N")
      ->transform(whole_number<std::uint32_t>(1, 256));
  command->add_option("--memory", flags->memory, "Microbatches whose activations a device may hold, for zb_h2, zb_auto, zb_optimal")
      ->type_name("LIMIT");
  command->add_option("--weight-memory", flags->weight_memory, "Share of activations that is held from B to W")
      ->type_name("SHARE")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--objective", flags->objective, "What zb_auto and zb_optimal make short; default device_span")
      ->type_name("WHAT")
      ->check(one_of({"device_span", "step_time"}));
  command->add_option("--time-limit", flags->time_limit, "Wall time for zb_optimal's solver; default 10s")->type_name("DURATION");
  command->add_flag("--json", flags->json, "Print JSON; of one schedule with all passes");
  command->add_option("--trace", flags->trace, "Write trace events for Perfetto, a track per device")->type_name("FILE");
  command->callback([flags, &action] { action = [flags] { return show_schedule(*flags); }; });
}

}  // namespace weft

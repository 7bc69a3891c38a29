// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/plan_flags.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <utility>

#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft {

namespace {

CLI::Option* add_gpus(CLI::App& command, PlanFlags& flags) {
  return command.add_option("--gpus", flags.gpus, "GPUs of the plan, which give data_parallel; default: as the plan says")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
}

}  // namespace

PlanOptions add_plan_options(CLI::App& command, PlanFlags& flags) {
  CLI::Option* model =
      command.add_option("--model", flags.model, "Instead of a template: a model, FILE.textproto or one of `weft modules model`")
          ->type_name("MODEL");
  CLI::Option* plan =
      command.add_option("--plan", flags.plan, "How the model is spread over GPUs: FILE.textproto or one of `weft modules plan`")
          ->type_name("PLAN")
          ->needs(model);
  model->needs(plan);
  add_gpus(command, flags)->needs(plan);
  return {model, plan};
}

void add_plan_arguments(CLI::App& command, PlanFlags& flags) {
  command.add_option("model", flags.model, "What is trained: FILE.textproto or one of `weft modules model`")
      ->type_name("MODEL")
      ->required();
  command.add_option("plan", flags.plan, "How it is spread over GPUs: FILE.textproto or one of `weft modules plan`")
      ->type_name("PLAN")
      ->required();
  add_gpus(command, flags);
  command.add_option("--set", flags.settings, "Field of the plan, repeatable")->type_name("field=value")->allow_extra_args(false);
}

PlanPlaces option_places(const PlanFlags& flags) {
  return {SourcePlace::named(fmt::format("--model={}", flags.model)), SourcePlace::named(fmt::format("--plan={}", flags.plan))};
}

PlanPlaces argument_places(const PlanFlags& flags) {
  return {SourcePlace::named(fmt::format("MODEL {}", flags.model)), SourcePlace::named(fmt::format("PLAN {}", flags.plan))};
}

const TransformerModel& transformer_of(const ModelDescription& model, const SourcePlace& place) {
  if (model.transformer() == nullptr) {
    fail("bad-model", fmt::format("{} is no transformer, and projections are of transformers", model.name), place,
         "`weft workload make --model --plan` makes workloads of others, which `weft run` simulates");
  }
  return *model.transformer();
}

PlannedModel load_planned_model(const PlanFlags& flags, PlanPlaces places) {
  ModelDescription description = load_model(flags.model, places.model);
  const TransformerModel& transformer = transformer_of(description, places.model);
  PlanRequest request{.name = flags.plan, .overrides = flags.settings, .gpus = {}};
  if (flags.gpus > 0) request.gpus = flags.gpus;
  ParallelPlan plan = load_plan(request, transformer, places.plan);
  return {std::move(description), std::move(plan), std::move(places)};
}

}  // namespace weft

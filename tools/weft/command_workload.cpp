// SPDX-License-Identifier: Apache-2.0
// `weft workload`: looks at workloads, turns foreign ones into Weft's own files and makes new ones
// from templates.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/text/printed_json.hpp"
#include "tools/results/output_file.hpp"
#include "tools/simulation/scenario/input_kind.hpp"
#include "tools/simulation/scenario/parameters.hpp"
#include "tools/simulation/scenario/planned_workload.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/gpu_flags.hpp"
#include "tools/weft/input_flags.hpp"
#include "tools/weft/plan_flags.hpp"
#include "tools/weft/workload_flags.hpp"
#include "workloads/dag/dag_writer.hpp"
#include "workloads/dag/summary.hpp"
#include "workloads/formats/format_options.hpp"
#include "workloads/formats/workload_reader.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft {

namespace {

struct WorkloadFlags {
  std::string input;
  std::string out;
  std::string template_name;
  PlanFlags plan;  ///< its settings are the template's where one is named
  GpuFlags gpu;
  WorkloadOptions options;
  bool json = false;
};

Workload load(const WorkloadFlags& flags) {
  const FileAndFormat file = split_format(flags.input);
  return load_workload(file.file, file.format, flags.options);
}

std::vector<std::string> inputs(const WorkloadFlags& flags) {
  const FileAndFormat file = split_format(flags.input);
  std::vector<std::string> files = workload_files(file.file, file.format);
  if (!flags.options.process_groups_path.empty()) files.push_back(flags.options.process_groups_path);
  return files;
}

nlohmann::ordered_json to_json(const WorkloadSummary& summary) {
  nlohmann::ordered_json json = {{"name", summary.name}, {"ranks", summary.ranks}, {"ops", summary.ops}};
  json["roles"] = nlohmann::ordered_json::array();
  for (const RoleSummary& role : summary.roles) {
    nlohmann::ordered_json ops;
    for (std::size_t kind = 0; kind < role.ops_by_kind.size(); ++kind) {
      ops[std::string(to_text(static_cast<OpKind>(kind)))] = role.ops_by_kind[kind];
    }
    json["roles"].push_back({{"name", role.name},
                             {"ranks", role.ranks},
                             {"ops", ops},
                             {"edges", role.edges},
                             {"streams", role.streams},
                             {"compute_total_s", role.compute_total.in_s()},
                             {"critical_path_s", role.critical_path.in_s()},
                             {"memory_bytes", role.memory_bytes}});
  }
  json["communication"] = nlohmann::ordered_json::array();
  for (const CommunicationSummary& row : summary.communication) {
    json["communication"].push_back({{"communicator", row.communicator},
                                     {"type", row.type},
                                     {"priority", row.priority},
                                     {"group_size_min", row.group_size_min},
                                     {"group_size_max", row.group_size_max},
                                     {"ops", row.ops},
                                     {"bytes", row.bytes.count()}});
  }
  json["memory_bytes"] = summary.memory_bytes;
  json["assumptions"] = summary.assumptions;
  return json;
}

void print(const Workload& workload, bool as_json) {
  const WorkloadSummary summary = summarise(workload);
  if (as_json) {
    std::cout << printed_json(to_json(summary)) << "\n";
  } else {
    std::cout << to_text(summary);
  }
}

int show(const WorkloadFlags& flags) {
  print(load(flags), flags.json);
  return exit_done;
}

/// Does the ending ask for text? Throws [unknown-ending] if it asks for nothing known.
bool is_text_file(const std::string& out) {
  const bool is_text = out.ends_with(".textproto");
  if (!is_text && !out.ends_with(".pb")) {
    fail("unknown-ending", "the ending does not say which form to write", SourcePlace::named(fmt::format("--out={}", out)),
         "FILE.textproto for text, FILE.pb for the compact binary form");
  }
  return is_text;
}

void write(const Workload& workload, const std::string& out) {
  const bool is_text = is_text_file(out);
  OutputFile file(out);
  if (is_text) {
    file.write(to_workload_text(workload));
  } else {
    write_workload_binary(workload, [&file](std::string_view piece) { file.write(piece); });
  }
  file.commit();
}

void print_notes(const Workload& workload) {
  for (const std::string& assumption : workload.assumptions) std::cerr << "note: " << assumption << "\n";
}

int import(const WorkloadFlags& flags) {
  is_text_file(flags.out);
  const Workload workload = load(flags);
  print_notes(workload);
  check_keeps_inputs(flags.out, inputs(flags));
  write(workload, flags.out);
  std::cout << "wrote " << flags.out << " (" << std::filesystem::file_size(flags.out) << " bytes)\n";
  return exit_done;
}

Workload from_template(const WorkloadFlags& flags) {
  const SourcePlace place = SourcePlace::named(fmt::format("--template={}", flags.template_name));
  const Module<WorkloadFactory>& module = find_module(workload_templates(), flags.template_name, place);
  ParamSet params(flags.template_name, module.info.params);
  set_from_flags(params, flags.plan.settings);
  return module.make(params, place);
}

Workload from_model(const WorkloadFlags& flags) {
  PlannedWorkload planned{.model = flags.plan.model,
                          .plan = {.name = flags.plan.plan, .overrides = flags.plan.settings, .gpus = {}},
                          .gpu = flags.gpu.gpu};
  if (flags.plan.gpus > 0) planned.plan.gpus = flags.plan.gpus;
  const PlanPlaces places = option_places(flags.plan);
  return make_planned_workload(planned, {places.model, places.plan, flags.gpu.place()});
}

int make(const WorkloadFlags& flags) {
  if (!flags.out.empty()) is_text_file(flags.out);
  const Workload workload = flags.plan.model.empty() ? from_template(flags) : from_model(flags);
  if (flags.out.empty()) {
    print(workload, flags.json);
    return exit_done;
  }
  print_notes(workload);
  write(workload, flags.out);
  if (flags.json) {
    print(workload, true);
  } else {
    std::cout << "wrote " << flags.out << " (" << std::filesystem::file_size(flags.out) << " bytes)\n";
  }
  return exit_done;
}

std::string template_names() {
  std::string names;
  for (const auto& module : workload_templates()) names += (names.empty() ? "" : ", ") + std::string(module.info.name);
  return names;
}

void add_input_options(CLI::App* command, const std::shared_ptr<WorkloadFlags>& flags) {
  command
      ->add_option("file", flags->input,
                   fmt::format("Workload: {}; for chakra FILE is PREFIX of PREFIX.0.et ...", format_names(workload_formats())))
      ->type_name("FILE[:format]")
      ->required();
  add_workload_flags(*command, flags->options);
  add_input_flags(*command);
}

}  // namespace

void add_workload_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("workload", "Look at workloads, import foreign ones, make new ones from templates");
  command->require_subcommand(1);
  auto flags = std::make_shared<WorkloadFlags>();

  CLI::App* show_command = command->add_subcommand("show", "What a workload holds: roles, ops, collectives, bytes");
  add_input_options(show_command, flags);
  show_command->add_flag("--json", flags->json, "Print JSON");
  show_command->callback([flags, &action] { action = [flags] { return show(*flags); }; });

  CLI::App* import_command = command->add_subcommand("import", "Write a workload as Weft's own file");
  add_input_options(import_command, flags);
  import_command->add_option("--out", flags->out, "FILE.textproto for text, FILE.pb for the compact binary form")
      ->type_name("FILE")
      ->required();
  import_command->footer("Example:\n  weft workload import traces/all_reduce:chakra --out=all_reduce.textproto");
  import_command->callback([flags, &action] { action = [flags] { return import(*flags); }; });

  CLI::App* make_command =
      command->add_subcommand("make", "Make a workload from a template and parameters, or from a model and a parallel plan");
  CLI::Option* of_template = make_command
                                 ->add_option("--template", flags->template_name,
                                              fmt::format("{}; `weft modules NAME` lists its parameters", template_names()))
                                 ->type_name("NAME");
  const PlanOptions plan = add_plan_options(*make_command, flags->plan);
  plan.model->excludes(of_template);
  add_gpu_flag(*make_command, flags->gpu, "Whose operator times the workload has")->needs(plan.plan);
  make_command->add_option("--set", flags->plan.settings, "Parameter of the template or field of the plan, repeatable")
      ->type_name("param=value")
      ->allow_extra_args(false);
  make_command
      ->add_option("--out", flags->out,
                   "FILE.textproto for text, FILE.pb for the compact binary form; default: only say what it would hold")
      ->type_name("FILE");
  make_command->add_flag("--json", flags->json, "Print what it holds as JSON");
  make_command->footer(
      "Examples:\n"
      "  weft modules llm\n"
      "  weft workload make --template=llm --set=tp=8 --set=cp=2 --set=pp=2 --set=dp=4\n"
      "  weft workload make --template=moe --set=experts=64 --set=ep=8 --set=dp=8 --out=moe.pb\n"
      "  weft workload make --model=llama3_70b --plan=llama3_70b_nemo --gpus=64 --set=zero_stage=0\n"
      "  weft workload make --model=dlrm_mlperf --plan=dlrm_nvidia --gpus=8\n"
      "  weft workload make --template=collectives --set=ranks=16 --set=size=1GiB --out=ar.textproto\n"
      "  weft run --topology=cluster.textproto --workload=ar.textproto");
  make_command->callback([flags, &action] {
    if (flags->template_name.empty() && flags->plan.model.empty()) throw CLI::RequiredError("--template, or --model and --plan");
    action = [flags] { return make(*flags); };
  });
}

}  // namespace weft

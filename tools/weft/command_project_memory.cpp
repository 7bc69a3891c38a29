// SPDX-License-Identifier: Apache-2.0
// `weft project memory`: what each pipeline stage of a plan needs on one GPU, and whether it fits.
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/text/printed_json.hpp"
#include "tools/weft/memory_flags.hpp"
#include "tools/weft/memory_text.hpp"
#include "tools/weft/project_commands.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

struct ProjectMemoryFlags {
  MemoryFlags memory;
  bool json = false;
};

int project_memory_command(const ProjectMemoryFlags& flags) {
  const ProjectedMemory projected = projected_memory(flags.memory);
  const MemoryReport& report = projected.report;
  if (projected.primus) {
    std::cout << (flags.json ? printed_json(primus_json(report, *projected.primus)) + "\n"
                             : primus_page(report, *projected.primus));
    return exit_done;
  }
  std::cout << (flags.json ? printed_json(memory_json(report)) + "\n" : memory_page(report));
  return report.fit() == MemoryFit::out_of_memory ? exit_no : exit_done;
}

}  // namespace

void add_project_memory_command(CLI::App& project, Action& action) {
  CLI::App* command = project.add_subcommand("memory", "GPU memory of each pipeline stage, and whether the plan fits");
  auto flags = std::make_shared<ProjectMemoryFlags>();
  MemoryFlags& memory = flags->memory;
  add_plan_arguments(*command, memory.plan);
  command
      ->add_option("cluster", memory.cluster,
                   "Whose GPU it is to fit: one of `weft modules gpu` or `weft modules server`, or a topology, FILE[:format]; "
                   "default: as --gpu says")
      ->type_name("CLUSTER");
  add_gpu_flag(*command, memory.gpu, "Whose memory counts, whatever CLUSTER has");
  command->add_option("--target-nodes", memory.target_nodes, "Instead of --gpus: hosts, of 8 GPUs or as many as CLUSTER's have")
      ->type_name("N")
      ->transform(whole_number<std::uint64_t>(1, 1U << 20))
      ->excludes("--gpus");
  command->add_option("--stage", memory.stage, "Pipeline stage to show, from 0; default: the one that needs most")
      ->type_name("N")
      ->transform(whole_number<std::uint32_t>());
  command
      ->add_option("--mode", memory.mode,
                   "simulate: all is calculated; benchmark: what is not known is taken from measured layers; both side by side")
      ->type_name("MODE")
      ->capture_default_str()
      ->check(one_of({"simulate", "benchmark", "both"}));
  add_benchmark_flags(*command, memory.benchmark);
  command
      ->add_option("--safety-margin", memory.margin,
                   "Share by which the upper bound is more: of what was measured and not calculated; in simulate of everything")
      ->type_name("SHARE")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 10.0));
  command
      ->add_option("--as", memory.as, "weft: what physics says; seed: the arithmetic that Primus' documentation prints, beside it")
      ->type_name("WHOSE")
      ->capture_default_str()
      ->check(one_of({"weft", "seed"}));
  command->add_flag("--json", flags->json, "Print JSON, in bytes");
  command->footer(
      "Examples:\n"
      "  weft project memory llama3_8b llama3_8b_nemo --gpus=8\n"
      "  weft project memory llama3_70b llama3_70b_nemo hgx_h200 --gpus=64 --set=recompute.kind=UNIFORM\n"
      "  weft project memory llama3_70b my_plan.textproto cluster.textproto --stage=3 --json\n"
      "  weft project memory mixtral_8x22b_primus mixtral_8x22b_primus mi355x --as=seed\n"
      "  weft project memory llama3_8b llama3_8b_nemo --mode=both --load-benchmark=bench.textproto\n"
      "GiB on one GPU of each stage, at the moment at which it needs most: parameters, gradients and optimizer by precision and "
      "ZeRO stage; activations of the microbatches that the schedule holds; working memory of backward and recomputation; "
      "buffers of communicators.\n"
      "FITS: the upper bound fits. AT-RISK: the point estimate does. OOM: neither does; the exit status is 1 then.");
  command->callback([flags, command, &action] {
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() > 0) flags->memory.given.insert(option->get_name());
    }
    action = [flags] { return project_memory_command(*flags); };
  });
}

}  // namespace weft

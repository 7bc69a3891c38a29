// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/benchmark_flags.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <initializer_list>
#include <variant>
#include <vector>

#include "core/text/source_text.hpp"
#include "host/op_times/line_process.hpp"
#include "tools/weft/program_run.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

/// What makes the sampler measure the layers of a benchmark.
std::vector<std::string> sampler_flags(const LayerBenchmark& wanted, const ReducedPlan& reduced, const std::string& out) {
  std::vector<std::string> flags = {"memory", fmt::format("--model={}", wanted.model)};
  const auto add = [&](const char* name, std::uint64_t value) { flags.push_back(fmt::format("--{}={}", name, value)); };
  add("hidden", wanted.hidden);
  add("heads", wanted.heads);
  add("key-value-heads", wanted.key_value_heads);
  add("head-width", wanted.head_width);
  if (wanted.mlp_width > 0) add("mlp-width", wanted.mlp_width);
  flags.push_back(fmt::format("--activation={}", reduced.model.mlp.is_gated()                       ? "swiglu"
                                                 : reduced.model.mlp.activation == Activation::relu ? "relu"
                                                                                                    : "gelu"));
  if (wanted.experts_of_rank > 0) {
    add("experts", wanted.experts_of_rank);
    add("top-k", wanted.top_k);
    add("expert-width", wanted.expert_width);
  }
  add("vocabulary", wanted.vocabulary);
  add("padded-vocabulary", padded_vocabulary(reduced.model, reduced.plan));
  add("microbatch", wanted.microbatch);
  add("sequence", wanted.sequence);
  flags.push_back(fmt::format("--precision={}", wanted.precision));
  if (!wanted.fused_attention) flags.emplace_back("--unfused-attention");
  if (reduced.model.norm == Norm::layer_norm) flags.emplace_back("--layer-norm");
  if (reduced.model.tied_embeddings) flags.emplace_back("--tied-embeddings");
  if (reduced.model.dropout > 0.0) flags.push_back(fmt::format("--dropout={}", reduced.model.dropout));
  flags.push_back(fmt::format("--out={}", out));
  return flags;
}

ReducedPlan reduced_for(const PlannedModel& planned, std::uint64_t gpus) {
  auto reduced = reduced_plan(planned.model(), planned.plan, {.gpus = gpus, .dense_layers = 1, .expert_layers = 1});
  if (const auto* broken = std::get_if<BrokenPlanRule>(&reduced)) {
    fail("bad-plan", fmt::format("the plan cannot be reduced to {} GPUs: {}", gpus, broken->rule),
         SourcePlace::named(fmt::format("--benchmark-gpus={}", gpus)), broken->help);
  }
  return std::get<ReducedPlan>(std::move(reduced));
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + (word.find(' ') == std::string::npos ? word : in_quotes(word));
  return text;
}

}  // namespace

void add_benchmark_flags(CLI::App& command, BenchmarkFlags& flags) {
  command.add_option("--load-benchmark", flags.load, "Measured layers, as the sampler writes them")->type_name("FILE");
  command.add_option("--save-benchmark", flags.save, "Measure layers on this machine's GPU now, and write them")->type_name("FILE");
  command.add_option("--benchmark-gpus", flags.gpus, "GPUs of a benchmark to make, to which the plan is reduced")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint64_t>(1, 1U << 20));
  command.add_option("--sampler", flags.sampler, "Program that measures layers, with PyTorch")
      ->type_name("COMMAND")
      ->capture_default_str();
}

void check_benchmark_uses(const std::set<std::string>& given, std::string_view mode, bool needs_benchmark) {
  const auto refuse = [&](std::initializer_list<const char*> names, const std::string& why, const std::string& help) {
    for (const char* name : names) {
      if (given.contains(name)) fail("unused-flag", why, SourcePlace::named(name), help);
    }
  };
  if (!needs_benchmark) {
    refuse({"--load-benchmark", "--save-benchmark", "--benchmark-gpus", "--sampler"},
           fmt::format("{}=simulate needs no benchmark", mode), fmt::format("add {0}=benchmark or {0}=both", mode));
  }
  if (given.contains("--load-benchmark"))
    refuse({"--save-benchmark", "--benchmark-gpus", "--sampler"}, "a benchmark is loaded, and none is made", "keep one of the two");
}

std::pair<LayerBenchmark, SourcePlace> flagged_benchmark(const BenchmarkFlags& flags, const PlannedModel& planned,
                                                         std::string_view asked_by, const std::string& command_name) {
  if (!flags.load.empty()) {
    return {read_layer_benchmark(SourceText::read(flags.load)), SourcePlace::named(flags.load)};
  }
  if (planned.model().images || std::holds_alternative<LatentAttention>(planned.model().attention.kind)) {
    fail("no-benchmark", "the sampler has neither layers of images nor latent attention", planned.places.model,
         "write the peak of a run of your own as host/benchmark.proto says and give it with --load-benchmark");
  }
  const ReducedPlan reduced = reduced_for(planned, flags.gpus);
  const LayerBenchmark wanted = planned_benchmark(planned.description.name, reduced);
  const std::string out = flags.save.empty() ? "bench.textproto" : flags.save;
  const std::vector<std::string> words = sampler_flags(wanted, reduced, out);
  if (flags.gpus > 1) {
    fail("no-benchmark", "the sampler measures layers on one GPU",
         SourcePlace::named(fmt::format("--benchmark-gpus={}", flags.gpus)),
         "leave it out, or write the peak of a run of your own as host/benchmark.proto says and give it with --load-benchmark");
  }
  if (flags.save.empty()) {
    fail("no-benchmark", fmt::format("{} anchors on measured layers, and none are given", asked_by),
         SourcePlace::named(command_name),
         fmt::format("give --load-benchmark=FILE; on a machine with the GPU, --save-benchmark=FILE makes one, as does: {} {}",
                     flags.sampler, joined_words(words)));
  }
  std::vector<std::string> command = command_words(flags.sampler, "--sampler");
  command.insert(command.end(), words.begin(), words.end());
  run_program(command, "--save-benchmark");
  return {read_layer_benchmark(SourceText::read(out)), SourcePlace::named(out)};
}

}  // namespace weft

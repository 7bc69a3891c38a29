// SPDX-License-Identifier: Apache-2.0
// `weft optimes`: measured times of operators become regressors, and answer how long others take.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"
#include "host/op_times/external_times.hpp"
#include "host/op_times/regressor_search.hpp"
#include "host/op_times/regressor_times.hpp"
#include "tools/results/output_file.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/interrupt_guard.hpp"
#include "tools/weft/operator_flags.hpp"
#include "tools/weft/optimes_text.hpp"
#include "tools/weft/progress.hpp"
#include "tools/weft/validators.hpp"

namespace weft {

namespace {

struct OptimesFlags {
  std::vector<std::string> samples;
  std::string out = "weft-optimes.textproto.gz";
  double test_share = 0.2;
  double validation_share = 0.2;
  std::uint64_t seed = 1;
  std::uint32_t threads = 1;
  bool quiet = false;

  std::string profile;
  std::string gpu;
  std::string op;
  std::string pass = "forward";
  std::string type = "fp16";
  std::vector<std::string> settings;
  std::string external;
  double timeout_s = 10;
  bool json = false;
};

int fit(const OptimesFlags& flags) {
  const bool shows = stderr_is_terminal() && !flags.quiet;
  const SampledFolder samples = read_samples(flags.samples);
  std::vector<std::string> inputs;
  for (const SampledTable& table : samples.tables) inputs.push_back(table.path);
  check_keeps_inputs(flags.out, inputs);
  OutputFile file(flags.out, flags.out.ends_with(".gz") ? OutputFile::Packing::gzip : OutputFile::Packing::none);
  if (!flags.quiet) {
    for (const std::string& note : samples.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  RegressorSearch how;
  how.seed = flags.seed;
  how.test_share = flags.test_share;
  how.validation_share = flags.validation_share;
  how.threads = flags.threads;
  const auto started = std::chrono::steady_clock::now();
  if (shows) {
    how.progress = [started](const RegressorSearch::Progress& now) {
      const double elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      const double left_s = elapsed_s * static_cast<double>(now.of - now.done) / static_cast<double>(now.done);
      std::fprintf(stderr, "\r\033[K%llu of %llu regressors  %s  %.0f s, %.0f s left", static_cast<unsigned long long>(now.done),
                   static_cast<unsigned long long>(now.of), now.function.c_str(), elapsed_s, left_s);
      std::fflush(stderr);
    };
  }
  how.stop = [] { return interrupt_flag().load(); };
  std::optional<InterruptGuard> guard(std::in_place);
  std::optional<RegressorProfile> profile;
  try {
    profile = fit_regressors(samples, how);
  } catch (const SearchStopped&) {
  }
  guard.reset();
  if (shows) std::fprintf(stderr, "\r\033[K");
  if (!profile) {
    std::fprintf(stderr, "interrupted: no profile was written\n");
    return exit_interrupted;
  }
  file.write(profile->to_text());
  file.commit();
  if (flags.json) {
    std::cout << printed_json(profile_json(*profile)) << "\n";
  } else {
    std::cout << profile_table(*profile) << "profile in " << flags.out << "\n";
  }
  return exit_done;
}

RegressorProfile read_profile(const OptimesFlags& flags) {
  RegressorProfile profile = RegressorProfile::read(SourceText::read(flags.profile));
  if (!flags.gpu.empty()) check_gpu(profile, flags.gpu, SourcePlace::named(flags.profile));
  return profile;
}

int show(const OptimesFlags& flags) {
  RegressorProfile profile = read_profile(flags);
  if (!flags.op.empty()) {
    std::vector<std::string> known;
    for (const Regressor& regressor : profile.regressors) known.push_back(regressor.of.function);
    std::erase_if(profile.regressors, [&](const Regressor& regressor) { return regressor.of.function != flags.op; });
    if (profile.regressors.empty()) {
      fail("unknown-function", fmt::format("the profile has no {}", in_quotes(flags.op)), SourcePlace::named("--op"),
           suggestion(flags.op, known, "function"));
    }
  }
  if (flags.json) {
    std::cout << printed_json(profile_json(profile)) << "\n";
  } else if (flags.op.empty()) {
    std::cout << profile_table(profile);
  } else {
    for (const Regressor& regressor : profile.regressors) std::cout << regressor_page(regressor);
  }
  return exit_done;
}

OperatorPass pass_called(const std::string& name) {
  if (name == "backward_input") return OperatorPass::backward_input;
  if (name == "backward_weight") return OperatorPass::backward_weight;
  return name == "backward" ? OperatorPass::backward : OperatorPass::forward;
}

ElementType type_flag(const std::string& text) {
  std::string upper = text;
  std::ranges::transform(upper, upper.begin(), [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const std::optional<ElementType> type = element_type_named(upper);
  if (type) return *type;
  std::vector<std::string> known;
  for (const ElementType& one : element_types()) known.emplace_back(one.name);
  fail("unknown-type", fmt::format("{} is no element type", in_quotes(text)), SourcePlace::named("--type"),
       suggestion(upper, known, "type"));
}

ShownTime ask_source(const OperatorTimes& times, const Operator& op, const OptimesFlags& flags) {
  const OperatorPass pass = pass_called(flags.pass);
  const std::optional<Duration> time = times.time_of(op, pass);
  return {fmt::format("{}, {}", to_text(op.shape), to_text(pass)),
          times.origin(),
          time ? std::optional(time->in_us()) : std::nullopt,
          std::nullopt,
          "",
          {}};
}

/// Sizes that the question has to have.
double needed_size(const std::map<std::string, double>& sizes, const char* name) {
  const auto found = sizes.find(name);
  if (found != sizes.end()) return found->second;
  fail("missing-flag", fmt::format("a collective needs {}", name), SourcePlace::named("--set"),
       fmt::format("add --set={}=N", name));
}

/// By a function of the tables.
ShownTime ask_function(const RegressorTimes& times, const std::map<std::string, double>& sizes, const OptimesFlags& flags) {
  const std::vector<Regressor>& all = times.profile().regressors;
  const auto is_collective = [&](const Regressor& regressor) {
    return regressor.of.kernel.kind == KernelKind::message && regressor.of.function.starts_with(flags.op);
  };
  std::optional<RegressorTimes::Answer> answer;
  if (std::ranges::any_of(all, is_collective)) {
    answer = times.collective_time(flags.op, static_cast<std::uint32_t>(needed_size(sizes, "nodes")),
                                   static_cast<std::uint32_t>(needed_size(sizes, "gpus_per_node")), needed_size(sizes, "bytes"));
    if (!answer) {
      fail("unknown-function", fmt::format("the profile has no {} on so many nodes and GPUs", in_quotes(flags.op)),
           SourcePlace::named("--op"), fmt::format("weft optimes show {} lists what it has", flags.profile));
    }
  } else {
    std::vector<std::string> names;
    std::vector<double> values;
    for (const auto& [name, value] : sizes) {
      names.push_back(name);
      values.push_back(value);
    }
    answer = times.function_time(flags.op, flags.pass != "forward", type_flag(flags.type), {names, values});
    if (!answer) {
      std::vector<std::string> known;
      for (const Regressor& regressor : all) known.push_back(regressor.of.function);
      const bool is_known = std::ranges::find(known, flags.op) != known.end();
      fail(is_known ? "missing-flag" : "unknown-function",
           is_known ? fmt::format("{} has not this pass or type, or needs other sizes", in_quotes(flags.op))
                    : fmt::format("neither the profile nor Weft has an operator {}", in_quotes(flags.op)),
           SourcePlace::named("--op"),
           is_known
               ? fmt::format("weft optimes show {} --op={} lists its sizes; its table's columns do, too", flags.profile, flags.op)
               : suggestion(flags.op, known, "function"));
    }
  }
  const Regressor& by = *answer->by;
  return {by.of.text(), times.origin(), answer->prediction.time_us, by.errors.test, answer->prediction.outside, {}};
}

ShownTime predicted(const OptimesFlags& flags) {
  const std::map<std::string, double> sizes = size_settings(flags.settings);
  const std::optional<OperatorShape> shape = shape_called(flags.op, sizes);
  if (!flags.external.empty()) {
    if (!flags.profile.empty()) {
      fail("two-sources", "a profile and a program are two sources", SourcePlace::named("--external"), "ask them one at a time");
    }
    if (!shape) {
      fail("unknown-function", fmt::format("Weft has no operator {}", in_quotes(flags.op)), SourcePlace::named("--op"),
           "programs are asked for matmul, fused_attention, embedding_lookup, optimizer_step, layer_norm and so on");
    }
    constexpr double ms_per_s = 1000;
    const ExternalTimes chip(command_words(flags.external, "--external"),
                             std::chrono::milliseconds(static_cast<std::int64_t>(ms_per_s * flags.timeout_s)));
    return ask_source(chip, {flags.op, *shape, type_flag(flags.type)}, flags);
  }
  if (flags.profile.empty()) {
    fail("missing-flag", "no source of times is given", SourcePlace::named("weft optimes predict"),
         "give a profile, or --external=COMMAND");
  }
  const RegressorTimes times(read_profile(flags), OutsideRange::extrapolate);
  if (!shape) return ask_function(times, sizes, flags);
  ShownTime shown = ask_source(times, {flags.op, *shape, type_flag(flags.type)}, flags);
  shown.notes = times.notes();
  return shown;
}

int predict(const OptimesFlags& flags) {
  const ShownTime shown = predicted(flags);
  if (flags.json) {
    std::cout << printed_json(shown_time_json(shown)) << "\n";
  } else {
    std::cout << shown_time_text(shown);
  }
  return shown.time_us ? exit_done : exit_no;
}

void add_fit(CLI::App& command, const std::shared_ptr<OptimesFlags>& flags, Action& action) {
  CLI::App* fit_command = command.add_subcommand("fit", "Fit regressors to sampled times of one GPU type");
  fit_command->footer(
      "Examples:\n"
      "  weft optimes fit --samples=samples/ --out=h100.textproto.gz\n"
      "  weft optimes fit --samples=Perlmutter/operator,Perlmutter/nccl --out=a100.textproto.gz --threads=2\n"
      "Tables are called GPU_FUNCTION_TYPE.csv, with columns of sizes and F_dur(us) and B_dur(us), or dur(us); "
      "tools/kernel_sampler\n"
      "writes them. Rows of the same kernel stay together. The table of errors has those of rows that were used for nothing else.");
  fit_command->add_option("--samples", flags->samples, "Folders or tables of samples")
      ->type_name("PATH,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->required();
  fit_command->add_option("--out", flags->out, "Profile to write, packed if it ends in .gz")
      ->type_name("PROFILE")
      ->capture_default_str();
  fit_command->add_option("--test-share", flags->test_share, "Of the kernels of each function: kept for the test")
      ->type_name("SHARE")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 0.5));
  fit_command->add_option("--validation-share", flags->validation_share, "Of the others: settings are chosen by them")
      ->type_name("SHARE")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 0.5));
  fit_command->add_option("--seed", flags->seed, "Seed of the split and of trees")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint64_t>());
  fit_command->add_option("--threads", flags->threads, "The profile does not depend on it")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint32_t>(1, 1024));
  fit_command->add_flag("--json", flags->json, "Print JSON");
  fit_command->add_flag("--quiet", flags->quiet, "No notes and no progress on standard error");
  fit_command->callback([flags, &action] { action = [flags] { return fit(*flags); }; });
}

}  // namespace

void add_optimes_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("optimes", "Fit, show and ask regressors of measured operator times");
  command->require_subcommand(1);
  auto flags = std::make_shared<OptimesFlags>();
  add_fit(*command, flags, action);

  CLI::App* show_command = command->add_subcommand("show", "Errors and ranges of a profile");
  show_command->add_option("profile", flags->profile, "Profile of weft optimes fit")->type_name("PROFILE")->required();
  show_command->add_option("--op", flags->op, "Only this function, with its sampled ranges")->type_name("FUNCTION");
  show_command->add_option("--gpu", flags->gpu, "Refuse a profile of another GPU")->type_name("NAME");
  show_command->add_flag("--json", flags->json, "Print JSON");
  show_command->footer(
      "Examples:\n"
      "  weft optimes show a100.textproto.gz\n"
      "  weft optimes show a100.textproto.gz --op=linear1");
  show_command->callback([flags, &action] { action = [flags] { return show(*flags); }; });

  CLI::App* predict_command = command->add_subcommand("predict", "Ask a profile, or a program, how long an operator takes");
  predict_command->footer(
      "Examples:\n"
      "  weft optimes predict a100.textproto.gz --op=linear1 --set=mp=2 --set=b=4 --set=l=4096 --set=dim=4096\n"
      "  weft optimes predict a100.textproto.gz --op=matmul --pass=backward --set=rows=16384 --set=columns=6144 --set=inner=4096\n"
      "  weft optimes predict a100.textproto.gz --op=allreduce --set=nodes=1 --set=gpus_per_node=4 --set=bytes=67108864\n"
      "  weft optimes predict --external=\"python3 chip.py\" --op=rms_norm --set=rows=4096 --set=width=8192\n"
      "Functions of tables take the columns of their tables, operators their sizes. Status 1: the time is unknown there.");
  predict_command->add_option("profile", flags->profile, "Profile of weft optimes fit")->type_name("PROFILE");
  predict_command
      ->add_option("--op", flags->op,
                   "A function of the tables, or matmul, fused_attention, embedding_lookup, optimizer_step, layer_norm, rms_norm, "
                   "softmax, activation, residual_add, rotary, cross_entropy and so on")
      ->type_name("NAME")
      ->required();
  predict_command->add_option("--pass", flags->pass, "forward, backward, backward_input or backward_weight")
      ->type_name("PASS")
      ->capture_default_str()
      ->check(one_of({"forward", "backward", "backward_input", "backward_weight"}));
  predict_command->add_option("--type", flags->type, "Element type")->type_name("TYPE")->capture_default_str();
  predict_command->add_option("--set", flags->settings, "Size, repeatable")->type_name("name=N")->allow_extra_args(false);
  predict_command->add_option("--gpu", flags->gpu, "Refuse a profile of another GPU")->type_name("NAME");
  predict_command->add_option("--external", flags->external, "Ask this program instead, over lines of JSON; no shell runs it")
      ->type_name("COMMAND");
  predict_command->add_option("--timeout", flags->timeout_s, "For an answer of the program, in seconds")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0));
  predict_command->add_flag("--json", flags->json, "Print JSON");
  predict_command->callback([flags, &action] { action = [flags] { return predict(*flags); }; });
}

}  // namespace weft

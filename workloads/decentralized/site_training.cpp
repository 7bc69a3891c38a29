// SPDX-License-Identifier: Apache-2.0
#include "workloads/decentralized/site_training.hpp"

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/role_script.hpp"
#include "workloads/decentralized/site_programs.hpp"

namespace weft {

namespace {

bool is_of_pipelines(SiteMethod method) { return method == SiteMethod::pipeline || method == SiteMethod::pipeline_groups; }

class SiteTrainingChecks {
 public:
  SiteTrainingChecks(const SiteTrainingSettings& settings, std::string_view name, const SourcePlace& place)
      : in_(settings), name_(name), place_(place) {}

  void check() const {
    check_method();
    check_overlap();
    constexpr double exchanges_max = 1 << 28;
    const double rounds = static_cast<double>(in_.outer_steps) * (in_.method == SiteMethod::hierarchical ? in_.regional_steps : 1);
    if (rounds * std::max(in_.fragments, in_.layers) > exchanges_max)
      refuse("too-large", "there are more than 2^28 exchanges", "lower outer_steps, regional_steps, fragments or layers");
    if (in_.leave_probability > 0 && rounds * in_.nodes > exchanges_max)
      refuse("too-large", "it is drawn more than 2^28 times whether a node leaves", "lower outer_steps, regional_steps or nodes");
    if (in_.step_time.in_s() * in_.inner_steps > op_duration_max.in_s() / slowest)
      refuse("too-large",
             fmt::format("the inner steps of a round take more than {}",
                         to_text(Duration::from_seconds(op_duration_max.in_s() / slowest))),
             "lower step_time or inner_steps");
    if (in_.exchange_bits(1) / 8 > static_cast<double>(op_size_max.count()) ||
        in_.activation_bytes > static_cast<double>(op_size_max.count())) {
      refuse("too-large", fmt::format("a message would have more than {}", to_text(op_size_max)),
             "lower parameters, bits or activation");
    }
  }

 private:
  /// Drawn speeds below that are not looked for.
  static constexpr double slowest = 1000;

  [[noreturn]] void refuse(const char* code, std::string_view message, std::string_view help) const {
    fail(code, fmt::format("{}: {}", name_, message), place_, std::string(help));
  }

  void check_method() const {
    if (in_.regional_compression > 0 && in_.regional_compression < 1)
      refuse("out-of-range", fmt::format("regional_compression = {:g} makes an exchange larger", in_.regional_compression),
             "0, as compression, or at least 1");
    if (in_.method == SiteMethod::hierarchical && (in_.group > in_.nodes || in_.nodes % in_.group != 0)) {
      refuse("bad-plan", fmt::format("nodes = {} are no regions of group = {}", in_.nodes, in_.group),
             "group is at most nodes, and divides it");
    }
    if (in_.method == SiteMethod::pipeline_groups && in_.nodes / in_.stages < 2) {
      refuse("bad-plan", fmt::format("nodes = {} make no two groups of stages = {}", in_.nodes, in_.stages),
             "give twice as many nodes as stages at least, or take method=pipeline");
    }
    if (in_.method == SiteMethod::pipeline && in_.nodes < in_.stages) {
      refuse("bad-plan", fmt::format("stages = {} are more than nodes = {}", in_.stages, in_.nodes),
             "give as many nodes as stages");
    }
    if (in_.method == SiteMethod::asynchronous && in_.exchange != SiteExchange::star)
      refuse("bad-plan", "asynchronous nodes exchange with a parameter server", "leave exchange at star");
    if (in_.method == SiteMethod::pipeline && in_.leave_probability > 0)
      refuse("bad-plan", "without a stage there is no pipeline", "leave leave_probability at 0, or take method=pipeline_groups");
  }

  void check_overlap() const {
    if (in_.fragments > in_.inner_steps) {
      refuse("bad-plan", fmt::format("fragments = {} are more than inner_steps = {}", in_.fragments, in_.inner_steps),
             "a fragment is exchanged after a step of its own");
    }
    if (in_.overlap_steps > in_.inner_steps) {
      refuse("bad-plan", fmt::format("overlap_steps = {} are more than inner_steps = {}", in_.overlap_steps, in_.inner_steps),
             "a fragment's exchange is over before its next one begins");
    }
    if (in_.layers > 1 && (in_.method != SiteMethod::diloco || in_.fragments > 1 || in_.overlap_steps > 0)) {
      refuse("bad-plan", "layers are exchanged one by one only with method=diloco, without fragments and overlap_steps",
             "leave layers at 1");
    }
    const bool has_no_rounds = in_.method == SiteMethod::asynchronous || in_.method == SiteMethod::pipeline;
    if (has_no_rounds && (in_.fragments > 1 || in_.overlap_steps > 0))
      refuse("bad-plan", "this method has no fragments and no overlap_steps", "leave fragments at 1 and overlap_steps at 0");
  }

  const SiteTrainingSettings& in_;
  std::string_view name_;
  const SourcePlace& place_;
};

/// Puts roles together: one for ranks that are alike.
class SiteWorkload {
 public:
  SiteWorkload(const SiteTrainingSettings& settings, std::string_view name, const SourcePlace& place)
      : in_(settings),
        place_(place),
        ranks_(settings),
        workload_(start_workload(name, ranks_.count())),
        communicators_(make_communicators()),
        budget_(name, place),
        programs_(settings, ranks_, communicators_, budget_) {}

  Workload make() {
    if (!ranks_.are_alike() && ranks_.count() > workload_role_count_max) {
      fail(
          "too-large", fmt::format("{}: more than {} ranks differ from each other", workload_.name, workload_role_count_max),
          place_,
          "give fewer nodes; or leave speed_spread and leave_probability at 0 and exchange not by gossip, so that ranks are alike");
    }
    workload_.role_of.assign(workload_.rank_count, 0);
    add_nodes();
    for (std::uint32_t region = 0; ranks_.has_region_servers() && region < ranks_.regions(); ++region) {
      const bool is_like_before = ranks_.are_alike() && region > 0;
      if (!is_like_before) add_role("region server", programs_.region_server(region));
      play(ranks_.region_server(region));
    }
    if (ranks_.has_server()) {
      add_role("server", programs_.server());
      play(ranks_.server());
    }
    add_notes();
    return std::move(workload_);
  }

 private:
  using Groups = std::vector<std::vector<RankId>>;

  std::uint16_t add_communicator(std::string name, const Groups& groups) {
    workload_.communicators.emplace_back(std::move(name), workload_.rank_count, groups);
    return static_cast<std::uint16_t>(workload_.communicators.size() - 1);
  }

  SiteCommunicators make_communicators() {
    SiteCommunicators made;
    const bool of_pipelines = is_of_pipelines(in_.method);
    Groups regions;
    for (std::uint32_t region = 0; region < ranks_.regions(); ++region) {
      regions.emplace_back();
      for (std::uint32_t i = 0; i < ranks_.region_size(); ++i) regions.back().emplace_back(ranks_.node(region, i));
      if (ranks_.has_region_servers()) regions.back().emplace_back(ranks_.region_server(region));
    }
    if (of_pipelines) {
      made.region = add_communicator("pipeline", regions);
      if (in_.blocking_sends) made.acknowledgements = add_communicator("acknowledgements", regions);
    }
    if (!ranks_.are_alike()) return made;
    if (in_.method == SiteMethod::hierarchical) {
      made.region = add_communicator("region", regions);
      Groups leaders(1);
      for (std::uint32_t region = 0; region < ranks_.regions(); ++region)
        leaders[0].emplace_back(ranks_.has_region_servers() ? ranks_.region_server(region) : ranks_.node(region, 0));
      made.leaders = add_communicator("leaders", leaders);
    } else if (in_.method == SiteMethod::pipeline_groups) {
      Groups stages(in_.stages);
      for (std::uint32_t stage = 0; stage < in_.stages; ++stage) {
        for (std::uint32_t group = 0; group < ranks_.regions(); ++group) stages[stage].emplace_back(ranks_.node(group, stage));
      }
      made.nodes = add_communicator("stage", stages);
    } else if (in_.method == SiteMethod::diloco) {
      made.nodes = add_communicator("nodes", regions);
    }
    return made;
  }

  void add_role(std::string name, RoleDag dag) {
    workload_.roles.push_back(std::move(dag));
    workload_.role_names.push_back(std::move(name));
  }
  /// The role added last.
  void play(std::uint32_t rank) { workload_.role_of[rank] = static_cast<std::uint16_t>(workload_.roles.size() - 1); }

  void add_nodes() {
    const bool of_pipelines = is_of_pipelines(in_.method);
    const bool has_first = in_.method == SiteMethod::hierarchical && !ranks_.has_region_servers();
    for (std::uint32_t position = 0; position < ranks_.region_size(); ++position) {
      for (std::uint32_t region = 0; region < ranks_.regions(); ++region) {
        const bool has_place_of_its_own = of_pipelines || (has_first && (position < 2 || position + 1 == ranks_.region_size()));
        const bool is_like_before = ranks_.are_alike() && (region > 0 || (position > 0 && !has_place_of_its_own));
        if (!is_like_before) {
          const std::string name = of_pipelines                 ? fmt::format("stage {}", position)
                                   : has_first && position == 0 ? std::string("leader")
                                                                : std::string("node");
          add_role(ranks_.are_alike() ? name : fmt::format("{} {}", name, ranks_.node(region, position)),
                   programs_.node(region, position));
        }
        play(ranks_.node(region, position));
      }
    }
  }

  void add_notes() {
    const std::uint32_t servers = (ranks_.has_server() ? 1 : 0) + (ranks_.has_region_servers() ? ranks_.regions() : 0);
    if (servers > 0) {
      workload_.assumptions.push_back(fmt::format("{} of {} ranks {} a parameter server, whose time is all exposed communication",
                                                  servers, workload_.rank_count, servers == 1 ? "is" : "are each"));
    }
    const std::uint32_t used = ranks_.regions() * ranks_.region_size();
    if (used < in_.nodes) workload_.assumptions.push_back(fmt::format("{} of {} nodes are left over", in_.nodes - used, in_.nodes));
    if (in_.leave_probability > 0) {
      workload_.assumptions.push_back(fmt::format("departures of {}: {}, in {}",
                                                  in_.method == SiteMethod::pipeline_groups ? "groups" : "nodes",
                                                  ranks_.departures(), counted(ranks_.rounds(), "round", "rounds")));
    }
    if (in_.method == SiteMethod::pipeline_groups && in_.leader_exchanges)
      workload_.assumptions.emplace_back("what stages send the first one for an exchange, and it them, is left out");
  }

  const SiteTrainingSettings& in_;
  const SourcePlace& place_;
  SiteRanks ranks_;
  Workload workload_;
  SiteCommunicators communicators_;
  SiteOpBudget budget_;
  SitePrograms programs_;
};

constexpr std::string_view seed_default = "Decentralized Training Simulator: Technical Documentation, reference table";

double bytes_of(const std::string& text, const std::string& param) {
  const ParsedQuantity<Bytes> size = parse_bytes(text);
  if (!size.value) fail("bad-value", fmt::format("{}: {}", param, size.error.message), SourcePlace::named(param), size.error.help);
  return static_cast<double>(size.value->count());
}

constexpr std::array across_sites_params = {
    param<&SiteTrainingSettings::method>(
        {.name = "method",
         .default_text = "diloco",
         .choices = "diloco|hierarchical|pipeline_groups|pipeline|asynchronous",
         .meaning = "diloco: nodes train by themselves and exchange every inner_steps; with overlap_steps it is streaming DiLoCo. "
                    "hierarchical: in regions of `group` nodes, and every regional_steps rounds among regions. pipeline_groups: "
                    "DiLoCo among groups of `stages` nodes that are a pipeline. pipeline: one of them, and no exchange. "
                    "asynchronous: nodes wait for nobody but a parameter server.",
         .origin = "the plainest"}),
    param<&SiteTrainingSettings::nodes>({.name = "nodes",
                                         .default_text = "72",
                                         .minimum = "1",
                                         .maximum = "65000",
                                         .meaning = "Nodes that train, a rank each. Parameter servers of stars are ranks besides.",
                                         .origin = seed_default}),
    param<&SiteTrainingSettings::outer_steps>(
        {.name = "outer_steps",
         .default_text = "1",
         .minimum = "1",
         .maximum = "1000000",
         .meaning = "Outer steps of an iteration: rounds, of method=hierarchical global ones.",
         .origin = "one"}),
    param<&SiteTrainingSettings::inner_steps>({.name = "inner_steps",
                                               .default_text = "128",
                                               .minimum = "1",
                                               .maximum = "1000000",
                                               .meaning = "Steps of a round, H.",
                                               .origin = seed_default}),
    param<&SiteTrainingSettings::step_time>(
        {.name = "step_time",
         .default_text = "8.84736s",
         .minimum = "0s",
         .maximum = "31536000s",
         .meaning = "Computation of an inner step on a node of speed 1; of pipelines what one node would take for it.",
         .origin = "144 10^9 parameters, 131,072 tokens, 40 % of 32 PFLOP/s"}),
    param<&SiteTrainingSettings::parameters>({.name = "parameters",
                                              .default_text = "144e9",
                                              .minimum = "1",
                                              .maximum = "1e15",
                                              .meaning = "Parameters of the model.",
                                              .origin = seed_default}),
    param<&SiteTrainingSettings::bits>({.name = "bits",
                                        .default_text = "16",
                                        .minimum = "0.01",
                                        .maximum = "64",
                                        .meaning = "Of an exchanged value, before compression.",
                                        .origin = seed_default}),
    param<&SiteTrainingSettings::compression>({.name = "compression",
                                               .default_text = "16",
                                               .minimum = "1",
                                               .maximum = "1000000",
                                               .meaning = "How many times smaller an exchange is.",
                                               .origin = seed_default}),
    param<&SiteTrainingSettings::exchange>(
        {.name = "exchange",
         .default_text = "star",
         .choices = "star|ring|butterfly|gossip",
         .meaning = "Of V bytes among n: star: V to a parameter server and back. ring: 2 (n - 1) steps of V / n. butterfly: every "
                    "node averages V / n of all. gossip: V each way with one other node, drawn anew each time.",
         .origin = "closed forms reckon with 2 V"}),
    param<&SiteTrainingSettings::fragments>({.name = "fragments",
                                             .default_text = "1",
                                             .minimum = "1",
                                             .maximum = "10000",
                                             .meaning = "Parts that are exchanged at different times, evenly over a round.",
                                             .origin = "DiLoCo; Streaming DiLoCo takes three layers for a fragment"}),
    param<&SiteTrainingSettings::overlap_steps>(
        {.name = "overlap_steps",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1000000",
         .meaning = "Steps that nodes compute on before they wait for an exchange, at most inner_steps. Among regions as many "
                    "times regional_steps.",
         .origin = "DiLoCo; Streaming DiLoCo takes 1 to 5"}),
    param<&SiteTrainingSettings::layers>(
        {.name = "layers",
         .default_text = "1",
         .minimum = "1",
         .maximum = "10000",
         .meaning = "Layers that are exchanged one by one as backward of the last step goes through them, and that the next "
                    "forward waits for one by one. 1: all at once, after the step.",
         .origin = "the plainest"}),
    param<&SiteTrainingSettings::group>({.name = "group",
                                         .default_text = "8",
                                         .minimum = "1",
                                         .maximum = "65000",
                                         .meaning = "Of method=hierarchical: nodes of a region.",
                                         .origin = seed_default}),
    param<&SiteTrainingSettings::regional_steps>({.name = "regional_steps",
                                                  .default_text = "16",
                                                  .minimum = "1",
                                                  .maximum = "1000000",
                                                  .meaning = "Of method=hierarchical: rounds between exchanges among regions.",
                                                  .origin = seed_default}),
    param_read<regional_exchange_called, &SiteTrainingSettings::regional_exchange>(
        {.name = "regional_exchange",
         .default_text = "star",
         .choices = "star|ring|butterfly",
         .meaning = "Of method=hierarchical: as exchange, inside a region. star has a parameter server in each.",
         .origin = "closed forms reckon with 2 V"}),
    param<&SiteTrainingSettings::regional_compression>({.name = "regional_compression",
                                                        .default_text = "0",
                                                        .minimum = "0",
                                                        .maximum = "1000000",
                                                        .meaning = "Inside a region; 0: as compression.",
                                                        .origin = "one for both"}),
    param<&SiteTrainingSettings::stages>({.name = "stages",
                                          .default_text = "2",
                                          .minimum = "2",
                                          .maximum = "1024",
                                          .meaning = "Of pipelines: nodes of one.",
                                          .origin = "the shortest"}),
    param<&SiteTrainingSettings::micro_batches>({.name = "micro_batches",
                                                 .default_text = "8",
                                                 .minimum = "1",
                                                 .maximum = "100000",
                                                 .meaning = "Of pipelines: microbatches of a step.",
                                                 .origin = seed_default}),
    param_read<bytes_of, &SiteTrainingSettings::activation_bytes>(
        {.name = "activation",
         .default_text = "373MB",
         .meaning = "Of pipelines: what a stage sends the next one for a microbatch.",
         .origin = "16,384 tokens of 11,384 values of 16 bit: 144 10^9 parameters by the source's rule 0.03 sqrt(P)"}),
    param<&SiteTrainingSettings::backward>(
        {.name = "backward",
         .default_text = "true",
         .meaning = "Of pipelines: whether a third of a step is forward and the rest backward, one of each in turns (1F1B), with "
                    "gradients going back. false: a single pass, whose last stage hands back to the first.",
         .origin = "what training does"}),
    param<&SiteTrainingSettings::blocking_sends>(
        {.name = "blocking_sends",
         .default_text = "false",
         .meaning = "Of pipelines: whether a stage waits until the next one has acknowledged a message.",
         .origin = "libraries send beside computation"}),
    param<&SiteTrainingSettings::leader_exchanges>(
        {.name = "leader_exchanges",
         .default_text = "false",
         .meaning = "Of method=pipeline_groups: whether the first stage exchanges for all; else each stage does its own part.",
         .origin = "each stage has a line of its own"}),
    param<&SiteTrainingSettings::dynamic_steps>(
        {.name = "dynamic_steps",
         .default_text = "false",
         .meaning = "Of method=asynchronous: whether slower nodes do fewer steps a round (dynamic local updates) and not fewer "
                    "rounds.",
         .origin = "arXiv 2401.09135 compares both"}),
    param<&SiteTrainingSettings::speed_spread>(
        {.name = "speed_spread",
         .default_text = "0",
         .minimum = "0",
         .maximum = "3",
         .meaning = "Coefficient of variation of the nodes' speeds, which are log-normal with mean 1.",
         .origin = "nodes alike"}),
    param<&SiteTrainingSettings::leave_probability>(
        {.name = "leave_probability",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1",
         .meaning = "Of a node (of pipelines a group) to leave before a round. The first one never does.",
         .origin = "none leaves"}),
    param<&SiteTrainingSettings::away_steps>(
        {.name = "away_steps",
         .default_text = "1",
         .minimum = "1",
         .maximum = "1000000",
         .meaning = "Rounds that who left is away; back again, it first fetches the whole model from a parameter server or "
                    "from one that stayed.",
         .origin = "the shortest"}),
    param<&SiteTrainingSettings::leave_timeout>(
        {.name = "leave_timeout",
         .default_text = "6s",
         .minimum = "0s",
         .maximum = "86400s",
         .meaning = "How long the others wait in vain in the round in which somebody left.",
         .origin = "INTELLECT-1 (arXiv 2412.01152) drops a node that has been silent for 6 s"}),
    param<&SiteTrainingSettings::model_bits>(
        {.name = "model_bits",
         .default_text = "16",
         .minimum = "0.01",
         .maximum = "1024",
         .meaning = "Of a value of the model that who is back fetches.",
         .origin = "weights in BF16; with master weights and moments of Adam in FP32 it would be 112"}),
    param<&SiteTrainingSettings::seed>(
        {.name = "seed", .default_text = "1", .meaning = "Of speeds, of who leaves and of gossip.", .origin = "any"}),
};

/// What is said of other methods than the one that is asked for would be ignored.
void check_used(const ParamSet& params, const SiteTrainingSettings& settings, const SourcePlace& place) {
  const bool is_hierarchical = settings.method == SiteMethod::hierarchical;
  const bool is_pipelines = is_of_pipelines(settings.method);
  const bool has_exchange = settings.method != SiteMethod::pipeline;
  const bool is_asynchronous = settings.method == SiteMethod::asynchronous;
  const bool some_leave = settings.leave_probability > 0;
  const std::string pipelines = "method=pipeline_groups or pipeline";
  const std::string exchanges = "another method than pipeline";
  const std::array needs = {
      ParamNeed{"group", is_hierarchical, "method=hierarchical"},
      ParamNeed{"regional_steps", is_hierarchical, "method=hierarchical"},
      ParamNeed{"regional_exchange", is_hierarchical, "method=hierarchical"},
      ParamNeed{"regional_compression", is_hierarchical, "method=hierarchical"},
      ParamNeed{"stages", is_pipelines, pipelines},
      ParamNeed{"micro_batches", is_pipelines, pipelines},
      ParamNeed{"activation", is_pipelines, pipelines},
      ParamNeed{"backward", is_pipelines, pipelines},
      ParamNeed{"blocking_sends", is_pipelines, pipelines},
      ParamNeed{"leader_exchanges", settings.method == SiteMethod::pipeline_groups, "method=pipeline_groups"},
      ParamNeed{"dynamic_steps", is_asynchronous, "method=asynchronous"},
      ParamNeed{"exchange", has_exchange, exchanges},
      ParamNeed{"bits", has_exchange, exchanges},
      ParamNeed{"compression", has_exchange, exchanges},
      ParamNeed{"parameters", has_exchange, exchanges},
      ParamNeed{"away_steps", some_leave, "leave_probability above 0"},
      ParamNeed{"model_bits", some_leave, "leave_probability above 0"},
      ParamNeed{"leave_timeout", some_leave && !is_asynchronous, "leave_probability above 0 and nodes that wait for each other"},
  };
  check_needs(params, needs, place);
}

Workload make_across_sites(const ParamSet& params, const SourcePlace& place) {
  const auto settings = filled<SiteTrainingSettings>(params);
  check_used(params, settings, place);
  return site_training(settings, params.module(), place);
}

}  // namespace

SiteExchange regional_exchange_called(const std::string& name, const std::string& /*param*/) {
  return name == "ring" ? SiteExchange::ring : name == "butterfly" ? SiteExchange::butterfly : SiteExchange::star;
}

Workload site_training(const SiteTrainingSettings& settings, std::string_view name, const SourcePlace& place) {
  SiteTrainingChecks(settings, name, place).check();
  return SiteWorkload(settings, name, place).make();
}

Module<WorkloadFactory> across_sites_module() {
  return {
      {"template", "across_sites",
       "Training across sites: DiLoCo and its kin, with pipelines, regions, nodes that differ and leave. For topologies such as "
       "multi_site.",
       across_sites_params},
      make_across_sites};
}

}  // namespace weft

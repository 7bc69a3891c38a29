// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/collective_library.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "host/ranks/message_tag.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

namespace {

constexpr std::string_view auto_choice = "auto";
constexpr std::string_view nccl_chooses = "NCCL chooses by itself; collective.rule_set says how";

/// Where messages are cut.
struct ChunkRule {
  bool is_by_distance = false;
  Bytes size = {};  ///< otherwise; zero: they are not

  bool operator==(const ChunkRule&) const = default;
};

struct CollectiveSettings {
  std::array<std::string, collective_types> algorithms;  ///< or "auto"
  std::string protocol;                                  ///< likewise
  bool uses_nccl;                                        ///< what picks where it is auto
  Duration launch_latency;
  std::uint32_t slots;
  Bytes slot_size;
  ChunkRule chunk;
  std::string rules_file;  ///< "": none
};

ChunkRule read_chunk(const std::string& text, const std::string& param) {
  if (text == auto_choice) return {true};
  if (text == "none") return {};
  const ChunkRule rule{false, *read_bytes_or(text, auto_choice, param)};
  if (rule.size == Bytes::zero()) {
    fail("bad-value", fmt::format("{}: chunks of nothing move nothing", param), SourcePlace::named(param),
         "write auto, none, or a size such as 2MiB");
  }
  return rule;
}

// First a row per CollectiveType, in the order of that enumeration, then the protocol.
constexpr std::array rule_rows = {
    param<&CollectiveSettings::algorithms, CollectiveType::all_reduce>({.name = "all_reduce",
                                                                        .kind = ParamKind::choice,
                                                                        .default_text = auto_choice,
                                                                        .meaning = "Algorithm of all_reduce",
                                                                        .origin = nccl_chooses}),
    param<&CollectiveSettings::algorithms, CollectiveType::all_gather>({.name = "all_gather",
                                                                        .kind = ParamKind::choice,
                                                                        .default_text = auto_choice,
                                                                        .meaning = "Algorithm of all_gather",
                                                                        .origin = nccl_chooses}),
    param<&CollectiveSettings::algorithms, CollectiveType::reduce_scatter>({.name = "reduce_scatter",
                                                                            .kind = ParamKind::choice,
                                                                            .default_text = auto_choice,
                                                                            .meaning = "Algorithm of reduce_scatter",
                                                                            .origin = nccl_chooses}),
    param<&CollectiveSettings::algorithms, CollectiveType::all_to_all>({.name = "all_to_all",
                                                                        .kind = ParamKind::choice,
                                                                        .default_text = auto_choice,
                                                                        .meaning = "Algorithm of all_to_all",
                                                                        .origin = nccl_chooses}),
    param<&CollectiveSettings::algorithms, CollectiveType::broadcast>({.name = "broadcast",
                                                                       .kind = ParamKind::choice,
                                                                       .default_text = auto_choice,
                                                                       .meaning = "Algorithm of broadcast",
                                                                       .origin = nccl_chooses}),
    param<&CollectiveSettings::algorithms, CollectiveType::reduce>({.name = "reduce",
                                                                    .kind = ParamKind::choice,
                                                                    .default_text = auto_choice,
                                                                    .meaning = "Algorithm of reduce",
                                                                    .origin = nccl_chooses}),
    param<&CollectiveSettings::algorithms, CollectiveType::gather>({.name = "gather",
                                                                    .kind = ParamKind::choice,
                                                                    .default_text = auto_choice,
                                                                    .meaning = "Algorithm of gather",
                                                                    .origin = nccl_chooses}),
    param<&CollectiveSettings::algorithms, CollectiveType::scatter>({.name = "scatter",
                                                                     .kind = ParamKind::choice,
                                                                     .default_text = auto_choice,
                                                                     .meaning = "Algorithm of scatter",
                                                                     .origin = nccl_chooses}),
    param<&CollectiveSettings::algorithms, CollectiveType::barrier>({.name = "barrier",
                                                                     .kind = ParamKind::choice,
                                                                     .default_text = auto_choice,
                                                                     .meaning = "Algorithm of barrier",
                                                                     .origin = nccl_chooses}),
    param<&CollectiveSettings::algorithms, CollectiveType::all_to_all_v>({.name = "all_to_all_v",
                                                                          .kind = ParamKind::choice,
                                                                          .default_text = auto_choice,
                                                                          .meaning = "Algorithm of all_to_all_v",
                                                                          .origin = nccl_chooses}),
    param<&CollectiveSettings::protocol>({.name = "protocol",
                                          .kind = ParamKind::choice,
                                          .default_text = auto_choice,
                                          .meaning = "What moving data costs beside the network's own time",
                                          .origin = nccl_chooses}),
    param<&CollectiveSettings::uses_nccl>({.name = "rule_set",
                                           .default_text = "nccl",
                                           .choices = "nccl|fastest",
                                           .meaning = "Who picks what is auto, after rules of your own: NCCL's tuner for the "
                                                      "machine, or rules that take the algorithm that is "
                                                      "fastest on the links alone; `weft modules --rules` prints what either does",
                                           .origin = "what the field runs",
                                           .word = "nccl"}),
    param<&CollectiveSettings::launch_latency>(
        {.name = "launch_latency",
         .default_text = "0ns",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "From the start of a collective until its first message is handed over: kernel launch and set-up",
         .origin = "none",
         .fit = {"0ns", "500us"}}),
    param<&CollectiveSettings::slots>({.name = "slots",
                                       .default_text = "8",
                                       .minimum = "1",
                                       .maximum = "65536",
                                       .meaning = "Slots of a rank for what is on its way to a peer over a channel: a message "
                                                  "waits until the peer has taken over enough of "
                                                  "those before it",
                                       .origin = "NCCL_STEPS"}),
    param<&CollectiveSettings::slot_size>(
        {.name = "slot_size",
         .default_text = "512KiB",
         .minimum = "1B",
         .maximum = "1TiB",
         .meaning = "Bytes of a slot: a message takes as many as it needs, at most half of all, as longer ones stream through them",
         .origin = "NCCL_BUFFSIZE of 4 MiB in 8 slots"}),
    param_read<read_chunk, &CollectiveSettings::chunk>(
        {.name = "chunk",
         .default_text = "auto",
         .meaning = "Longer messages are cut into equal parts of no more than that, each with slots of its own, which go one after "
                    "the other; "
                    "such as 2MiB. auto: half of all "
                    "slots where a path between members holds more than the slots (rate times propagation there and back), else "
                    "none. none: "
                    "whole, however long: half of the slots "
                    "count as if it were under way in them, which comes to the same where paths hold less",
         .origin = "chunkSteps of NCCL's rings under Simple, NCCL_STEPS / 2: 2 MiB; on shorter paths cutting adds messages and "
                   "changes nothing"}),
    param<&CollectiveSettings::rules_file>(
        {.name = "rules",
         .kind = ParamKind::file,
         .meaning = "Rules of your own for what is auto, a file in protobuf text: see "
                    "host/rules_file.proto. They go before those of the rule "
                    "set. "
                    "Relative to the current folder, in a scenario to the scenario's",
         .origin = "none: the rule set alone",
         .unused = {{"algorithm != auto and collective.protocol != auto", "no algorithm and no protocol is auto"}}}),
};

/// The table with `auto` and the algorithms that carry out each type as its choices, so that a
/// wrong name is refused where it is set.
class TableWithChoices {
 public:
  TableWithChoices() {
    choices_.fill(std::string(auto_choice));
    for (std::size_t type = 0; type < collective_types; ++type) {
      for (const auto& module : collective_algorithms()) {
        const ParamSet defaults(std::string(module.info.name), module.info.params);
        if (!module.make(defaults)->supports(static_cast<CollectiveType>(type))) continue;
        choices_[type] += fmt::format("|{}", module.info.name);
      }
      table_[type].choices = choices_[type];
    }
    for (const auto& module : collective_protocols()) choices_[collective_types] += fmt::format("|{}", module.info.name);
    table_[collective_types].choices = choices_[collective_types];
  }
  TableWithChoices(const TableWithChoices&) = delete;
  TableWithChoices& operator=(const TableWithChoices&) = delete;

  ParamTable table() const { return table_; }

 private:
  std::array<ParamSpec, rule_rows.size()> table_ = rule_rows;
  std::array<std::string, collective_types + 1> choices_;
};

/// The parameters of a module: those given, or their defaults.
ParamSet params_of(std::string_view module, ParamTable table, std::span<const ParamSet> module_params) {
  const auto given =
      std::find_if(module_params.begin(), module_params.end(), [&](const ParamSet& params) { return params.module() == module; });
  return given == module_params.end() ? ParamSet(std::string(module), table) : *given;
}

/// The module made with its own parameters.
template <class Factory>
auto make_module(const Module<Factory>& module, std::span<const ParamSet> module_params) {
  return module.make(params_of(module.info.name, module.info.params, module_params));
}

/// Adds those modules to `made` that a parameter lets a request have: the one called `chosen`, or
/// all. Returns the name, or "".
template <class Factory, class Made>
std::string make_chosen(std::span<const Module<Factory>> modules, const std::string& chosen,
                        std::span<const ParamSet> module_params, Made& made) {
  const bool all = chosen == auto_choice;
  for (const auto& module : modules) {
    if (!all && module.info.name != chosen) continue;
    std::string key(module.info.name);
    if (!made.contains(key)) made.emplace(std::move(key), make_module(module, module_params));
  }
  return all ? std::string() : chosen;
}

bool is_any_auto(const CollectiveSettings& settings) {
  return settings.protocol == auto_choice || std::ranges::find(settings.algorithms, auto_choice) != settings.algorithms.end();
}

[[noreturn]] void object(const std::string& algorithm, const CollectiveRequest& request, const std::string& objection) {
  const std::string type(to_text(request.type));
  fail("algorithm-objects", fmt::format("{} cannot carry out {} of {} ranks: {}", algorithm, type, request.ranks(), objection),
       SourcePlace::named(fmt::format("collective.{} = {}", type, algorithm)),
       "choose another algorithm, or auto: weft modules collective");
}

std::uint32_t channels_of(const CollectivePlan& plan) {
  std::uint32_t channels = 1;
  for (const CollectiveProgram& program : plan.programs) {
    for (std::uint32_t i = 0; i < program.size(); ++i) channels = std::max(channels, program.step(i).channel + 1U);
  }
  return channels;
}

bool has_in_network_steps(const CollectivePlan& plan) {
  for (const CollectiveProgram& program : plan.programs) {
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      if (program.step(i).kind == StepKind::in_network) return true;
    }
  }
  return false;
}

}  // namespace

ParamTable CollectiveLibrary::params() {
  static const TableWithChoices table;
  return table.table();
}

bool CollectiveLibrary::is_auto(const ParamSet& collective, std::string_view param) {
  return collective.text(param) == auto_choice;
}

CollectiveLibrary::CollectiveLibrary(const ParamSet& collective, std::span<const ParamSet> module_params)
    : module_params_(module_params.begin(), module_params.end()) {
  const auto settings = filled<CollectiveSettings>(collective);
  slots_ = settings.slots;
  slot_size_ = settings.slot_size;
  cuts_by_distance_ = settings.chunk.is_by_distance;
  chunk_ = settings.chunk.size;
  launch_latency_ = settings.launch_latency;
  for (const std::string& algorithm : settings.algorithms)
    chosen_.push_back(make_chosen(collective_algorithms(), algorithm, module_params, algorithms_));
  chosen_protocol_ = make_chosen(collective_protocols(), settings.protocol, module_params, protocols_);
  std::vector<CollectiveRule> own;
  if (!settings.rules_file.empty()) own = read_collective_rules(SourceText::read(settings.rules_file));
  if (!is_any_auto(settings)) return;
  own_rules_.emplace(std::move(own));
  rules_.emplace(read_collective_rules(SourceText("built-in rules", std::string(built_in_rules_text()))));
  if (settings.uses_nccl) tuner_.emplace(params_of("nccl", nccl_params(), module_params));
}

bool CollectiveLibrary::gives(std::string_view module, std::string_view param) const {
  return std::ranges::any_of(module_params_, [&](const ParamSet& params) {
    return params.module() == module && std::ranges::any_of(params.table(), [&](const ParamSpec& spec) {
             return (param.empty() || spec.name == param) && params.is_given(spec.name);
           });
  });
}

std::shared_ptr<const CollectiveAlgorithm> CollectiveLibrary::made(const NcclChoice& choice) const {
  if (choice.params.empty()) return algorithms_.at(choice.module);
  const auto& module = find_module(collective_algorithms(), choice.module, SourcePlace::named("collective"));
  ParamSet params = params_of(module.info.name, module.info.params, module_params_);
  for (const auto& [name, value] : choice.params) {
    if (!params.is_given(name)) params.set(name, value, SourcePlace::named("collective.rule_set"));
  }
  return module.make(params);
}

NcclChoice CollectiveLibrary::choose(const CollectiveRequest& request, const PassedOver& passed_over) const {
  const auto over = passed_over.find(request);
  const auto is_passed_over = [&](const std::string& name) { return over != passed_over.end() && over->second.contains(name); };
  const auto can = [&](const std::string& name) {
    const CollectiveAlgorithm& algorithm = *algorithms_.at(name);
    return !is_passed_over(name) && algorithm.supports(request.type) && algorithm.objection(request).empty();
  };
  const auto protocol_named = [&](NcclChoice choice, const std::string& name) {
    choice.protocol = protocols_.at(name);
    return choice;
  };
  NcclChoice chosen;
  chosen.module = chosen_[static_cast<std::size_t>(request.type)];
  const bool is_fixed = !chosen.module.empty();
  if (!is_fixed) {
    const std::string* const own = own_rules_->find_algorithm(request, can);
    if (own != nullptr) {
      chosen.module = *own;
      chosen.reason = "a rule of the user's";
    } else if (!tuner_) {
      chosen.module = rules_->algorithm(request, can);
      chosen.reason = "the first of the built-in rules that holds";
    }
  }
  chosen.algorithm = chosen.module;
  const auto protocol_of_user = [&](std::string_view algorithm) -> const std::string* {
    if (!chosen_protocol_.empty()) return &chosen_protocol_;
    return own_rules_->find_protocol(request, algorithm);
  };
  if (tuner_) {
    std::vector<NcclChoice> choices = tuner_->choices(request, chosen.module);
    std::erase_if(choices, [&](const NcclChoice& choice) {
      if (is_passed_over(choice.algorithm)) return true;
      const std::shared_ptr<const CollectiveAlgorithm> algorithm = made(choice);
      return !algorithm->supports(request.type) || !algorithm->objection(request).empty();
    });
    if (!choices.empty()) {
      const std::string* const given = protocol_of_user(choices.front().module);
      // Of what goes by the user's protocol the best; otherwise the best of all, made to go by it.
      const auto fits = std::find_if(choices.begin(), choices.end(),
                                     [&](const NcclChoice& choice) { return given == nullptr || choice.protocol.name == *given; });
      NcclChoice best = fits == choices.end() ? choices.front() : *fits;
      best.reason = is_fixed || !chosen.reason.empty()
                        ? chosen.reason
                        : fmt::format("{} ({})", to_text(choices), tuner_->machine_of(*request.layout));
      if (!chosen.module.empty()) best.algorithm = chosen.module;
      if (gives(best.module, "channels")) best.channels = 0;
      if (given == nullptr || (fits != choices.end() && !gives(*given))) return best;
      // What NCCL does not have is not tuned by it.
      if (fits == choices.end() && !chosen.module.empty()) {
        best.params.clear();
        best.channels = 0;
      }
      return protocol_named(std::move(best), *given);
    }
    WEFT_CHECK(!chosen.module.empty(), "the tuner knows something for every request");
  }
  const std::string* const given = protocol_of_user(chosen.module);
  return protocol_named(std::move(chosen), given != nullptr ? *given : rules_->protocol(request, chosen.module));
}

const CollectivePlan& CollectiveLibrary::plan(const CollectiveRequest& request, const NcclChoice& choice) {
  std::unique_ptr<const CollectivePlan>& kept = plans_[request][fmt::format("{}/{}", choice.algorithm, choice.module)];
  if (kept != nullptr) return *kept;
  const std::shared_ptr<const CollectiveAlgorithm> algorithm = made(choice);
  WEFT_CHECK(algorithm->supports(request.type), "only algorithms that carry out a collective can be chosen for it");
  if (const std::string objection = algorithm->objection(request); !objection.empty()) object(choice.algorithm, request, objection);
  auto plan = std::make_unique<CollectivePlan>(algorithm->compile(request));
  plan->algorithm = choice.algorithm;
  plan->channels = choice.channels > 0 ? choice.channels : channels_of(*plan);
  plan->reason = choice.reason;
  plan->protocol = choice.protocol;
  plan->launch_latency = launch_latency_ + plan->protocol.base_latency;
  plan->uses_switches = has_in_network_steps(*plan);
  // Each of the channels that travel as one has its own.
  const std::uint32_t alike = choice.channels > 0 ? choice.alike : 1;
  plan->slots = CollectiveSlots(*plan, slots_ * alike, slot_size_, chunk(*request.layout) * alike);
  kept = std::move(plan);
  return *kept;
}

Bytes CollectiveLibrary::chunk(const GroupLayout& layout) const {
  if (!cuts_by_distance_) return chunk_;
  return layout.is_far_apart() ? slot_size_ * std::max(1U, slots_ / 2) : Bytes::zero();
}

std::shared_ptr<const JobCollectives> CollectiveLibrary::prepare(const Workload& workload, const Topology& topology,
                                                                 std::span<const NodeId> endpoint_of_rank,
                                                                 SwitchOperations* operations) {
  PassedOver passed_over;
  while (true) {
    if (auto job = try_prepare(workload, topology, endpoint_of_rank, operations, passed_over)) return job;
  }
}

std::shared_ptr<const JobCollectives> CollectiveLibrary::try_prepare(const Workload& workload, const Topology& topology,
                                                                     std::span<const NodeId> endpoint_of_rank,
                                                                     SwitchOperations* operations, PassedOver& passed_over) {
  std::shared_ptr<JobCollectives> job(new JobCollectives(workload));
  std::vector<NodeId> endpoints;
  for (const Communicator& communicator : workload.communicators) {
    std::vector<const GroupLayout*>& layouts = job->layouts_.emplace_back();
    for (std::uint32_t group = 0; group < communicator.group_count(); ++group) {
      endpoints.clear();
      for (const RankId rank : communicator.ranks(GroupId(group))) endpoints.push_back(endpoint_of_rank[rank.index()]);
      GroupLayout layout(topology, endpoints);
      layout.set_far_apart(cuts_by_distance_ && holds_more(topology, endpoints, slot_size_ * slots_));
      layouts.push_back(&shared_layout(std::move(layout)));
    }
  }
  // By role and communicator: the ranks that ask, one for each layout. A relative root depends on
  // the position, so then every rank asks.
  struct Asking {
    std::vector<RankId> ranks;
    std::vector<RankId> of_each_layout;
  };
  const auto layout_of = [&](std::size_t communicator, RankId rank) {
    const GroupId group = workload.communicators[communicator].group_of(rank);
    return group.is_none() ? nullptr : job->layouts_[communicator][group.index()];
  };
  std::vector<std::vector<Asking>> asking(workload.roles.size(), std::vector<Asking>(workload.communicators.size()));
  for (std::size_t c = 0; c < workload.communicators.size(); ++c) {
    std::set<std::pair<std::uint16_t, const GroupLayout*>> seen;
    for (std::uint32_t rank = 0; rank < workload.rank_count; ++rank) {
      const GroupLayout* layout = layout_of(c, RankId(rank));
      if (layout == nullptr || layout->ranks() < 2) continue;
      Asking& of_role = asking[workload.role_of[rank]][c];
      of_role.ranks.emplace_back(rank);
      if (seen.emplace(workload.role_of[rank], layout).second) of_role.of_each_layout.emplace_back(rank);
    }
  }
  // Role, communicator, plan
  std::set<std::tuple<std::size_t, std::uint16_t, const CollectivePlan*>> registered;
  for (std::size_t role = 0; role < workload.roles.size(); ++role) {
    const RoleDag& dag = workload.roles[role];
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      if (dag.kind(OpId(i)) != OpKind::collective) continue;
      const Op op = dag.op(OpId(i));
      const bool depends_on_position = has_root(op.collective) && op.addressing == PeerAddressing::relative;
      const Asking& ask = asking[role][op.communicator];
      std::vector<const CollectivePlan*> with_switches;  // that are new for this communicator
      for (const RankId rank : depends_on_position ? ask.ranks : ask.of_each_layout) {
        const std::uint32_t position = workload.communicators[op.communicator].position_of(rank);
        const CollectiveRequest request = job->request(op, *layout_of(op.communicator, rank), position);
        const CollectivePlan*& known = job->plans_[request];
        if (known == nullptr) {
          known = &plan(request, choose(request, passed_over));
          job->program_size_max_ = std::max(job->program_size_max_, known->program_size_max());
          if (known->slots.limits()) job->slots_max_ = std::max(job->slots_max_, known->slots.count());
        }
        if (known->uses_switches && registered.emplace(role, op.communicator, known).second) with_switches.push_back(known);
      }
      if (with_switches.empty()) continue;
      WEFT_CHECK(operations != nullptr, "plans with operations in switches need where to register them");
      // Groups with equal layouts share a plan, but each has switches of its own.
      std::set<std::pair<GroupId, const CollectivePlan*>> seen;
      for (const RankId rank : ask.ranks) {
        const Communicator& communicator = workload.communicators[op.communicator];
        const GroupId group = communicator.group_of(rank);
        const CollectivePlan& found = *job->find(op, group, communicator.position_of(rank));
        if (!std::ranges::count(with_switches, &found)) continue;
        if (!seen.emplace(group, &found).second) continue;
        const std::string objection = add_operations(*job, found, op.communicator, group, endpoint_of_rank, *operations);
        if (objection.empty()) continue;
        if (!chosen_[static_cast<std::size_t>(op.collective)].empty()) object(found.algorithm, found.request, objection);
        passed_over[found.request].insert(found.algorithm);
        return nullptr;
      }
    }
  }
  return job;
}

std::string CollectiveLibrary::add_operations(JobCollectives& job, const CollectivePlan& plan, std::uint16_t communicator,
                                              GroupId group, std::span<const NodeId> endpoint_of_rank,
                                              SwitchOperations& operations) {
  const std::span<const RankId> ranks = job.workload_.communicators[communicator].ranks(group);
  for (std::uint32_t position = 0; position < ranks.size(); ++position) {
    const CollectiveProgram& program = plan.program_of(position);
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const CollectiveStep& step = program.step(i);
      // The first member speaks for its subgroup.
      if (step.kind != StepKind::in_network || plan.divisions[step.peer.division]->index_of(position) != 0) continue;
      NodeId& name = job.switch_operations_[JobCollectives::switch_key(plan, communicator, group, step, position)];
      if (!name.is_none()) continue;
      std::vector<NodeId> members;
      for (const std::uint32_t member : plan.members_of(step, position)) members.push_back(endpoint_of_rank[ranks[member].index()]);
      const NodeId root = has_root(step.operation) ? endpoint_of_rank[ranks[plan.peer(step, position)].index()] : NodeId::none();
      const SwitchOperations::Added added =
          operations.add(step.operation, std::move(members), root, connection_number(communicator, step.channel));
      if (!added.objection.empty()) return added.objection;
      name = added.name;
    }
  }
  return {};
}

}  // namespace weft

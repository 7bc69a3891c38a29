// SPDX-License-Identifier: Apache-2.0
#include "tools/projections/site_simulation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "tools/results/result_sink.hpp"
#include "topologies/builders.hpp"
#include "workloads/decentralized/site_ranks.hpp"

namespace weft {

namespace {

constexpr std::array site_world_rows = {
    param<&SiteWorld::exchange>({.name = "exchange",
                                 .default_text = "star",
                                 .choices = "star|ring|butterfly|gossip",
                                 .meaning = "How nodes (with regional groups: regions) average, as across_sites.exchange.",
                                 .origin = "2 V of closed forms: to a parameter server and back"}),
    param_read<regional_exchange_called, &SiteWorld::regional_exchange>({.name = "regionalExchange",
                                                                         .default_text = "star",
                                                                         .choices = "star|ring|butterfly",
                                                                         .meaning = "How the nodes of a region average.",
                                                                         .origin = "2 V of closed forms"}),
    param<&SiteWorld::blocking_sends>({.name = "blockingSends",
                                       .default_text = "true",
                                       .meaning = "Whether a stage of a pipeline waits until a message is acknowledged.",
                                       .origin = "closed forms add up computation and transfer"}),
    param<&SiteWorld::backward_pass>({.name = "backwardPass",
                                      .default_text = "false",
                                      .meaning = "Whether pipelines do forward and backward in turns (1F1B), with gradients going "
                                                 "back; else a single pass whose last stage hands back to the first.",
                                      .origin = "closed forms know one pass"}),
    param<&SiteWorld::leader_exchanges>({.name = "leaderExchanges",
                                         .default_text = "true",
                                         .meaning = "Whether the first node of a pipeline exchanges all parameters of its group; "
                                                    "else each node does its part over its own line.",
                                         .origin = "closed forms send all parameters over one line"}),
    param<&SiteWorld::fragments>({.name = "fragments",
                                  .default_text = "1",
                                  .minimum = "1",
                                  .maximum = "10000",
                                  .meaning = "Parts that are exchanged at different times of a round.",
                                  .origin = "closed forms know one"}),
    param<&SiteWorld::packet_loss>({.name = "packetLoss",
                                    .default_text = "0",
                                    .minimum = "0",
                                    .maximum = "0.99",
                                    .meaning = "Probability of a packet to be lost on a node's line (multi_site.wan_loss).",
                                    .origin = "closed forms know none"}),
    param<&SiteWorld::jitter_ms>({.name = "jitterMs",
                                  .default_text = "0",
                                  .minimum = "0",
                                  .maximum = "100000",
                                  .meaning = "Mean of what a message is late on a node's line, in ms (multi_site.wan_jitter).",
                                  .origin = "closed forms know none"}),
    param<&SiteWorld::congestion_control>({.name = "congestionControl",
                                           .default_text = "auto",
                                           .choices = "auto|none|reno|cubic|bbr",
                                           .meaning = "As wan.congestion_control: of each stream between sites.",
                                           .origin = "closed forms know none, which auto is without losses"}),
    param<&SiteWorld::streams>({.name = "streams",
                                .default_text = "1",
                                .minimum = "1",
                                .maximum = "1024",
                                .meaning = "Connections that a transfer is split over (flow.queue_pairs).",
                                .origin = "the plainest"}),
    param<&SiteWorld::uplink_share>({.name = "uplinkShare",
                                     .default_text = "1",
                                     .minimum = "0.0001",
                                     .maximum = "1",
                                     .meaning = "Rate of lines away from nodes, in terms of the one towards them.",
                                     .origin = "closed forms know one rate"}),
    param<&SiteWorld::bandwidth_spread>({.name = "bandwidthSpread",
                                         .default_text = "0",
                                         .minimum = "0",
                                         .maximum = "3",
                                         .meaning = "Coefficient of variation of lines' rates, log-normal.",
                                         .origin = "closed forms know equal lines"}),
    param<&SiteWorld::latency_spread>({.name = "latencySpread",
                                       .default_text = "0",
                                       .minimum = "0",
                                       .maximum = "3",
                                       .meaning = "Coefficient of variation of lines' round-trip times, log-normal.",
                                       .origin = "closed forms know equal lines"}),
    param<&SiteWorld::speed_spread>({.name = "speedSpread",
                                     .default_text = "0",
                                     .minimum = "0",
                                     .maximum = "3",
                                     .meaning = "Coefficient of variation of nodes' speeds, log-normal.",
                                     .origin = "closed forms know equal nodes"}),
    param<&SiteWorld::leave_probability>({.name = "leaveProbability",
                                          .default_text = "0",
                                          .minimum = "0",
                                          .maximum = "1",
                                          .meaning = "Of a node to leave before a round.",
                                          .origin = "closed forms know no churn"}),
    param<&SiteWorld::away_rounds>({.name = "awayRounds",
                                    .default_text = "1",
                                    .minimum = "1",
                                    .maximum = "1000000",
                                    .meaning = "Rounds that who left is away; back again, it first fetches the whole model.",
                                    .origin = "the shortest"}),
    param<&SiteWorld::leave_timeout_s>({.name = "leaveTimeout",
                                        .default_text = "6",
                                        .minimum = "0",
                                        .maximum = "86400",
                                        .meaning = "Seconds that others wait in vain in the round in which somebody left.",
                                        .origin = "INTELLECT-1 (arXiv 2412.01152) drops a node that has been silent for 6 s"}),
    param<&SiteWorld::rounds>({.name = "rounds",
                               .default_text = "2",
                               .minimum = "1",
                               .maximum = "100000",
                               .meaning = "Rounds that count; as many go before them.",
                               .origin = "one that follows another is enough where all are alike"}),
    param<&SiteWorld::seed>({.name = "seed", .default_text = "1", .meaning = "Of all that is drawn.", .origin = "any"}),
};

std::uint32_t whole(double value, std::string_view name, const SourcePlace& place) {
  if (value == std::floor(value)) return static_cast<std::uint32_t>(value);
  fail("bad-plan", fmt::format("{} = {:g} cannot be simulated", name, value), place, fmt::format("{} is a whole number", name));
}

double seconds(double milliseconds) { return milliseconds / 1000; }

/// Settings of multi_site, as texts.
class SiteTopology {
 public:
  SiteTopology(const DecentralizedSettings& settings, bool has_regions, const SiteTrainingSettings& training,
               const SiteWorld& world, const SourcePlace& place)
      : in_(settings), has_regions_(has_regions), training_(training), world_(world), place_(place) {}

  ParamSet params() const {
    const auto& module = find_module(topology_builders(), "multi_site", place_);
    ParamSet params("multi_site", module.info.params);
    const auto set = [&](std::string_view name, const std::string& value) { params.set(name, value, place_); };
    const std::uint32_t group = training_.method == SiteMethod::hierarchical ? training_.group : training_.stages;
    const bool has_region_server =
        training_.method == SiteMethod::hierarchical && training_.regional_exchange == SiteExchange::star;
    const double regional_s = has_regions_ ? seconds(in_.regional_latency) : 0;
    const double latency_s = seconds(in_.latency_ms);
    std::uint32_t sites = nodes();
    std::string fabric = fmt::format("hosts=1 gpus_per_host=1 nics_per_host=1 nic_rate={}", rate(endless_mbps()));
    if (has_regions_) {
      sites /= group;
      fabric = fmt::format("hosts={} gpus_per_host=1 nics_per_host=1 nic_rate={} fibre={}m", group + (has_region_server ? 1 : 0),
                           rate(in_.regional_bandwidth), std::llround(regional_s / 4 / metre_s));
      // A parameter server is no bottleneck.
      if (has_region_server) fabric += fmt::format(" host_groups={}:nic_rate={}", group, rate(endless_mbps()));
    } else {
      fabric += " fibre=0m";
    }
    set("sites", fmt::format("{}", sites));
    set("fabric", "single_switch");
    set("fabric_params", fabric);
    set("wan", "hub");
    set("wan_rate", rate(in_.bandwidth_mbps * world_.uplink_share));
    set("wan_rate_down", rate(in_.bandwidth_mbps));
    set("wan_rtt", duration(latency_s - regional_s));
    set("wan_loss", fmt::format("{}", world_.packet_loss));
    set("wan_jitter", duration(seconds(world_.jitter_ms)));
    set("wan_rate_spread", fmt::format("{}", world_.bandwidth_spread));
    set("wan_rtt_spread", fmt::format("{}", world_.latency_spread));
    set("wan_seed", fmt::format("{}", world_.seed));
    set("border_rate", rate(endless_mbps()));
    set("border_fibre", "0m");
    const bool has_server = training_.exchange == SiteExchange::star && training_.method != SiteMethod::pipeline;
    if (has_server) {
      set("hub_hosts", "1");
      set("hub_host_rate", rate(endless_mbps()));
      set("hub_host_rtt", duration(latency_s / 2));
    }
    return params;
  }

 private:
  static constexpr double metre_s = 5e-9;

  std::uint32_t nodes() const {
    if (training_.method == SiteMethod::pipeline) return training_.stages;
    if (training_.method == SiteMethod::pipeline_groups) return training_.nodes / training_.stages * training_.stages;
    return training_.nodes;
  }
  /// More than all lines together, but not beyond what a link may have.
  double endless_mbps() const {
    constexpr double most_mbps = 1e9;
    const double fastest = std::max(in_.bandwidth_mbps, has_regions_ ? in_.regional_bandwidth : 0);
    return std::min(most_mbps, fastest * std::max(1000.0, 4.0 * training_.nodes));
  }
  static std::string rate(double mbps) { return fmt::format("{}bps", std::max<std::int64_t>(1, std::llround(mbps * 1e6))); }
  static std::string duration(double s) { return fmt::format("{}ns", std::llround(s * 1e9)); }

  const DecentralizedSettings& in_;
  const bool has_regions_;
  const SiteTrainingSettings& training_;
  const SiteWorld& world_;
  const SourcePlace& place_;
};

/// Of the GPUs of all ranks.
double compute_s(const Workload& workload) {
  std::vector<double> by_role;
  for (const RoleDag& dag : workload.roles) {
    double sum = 0;
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      if (dag.kind(OpId(i)) == OpKind::compute && dag.processor(OpId(i)) == Processor::gpu) sum += dag.op(OpId(i)).duration.in_s();
    }
    by_role.push_back(sum);
  }
  double all = 0;
  for (const std::uint16_t role : workload.role_of) all += by_role[role];
  return all;
}

/// Times are all that is asked for.
class QuietSink final : public ResultSink {
 public:
  Needs needs() const override { return {.flows_listed_max = 0, .collectives = false}; }
};

struct TimedRounds {
  double time_s = 0;
  double computing_s = 0;  ///< of all nodes
  std::uint64_t ranks = 0;
  std::string fingerprint = {};
};

TimedRounds run_rounds(const SiteTrainingSettings& training, const ParamSet& topology, const SiteWorld& world,
                       const SourcePlace& place, const RunOptions& options, std::vector<std::string>* notes) {
  Scenario scenario;
  scenario.name = "across sites";
  scenario.seed = world.seed;
  scenario.topology = find_module(topology_builders(), "multi_site", place).make(topology, place);
  scenario.parameters.add_builder(topology);
  const auto set = [&](std::string_view name, const std::string& value) { scenario.parameters.apply(name, value, place); };
  set("flow.protocol", "none");
  set("flow.forwarding", "cut_through");
  set("flow.queue_pairs", fmt::format("{}", world.streams));
  set("wan.congestion_control", world.congestion_control);
  const auto workload = std::make_shared<const Workload>(site_training(training, "across_sites", place));
  scenario.workloads.push_back(workload);
  JobSpec job;
  job.name = "across sites";
  job.gpus = workload->rank_count;
  job.iterations = 1;
  job.workload = workload;
  job.place = place;
  scenario.jobs.push_back(std::move(job));
  QuietSink nobody;
  const RunSummary summary = finish_run(scenario, nobody, options).summary;
  if (notes != nullptr) {
    *notes = workload->assumptions;
    notes->insert(notes->end(), summary.notes.begin(), summary.notes.end());
  }
  return {summary.mean_iteration_s, compute_s(*workload), workload->rank_count, summary.fingerprint};
}

/// Of nodes times rounds.
double share_there(const SiteRanks& ranks, std::uint32_t from_round, std::uint32_t to_round) {
  std::uint64_t there = 0;
  std::uint64_t all = 0;
  for (std::uint32_t region = 0; region < ranks.regions(); ++region) {
    for (std::uint32_t i = 0; i < ranks.region_size(); ++i) {
      for (std::uint32_t round = from_round; round < to_round; ++round, ++all) there += ranks.is_there(region, i, round) ? 1 : 0;
    }
  }
  return static_cast<double>(there) / static_cast<double>(all);
}

/// What the simulated world has no place for.
void check_simulated(const DecentralizedSettings& settings, const DecentralizedForecast& forecast, const SiteWorld& world,
                     const SourcePlace& place) {
  const auto refuse = [&](const std::string& what, std::string help) {
    fail("bad-plan", fmt::format("{} cannot be simulated", what), place, std::move(help));
  };
  // Of multi_site, where nodes or regions are sites.
  constexpr double sites_max = 1024;
  const double nodes_max = sites_max * (forecast.has_regions ? settings.nodes_per_group : 1);
  if (static_cast<double>(settings.nodes) > nodes_max && forecast.mode != DecentralizedMode::pipeline)
    refuse(fmt::format("numNodes = {}", settings.nodes), fmt::format("numNodes is at most {:g}: {:g} sites", nodes_max, sites_max));
  constexpr double latency_max_ms = 10'000;
  if (settings.latency_ms > latency_max_ms)
    refuse(fmt::format("latencyMs = {:g}", settings.latency_ms), fmt::format("latencyMs is at most {:g}", latency_max_ms));
  constexpr double regional_latency_max_ms = 1000;
  if (forecast.has_regions && settings.regional_latency > std::min(settings.latency_ms, regional_latency_max_ms)) {
    refuse(fmt::format("regionalLatency = {:g} beside latencyMs = {:g}", settings.regional_latency, settings.latency_ms),
           fmt::format("regionalLatency is at most latencyMs and {:g}", regional_latency_max_ms));
  }
  if (world.fragments > settings.inner_steps)
    refuse(fmt::format("fragments = {}", world.fragments),
           fmt::format("fragments is at most {:g}, as innerSteps says", settings.inner_steps));
  if (world.leave_probability > 0 && forecast.mode == DecentralizedMode::pipeline)
    refuse("leaveProbability in mode B", "leave it at 0: without a stage there is no pipeline");
  if (settings.zero_bubble) refuse("zeroBubble", "leave it off; weft schedule and plans have zero-bubble schedules");
  if (settings.strategy != StragglerStrategy::none)
    refuse("stragglerStrategy", "leave it at none: in the simulation all wait for the slowest");
  if (settings.dynamic_local_updates)
    refuse("dynamicLocalUpdates", "leave it off; across_sites has method=asynchronous with dynamic_steps");
  if (settings.loss_tolerant) refuse("lossTolerant", "leave it off; packetLoss and congestionControl say what losses do");
  if (settings.slowest_node != 1) refuse("slowestNode", "leave it at 1; speedSpread draws how fast nodes are");
}

}  // namespace

ParamTable site_world_params() { return site_world_rows; }

void check_world(const ParamSet& world, DecentralizedMode mode, const SourcePlace& place) {
  const bool is_pipeline = mode == DecentralizedMode::pipeline;
  const bool is_groups = mode == DecentralizedMode::pipeline_groups;
  const bool some_leave = !world.is_default("leaveProbability");
  const auto of_modes = [&](std::string_view modes) { return fmt::format("mode {}; this is mode {}", modes, letter_of(mode)); };
  const std::string leaving = "leaveProbability above 0";
  const std::array needs = {
      ParamNeed{"exchange", !is_pipeline, of_modes("A, A' or C")},
      ParamNeed{"fragments", !is_pipeline, of_modes("A, A' or C")},
      ParamNeed{"regionalExchange", mode == DecentralizedMode::hierarchical, of_modes("A'")},
      ParamNeed{"blockingSends", is_pipeline || is_groups, of_modes("B or C")},
      ParamNeed{"backwardPass", is_pipeline || is_groups, of_modes("B or C")},
      ParamNeed{"leaderExchanges", is_groups, of_modes("C")},
      ParamNeed{"awayRounds", some_leave, leaving},
      ParamNeed{"leaveTimeout", some_leave, leaving},
  };
  check_needs(world, needs, place);
}

SiteTrainingSettings site_settings(const DecentralizedSettings& settings, const DecentralizedForecast& forecast,
                                   const SiteWorld& world, const SourcePlace& place) {
  check_simulated(settings, forecast, world, place);
  SiteTrainingSettings training;
  constexpr std::array methods = {SiteMethod::diloco, SiteMethod::hierarchical, SiteMethod::pipeline, SiteMethod::pipeline_groups};
  training.method = methods[static_cast<std::size_t>(forecast.mode)];
  training.nodes = static_cast<std::uint32_t>(settings.nodes);
  training.inner_steps = whole(settings.inner_steps, "innerSteps", place);
  training.step_time = Duration::from_seconds(forecast.of("T_comp"));
  training.parameters = settings.parameters * 1e9;
  training.bits = bits_per_value(settings.precision);
  training.model_bits = training.bits;
  const double whole_bits = training.parameters * training.bits;
  if (const double exchanged_bits = forecast.of("V_bits"); !std::isnan(exchanged_bits))
    training.compression = whole_bits / exchanged_bits;
  training.exchange = world.exchange;
  training.fragments = world.fragments;
  training.layers = whole(settings.layers, "layers", place);
  training.speed_spread = world.speed_spread;
  training.leave_probability = world.leave_probability;
  training.away_steps = world.away_rounds;
  training.leave_timeout = Duration::from_seconds(world.leave_timeout_s);
  training.seed = world.seed;
  training.overlap_steps = settings.is_streaming && forecast.mode != DecentralizedMode::pipeline ? training.inner_steps : 0;
  if (forecast.mode == DecentralizedMode::hierarchical) {
    training.group = whole(settings.nodes_per_group, "nodesPerGroup", place);
    training.regional_steps = whole(settings.regional_steps, "regionalSteps", place);
    training.regional_exchange = world.regional_exchange;
    training.regional_compression = whole_bits / forecast.of("V_regional_bits");
    if (training.nodes % training.group != 0) {
      fail("bad-plan", fmt::format("numNodes = {} are no regions of nodesPerGroup = {}", training.nodes, training.group), place,
           "nodesPerGroup divides numNodes where it is simulated");
    }
  }
  if (!std::isnan(forecast.of("A"))) {
    training.stages = static_cast<std::uint32_t>(forecast.of("S"));
    training.micro_batches = whole(settings.micro_batches, "microBatches", place);
    training.activation_bytes = forecast.of("A") / settings.micro_batches;
    training.backward = world.backward_pass || settings.sends_gradients_back;
    training.blocking_sends = world.blocking_sends;
    training.leader_exchanges = world.leader_exchanges;
  }
  // Without an exchange a round is a step.
  if (forecast.mode == DecentralizedMode::pipeline) training.inner_steps = 1;
  return training;
}

SiteSimulation simulate_sites(const DecentralizedSettings& settings, const DecentralizedForecast& forecast, const SiteWorld& world,
                              const SourcePlace& place, const RunOptions& options) {
  SiteTrainingSettings training = site_settings(settings, forecast, world, place);
  const ParamSet topology = SiteTopology(settings, forecast.has_regions, training, world, place).params();
  SiteSimulation result;
  training.outer_steps = world.rounds;
  const TimedRounds first = run_rounds(training, topology, world, place, options, nullptr);
  training.outer_steps = 2 * world.rounds;
  const TimedRounds both = run_rounds(training, topology, world, place, options, &result.notes);
  constexpr std::array<std::string_view, 4> quantities = {"T_outer", "T_global_cycle", "T_step", "T_outer"};
  result.quantity = quantities[static_cast<std::size_t>(forecast.mode)];
  result.formula_s = forecast.of(result.quantity);
  result.simulated_s = (both.time_s - first.time_s) / world.rounds;
  result.formula_utilisation = forecast.of("utilisation");
  const SiteRanks ranks(training);
  const double nodes = static_cast<double>(ranks.regions()) * ranks.region_size();
  result.simulated_utilisation = (both.computing_s - first.computing_s) / world.rounds / (nodes * result.simulated_s);
  result.effective_days =
      forecast.of("T_effective") * result.simulated_s / result.formula_s / share_there(ranks, ranks.rounds() / 2, ranks.rounds());
  result.ranks = both.ranks;
  result.fingerprint = first.fingerprint + both.fingerprint;
  return result;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "workloads/decentralized/closed_forms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

constexpr double giga = 1e9;
constexpr double tera = 1e12;
constexpr double peta = 1e15;
constexpr double mega = 1e6;
constexpr double milli = 1e-3;
constexpr double bits_per_byte = 8;
constexpr double seconds_per_day = 86'400;

constexpr double operations_per_parameter = 6;  // [1.1]
constexpr double beta_of[] = {16, 14, 13};      // bytes per parameter, by precision [2.1]
constexpr double bits_of[] = {16, 8, 4};        // per value [8.1]
constexpr double speedup_of[] = {1, 2, 4};
constexpr double streaming_memory = 0.66;       // [3.1]
constexpr double width_per_root = 0.03;         // h of sqrt(P) [3.3]
constexpr double backup_nodes = 1.1;            // [5.2]
constexpr double backup_delay_left = 0.3;       // [5.2]
constexpr double threshold_penalty = 1.15;      // [4.5]
constexpr double efficiency_min = 0.4;          // [4.1]
constexpr double alpha_base = 0.08;             // [4.3]
constexpr double alpha_decades = 5;             // [4.3]
constexpr double mfu_rare = 0.6;                // [1.3]
constexpr double zero_bubble_per_stage = 0.01;  // [B.1]
constexpr double updates_straggler_left = 0.8;  // [B.2]: 10 to 30 % less
constexpr double sparse_efficiency = 0.9;       // [B.4]: 85 to 95 %
constexpr double hidden_latency_s = 1e-3;       // [B.5]: a fabric's, not a WAN's
constexpr double loss_straggler_left = 0.875;   // [B.6]: 10 to 15 % less
constexpr double loss_efficiency = 0.99;        // [B.6]: about 1 %

double by_precision(const double (&values)[3], SitePrecision precision) { return values[static_cast<std::size_t>(precision)]; }

/// [6.2]: useful over all operations. The source prints 0.67 for full recomputation, where forward
/// is done twice: 6 of 8.
double mfu_over_hfu(const DecentralizedSettings& settings, bool as_seed) {
  if (settings.mfu_hfu_ratio > 0) return settings.mfu_hfu_ratio;
  switch (settings.recompute) {
    case SiteRecompute::none:
      return 1;
    case SiteRecompute::selective:
      return 0.8;
    case SiteRecompute::full:
      return as_seed ? 0.67 : 0.75;
  }
  return 1;
}

class Forecaster {
 public:
  Forecaster(const DecentralizedSettings& settings, bool as_seed, const SourcePlace& place)
      : in_(settings), as_seed_(as_seed), place_(place) {}

  DecentralizedForecast forecast() {
    has_regions_ = in_.mode == ModeChoice::hierarchical || (in_.is_hierarchical && in_.mode != ModeChoice::diloco);
    check();
    compute();
    remember();
    choose_mode();
    add("S", "", stages_, "pipeline stages");
    // A pipeline of mode B goes over the WAN.
    out_.has_regions = has_regions_ && out_.mode != DecentralizedMode::pipeline;
    switch (out_.mode) {
      case DecentralizedMode::data_parallel:
        data_parallel();
        break;
      case DecentralizedMode::hierarchical:
        hierarchical();
        break;
      case DecentralizedMode::pipeline:
        pipeline();
        break;
      case DecentralizedMode::pipeline_groups:
        pipeline_groups();
        break;
    }
    finish();
    warn();
    return std::move(out_);
  }

 private:
  void add(std::string_view name, std::string_view unit, double value, std::string_view meaning) {
    out_.quantities.push_back({name, unit, value, meaning});
  }

  [[noreturn]] void refuse(const char* code, std::string message, std::string help) const {
    fail(code, std::move(message), place_, std::move(help));
  }

  void check() const {
    if (in_.is_moe && in_.active_params > in_.parameters) {
      refuse("out-of-range", fmt::format("activeParams is {:g}, more than all parameters", in_.active_params),
             fmt::format("activeParams lies above 0 and is at most {:g}, as parameters says", in_.parameters));
    }
    if (in_.is_moe && in_.shared_params > in_.parameters) {
      refuse("out-of-range", fmt::format("sharedParams is {:g}, more than all parameters", in_.shared_params),
             fmt::format("sharedParams is at most {:g}, as parameters says; 0: as activeParams", in_.parameters));
    }
    // What another mode asked for would lack is of the mode.
    const bool is_by_memory = in_.mode == ModeChoice::by_memory;
    const bool is_of_pipelines = in_.mode == ModeChoice::pipeline || in_.mode == ModeChoice::pipeline_groups;
    if (in_.layers > 1 && (in_.is_streaming || has_regions_ || is_of_pipelines)) {
      refuse(is_by_memory || in_.mode == ModeChoice::diloco ? "out-of-range" : "bad-plan",
             is_by_memory ? fmt::format("layers is {:g}, and streamingEnabled or hierarchicalEnabled is true", in_.layers)
                          : fmt::format("layers is {:g}, and streamingEnabled is true or mode is not diloco", in_.layers),
             is_by_memory ? "layers is 1 with them; set both to false" : "layers is 1 with them");
    }
    // Pipelines that are asked for take the nodes that there are of a region.
    if (has_regions_ && !is_of_pipelines && in_.nodes_per_group > static_cast<double>(in_.nodes)) {
      refuse(is_by_memory ? "out-of-range" : "bad-plan",
             fmt::format("nodesPerGroup is {:g}, and there are {} nodes", in_.nodes_per_group, in_.nodes),
             fmt::format("nodesPerGroup is from 1 to {}, as numNodes says", in_.nodes));
    }
  }

  // --- [1] and [2] ---

  void compute() {
    parameters_ = in_.parameters * giga;
    active_ = in_.is_moe ? in_.active_params * giga : parameters_;
    shared_ = in_.shared_params > 0 ? in_.shared_params * giga : active_;
    latency_s_ = in_.latency_ms * milli;
    regional_latency_s_ = in_.regional_latency * milli;
    bandwidth_bps_ = in_.bandwidth_mbps * mega;
    regional_bandwidth_bps_ = in_.regional_bandwidth * mega;
    rate_ = in_.pflops_per_node * peta;
    const double speed = in_.slowest_node * (in_.has_precision_speedup ? by_precision(speedup_of, in_.precision) : 1);
    const bool has_all_to_alls = in_.is_moe && in_.has_expert_parallelism;
    const double expert_latency_s = has_regions_ ? regional_latency_s_ : latency_s_;
    const double passes = in_.has_backward_all_to_alls ? 2 : 1;
    const bool is_hidden = in_.dual_pipe && expert_latency_s <= hidden_latency_s;
    const double expert_s = has_all_to_alls && !is_hidden ? 2 * expert_latency_s * in_.moe_layers * passes : 0;
    compute_s_ = operations_per_parameter * active_ * in_.local_batch / (rate_ * speed * in_.mfu) + expert_s;
    add("C", "FLOP", operations_per_parameter * active_ * in_.tokens * tera, "operations of the whole run");
    add("T_EP", "s", expert_s, "round trips of the experts' all-to-alls of a step");
    add("T_comp", "s", compute_s_, "computation of a step");
  }

  void remember() {
    double beta = by_precision(beta_of, in_.precision);
    if (in_.has_streaming_memory && in_.is_streaming) beta *= 1 + streaming_memory;
    const double needed_gb = parameters_ * beta / giga;
    add("beta", "B", beta, "model state per parameter");
    add("M_req", "GB", needed_gb, "model state of all parameters");
    double node_gb = needed_gb;
    const bool fits_whole = needed_gb <= in_.vram_per_node;
    experts_over_ = has_regions_ ? std::min(in_.nodes_per_group, all_nodes()) : all_nodes();
    spreads_experts_ = !fits_whole && in_.is_moe && in_.has_expert_parallelism;
    if (spreads_experts_) {
      node_gb = (shared_ + (parameters_ - shared_) / experts_over_) * beta / giga;
      add("N_EP", "", experts_over_, "nodes over which experts are spread");
      add("M_node", "GB", node_gb, "model state of a node, with its share of the experts");
    }
    node_gb_ = node_gb;
    stages_ = node_gb <= in_.vram_per_node ? 1 : std::ceil(node_gb / in_.vram_per_node);
    fits_whole_ = fits_whole;
  }

  void choose_mode() {
    if (in_.mode != ModeChoice::by_memory) return take_asked_mode();
    if (stages_ == 1) {
      out_.mode = has_regions_ ? DecentralizedMode::hierarchical : DecentralizedMode::data_parallel;
      out_.why = memory_text();
      if (has_regions_) out_.why += ", and there are regional groups";
      return;
    }
    if (stages_ > all_nodes()) {
      refuse("does-not-fit", fmt::format("the model takes {:g} nodes, and there are {}", stages_, in_.nodes),
             fmt::format("numNodes is at least {:g}; or raise vramPerNode, or lower parameters or precision", stages_));
    }
    if (in_.layers > 1) {
      refuse("out-of-range", fmt::format("layers is {:g}, and the model takes {:g} nodes", in_.layers, stages_),
             "layers is 1 where the model does not fit a node");
    }
    groups_ = std::floor(all_nodes() / stages_);
    const bool has_groups = groups_ >= 2;
    out_.mode = has_groups ? DecentralizedMode::pipeline_groups : DecentralizedMode::pipeline;
    out_.why = fmt::format("the model takes {:g} nodes, of which {} {}", stages_, in_.nodes,
                           has_groups ? fmt::format("make {:g} groups", groups_) : "make no second group");
  }

  void take_asked_mode() {
    const bool is_whole = in_.mode == ModeChoice::diloco || in_.mode == ModeChoice::hierarchical;
    if (is_whole && stages_ > 1) {
      refuse("bad-plan",
             fmt::format("mode is {}, and the model takes {:g} nodes", in_.mode == ModeChoice::diloco ? "diloco" : "hierarchical",
                         stages_),
             fmt::format("mode is auto, pipeline or pipeline_groups; or raise vramPerNode to {:g} GB", node_gb_));
    }
    if (is_whole) {
      out_.mode = in_.mode == ModeChoice::diloco ? DecentralizedMode::data_parallel : DecentralizedMode::hierarchical;
      out_.why = "as asked; " + memory_text();
      return;
    }
    // A pipeline of one stage is none.
    stages_ = std::max(stages_, 2.0);
    groups_ = std::floor(all_nodes() / stages_);
    const bool has_groups = in_.mode == ModeChoice::pipeline_groups;
    const double needed = has_groups ? 2 * stages_ : stages_;
    if (all_nodes() < needed) {
      refuse("bad-plan",
             fmt::format("mode is {}, which takes {:g} nodes, and there are {}", has_groups ? "pipeline_groups" : "pipeline",
                         needed, in_.nodes),
             fmt::format("numNodes is at least {:g}{}", needed,
                         has_groups ? fmt::format(", two groups of {:g} stages", stages_) : ", a node for each stage"));
    }
    out_.mode = has_groups ? DecentralizedMode::pipeline_groups : DecentralizedMode::pipeline;
    out_.why = fmt::format("as asked; {:g} stages", stages_);
    if (has_groups) out_.why += fmt::format(", of which {} nodes make {:g} groups", in_.nodes, groups_);
  }

  /// Of a model whose part fits a node.
  std::string memory_text() const {
    return fits_whole_
               ? fmt::format("the whole model fits the {:g} GB on a node", in_.vram_per_node)
               : fmt::format("with its share of the experts each node's part fits the {:g} GB on a node", in_.vram_per_node);
  }
  double all_nodes() const { return static_cast<double>(in_.nodes); }

  // --- [5] ---

  double straggler(double among) const {
    double factor = 1 + in_.straggler_coefficient * std::log2(std::max(among, 1.0));
    if (in_.strategy == StragglerStrategy::threshold) return 1;
    if (in_.strategy == StragglerStrategy::backup) factor = 1 + backup_delay_left * (factor - 1);
    if (in_.dynamic_local_updates) factor = 1 + updates_straggler_left * (factor - 1);
    if (in_.loss_tolerant) factor = 1 + loss_straggler_left * (factor - 1);
    return factor;
  }
  double effective_nodes() const {
    const auto nodes = static_cast<double>(in_.nodes);
    return in_.strategy == StragglerStrategy::backup ? nodes / backup_nodes : nodes;
  }

  // --- [3] ---

  double volume_bits(double compression) const {
    double values = parameters_;
    if (in_.expert_volume == ExpertVolume::held && spreads_experts_) values = shared_ + (parameters_ - shared_) / experts_over_;
    if (in_.sparse_averaging > 0) values *= in_.sparse_averaging;
    return values * bits_per_value(in_.precision) / compression;
  }
  double sync_s(double bits, double bandwidth_bps, double latency_s, double among) const {
    return (in_.exchange_volumes * bits / bandwidth_bps + latency_s) * straggler(among);
  }
  double joined(double compute_s, double sync_s) const {
    return in_.is_streaming ? std::max(compute_s, sync_s) : compute_s + sync_s;
  }

  /// A step has a forward, an activation gradient and a weight gradient per layer, equally long,
  /// but no activation gradient of the first layer. Layer by layer, from the last one on, a share
  /// of V is exchanged after the weight gradient, one after the other; the next forward waits.
  double layered_exposed_s(double step_s, double sync_s) const {
    const double pass_s = step_s / (3 * in_.layers - 1);
    const double passes = sync_s / in_.layers / pass_s;
    return pass_s * std::max({passes, 2 * passes - 1, in_.layers * passes - (2 * in_.layers - 3)});
  }

  /// Inner steps, and a synchronization across the WAN among so many.
  double outer_step_s(double step_s, double among, std::string_view volume_meaning) {
    const double bits = volume_bits(in_.compression);
    const double synchronization_s = sync_s(bits, bandwidth_bps_, latency_s_, among);
    const double exposed_s = layered_exposed_s(step_s, synchronization_s);
    const double outer_s =
        in_.layers > 1 ? in_.inner_steps * step_s + exposed_s : joined(in_.inner_steps * step_s, synchronization_s);
    add("V_bits", "bit", bits, volume_meaning);
    add("f_straggler", "", straggler(among), "synchronization over that without stragglers");
    add("T_sync", "s", synchronization_s, "a synchronization");
    if (in_.layers > 1) add("T_exposed", "s", exposed_s, "what no computation hides of it");
    add("T_outer", "s", outer_s, "an outer step");
    return outer_s;
  }

  void data_parallel() {
    const double nodes = effective_nodes();
    // The source says N, though the nodes that back others up do not take part.
    const double among = as_seed_ ? static_cast<double>(in_.nodes) : nodes;
    add("N_eff", "", nodes, "nodes that count");
    const double outer_s = outer_step_s(compute_s_, among, "that a node sends, and receives, in a synchronization");
    utilisation_ = in_.inner_steps * compute_s_ / outer_s;
    effective_steps_ = in_.inner_steps;
    nodes_used_ = static_cast<double>(in_.nodes);
    total_s_ = in_.tokens * tera / (in_.local_batch * nodes * in_.inner_steps) * outer_s;
  }

  void hierarchical() {
    const double nodes = effective_nodes();
    const double groups = nodes / in_.nodes_per_group;
    const double regional_bits = volume_bits(in_.regional_compression > 0 ? in_.regional_compression : in_.compression);
    const double bits = volume_bits(in_.compression);
    const double regional_s = sync_s(regional_bits, regional_bandwidth_bps_, regional_latency_s_, in_.nodes_per_group);
    const double global_s = sync_s(bits, bandwidth_bps_, latency_s_, groups);
    const double regional_cycle_s = joined(in_.inner_steps * compute_s_, regional_s);
    const double global_cycle_s = joined(in_.regional_steps * regional_cycle_s, global_s);
    add("N_eff", "", nodes, "nodes that count");
    add("G", "", groups, "regional groups");
    add("V_bits", "bit", bits, "that a group's leader sends, and receives, in a global synchronization");
    add("V_regional_bits", "bit", regional_bits, "that a node sends, and receives, in a regional one");
    add("f_straggler_regional", "", straggler(in_.nodes_per_group), "regional synchronization over that without stragglers");
    add("f_straggler_global", "", straggler(groups), "global synchronization over that without stragglers");
    add("T_regional", "s", regional_s, "a regional synchronization");
    add("T_global", "s", global_s, "a global synchronization");
    add("T_regional_cycle", "s", regional_cycle_s, "inner steps and their synchronization");
    add("T_global_cycle", "s", global_cycle_s, "regional cycles and their synchronization");
    utilisation_ = in_.regional_steps * in_.inner_steps * compute_s_ / global_cycle_s;
    effective_steps_ = in_.hierarchical_momentum ? 1 : in_.inner_steps * std::sqrt(in_.regional_steps);
    nodes_used_ = static_cast<double>(in_.nodes);
    total_s_ = in_.tokens * tera / (in_.local_batch * nodes * in_.inner_steps * in_.regional_steps) * global_cycle_s;
  }

  /// A step of a pipeline of S nodes.
  double pipeline_step_s(double bandwidth_bps, double latency_s) {
    const double width = width_per_root * std::sqrt(parameters_);
    const double activation_bytes = in_.local_batch * width * bits_per_value(in_.precision) / bits_per_byte;
    const double directions = in_.sends_gradients_back ? 2 : 1;
    const double micro_compute_s = compute_s_ / (stages_ * in_.micro_batches);
    const double micro_send_s = directions * activation_bytes / in_.micro_batches * bits_per_byte / bandwidth_bps;
    const double factor = straggler(stages_);
    const double slots = in_.micro_batches + stages_ - 1;
    const double compute_slots = in_.zero_bubble ? slots / zero_bubble_speedup() : slots;
    const double step_s = compute_slots * micro_compute_s + slots * (micro_send_s + directions * latency_s) * factor;
    computing_share_ = in_.micro_batches * micro_compute_s / step_s;
    add("h", "", width, "hidden dimension");
    add("A", "B", activation_bytes, "activations of a local batch at a boundary");
    add("T_micro_comp", "s", micro_compute_s, "computation of a microbatch on a stage");
    add("T_micro_comm", "s", micro_send_s, "its transfer to the next stage");
    add("f_straggler_pipeline", "", factor, "transfers over those without stragglers");
    add("bubble", "", bubble(), "share of the slots that are idle");
    if (in_.zero_bubble) add("zero_bubble_speedup", "", zero_bubble_speedup(), "of computation in the pipeline");
    add(out_.mode == DecentralizedMode::pipeline ? "T_step" : "T_PP_step", "s", step_s, "a step of a pipeline");
    return step_s;
  }
  /// The source prints 22.2 % for three stages and eight microbatches.
  double bubble() const {
    if (as_seed_ && stages_ == 3 && in_.micro_batches == 8) return 2.0 / 9;
    return (stages_ - 1) / (in_.micro_batches + stages_ - 1);
  }
  /// What remains idle is a hundredth per stage; the source prints 1.10, 1.25, 1.32 for two to
  /// four.
  double zero_bubble_speedup() const {
    constexpr std::array<double, 3> printed = {1.10, 1.25, 1.32};
    if (as_seed_ && in_.micro_batches == 8 && stages_ >= 2 && stages_ <= 4) return printed[static_cast<std::size_t>(stages_) - 2];
    // With many stages, or few slots to gain, nothing is gained.
    return std::max(1.0, (in_.micro_batches + stages_ - 1) / in_.micro_batches * (1 - zero_bubble_per_stage * stages_));
  }

  void pipeline() {
    const double step_s = pipeline_step_s(bandwidth_bps_, latency_s_);
    utilisation_ = computing_share_;
    effective_steps_ = 1;
    // The source counts the nodes of all stages but one as lost to the third part of a cluster.
    nodes_used_ = as_seed_ ? static_cast<double>(in_.nodes) / stages_ : stages_;
    total_s_ = in_.tokens * tera / in_.local_batch * step_s;
  }

  void pipeline_groups() {
    const double step_s =
        pipeline_step_s(has_regions_ ? regional_bandwidth_bps_ : bandwidth_bps_, has_regions_ ? regional_latency_s_ : latency_s_);
    add("G", "", groups_, "groups of pipelines");
    const double outer_s = outer_step_s(step_s, groups_, "that a group sends, and receives, in a synchronization");
    utilisation_ = computing_share_ * in_.inner_steps * step_s / outer_s;
    effective_steps_ = in_.inner_steps;
    nodes_used_ = groups_ * stages_;
    total_s_ = in_.tokens * tera / (in_.local_batch * groups_ * in_.inner_steps) * outer_s;
  }

  // --- [4], [6], [7] ---

  void finish() {
    const double decades = std::log10(parameters_ / giga);
    const double alpha = in_.delayed_nesterov ? 0 : alpha_base / (1 + decades / alpha_decades);
    const double penalty = in_.strategy == StragglerStrategy::threshold ? threshold_penalty : 1;
    double efficiency = std::max(efficiency_min, (1 - alpha * std::log10(effective_steps_)) / penalty);
    if (in_.sparse_averaging > 0) efficiency = std::max(efficiency, sparse_efficiency);
    if (in_.loss_tolerant) efficiency *= loss_efficiency;
    const double effective_s = total_s_ / efficiency;
    const double useful = operations_per_parameter * active_ * in_.tokens * tera;
    const double mfu = useful / (static_cast<double>(in_.nodes) * rate_ * effective_s);
    add("nodes_used", "", nodes_used_, "nodes that compute");
    add("utilisation", "", utilisation_, "share of the time in which they do");
    add("H_eff", "", effective_steps_, "inner steps between global synchronizations, for efficiency");
    add("alpha", "", alpha, "what a decade of inner steps costs");
    add("efficiency", "", efficiency, "tokens of synchronous training over those it takes");
    add("T_total", "d", total_s_ / seconds_per_day, "the run, before efficiency");
    add("T_effective", "d", effective_s / seconds_per_day, "the run");
    add("global_MFU", "", mfu, "useful operations over those that all nodes could do");
    add("HFU", "", mfu / mfu_over_hfu(in_, as_seed_), "with those that are done again");
    const double growth = in_.hardware_growth + in_.software_growth + in_.investment_growth;
    longest_years_ = growth > 0 ? 1 / (growth * std::log(10.0)) : std::numeric_limits<double>::infinity();
    add("L", "a", longest_years_, "the longest sensible run");
    effective_s_ = effective_s;
  }

  void warn() {
    constexpr double days_per_year = 365.25;
    if (in_.mfu > mfu_rare) out_.warnings.push_back(fmt::format("mfu is {:g}: above 0.6 is rarely achieved", in_.mfu));
    if (out_.mode == DecentralizedMode::pipeline)
      out_.warnings.emplace_back("mode B is the last resort: every microbatch crosses the WAN between stages");
    if (effective_s_ / seconds_per_day / days_per_year > longest_years_) {
      out_.warnings.push_back(
          fmt::format("the run takes longer than {:.3g} years: one that begins later would end before it", longest_years_));
    }
    if (has_regions_ && stages_ > in_.nodes_per_group) {
      out_.warnings.push_back(fmt::format("S is {:g}, more than the {:g} nodes of a group: pipelines leave their region", stages_,
                                          in_.nodes_per_group));
    }
    if (in_.parameters < 1 || in_.parameters > 1000) {
      out_.warnings.push_back(fmt::format(
          "alpha is an estimate for 1 to 1,000 billion parameters, and there are {:g}; its formula has a pole at 10^4 parameters",
          in_.parameters));
    }
    if (in_.has_expert_parallelism && in_.is_moe && in_.moe_layers == 0)
      out_.warnings.emplace_back("moeLayers is 0: no time is counted for the experts' all-to-alls");
    warn_of_options();
  }

  void warn_of_options() {
    const auto note = [&](bool is_on, const char* text) {
      if (is_on) out_.warnings.emplace_back(text);
    };
    note(in_.zero_bubble, "zeroBubble was shown for 28.3 billion parameters on 8 stages");
    note(in_.delayed_nesterov, "delayedNesterov was shown for 0.15 billion parameters and up to 16 workers");
    note(in_.dynamic_local_updates, "dynamicLocalUpdates was shown for 0.15 billion parameters and up to 16 workers");
    note(in_.hierarchical_momentum, "hierarchicalMomentum was shown for 0.07 billion parameters");
    note(in_.sparse_averaging > 0,
         "sparseAveraging was shown for 0.124 billion parameters and up to 8 nodes, and does not scale beyond 16");
    note(in_.dual_pipe, "dualPipe hides what takes a fabric's latency; over a WAN it changes nothing");
    note(in_.loss_tolerant, "lossTolerant was shown for 7 billion parameters on 64 GPUs");
  }

  const DecentralizedSettings& in_;
  const bool as_seed_;
  const SourcePlace& place_;
  DecentralizedForecast out_;
  double parameters_ = 0;
  double active_ = 0;
  double shared_ = 0;
  double latency_s_ = 0;
  double regional_latency_s_ = 0;
  double bandwidth_bps_ = 0;
  double regional_bandwidth_bps_ = 0;
  double rate_ = 0;
  double compute_s_ = 0;
  double experts_over_ = 1;
  bool spreads_experts_ = false;
  bool fits_whole_ = false;
  bool has_regions_ = false;
  double node_gb_ = 0;
  double stages_ = 1;
  double groups_ = 0;
  double effective_steps_ = 1;
  double nodes_used_ = 0;
  double computing_share_ = 1;  ///< of a pipeline's step
  double utilisation_ = 1;
  double total_s_ = 0;
  double effective_s_ = 0;
  double longest_years_ = 0;
};

}  // namespace

double bits_per_value(SitePrecision precision) { return by_precision(bits_of, precision); }

std::string_view letter_of(DecentralizedMode mode) {
  constexpr std::array<std::string_view, 4> letters = {"A", "A'", "B", "C"};
  return letters[static_cast<std::size_t>(mode)];
}

double DecentralizedForecast::of(std::string_view name) const {
  const auto found = std::ranges::find(quantities, name, &SiteQuantity::name);
  return found == quantities.end() ? std::numeric_limits<double>::quiet_NaN() : found->value;
}

DecentralizedForecast forecast_decentralized(const DecentralizedSettings& settings, bool as_seed, const SourcePlace& place) {
  return Forecaster(settings, as_seed, place).forecast();
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "tools/projections/plan_search.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/engine/parallel_loop.hpp"
#include "core/text/diagnostics.hpp"
#include "core/values/rank_correlation.hpp"
#include "host/memory/memory_projection.hpp"
#include "host/op_times/operator_clock.hpp"
#include "host/projections/network_formula.hpp"
#include "host/projections/plan_network.hpp"
#include "tools/projections/projected_cluster.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/plans/training_workload.hpp"

namespace weft {

namespace {

/// What one thread works with.
struct Bench {
  Bench(const Scenario& cluster, const OperatorTimes& times, const SourcePlace& place)
      : clock(remembering(operator_clock(times, place))), formula(network_formula(cluster)) {}

  OperatorClock clock;
  NetworkFormula formula;
};

/// Layers by which iterations are told apart where each gathers its own parameters.
constexpr std::uint64_t fewer_layers = 8;
constexpr std::uint64_t more_layers = 16;
constexpr std::uint64_t layers_min = 32;

/// Messages of a member of long rings, unless the user or the cluster's scenario says otherwise:
/// where layers wait for their parameters a message's way counts.
constexpr std::uint32_t ring_messages = 8;
constexpr std::uint32_t ring_messages_of_zero_3 = 16;
/// Rings that stay longer in a host have to be simulated round by round.
constexpr std::uint64_t ring_members_in_host_max = 4;

enum class Fate : std::uint8_t { ranked, out_of_memory, without_schedule };

class PlanSearch {
 public:
  PlanSearch(const TransformerModel& model, const Scenario& cluster, const OperatorTimes& times, const SearchRequest& request,
             const SourcePlace& place)
      : model_(model), cluster_(cluster), request_(request), place_(place), loop_(request.threads) {
    for (std::size_t worker = 0; worker < loop_.workers(); ++worker)
      benches_.push_back(std::make_unique<Bench>(cluster, times, place));
  }

  SearchResult search() {
    PlanCandidates candidates = plans_in(request_.space, model_, place_);
    result_.refused = candidates.refused;
    rank(std::move(candidates.plans));
    if (!is_interrupted()) simulate();
    if (is_interrupted()) {
      result_ = {};
      result_.interrupted = true;
      return std::move(result_);
    }
    mark_pareto();
    return std::move(result_);
  }

 private:
  bool is_interrupted() const { return request_.interrupt != nullptr && *request_.interrupt; }

  void rank(std::vector<ParallelPlan> plans) {
    std::vector<FoundPlan> found(plans.size());
    std::vector<Fate> fates(plans.size(), Fate::ranked);
    each("plans ranked", plans.size(), [&](std::size_t worker, std::size_t i) {
      found[i].plan = std::move(plans[i]);
      fates[i] = estimate(*benches_[worker], found[i]);
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (fates[i] == Fate::ranked) result_.plans.push_back(std::move(found[i]));
      if (fates[i] == Fate::out_of_memory) {
        ++result_.out_of_memory;
        result_.least_too_large = std::min(result_.least_too_large.value_or(found[i].memory), found[i].memory);
      }
      if (fates[i] == Fate::without_schedule) ++result_.without_schedule;
    }
    std::stable_sort(result_.plans.begin(), result_.plans.end(), [](const FoundPlan& a, const FoundPlan& b) {
      return std::pair(a.estimate.iteration, a.memory) < std::pair(b.estimate.iteration, b.memory);
    });
  }

  Fate estimate(Bench& bench, FoundPlan& found) const {
    try {
      const PipelineOrder order = pipeline_order(model_, found.plan, bench.clock, place_);
      found.memory = project_memory(model_, found.plan, order).worst().total();
      const double needed = static_cast<double>(found.memory.count()) * (1 + request_.margin);
      if (needed > static_cast<double>(request_.memory.count())) return Fate::out_of_memory;
      found.estimate = estimate_iteration(model_, found.plan, order, bench.clock, axis_clock(bench.formula, found.plan));
      return Fate::ranked;
    } catch (const InputError& error) {
      const bool is_schedule =
          std::ranges::all_of(error.diagnostics(), [](const Diagnostic& one) { return one.code == "bad-plan"; });
      if (!is_schedule) throw;
      return Fate::without_schedule;
    }
  }

  /// Whether few messages stand for the rounds of replicas' rings.
  bool has_short_ways_in_hosts(const ParallelPlan& plan) const {
    const std::uint64_t dense = request_.space.gpus_per_host / plan.tensor;
    const std::uint64_t expert = request_.space.gpus_per_host / (std::uint64_t{plan.expert} * plan.expert_tensor);
    return std::max(dense, model_.experts ? expert : 0) <= ring_members_in_host_max;
  }

  /// An iteration.
  Duration simulated(Bench& bench, const TransformerModel& model, const ParallelPlan& plan) const {
    const InsideAxes inside = inside_axes(bench.formula, model, plan);
    SimulationRequest simulation;
    simulation.name = "searched";
    simulation.workload =
        std::make_shared<const Workload>(make_training_workload(simulation.name, model, plan, bench.clock, place_, &inside));
    simulation.iterations = 1;
    simulation.with_neighbours = request_.with_neighbours;
    simulation.finds_blame = false;
    if (!request_.whole && has_short_ways_in_hosts(plan))
      simulation.ring_messages = plan.shards_parameters() ? ring_messages_of_zero_3 : ring_messages;
    RunOptions run;
    run.interrupt = request_.interrupt;
    return simulate_iteration(cluster_, simulation, std::move(run)).iteration;
  }

  /// The same, from two with fewer layers if each of many gathers its own parameters. Layers
  /// without experts stay. Neighbours come and go, so that beside them no two layers are alike.
  Duration continued(Bench& bench, const ParallelPlan& plan) const {
    const std::uint64_t dense = model_.experts ? model_.experts->first_dense_layers : 0;
    const std::uint64_t alike = model_.layers - dense;
    const bool has_layers_alike = plan.shards_parameters() && plan.positions() == 1 && plan.recompute.kind != RecomputeKind::block;
    if (request_.whole || request_.with_neighbours || !has_layers_alike || alike < layers_min)
      return simulated(bench, model_, plan);
    const auto with_layers = [&](std::uint64_t layers) {
      TransformerModel shorter = model_;
      shorter.layers = dense + layers;
      ParallelPlan fewer = plan;
      fewer.layout = {{.first = 0, .count = shorter.layers}};
      return simulated(bench, shorter, fewer);
    };
    const Duration few = with_layers(fewer_layers);
    const Duration more = with_layers(more_layers);
    return more + scaled(std::max(more - few, Duration::zero()), static_cast<std::int64_t>(alike - more_layers),
                         static_cast<std::int64_t>(more_layers - fewer_layers));
  }

  void simulate() {
    const std::size_t count = std::min<std::size_t>(request_.simulated, result_.plans.size());
    result_.estimated_rank.assign(result_.plans.size(), 0);
    each("plans simulated", count, [&](std::size_t worker, std::size_t i) {
      result_.plans[i].simulated = continued(*benches_[worker], result_.plans[i].plan);
    });
    if (count == 0 || is_interrupted()) return;
    std::vector<double> before;
    std::vector<double> after;
    for (std::size_t i = 0; i < count; ++i) {
      before.push_back(result_.plans[i].estimate.iteration.in_s());
      after.push_back(result_.plans[i].iteration().in_s());
    }
    if (count > 1) result_.correlation = rank_correlation(before, after);
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return after[a] < after[b]; });
    std::vector<FoundPlan> sorted;
    for (std::size_t i = 0; i < count; ++i) {
      result_.estimated_rank[i] = order[i] + 1;
      sorted.push_back(std::move(result_.plans[order[i]]));
    }
    std::move(sorted.begin(), sorted.end(), result_.plans.begin());
  }

  /// Of all that fit, with the better time that is known of each.
  void mark_pareto() {
    std::vector<std::size_t> by_memory(result_.plans.size());
    for (std::size_t i = 0; i < by_memory.size(); ++i) by_memory[i] = i;
    std::stable_sort(by_memory.begin(), by_memory.end(), [&](std::size_t a, std::size_t b) {
      const FoundPlan& x = result_.plans[a];
      const FoundPlan& y = result_.plans[b];
      return std::pair(x.memory, x.iteration()) < std::pair(y.memory, y.iteration());
    });
    Duration least = Duration::max();
    for (const std::size_t i : by_memory) {
      if (result_.plans[i].iteration() >= least) continue;
      least = result_.plans[i].iteration();
      result_.pareto.push_back(i);
    }
  }

  /// The first exception in order of i goes on after all pieces. Interrupted, the pieces that have
  /// not begun are left out, and what the others met says nothing.
  void each(const char* what, std::size_t count, const std::function<void(std::size_t worker, std::size_t i)>& piece) {
    std::vector<std::exception_ptr> failures(count);
    std::mutex telling;
    std::uint64_t done = 0;
    loop_.run(count, [&](std::size_t worker, std::size_t i) {
      if (is_interrupted()) return;
      try {
        piece(worker, i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
      const std::lock_guard lock(telling);
      ++done;
      if (request_.progress) request_.progress({what, done, count});
    });
    if (is_interrupted()) return;
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  const TransformerModel& model_;
  const Scenario& cluster_;
  const SearchRequest& request_;
  SourcePlace place_;
  ParallelLoop loop_;
  std::vector<std::unique_ptr<Bench>> benches_;
  SearchResult result_;
};

}  // namespace

SearchResult search_plans(const TransformerModel& model, const Scenario& cluster, const OperatorTimes& times,
                          const SearchRequest& request, const SourcePlace& place) {
  return PlanSearch(model, cluster, times, request, place).search();
}

}  // namespace weft

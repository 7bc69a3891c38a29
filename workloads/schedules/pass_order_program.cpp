// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/pass_order_program.hpp"

#include <fmt/format.h>

#include <coin/Cbc_C_Interface.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace weft {

namespace {

constexpr std::array<PassKind, 3> split_kinds = {PassKind::forward, PassKind::backward_input, PassKind::backward_weight};

struct DeleteModel {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};

struct Term {
  int column;
  double factor;
};

/// Builds the program and reads its solution. Times are in units of a mean pass, which keeps the
/// solver's tolerances far below a tick's effect on the order.
class PassOrderProgram {
 public:
  PassOrderProgram(const PassOrderProblem& problem, const PipelineTimeline& known)
      : problem_(problem), sizes_(problem.sizes), known_(known), model_(Cbc_newModel()) {
    const Duration pass = sizes_.forward + sizes_.backward_input + sizes_.backward_weight;
    unit_ticks_ = std::max(1.0, static_cast<double>(pass.in_ticks()) / 3.0);
    // A span may be shorter where the whole step is not.
    horizon_ = in_units(known.step_time + (sizes_.forward + sizes_.transfer) * sizes_.stages);
    add_variables();
    for (std::uint32_t device = 0; device < sizes_.stages; ++device) {
      add_dependencies(device);
      add_exclusions(device);
      add_memory(device);
      add_objective(device);
    }
    add_known_solution();
  }

  PassOrderSolution solve() {
    Cbc_setLogLevel(model_.get(), 0);
    const std::string seconds = fmt::format("{:.3f}", problem_.time_limit.in_s());
    Cbc_setParameter(model_.get(), "timeMode", "elapsed");
    Cbc_setParameter(model_.get(), "seconds", seconds.c_str());
    Cbc_solve(model_.get());
    PassOrderSolution solution;
    solution.is_proven = Cbc_isProvenOptimal(model_.get()) != 0 || Cbc_isProvenInfeasible(model_.get()) != 0;
    if (Cbc_numberSavedSolutions(model_.get()) > 0) solution.order = order_of(Cbc_getColSolution(model_.get()));
    return solution;
  }

 private:
  double in_units(Duration time) const { return static_cast<double>(time.in_ticks()) / unit_ticks_; }
  double length(PassKind kind) const { return in_units(pass_duration(sizes_, kind, 0)); }

  int start(std::uint32_t device, PassKind kind, std::uint32_t microbatch) const {
    return static_cast<int>((device * split_kinds.size() + static_cast<std::size_t>(kind)) * sizes_.microbatches + microbatch);
  }
  /// x of: `earlier` of microbatch j before `later` of microbatch k < j. Kinds: F B, F W, B W.
  int before(std::uint32_t device, PassKind earlier, std::uint32_t j, PassKind later, std::uint32_t k) const {
    const std::size_t pair = static_cast<std::size_t>(earlier) + static_cast<std::size_t>(later) - 1;
    const std::size_t triangle = std::size_t{sizes_.microbatches} * (sizes_.microbatches - 1) / 2;
    return first_binary_ + static_cast<int>((device * split_kinds.size() + pair) * triangle + std::size_t{j} * (j - 1) / 2 + k);
  }

  int add_column(double low, double high, bool is_binary) {
    Cbc_addCol(model_.get(), "", low, high, 0.0, is_binary ? 1 : 0, 0, nullptr, nullptr);
    return columns_++;
  }
  void add_row(std::initializer_list<Term> terms, char sense, double right) { add_row(std::vector<Term>(terms), sense, right); }
  void add_row(const std::vector<Term>& terms, char sense, double right) {
    std::vector<int> columns;
    std::vector<double> factors;
    for (const Term& term : terms) {
      columns.push_back(term.column);
      factors.push_back(term.factor);
    }
    Cbc_addRow(model_.get(), "", static_cast<int>(terms.size()), columns.data(), factors.data(), sense, right);
  }
  /// start(b) >= start(a) + delay
  void add_delay(int a, int b, double delay) { add_row({{b, 1.0}, {a, -1.0}}, 'G', delay); }

  void add_variables() {
    const std::size_t starts = split_kinds.size() * sizes_.stages * sizes_.microbatches;
    for (std::size_t i = 0; i < starts; ++i) add_column(0.0, horizon_, false);
    first_binary_ = columns_;
    for (std::uint64_t i = 0; i < binary_variables(sizes_); ++i) add_column(0.0, 1.0, true);
    objective_ = add_column(in_units(problem_.lower_bound), in_units(objective_value(known_, problem_.objective)), false);
    Cbc_setObjCoeff(model_.get(), objective_, 1.0);
  }

  void add_dependencies(std::uint32_t device) {
    const double transfer = in_units(sizes_.transfer);
    using enum PassKind;
    for (std::uint32_t i = 0; i < sizes_.microbatches; ++i) {
      for (const PassKind kind : split_kinds) {
        if (i > 0) add_delay(start(device, kind, i - 1), start(device, kind, i), length(kind));
      }
      if (device > 0) add_delay(start(device - 1, forward, i), start(device, forward, i), length(forward) + transfer);
      if (device + 1 < sizes_.stages) {
        add_delay(start(device + 1, backward_input, i), start(device, backward_input, i), length(backward_input) + transfer);
      }
      add_delay(start(device, forward, i), start(device, backward_input, i), length(forward));
      add_delay(start(device, backward_input, i), start(device, backward_weight, i), length(backward_input));
    }
  }

  void add_exclusions(std::uint32_t device) {
    for (std::size_t a = 0; a < split_kinds.size(); ++a) {
      for (std::size_t b = a + 1; b < split_kinds.size(); ++b) add_exclusions(device, split_kinds[a], split_kinds[b]);
    }
  }
  void add_exclusions(std::uint32_t device, PassKind earlier, PassKind later) {
    for (std::uint32_t j = 1; j < sizes_.microbatches; ++j) {
      for (std::uint32_t k = 0; k < j; ++k) {
        const int x = before(device, earlier, j, later, k);
        const int a = start(device, earlier, j);
        const int b = start(device, later, k);
        add_row({{b, 1.0}, {a, -1.0}, {x, -horizon_}}, 'G', length(earlier) - horizon_);
        add_row({{a, 1.0}, {b, -1.0}, {x, horizon_}}, 'G', length(later));
        // Passes of a kind are in order: who comes before k comes before k + 1, too.
        if (k + 1 < j) add_row({{before(device, earlier, j, later, k + 1), 1.0}, {x, -1.0}}, 'G', 0.0);
        if (j > k + 1) add_row({{before(device, earlier, j - 1, later, k), 1.0}, {x, -1.0}}, 'G', 0.0);
      }
    }
  }

  void add_memory(std::uint32_t device) {
    constexpr double rounding = 1e-9;
    for (std::uint32_t j = 1; j < sizes_.microbatches; ++j) {
      if (j + 1.0 <= problem_.activations_max + rounding) continue;
      // Each of the k < j has given its memory back unless F of j runs before its B or W.
      std::vector<Term> terms;
      for (std::uint32_t k = 0; k < j; ++k) {
        terms.push_back({before(device, PassKind::forward, j, PassKind::backward_input, k), 1.0 - sizes_.weight_memory});
        terms.push_back({before(device, PassKind::forward, j, PassKind::backward_weight, k), sizes_.weight_memory});
      }
      add_row(terms, 'L', problem_.activations_max + rounding - 1.0);
    }
  }

  void add_objective(std::uint32_t device) {
    const int last = start(device, PassKind::backward_weight, sizes_.microbatches - 1);
    const double length_of_last = length(PassKind::backward_weight);
    if (problem_.objective == ScheduleObjective::step_time) {
      add_delay(last, objective_, length_of_last);
    } else {
      add_row({{objective_, 1.0}, {last, -1.0}, {start(device, PassKind::forward, 0), 1.0}}, 'G', length_of_last);
    }
  }

  void add_known_solution() {
    std::vector<double> values(static_cast<std::size_t>(columns_), 0.0);
    for (std::uint32_t device = 0; device < sizes_.stages; ++device) {
      const auto& passes = known_.devices[device].passes;
      for (const TimedPass& timed : passes) {
        values[static_cast<std::size_t>(start(device, timed.pass.kind, timed.pass.microbatch))] =
            in_units(timed.start.since_start());
      }
      for (std::size_t first = 0; first < passes.size(); ++first) {
        for (std::size_t second = first + 1; second < passes.size(); ++second) {
          const PipelinePass& a = passes[first].pass;
          const PipelinePass& b = passes[second].pass;
          if (a.kind < b.kind && a.microbatch > b.microbatch) {
            values[static_cast<std::size_t>(before(device, a.kind, a.microbatch, b.kind, b.microbatch))] = 1.0;
          }
        }
      }
    }
    values[static_cast<std::size_t>(objective_)] = in_units(objective_value(known_, problem_.objective));
    std::vector<int> columns(values.size());
    std::iota(columns.begin(), columns.end(), 0);
    Cbc_setMIPStartI(model_.get(), columns_, columns.data(), values.data());
  }

  /// Passes by their starts; those of no length by kind, so that dependencies hold.
  PipelineOrder order_of(const double* values) const {
    PipelineOrder order;
    for (std::uint32_t device = 0; device < sizes_.stages; ++device) {
      std::vector<PipelinePass> passes;
      for (std::uint32_t i = 0; i < sizes_.microbatches; ++i) {
        for (const PassKind kind : split_kinds) passes.push_back({kind, i, 0});
      }
      std::ranges::stable_sort(passes, {}, [&](const PipelinePass& pass) {
        // Middles tell two passes apart where starts are equal but for rounding.
        return values[start(device, pass.kind, pass.microbatch)] + length(pass.kind) / 2;
      });
      order.devices.push_back(std::move(passes));
    }
    return order;
  }

  const PassOrderProblem& problem_;
  const PipelineSizes& sizes_;
  const PipelineTimeline& known_;
  std::unique_ptr<Cbc_Model, DeleteModel> model_;
  double unit_ticks_ = 1.0;
  double horizon_ = 0.0;
  int columns_ = 0;
  int first_binary_ = 0;
  int objective_ = 0;
};

}  // namespace

std::uint64_t binary_variables(const PipelineSizes& sizes) {
  const std::uint64_t microbatches = sizes.microbatches;
  return split_kinds.size() * sizes.stages * (microbatches * (microbatches - 1) / 2);
}

PassOrderSolution solve_pass_order(const PassOrderProblem& problem, const PipelineTimeline& known) {
  return PassOrderProgram(problem, known).solve();
}

}  // namespace weft

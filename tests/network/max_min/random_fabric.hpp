// SPDX-License-Identifier: Apache-2.0
// A small random fabric and what happens to it: batches of arrivals, departures and capacity
// changes, and the check of each by an oracle.
//
// Where it sits: max_min_solver_test draws the choices from a RandomStream, the fuzzer of the
// solver takes them from its bytes. Small whole numbers make ties the rule; the kinds of fabrics
// differ in what is special: weights, caps, loads, links without capacity, links twice in a path,
// priority classes, a single link, capacities of very different size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "network/max_min/max_min_solver.hpp"
#include "tests/network/max_min/max_min_oracle.hpp"

namespace weft {

/// `Choices` has below(n), as RandomStream.
template <class Choices>
class RandomFabric {
 public:
  explicit RandomFabric(Choices& choices) : choices_(choices) {
    many_weights_ = choices_.below(2) == 0;
    caps_ = choices_.below(3) == 0;
    zero_links_ = choices_.below(5) == 0;
    repeats_ = choices_.below(10) == 0;
    loads_ = choices_.below(4) == 0;
    classes_ = choices_.below(2) == 0 ? 1 + choices_.below(4) : 1;
    long_paths_ = choices_.below(5) == 0;
    const bool single_link = choices_.below(10) == 0;
    const bool odd_numbers = choices_.below(4) == 0;
    const std::uint64_t links = single_link ? 1 : 1 + choices_.below(long_paths_ ? 12 : 8);
    for (std::uint64_t l = 0; l < links; ++l) {
      double capacity = static_cast<double>(1 + choices_.below(6));
      if (odd_numbers) capacity = static_cast<double>(choices_.below(std::uint64_t{1} << 40));
      if (zero_links_ && choices_.below(4) == 0) capacity = 0;
      capacities_.push_back(capacity);
    }
    MaxMinSolver::Options options;
    options.threads = 1;
    options.repartition_updates = 1 + static_cast<std::uint32_t>(choices_.below(3));
    // By solves from nothing alone, as the solver chooses, by repairs alone, and by repairs of
    // which most are given up.
    const std::uint64_t way = choices_.below(4);
    if (way != 1) options.repaired_part_max = way == 0 ? 0.0 : std::numeric_limits<double>::infinity();
    if (way == 3) options.repair_looks_max = 0;
    solver_.emplace(capacities_, options);
  }

  MaxMinSolver& solver() { return *solver_; }
  const std::vector<FlowSlot>& flows() const { return flows_; }

  /// Up to `changes_max` changes, then update().
  void change(std::uint64_t changes_max) {
    for (std::uint64_t n = 1 + choices_.below(changes_max); n > 0; --n) {
      const std::uint64_t what = choices_.below(12);
      if (what == 0) {
        solver_->set_capacity(LinkId(static_cast<std::uint32_t>(choices_.below(capacities_.size()))),
                              capacities_[choices_.below(capacities_.size())]);
      } else if (what < 5 && !flows_.empty()) {
        const std::size_t which = choices_.below(flows_.size());
        solver_->remove_flow(flows_[which]);
        flows_[which] = flows_.back();
        flows_.pop_back();
      } else if (what == 5 && choices_.below(8) == 0) {
        for (const FlowSlot flow : flows_) solver_->remove_flow(flow);
        flows_.clear();
        solver_->give_back();
      } else {
        add();
      }
    }
    const std::vector<double> before = rates_;
    changed_.assign(solver_->graph().slot_count(), 0);
    for (const FlowSlot flow : solver_->update()) ++changed_[flow.index()];
    rates_.assign(solver_->graph().slot_count(), std::numeric_limits<double>::quiet_NaN());
    for (const FlowSlot flow : flows_) rates_[flow.index()] = solver_->rate(flow);
    list_is_right_ = true;
    for (const FlowSlot flow : flows_) {
      const std::uint32_t i = flow.index();
      // A slot taken again is changed too; that is what the list says more than this comparison
      // could.
      const bool moved = i >= before.size() || !(before[i] == rates_[i]);
      if (changed_[i] > 1 || (moved && changed_[i] == 0)) list_is_right_ = false;
    }
  }

  /// Whether update() named every flow that is new or whose rate moved, and none twice.
  bool list_is_right() const { return list_is_right_; }

  double largest_capacity() const { return *std::max_element(capacities_.begin(), capacities_.end()); }

  /// The flow whose rate is furthest from the oracle's, and how far.
  struct Worst {
    double error = 0;  ///< relative to what is expected
    FlowSlot flow;
    double expected = 0;
  };
  /// Rates below `floor` are judged by how far they are off relative to that.
  template <class Number>
  Worst worst(double floor = 0) const {
    Worst worst;
    const std::vector<Number> exact = fill_progressively<Number>(solver_->graph());
    for (const FlowSlot flow : flows_) {
      const double expected = static_cast<double>(exact[flow.index()]);
      const double rate = solver_->rate(flow);
      const double error = expected < floor ? std::abs(rate - expected) / floor : relative_error(rate, expected);
      if (!(error <= worst.error)) worst = {error, flow, expected};
    }
    return worst;
  }

 private:
  void add() {
    std::vector<LinkId> path;
    // The longest of these do not fit into a cache line of the solver.
    const std::size_t length = 1 + choices_.below(std::min<std::uint64_t>(long_paths_ ? 9 : 4, capacities_.size()));
    while (path.size() < length) {
      LinkId link(static_cast<std::uint32_t>(choices_.below(capacities_.size())));
      while (!repeats_ && std::find(path.begin(), path.end(), link) != path.end()) {
        link = LinkId(static_cast<std::uint32_t>((link.index() + 1) % capacities_.size()));
      }
      path.push_back(link);
    }
    // Between classes only numbers that are exact in binary: three loads of the double next to 1/3
    // leave 6e-17 of a link, and no other double arithmetic than the oracle's finds that.
    constexpr double weights[] = {1, 2, 3, 0.5, 0.1, 1e-3};
    constexpr double loads[] = {1, 2, 16, 0.5, 1.0 / 3, 1e-3};
    const std::uint64_t values = classes_ > 1 ? 4 : 6;
    FlowDemand demand;
    demand.links = path;
    if (many_weights_) demand.weight = weights[choices_.below(values)];
    if (caps_ && choices_.below(2) == 0) demand.cap = largest_capacity() * static_cast<double>(choices_.below(5)) / 8;
    std::vector<double> path_loads;
    if (loads_ && choices_.below(4) != 0) {
      for (std::size_t i = 0; i < path.size(); ++i) path_loads.push_back(loads[choices_.below(values)]);
    }
    demand.loads = path_loads;
    constexpr std::uint8_t priorities[] = {3, 0, 7, 1};
    demand.priority = classes_ > 1 ? priorities[choices_.below(classes_)] : std::uint8_t{0};
    flows_.push_back(solver_->add_flow(demand));
  }

  Choices& choices_;
  bool many_weights_ = false;
  bool caps_ = false;
  bool zero_links_ = false;
  bool repeats_ = false;
  bool loads_ = false;
  bool long_paths_ = false;
  std::uint64_t classes_ = 1;
  std::vector<double> capacities_;
  std::optional<MaxMinSolver> solver_;
  std::vector<FlowSlot> flows_;
  std::vector<double> rates_;  ///< by slot, after the last update; NaN for slots without a flow
  std::vector<int> changed_;   ///< by slot, times that the last update named it
  bool list_is_right_ = true;
};

}  // namespace weft

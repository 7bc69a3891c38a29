// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/max_min_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/containers/release_memory.hpp"

namespace weft {

namespace {

constexpr double full_up_to_rounding = 1e-11;  // of the capacity

}  // namespace

MaxMinSolver::MaxMinSolver(std::vector<double> capacities, Options options) : options_(options), workspace_(options.threads) {
  layers_.push_back({0, std::make_unique<MaxMinLayer>(std::move(capacities), options_, workspace_)});
}

/// The layer of a class, made when its first flow comes.
MaxMinLayer& MaxMinSolver::layer_of(std::uint8_t priority) {
  const auto at = std::find_if(layers_.begin(), layers_.end(), [&](const Class& c) { return c.priority <= priority; });
  if (at != layers_.end() && at->priority == priority) return *at->layer;
  WEFT_CHECK(priority < priority_classes, "a priority is one of the classes there are");
  if (!all_flows_) {
    Class& only = layers_.front();
    if (only.layer->graph().flow_count() == 0) {
      only.priority = priority;
      return *only.layer;
    }
    all_flows_ = only.layer->graph();
    stale_below_.assign(all_flows_->link_count(), 0);
  }
  std::vector<double> capacities;
  for (std::uint32_t l = 0; l < all_flows_->link_count(); ++l) capacities.push_back(all_flows_->capacity(LinkId(l)));
  auto layer = std::make_unique<MaxMinLayer>(std::move(capacities), options_, workspace_);
  return *layers_.insert(at, {priority, std::move(layer)})->layer;
}

/// The capacity that the link has for classes below the given one must be looked at again.
void MaxMinSolver::mark_stale(LinkId link, std::uint8_t below) {
  std::uint8_t& stale = stale_below_[link.index()];
  if (stale == 0) stale_.push_back(link);
  stale = std::max(stale, below);
}

FlowSlot MaxMinSolver::add_flow(const FlowDemand& demand) {
  MaxMinLayer& layer = layer_of(demand.priority);
  FlowSlot flow;
  if (!all_flows_) {
    flow = layer.add(demand);
  } else {
    flow = all_flows_->add(demand);
    layer.add_as(flow, demand);
    // The layer may not have heard of this link's capacity while it had no flows there.
    for (const LinkId link : demand.links) mark_stale(link, static_cast<std::uint8_t>(demand.priority + 1));
  }
  if (rates_.size() <= flow.index()) rates_.resize(flow.index() + 1);
  rates_[flow.index()] = demand.rate_before;
  return flow;
}

void MaxMinSolver::remove_flow(FlowSlot flow) {
  WEFT_CHECK(graph().alive(flow), "only a flow that was added can be removed");
  if (!all_flows_) return layers_.front().layer->remove(flow);
  const std::uint8_t priority = all_flows_->priority(flow);
  for (const FlowLinkGraph::Hop& hop : all_flows_->hops(flow)) mark_stale(hop.link, priority);
  layer_of(priority).remove(flow);
  all_flows_->remove(flow);
}

void MaxMinSolver::give_back() {
  for (const Class& c : layers_) c.layer->give_back();
  if (all_flows_) all_flows_->give_back();
  workspace_.state.give_back();
  release_memory(rates_);
  release_memory(changed_);
}

void MaxMinSolver::set_capacity(LinkId link, double capacity) {
  if (!all_flows_) return layers_.front().layer->set_capacity(link, capacity);
  all_flows_->set_capacity(link, capacity);
  mark_stale(link, priority_classes);
}

std::span<const FlowSlot> MaxMinSolver::update() {
  const std::span<const FlowSlot> changed = all_flows_ ? update_layers() : layers_.front().layer->update(rates_);
  if (options_.audit_updates > 0 && ++updates_since_audit_ >= options_.audit_updates) {
    updates_since_audit_ = 0;
    check_rates();
  }
  return changed;
}

void MaxMinSolver::check_rates() const {
  const MaxMinAudit found = audit();
  WEFT_CHECK(
      found.passed(),
      fmt::format("rates are max-min fair, but {} links are overloaded, {} flows above their cap and {} without a bottleneck",
                  found.overloaded_links, found.flows_above_cap, found.flows_without_bottleneck));
}

std::span<const FlowSlot> MaxMinSolver::update_layers() {
  changed_.clear();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::uint8_t priority = layers_[i].priority;
    MaxMinLayer& layer = *layers_[i].layer;
    for (const LinkId link : stale_) {
      if (stale_below_[link.index()] <= priority || layer.graph().members(link).empty()) continue;
      if (const double left = left_for(i, link); left != layer.graph().capacity(link)) layer.set_capacity(link, left);
    }
    for (const FlowSlot flow : layer.update(rates_)) {
      changed_.push_back(flow);
      for (const FlowLinkGraph::Hop& hop : layer.graph().hops(flow)) mark_stale(hop.link, priority);
    }
  }
  for (const LinkId link : stale_) stale_below_[link.index()] = 0;
  stale_.clear();
  return changed_;
}

/// What the classes above leave of a link.
double MaxMinSolver::left_for(std::size_t layer, LinkId link) const {
  const double capacity = all_flows_->capacity(link);
  double left = capacity;
  double correction = 0;  // what rounding took (Neumaier)
  for (std::size_t i = 0; i < layer; ++i) {
    const MaxMinLayer& above = *layers_[i].layer;
    if (above.level(link) < LevelState::infinite) return 0;
    for (const FlowLinkGraph::Member member : above.graph().members(link)) {
      const double taken = rates_[member.flow.index()] * above.graph().load(member);
      const double rest = left - taken;
      correction += std::abs(left) >= taken ? (left - rest) - taken : left - (rest + taken);
      left = rest;
    }
  }
  left += correction;
  return left <= full_up_to_rounding * capacity ? 0 : left;
}

MaxMinSolver::Counters MaxMinSolver::counters() const {
  Counters sum;
  for (const MaxMinWorkspace::Worker& worker : workspace_.workers) {
    sum.repairs += worker.repairs;
    sum.full_solves += worker.full_solves;
    sum.repairs_given_up += worker.repairs_given_up;
    sum.links_set += worker.repair.counters().links_set;
    sum.flows_visited += worker.repair.counters().flows_visited;
  }
  return sum;
}

}  // namespace weft

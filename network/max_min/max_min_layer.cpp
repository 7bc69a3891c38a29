// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/max_min_layer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.hpp"
#include "core/containers/cache.hpp"
#include "core/containers/release_memory.hpp"

namespace weft {

namespace {

constexpr double same_rate = 1e-12;

// Rates of a solve from nothing are kept for the next one, but for as many as this.
constexpr std::size_t rates_kept = std::size_t{1} << 20;

constexpr std::size_t touched_ahead = 8;  // rates fetched before their turn comes

// Of a repair: a guess, which decides about waking threads only
constexpr std::size_t looks_per_change = 16;

}  // namespace

MaxMinLayer::MaxMinLayer(std::vector<double> capacities, const Options& options, MaxMinWorkspace& workspace)
    : options_(options),
      workspace_(workspace),
      graph_(std::move(capacities)),
      segments_(graph_.link_count(), options.repartition_updates),
      levels_(graph_),
      pairs_changed_(graph_.link_count(), 0) {}

void MaxMinLayer::mark_dirty(FlowSlot flow) {
  for (const FlowLinkGraph::Hop& hop : graph_.hops(flow)) {
    if (pairs_changed_[hop.link.index()]++ == 0) dirty_.push_back(hop.link);
  }
}

FlowSlot MaxMinLayer::add(const FlowDemand& demand) {
  const FlowSlot flow = graph_.add(demand);
  on_added(flow);
  return flow;
}

void MaxMinLayer::add_as(FlowSlot flow, const FlowDemand& demand) {
  graph_.add_as(flow, demand);
  on_added(flow);
}

void MaxMinLayer::on_added(FlowSlot flow) {
  segments_.on_added(graph_, flow);
  levels_.on_added(flow);
  mark_dirty(flow);
  moved_.push_back(flow);
}

void MaxMinLayer::remove(FlowSlot flow) {
  WEFT_CHECK(graph_.alive(flow), "only a flow that was added can be removed");
  mark_dirty(flow);
  levels_.on_removed(flow);
  segments_.on_removed(graph_, flow);
  graph_.remove(flow);
}

void MaxMinLayer::give_back() {
  graph_.give_back();
  levels_.give_back();
  release_memory(tasks_);
  task_count_ = 0;
  release_memory(moved_);  // those of this batch are gone
  release_memory(changed_);
}

void MaxMinLayer::set_capacity(LinkId link, double capacity) {
  graph_.set_capacity(link, capacity);
  segments_.on_capacity_changed(link);
  if (pairs_changed_[link.index()]++ == 0) dirty_.push_back(link);
  if (!levels_.on_capacity_changed(link)) return;
  for (const FlowLinkGraph::Member member : graph_.members(link)) {
    mark_dirty(member.flow);
    moved_.push_back(member.flow);
  }
}

std::span<const FlowSlot> MaxMinLayer::update(std::span<double> rates) {
  changed_.clear();
  if (dirty_.empty()) return changed_;
  plan();
  std::vector<MaxMinWorkspace::Worker>& workers = workspace_.workers;
  const std::span<Task> tasks = std::span(tasks_).first(task_count_);
  std::size_t expected = 0;  // looks at flow-link pairs
  for (Task& task : tasks) {
    const std::size_t incidences = segments_.incidences(task.segment);
    const auto links = static_cast<double>(segments_.links(task.segment).size());
    task.repair = options_.repaired_part_max > 0 && static_cast<double>(task.dirty.size()) <= options_.repaired_part_max * links;
    expected += task.repair ? std::min(incidences, looks_per_change * task.pairs_changed) : incidences;
  }
  if (workers.size() == 1 || tasks.size() == 1 || expected < options_.parallel_incidences_min) {
    for (Task& task : tasks) bring_up_to_date(task, workers.front(), rates);
  } else {
    workspace_.state.resize(graph_);
    workspace_.loop.run(tasks.size(),
                        [&](std::size_t worker, std::size_t i) { bring_up_to_date(tasks[i], workers[worker], rates); });
  }
  std::size_t solved = 0;  // flow-link pairs
  for (const Task& task : tasks) {
    segments_.on_worked(task.segment, task.work);
    if (task.solved) solved += segments_.incidences(task.segment);
  }
  // Only after work that is worth more than what the next solve pays for it.
  if (const std::size_t kept = workspace_.state.rates.size(); kept > rates_kept && solved > kept) workspace_.state.give_back();
  if (tasks.size() == 1) return tasks.front().touched;
  for (const Task& task : tasks) changed_.insert(changed_.end(), task.touched.begin(), task.touched.end());
  return changed_;
}

/// One task for each segment that has links with changes.
void MaxMinLayer::plan() {
  segments_.take_changed(graph_);
  task_of_segment_.resize(segments_.slot_count(), UINT32_MAX);
  task_count_ = 0;
  Task* task = nullptr;
  for (const LinkId link : dirty_) {
    const std::uint32_t pairs = std::exchange(pairs_changed_[link.index()], 0);
    if (graph_.members(link).empty()) {
      levels_.reset(link);
      continue;
    }
    if (const SegmentId segment = segments_.segment_of(link); task == nullptr || task->segment != segment) task = &task_of(segment);
    // Where one flow took the place of another of the same load, nothing needs doing.
    if (levels_.is_in_order(link)) continue;
    task->dirty.push_back(link);
    task->pairs_changed += pairs;
  }
  dirty_.clear();
  for (const FlowSlot flow : moved_) {
    // A slot may stand here twice, or its flow may be gone.
    if (!graph_.alive(flow)) continue;
    levels_.touch(flow, task_of(segments_.segment_of(graph_.hops(flow).front().link)).touched);
  }
  moved_.clear();
  for (std::size_t i = 0; i < task_count_; ++i) task_of_segment_[tasks_[i].segment.index()] = UINT32_MAX;
}

MaxMinLayer::Task& MaxMinLayer::task_of(SegmentId segment) {
  std::uint32_t& index = task_of_segment_[segment.index()];
  if (index == UINT32_MAX) {
    index = static_cast<std::uint32_t>(task_count_++);
    if (tasks_.size() < task_count_) tasks_.emplace_back();
    Task& task = tasks_[index];
    task.segment = segment;
    task.pairs_changed = 0;
    task.work = 0;
    task.solved = false;
    task.dirty.clear();
    task.touched.clear();
  }
  return tasks_[index];
}

void MaxMinLayer::bring_up_to_date(Task& task, MaxMinWorkspace::Worker& worker, std::span<double> rates) {
  const std::uint64_t visited_before = worker.repair.counters().flows_visited;
  if (task.repair &&
      worker.repair.run(levels_, task.dirty, options_.repair_looks_max * segments_.incidences(task.segment), task.touched)) {
    worker.repairs += task.dirty.empty() ? 0 : 1;
  } else {
    if (task.repair) ++worker.repairs_given_up;
    solve_from_nothing(task, worker);
  }
  task.work += worker.repair.counters().flows_visited - visited_before;
  std::size_t kept = 0;
  const auto fetch = [&](std::size_t i) { cache::fetch(&rates[task.touched[i].index()], sizeof(double)); };
  cache::visit_ahead(task.touched.size(), touched_ahead, fetch, [&](std::size_t i) {
    const FlowSlot flow = task.touched[i];
    levels_.untouch(flow);
    const double rate = rounded_rate(levels_.rate(flow), graph_.cap(flow));
    double& published = rates[flow.index()];
    // A new flow's NaN compares unequal to everything.
    if (std::abs(rate - published) <= same_rate * rate) return;
    published = rate;
    task.touched[kept++] = flow;
  });
  task.touched.resize(kept);
}

void MaxMinLayer::solve_from_nothing(Task& task, MaxMinWorkspace::Worker& worker) {
  const std::span<const LinkId> links = segments_.links(task.segment);
  workspace_.state.resize(graph_);  // fits already where others solve as well
  task.solved = true;
  worker.solve.run(graph_, links, workspace_.state);
  levels_.take_over(links, workspace_.state.levels);
  ++worker.full_solves;
  task.work += Segments::looks_per_search * segments_.incidences(task.segment);
  for (const LinkId link : links) {
    for (const FlowLinkGraph::Member member : graph_.members(link)) {
      if (member.is_first) levels_.touch(member.flow, task.touched);
    }
  }
}

}  // namespace weft

#include "network/max_min_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/check.hpp"

namespace weft {

namespace {

constexpr double kSameRate = 1e-12;
constexpr std::uint64_t kRepairWorkMax = 4;  // looks at flows per flow-link pair of the segment
constexpr std::size_t kLooksPerChange = 16;  // of a repair, for a guess; 14 to 24 in traffic at half load

}  // namespace

MaxMinSolver::MaxMinSolver(std::vector<double> capacities, Options options)
    : options_(options),
      graph_(std::move(capacities)),
      segments_(graph_.link_count(), options.repartition_updates),
      levels_(graph_),
      pairs_changed_(graph_.link_count(), 0),
      loop_(options.threads),
      workers_(loop_.workers()) {
  state_.resize(graph_);
}

void MaxMinSolver::mark_dirty(FlowSlot flow) {
  for (const FlowLinkGraph::Hop& hop : graph_.hops(flow)) {
    if (pairs_changed_[hop.link.index()]++ == 0) dirty_.push_back(hop.link);
  }
}

FlowSlot MaxMinSolver::add_flow(const FlowDemand& demand) {
  const FlowSlot flow = graph_.add(demand);
  if (rates_.size() < graph_.slot_count()) rates_.resize(graph_.slot_count());
  rates_[flow.index()] = std::numeric_limits<double>::quiet_NaN();
  segments_.on_added(graph_, flow);
  levels_.on_added(flow);
  mark_dirty(flow);
  added_.push_back(flow);
  return flow;
}

void MaxMinSolver::remove_flow(FlowSlot flow) {
  WEFT_CHECK(graph_.alive(flow), "only a flow that was added can be removed");
  mark_dirty(flow);
  levels_.on_removed(flow);
  segments_.on_removed(graph_, flow);
  graph_.remove(flow);
}

void MaxMinSolver::set_capacity(LinkId link, double capacity) {
  graph_.set_capacity(link, capacity);
  segments_.on_capacity_changed(link);
  levels_.on_capacity_changed(link);
  if (pairs_changed_[link.index()]++ == 0) dirty_.push_back(link);
}

std::span<const FlowSlot> MaxMinSolver::update() {
  changed_.clear();
  if (dirty_.empty()) return changed_;
  plan();
  state_.resize(graph_);
  const std::span<Task> tasks = std::span(tasks_).first(task_count_);
  std::size_t expected = 0;  // looks at flow-link pairs
  for (Task& task : tasks) {
    const std::size_t incidences = segments_.incidences(task.segment);
    task.repair = static_cast<double>(task.pairs_changed) <= options_.repaired_part_max * static_cast<double>(incidences);
    expected += task.repair ? std::min(incidences, kLooksPerChange * task.pairs_changed) : incidences;
  }
  if (workers_.size() == 1 || tasks.size() == 1 || expected < options_.parallel_incidences_min) {
    for (Task& task : tasks) bring_up_to_date(task, workers_.front());
  } else {
    loop_.run(tasks.size(), [&](std::size_t worker, std::size_t i) { bring_up_to_date(tasks[i], workers_[worker]); });
  }
  for (const Task& task : tasks) {
    segments_.on_worked(task.segment, task.work);
    changed_.insert(changed_.end(), task.touched.begin(), task.touched.end());
  }
  return changed_;
}

/// One task for each segment that has links with changes.
void MaxMinSolver::plan() {
  segments_.take_changed(graph_);
  task_of_segment_.resize(segments_.slot_count(), UINT32_MAX);
  task_count_ = 0;
  for (const LinkId link : dirty_) {
    const std::uint32_t pairs = std::exchange(pairs_changed_[link.index()], 0);
    if (graph_.members(link).empty()) {
      levels_.reset(link);
      continue;
    }
    Task& task = task_of(segments_.segment_of(link));
    task.dirty.push_back(link);
    task.pairs_changed += pairs;
  }
  dirty_.clear();
  for (const FlowSlot flow : added_) {
    // A slot may stand here twice, or its flow may be gone.
    if (!graph_.alive(flow)) continue;
    levels_.touch(flow, task_of(segments_.segment_of(graph_.hops(flow).front().link)).touched);
  }
  added_.clear();
  for (std::size_t i = 0; i < task_count_; ++i) task_of_segment_[tasks_[i].segment.index()] = UINT32_MAX;
}

MaxMinSolver::Task& MaxMinSolver::task_of(SegmentId segment) {
  std::uint32_t& index = task_of_segment_[segment.index()];
  if (index == UINT32_MAX) {
    index = static_cast<std::uint32_t>(task_count_++);
    if (tasks_.size() < task_count_) tasks_.emplace_back();
    Task& task = tasks_[index];
    task.segment = segment;
    task.pairs_changed = 0;
    task.work = 0;
    task.dirty.clear();
    task.touched.clear();
  }
  return tasks_[index];
}

void MaxMinSolver::bring_up_to_date(Task& task, Worker& worker) {
  const std::uint64_t visited_before = worker.repair.counters().flows_visited;
  if (task.repair && worker.repair.run(levels_, task.dirty, kRepairWorkMax * segments_.incidences(task.segment), task.touched)) {
    ++worker.repairs;
  } else {
    if (task.repair) ++worker.repairs_given_up;
    solve_from_nothing(task, worker);
  }
  task.work += worker.repair.counters().flows_visited - visited_before;
  std::erase_if(task.touched, [this](FlowSlot flow) {
    levels_.untouch(flow);
    const double rate = levels_.rate(flow);
    double& published = rates_[flow.index()];
    // A new flow's NaN compares unequal to everything.
    if (std::abs(rate - published) <= kSameRate * rate) return true;
    published = rate;
    return false;
  });
}

void MaxMinSolver::solve_from_nothing(Task& task, Worker& worker) {
  const std::span<const LinkId> links = segments_.links(task.segment);
  worker.solve.run(graph_, links, state_);
  levels_.take_over(links, state_.levels);
  ++worker.full_solves;
  task.work += Segments::looks_per_search * segments_.incidences(task.segment);
  for (const LinkId link : links) {
    for (const FlowLinkGraph::Member& member : graph_.members(link)) {
      if (member.hop == 0) levels_.touch(member.flow, task.touched);
    }
  }
}

MaxMinSolver::Counters MaxMinSolver::counters() const {
  Counters sum;
  for (const Worker& worker : workers_) {
    sum.repairs += worker.repairs;
    sum.full_solves += worker.full_solves;
    sum.repairs_given_up += worker.repairs_given_up;
    sum.links_set += worker.repair.counters().links_set;
    sum.flows_visited += worker.repair.counters().flows_visited;
  }
  return sum;
}

MaxMinSolver::Audit MaxMinSolver::audit(double relative_tolerance) const {
  Audit audit;
  std::vector<double> load(graph_.link_count(), 0.0);
  std::vector<double> highest(graph_.link_count(), 0.0);  // rate per weight
  for (std::uint32_t i = 0; i < graph_.link_count(); ++i) {
    for (const FlowLinkGraph::Member& member : graph_.members(LinkId(i))) {
      load[i] += rate(member.flow) * graph_.load(member);
      highest[i] = std::max(highest[i], rate(member.flow) / graph_.weight(member.flow));
    }
    if (load[i] > graph_.capacity(LinkId(i)) * (1 + relative_tolerance)) ++audit.overloaded_links;
  }
  for (std::uint32_t i = 0; i < graph_.slot_count(); ++i) {
    const FlowSlot flow(i);
    if (!graph_.alive(flow)) continue;
    const double cap = graph_.cap(flow);
    if (rate(flow) > cap * (1 + relative_tolerance)) ++audit.flows_above_cap;
    if (rate(flow) >= cap * (1 - relative_tolerance)) continue;
    const std::span<const FlowLinkGraph::Hop> hops = graph_.hops(flow);
    const bool has_bottleneck = std::any_of(hops.begin(), hops.end(), [&](const FlowLinkGraph::Hop& hop) {
      const std::uint32_t l = hop.link.index();
      return load[l] >= graph_.capacity(hop.link) * (1 - relative_tolerance) &&
             rate(flow) / graph_.weight(flow) >= highest[l] * (1 - relative_tolerance);
    });
    if (!has_bottleneck) ++audit.flows_without_bottleneck;
  }
  return audit;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/simulated_times.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/text/diagnostics.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/simulation/run.hpp"

namespace weft {

namespace {

/// Keeps what takes time and is of some kinds. Transfers come from another thread.
class TimedSink final : public ResultSink {
 public:
  explicit TimedSink(std::span<const TimedKind> kinds) : kinds_(kinds) {}

  Needs needs() const override { return {.origins = wants(TimedKind::flow)}; }
  void begin() override {
    flows.clear();
    others.clear();
  }

  void add_flow(const FlowRow& row) override {
    if (!wants(TimedKind::flow)) return;
    TimedEntity& entity = flows.emplace_back();
    entity.of = TimedKind::flow;
    entity.time_s = row.completion.in_s();
    entity.start_s = row.start.in_s();
    entity.input_row = row.input_row;
    entity.flow_id = row.flow;
    entity.source = row.source;
    entity.destination = row.destination;
    entity.size_bytes = static_cast<std::uint64_t>(row.size.count());
    entity.job = row.job;
    entity.op = row.op;
    entity.communicator = row.communicator;
    entity.iteration = row.iteration;
  }

  void add_collective(const CollectiveRow& row) override {
    if (!wants(TimedKind::collective)) return;
    TimedEntity& entity = others.emplace_back();
    entity.of = TimedKind::collective;
    entity.time_s = (row.end - row.start).in_s();
    entity.start_s = row.start.in_s();
    entity.size_bytes = static_cast<std::uint64_t>(row.size.count());
    entity.job = row.job;
    entity.op = row.op;
    entity.kind = row.kind;
    entity.communicator = row.communicator;
    entity.iteration = row.iteration;
    entity.group = row.group;
    entity.ranks = row.ranks;
  }

  void add_iteration(const IterationRow& row) override {
    if (!wants(TimedKind::iteration)) return;
    TimedEntity& entity = others.emplace_back();
    entity.of = TimedKind::iteration;
    entity.time_s = (row.end - row.start).in_s();
    entity.start_s = row.start.in_s();
    entity.job = row.job;
    entity.iteration = row.iteration;
  }

  std::vector<TimedEntity> flows;
  std::vector<TimedEntity> others;

 private:
  bool wants(TimedKind kind) const { return std::ranges::find(kinds_, kind) != kinds_.end(); }

  std::span<const TimedKind> kinds_;
};

}  // namespace

std::vector<TimedEntity> simulate_times(Scenario scenario, std::span<const TimedKind> kinds) {
  TimedSink sink(kinds);
  // Transfers of ranks that others stand for have no rows.
  if (std::ranges::find(kinds, TimedKind::flow) != kinds.end())
    scenario.parameters.apply("host.fold_ranks", "off", SourcePlace::named("host.fold_ranks"));
  finish_run(scenario, sink, RunOptions());
  std::vector<TimedEntity> all = std::move(sink.flows);
  std::ranges::move(sink.others, std::back_inserter(all));
  return all;
}

}  // namespace weft

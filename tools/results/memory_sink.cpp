// SPDX-License-Identifier: Apache-2.0
#include "tools/results/memory_sink.hpp"

#include <vector>

namespace weft {

namespace {

/// Appends a row whose names live in `texts`.
template <class Row, class... Names>
void keep(std::vector<Row>& rows, Row row, TextPool& texts, Names... names) {
  texts.keep_names(row, names...);
  rows.push_back(row);
}

}  // namespace

void MemorySink::begin() {
  jobs.clear();
  attempts.clear();
  cluster.clear();
  iterations.clear();
  communicators.clear();
  collectives.clear();
  flows.clear();
  links.clear();
  pause_storms.clear();
  events.clear();
  congestion.clear();
  congested_jobs.clear();
  link_samples.clear();
  tier_samples.clear();
  texts_.clear();
  texts_of_flows_.clear();
  classes_ = {};
  transfers_ = 0;
  lists_classes_ = false;
}

void MemorySink::expect_many_flows() { lists_classes_ = may_list_classes(); }

std::uint64_t MemorySink::complete() {
  if (!lists_classes_) return 0;
  classes_.each([this](const FlowRow& row) { keep_flow(row); });
  return transfers_;
}

void MemorySink::add_job(const JobRow& row) {
  keep(jobs, row, texts_, &JobRow::job, &JobRow::placement, &JobRow::user, &JobRow::group, &JobRow::model);
}

void MemorySink::add_attempt(const AttemptRow& row) {
  keep(attempts, row, texts_, &AttemptRow::job, &AttemptRow::reason, &AttemptRow::hosts);
}

void MemorySink::add_iteration(const IterationRow& row) { keep(iterations, row, texts_, &IterationRow::job); }

void MemorySink::add_communicator(const CommunicatorRow& row) {
  keep(communicators, row, texts_, &CommunicatorRow::job, &CommunicatorRow::communicator);
}

void MemorySink::add_collective(const CollectiveRow& row) {
  keep(collectives, row, texts_, &CollectiveRow::job, &CollectiveRow::op, &CollectiveRow::kind, &CollectiveRow::communicator,
       &CollectiveRow::algorithm, &CollectiveRow::protocol, &CollectiveRow::reason);
}

void MemorySink::keep_flow(const FlowRow& row) {
  keep(flows, row, texts_of_flows_, &FlowRow::job, &FlowRow::source, &FlowRow::destination, &FlowRow::op, &FlowRow::collective,
       &FlowRow::communicator);
}

void MemorySink::add_flow(const FlowRow& row) {
  // Rows of a list are what the user gave, each.
  if (row.input_row) return keep_flow(row);
  if (flows_listed_max_ == 0) return;
  if (!may_list_classes()) return keep_flow(row);
  classes_.add(row);
  transfers_ += row.multiplicity;
  if (!lists_classes_ && transfers_ > flows_listed_max_) {
    // Classes take the place of the rows so far when all are known.
    std::erase_if(flows, [](const FlowRow& one) { return !one.input_row; });
    lists_classes_ = true;
  }
  if (!lists_classes_) keep_flow(row);
}

void MemorySink::add_link(const LinkRow& row) {
  keep(links, row, texts_, &LinkRow::link, &LinkRow::source, &LinkRow::destination, &LinkRow::tier);
}

void MemorySink::add_pause_storm(const PauseStormRow& row) { keep(pause_storms, row, texts_, &PauseStormRow::link); }

void MemorySink::add_event(const EventRow& row) { keep(events, row, texts_, &EventRow::event, &EventRow::subject, &EventRow::by); }

void MemorySink::add_congestion(const CongestionRow& row) {
  keep(congestion, row, texts_, &CongestionRow::link, &CongestionRow::cause, &CongestionRow::trigger, &CongestionRow::slowed,
       &CongestionRow::jobs);
}

void MemorySink::add_congested_job(const CongestedJobRow& row) { keep(congested_jobs, row, texts_, &CongestedJobRow::job); }

void MemorySink::add_link_sample(const LinkSampleRow& row) { keep(link_samples, row, texts_, &LinkSampleRow::link); }

void MemorySink::add_tier_sample(const TierSampleRow& row) {
  keep(tier_samples, row, texts_, &TierSampleRow::tier, &TierSampleRow::busiest);
}

}  // namespace weft

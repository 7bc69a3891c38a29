// SPDX-License-Identifier: Apache-2.0
#include "tools/results/folder_sink.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace weft {

namespace {

std::string flows_file(FlowListing listing) {
  return std::string(TableOf<FlowRow>::info.file) + (listing == FlowListing::packed ? ".gz" : "");
}

/// All files that the folder may hold, the manifest apart.
std::vector<std::string> file_names(const FolderContents& contents) {
  std::vector<std::string> names;
  const auto add = [&](bool is_written, std::string_view name) {
    if (is_written) names.emplace_back(name);
  };
  for (const std::string_view table :
       {TableOf<JobRow>::info.file, TableOf<AttemptRow>::info.file, TableOf<ClusterRow>::info.file,
        TableOf<IterationRow>::info.file, TableOf<CommunicatorRow>::info.file, TableOf<CollectiveRow>::info.file}) {
    add(true, table);
  }
  add(contents.flows != FlowListing::none, flows_file(contents.flows));
  add(true, TableOf<LinkRow>::info.file);
  add(true, summary_file);
  add(contents.pause_storms, TableOf<PauseStormRow>::info.file);
  add(contents.events, TableOf<EventRow>::info.file);
  add(contents.congestion, TableOf<CongestionRow>::info.file);
  add(contents.congestion, TableOf<CongestedJobRow>::info.file);
  add(contents.aligned_jobs, TableOf<AlignedJobRow>::info.file);
  add(contents.trace, trace_file);
  add(contents.link_samples, TableOf<LinkSampleRow>::info.file);
  add(contents.tier_samples, TableOf<TierSampleRow>::info.file);
  add(contents.snapshot, snapshot_file);
  return names;
}

template <class Row>
TableFile<Row> table_file(ResultsFolder& folder) {
  return TableFile<Row>(folder.result(std::string(TableOf<Row>::info.file)));
}

template <class Row>
std::optional<TableFile<Row>> table_file_if(bool is_written, ResultsFolder& folder) {
  if (!is_written) return std::nullopt;
  return table_file<Row>(folder);
}

}  // namespace

FlowTableFile::FlowTableFile(std::filesystem::path path, const FolderContents& contents)
    : path_(std::move(path)), listing_(contents.flows), listed_max_(contents.flows_listed_max) {
  if (listing_ == FlowListing::none) return;
  file_.emplace(path_, listing_ == FlowListing::packed ? OutputFile::Packing::gzip : OutputFile::Packing::none);
  if (listing_ == FlowListing::automatic) classes_.emplace();
}

void FlowTableFile::expect_many() { lists_classes_ = classes_.has_value(); }

void FlowTableFile::add(const FlowRow& row) {
  if (!file_) return;
  // Rows of a list are what the user gave, each.
  if (!classes_ || row.input_row) return file_->add(row);
  classes_->add(row);
  transfers_ += row.multiplicity;
  if (!lists_classes_ && transfers_ > listed_max_) {
    // The rows so far go; classes take their place when all are known.
    file_.emplace(path_);
    lists_classes_ = true;
  }
  if (!lists_classes_) file_->add(row);
}

void FlowTableFile::close() {
  if (!file_) return;
  if (lists_classes_) {
    in_classes_ = transfers_;
    classes_->each([this](const FlowRow& row) { file_->add(row); });
  }
  file_->close();
}

FolderSink::Tables::Tables(ResultsFolder& folder, const FolderContents& contents)
    : jobs(table_file<JobRow>(folder)),
      attempts(table_file<AttemptRow>(folder)),
      cluster(table_file<ClusterRow>(folder)),
      iterations(table_file<IterationRow>(folder)),
      communicators(table_file<CommunicatorRow>(folder)),
      collectives(table_file<CollectiveRow>(folder)),
      flows(contents.flows == FlowListing::none ? std::filesystem::path() : folder.result(flows_file(contents.flows)), contents),
      links(table_file<LinkRow>(folder)),
      pause_storms(table_file_if<PauseStormRow>(contents.pause_storms, folder)),
      events(table_file_if<EventRow>(contents.events, folder)),
      congestion(table_file_if<CongestionRow>(contents.congestion, folder)),
      congested_jobs(table_file_if<CongestedJobRow>(contents.congestion, folder)),
      aligned_jobs(table_file_if<AlignedJobRow>(contents.aligned_jobs, folder)),
      link_samples(table_file_if<LinkSampleRow>(contents.link_samples, folder)),
      tier_samples(table_file_if<TierSampleRow>(contents.tier_samples, folder)) {
  if (contents.trace) trace.emplace(folder.result(trace_file), contents.trace_limits);
}

FolderSink::FolderSink(std::filesystem::path folder, RunManifest manifest, const FolderContents& contents)
    : path_(std::move(folder)), manifest_(std::move(manifest)), contents_(contents) {}

ResultSink::Needs FolderSink::needs() const {
  Needs needs;
  needs.ops = needs.pauses = contents_.trace;
  needs.origins = contents_.trace || contents_.flows != FlowListing::none;
  if (!contents_.trace) {
    if (contents_.flows == FlowListing::automatic) needs.flows_listed_max = contents_.flows_listed_max;
    if (contents_.flows == FlowListing::none) needs.flows_listed_max = 0;
  }
  return needs;
}

void FolderSink::begin() {
  if (!folder_) folder_.emplace(path_, std::move(manifest_), file_names(contents_));
  tables_.emplace(*folder_, contents_);
}

void FolderSink::add_attempt(const AttemptRow& row) {
  tables_->attempts.add(row);
  if (tables_->trace) tables_->trace->add_attempt(row);
}

void FolderSink::add_cluster(const ClusterRow& row) {
  tables_->cluster.add(row);
  if (tables_->trace) tables_->trace->add_cluster(row);
}

void FolderSink::add_flow(const FlowRow& row) {
  tables_->flows.add(row);
  if (tables_->trace) tables_->trace->add_flow(row);
}

void FolderSink::add_link_sample(const LinkSampleRow& row) {
  tables_->link_samples.value().add(row);
  if (tables_->trace) tables_->trace->add_link_sample(row);
}

void FolderSink::add_op(const OpRow& row) {
  if (tables_->trace) tables_->trace->add_op(row);
}

void FolderSink::add_link_pause(const LinkPauseRow& row) {
  if (tables_->trace) tables_->trace->add_link_pause(row);
}

void FolderSink::write_snapshot(std::string_view text) {
  OutputFile snapshot(folder_.value().result(snapshot_file));
  snapshot.write(text);
  snapshot.close();
}

std::vector<std::string> FolderSink::complete() {
  Tables& tables = *tables_;
  tables.jobs.close();
  tables.attempts.close();
  tables.cluster.close();
  tables.iterations.close();
  tables.communicators.close();
  tables.collectives.close();
  tables.flows.close();
  tables.links.close();
  const auto close = [](auto& file) {
    if (file) file->close();
  };
  close(tables.pause_storms);
  close(tables.events);
  close(tables.congestion);
  close(tables.congested_jobs);
  close(tables.aligned_jobs);
  close(tables.link_samples);
  close(tables.tier_samples);
  close(tables.trace);
  std::vector<std::string> notes;
  if (tables.flows.in_classes() > 0) {
    notes.push_back(
        fmt::format("flows.csv lists {} transfers by class: a row is all of an op and iteration that are about as large; "
                    "--flows-csv=whole or gz lists each",
                    tables.flows.in_classes()));
  }
  if (tables.trace) {
    for (std::string& note : tables.trace->notes()) notes.push_back(std::move(note));
  }
  return notes;
}

void FolderSink::finish(const RunSummary& summary) {
  OutputFile headline(folder_.value().result(summary_file));
  headline.write(summary.to_json());
  headline.close();
  folder_->publish();
}

}  // namespace weft

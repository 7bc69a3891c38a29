#include "tools/results/folder_sink.hpp"

#include <utility>

namespace weft {

namespace {

/// All files that the folder may hold, the manifest apart.
std::vector<std::string> file_names(const FolderContents& contents) {
  std::vector<std::string> names;
  const auto add = [&](bool is_written, std::string_view name) {
    if (is_written) names.emplace_back(name);
  };
  for (const std::string_view table : {TableOf<JobRow>::info.file, TableOf<ClusterRow>::info.file, TableOf<IterationRow>::info.file,
                                       TableOf<CommunicatorRow>::info.file, TableOf<CollectiveRow>::info.file,
                                       TableOf<FlowRow>::info.file, TableOf<LinkRow>::info.file}) {
    add(true, table);
  }
  add(true, summary_file);
  add(contents.pause_storms, TableOf<PauseStormRow>::info.file);
  add(contents.events, TableOf<EventRow>::info.file);
  add(contents.congestion, TableOf<CongestionRow>::info.file);
  add(contents.congestion, TableOf<CongestedJobRow>::info.file);
  add(contents.trace, trace_file);
  add(contents.link_samples, TableOf<LinkSampleRow>::info.file);
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

FolderSink::Tables::Tables(ResultsFolder& folder, const FolderContents& contents)
    : jobs(table_file<JobRow>(folder)),
      cluster(table_file<ClusterRow>(folder)),
      iterations(table_file<IterationRow>(folder)),
      communicators(table_file<CommunicatorRow>(folder)),
      collectives(table_file<CollectiveRow>(folder)),
      flows(table_file<FlowRow>(folder)),
      links(table_file<LinkRow>(folder)),
      pause_storms(table_file_if<PauseStormRow>(contents.pause_storms, folder)),
      events(table_file_if<EventRow>(contents.events, folder)),
      congestion(table_file_if<CongestionRow>(contents.congestion, folder)),
      congested_jobs(table_file_if<CongestedJobRow>(contents.congestion, folder)),
      link_samples(table_file_if<LinkSampleRow>(contents.link_samples, folder)) {
  if (contents.trace) trace.emplace(folder.result(trace_file));
}

FolderSink::FolderSink(std::filesystem::path folder, RunManifest manifest, const FolderContents& contents)
    : path_(std::move(folder)), manifest_(std::move(manifest)), contents_(contents) {}

void FolderSink::begin() {
  if (!folder_) folder_.emplace(path_, std::move(manifest_), file_names(contents_));
  tables_.emplace(*folder_, contents_);
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

void FolderSink::finish(const RunSummary& summary) {
  OutputFile headline(folder_.value().result(summary_file));
  headline.write(summary.to_json());
  headline.close();
  tables_->jobs.close();
  tables_->cluster.close();
  tables_->iterations.close();
  tables_->communicators.close();
  tables_->collectives.close();
  tables_->flows.close();
  tables_->links.close();
  const auto close = [](auto& file) {
    if (file) file->close();
  };
  close(tables_->pause_storms);
  close(tables_->events);
  close(tables_->congestion);
  close(tables_->congested_jobs);
  close(tables_->link_samples);
  close(tables_->trace);
  folder_->publish();
}

}  // namespace weft

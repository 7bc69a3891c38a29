// SPDX-License-Identifier: Apache-2.0
// Folder sink: the files of a run's folder, written while the run goes on and completed when it
// ends.
//
// Where it sits: `weft run` hands it to the simulation. Tables are as tools/results/tables says;
// trace.json is tools/results/trace_file's, summary.json tools/results/run_summary's.
// Names: files grow as NAME.partial and get their names together (tools/results/results_folder).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/manifest.hpp"
#include "tools/results/flow_classes.hpp"
#include "tools/results/output_file.hpp"
#include "tools/results/result_sink.hpp"
#include "tools/results/results_folder.hpp"
#include "tools/results/run_summary.hpp"
#include "tools/results/tables.hpp"
#include "tools/results/trace_file.hpp"

namespace weft {

inline constexpr const char* summary_file = "summary.json";
inline constexpr const char* trace_file = "trace.json";
inline constexpr const char* snapshot_file = "snapshot.textproto";

/// How transfers are listed: by class above a million of them (FlowClasses), each, each in a packed
/// file, or not.
enum class FlowListing : std::uint8_t { automatic, whole, packed, none };

/// What a folder holds beside the tables of every run.
struct FolderContents {
  FlowListing flows = FlowListing::automatic;
  /// transfers of jobs that are listed each where that is left open
  std::uint64_t flows_listed_max = 1'000'000;
  bool pause_storms = false;
  bool events = false;
  bool congestion = false;
  bool aligned_jobs = false;
  bool trace = false;
  TraceLimits trace_limits = {};
  bool link_samples = false;
  bool tier_samples = false;
  bool snapshot = false;
};

/// A table on its way into a file.
template <class Row>
class TableFile {
 public:
  explicit TableFile(std::filesystem::path path, OutputFile::Packing packing = OutputFile::Packing::none)
      : file_(std::move(path), header_line<Row>(), packing) {}

  void add(const Row& row) {
    for (const Column<Row>& column : TableOf<Row>::columns()) file_.cell(column.cell(row));
    file_.end_row();
  }
  void close() { file_.close(); }

 private:
  CsvFile file_;
};

/// flows.csv as a FlowListing says.
class FlowTableFile {
 public:
  FlowTableFile(std::filesystem::path path, const FolderContents& contents);

  /// There will be more of jobs than are listed.
  void expect_many();
  void add(const FlowRow& row);
  void close();
  /// Transfers that are listed by class; 0: each has a row of its own.
  std::uint64_t in_classes() const { return in_classes_; }

 private:
  std::filesystem::path path_;
  FlowListing listing_;
  std::uint64_t listed_max_;
  std::optional<TableFile<FlowRow>> file_;  ///< none if transfers are not listed
  std::optional<FlowClasses> classes_;      ///< where it may come to that
  std::uint64_t transfers_ = 0;
  bool lists_classes_ = false;
  std::uint64_t in_classes_ = 0;
};

class FolderSink final : public ResultSink {
 public:
  /// Touches nothing yet: a run that is refused leaves the folder as it was.
  FolderSink(std::filesystem::path folder, RunManifest manifest, const FolderContents& contents);

  Needs needs() const override;
  /// Creates and locks the folder, the first time, and creates the tables or empties them. Throws
  /// what ResultsFolder does; all that follow throw InputError [cannot-write].
  void begin() override;
  void expect_many_flows() override { tables_->flows.expect_many(); }
  void add_job(const JobRow& row) override { tables_->jobs.add(row); }
  void add_attempt(const AttemptRow& row) override;
  void add_cluster(const ClusterRow& row) override;
  void add_iteration(const IterationRow& row) override { tables_->iterations.add(row); }
  void add_communicator(const CommunicatorRow& row) override { tables_->communicators.add(row); }
  void add_collective(const CollectiveRow& row) override { tables_->collectives.add(row); }
  void add_flow(const FlowRow& row) override;
  void add_link(const LinkRow& row) override { tables_->links.add(row); }
  void add_pause_storm(const PauseStormRow& row) override { tables_->pause_storms.value().add(row); }
  void add_event(const EventRow& row) override { tables_->events.value().add(row); }
  void add_congestion(const CongestionRow& row) override { tables_->congestion.value().add(row); }
  void add_congested_job(const CongestedJobRow& row) override { tables_->congested_jobs.value().add(row); }
  /// Requires: contents.aligned_jobs.
  void add_aligned_job(const AlignedJobRow& row) { tables_->aligned_jobs.value().add(row); }
  void add_link_sample(const LinkSampleRow& row) override;
  void add_tier_sample(const TierSampleRow& row) override { tables_->tier_samples.value().add(row); }
  void add_op(const OpRow& row) override;
  void add_link_pause(const LinkPauseRow& row) override;

  /// The file of a snapshot, whose text is the caller's. Requires: contents.snapshot.
  void write_snapshot(std::string_view text);
  /// Completes all files but the summary: no row comes any more. Returns what they leave out, for
  /// the notes of the summary.
  std::vector<std::string> complete();
  /// Writes summary.json and gives every file its name. Requires: complete().
  void finish(const RunSummary& summary);

 private:
  struct Tables {
    explicit Tables(ResultsFolder& folder, const FolderContents& contents);
    TableFile<JobRow> jobs;
    TableFile<AttemptRow> attempts;
    TableFile<ClusterRow> cluster;
    TableFile<IterationRow> iterations;
    TableFile<CommunicatorRow> communicators;
    TableFile<CollectiveRow> collectives;
    FlowTableFile flows;
    TableFile<LinkRow> links;
    std::optional<TableFile<PauseStormRow>> pause_storms;
    std::optional<TableFile<EventRow>> events;
    std::optional<TableFile<CongestionRow>> congestion;
    std::optional<TableFile<CongestedJobRow>> congested_jobs;
    std::optional<TableFile<AlignedJobRow>> aligned_jobs;
    std::optional<TableFile<LinkSampleRow>> link_samples;
    std::optional<TableFile<TierSampleRow>> tier_samples;
    std::optional<TraceFile> trace;
  };

  std::filesystem::path path_;
  RunManifest manifest_;
  FolderContents contents_;
  std::optional<ResultsFolder> folder_;
  std::optional<Tables> tables_;
};

}  // namespace weft

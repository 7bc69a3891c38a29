// SPDX-License-Identifier: Apache-2.0
#include "tools/explain/critical_path.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "host/ranks/job.hpp"
#include "host/ranks/message_tag.hpp"
#include "host/ranks/rank_timers.hpp"
#include "tools/simulation/collective_rows.hpp"
#include "tools/simulation/transfer_origins.hpp"

namespace weft {

namespace {

/// Follows causes backwards from an event.
class PathWalk {
 public:
  PathWalk(const TapedRun& run, const FlowBlame& blame, Time begin)
      : run_(run), tape_(run.tape()), blame_(blame), origins_(*run.recording->attempts), begin_(begin) {}

  std::vector<PathPiece> from(std::uint32_t node) {
    std::uint32_t at = node;
    while (at != FlowTape::none && tape_.nodes()[at].event.key.time > begin_) at = step_back(at);
    // What nobody is known to have waited for: the job's own start, and what came before it.
    const Time first = pieces_.empty() ? tape_.nodes()[node].event.key.time : pieces_.back().begin;
    if (first > begin_) add({"start", "", "", begin_, first});
    std::ranges::reverse(pieces_);
    return std::move(pieces_);
  }

 private:
  void add(PathPiece piece) {
    const double whole_s = piece.seconds();
    if (!pieces_.empty()) piece.end = std::min(piece.end, pieces_.back().begin);
    piece.begin = std::max(piece.begin, begin_);
    if (piece.end <= piece.begin) return;
    // Of one that the path has a part of, as much as of the whole.
    piece.contention_s *= piece.seconds() / whole_s;
    pieces_.push_back(std::move(piece));
  }

  Time time_of(std::uint32_t node) const { return node == FlowTape::none ? begin_ : tape_.nodes()[node].event.key.time; }

  /// Adds what lies between an event and the one before it on the path, which it returns.
  std::uint32_t step_back(std::uint32_t number) {
    const FlowTape::Node& node = tape_.nodes()[number];
    if (node.transfer != FlowTape::none) return through_transfer(node);
    const Time end = node.event.key.time;
    const Time begin = time_of(node.parent);
    switch (node.event.kind) {
      case compute_done:
      case launch_done:
      case receive_done:
      case checkpoint_written: {
        const auto timer = node.event.payload_as<RankTimerPayload>();
        const RunningJob& job = run_.recording->attempts->at(timer.attempt);
        const std::optional<RankId> rank = rank_at(job, node.event.target, timer.slot);
        PathPiece piece{"checkpoint", "", rank ? fmt::format("rank {}", rank->index()) : "", begin, end};
        if (node.event.kind == receive_done) {
          piece.kind = "take over";
        } else if (node.event.kind != checkpoint_written && rank) {
          piece.kind = node.event.kind == compute_done ? "compute" : "launch";
          piece.what = op_label(job.workload->dag_of(*rank), OpId(timer.index));
        }
        add(std::move(piece));
        break;
      }
      default:
        add({"control", "", "", begin, end});
    }
    return node.parent;
  }

  std::optional<RankId> rank_at(const RunningJob& job, EntityId host, std::uint32_t slot) const {
    if (job.endpoint_of_rank == nullptr) return std::nullopt;
    const auto found = std::ranges::find(run_.recording->hosts, host);
    if (found == run_.recording->hosts.end()) return std::nullopt;
    const HostId id(static_cast<std::uint32_t>(found - run_.recording->hosts.begin()));
    const NodeId endpoint = run_.topology->endpoints_of(id)[slot];
    const auto rank = std::ranges::find(*job.endpoint_of_rank, endpoint);
    if (rank == job.endpoint_of_rank->end()) return std::nullopt;
    return RankId(static_cast<std::uint32_t>(rank - job.endpoint_of_rank->begin()));
  }

  PathPiece piece_of(const FlowTape::TransferRecord& transfer) {
    PathPiece piece;
    if (is_control(transfer.transfer)) {
      piece.kind = "slots";
      return piece;
    }
    if (const auto origin = origins_.of(transfer.transfer)) {
      piece.kind = origin->kind;
      piece.what = origin->op;
      piece.where = fmt::format("rank {}", origin->source.index());
      if (origin->destination) piece.where += fmt::format(" -> rank {}", origin->destination->index());
    } else {
      piece.kind = "storage";
    }
    return piece;
  }

  /// A transfer that was sent or delivered, and those of its queue pair that it waited for.
  std::uint32_t through_transfer(const FlowTape::Node& node) {
    Time end = node.event.key.time;
    std::uint32_t flow = node.flow;
    // Without bytes, or in packet mode.
    if (flow == FlowTape::none) return through_message(node.transfer, end);
    while (true) {
      const FlowTape::FlowRecord& record = tape_.flows()[flow];
      const FlowTape::TransferRecord& transfer = tape_.transfers()[record.transfer];
      PathPiece piece = piece_of(transfer);
      piece.begin = record.after == FlowTape::none ? transfer.start : record.start;
      piece.end = end;
      piece.contention_s = blame_.lost_of_flow_s.empty() ? 0 : blame_.lost_of_flow_s[flow];
      end = piece.begin;
      add(std::move(piece));
      if (record.after == FlowTape::none || record.start <= begin_)
        return record.entry == FlowTape::none ? FlowTape::none : tape_.nodes()[record.entry].parent;
      flow = record.after;
    }
  }

  /// A transfer that has no flows, and those of its connection that it waited for.
  std::uint32_t through_message(std::uint32_t number, Time end) {
    while (true) {
      const FlowTape::TransferRecord& transfer = tape_.transfers()[number];
      const FlowTape::TransferRecord* const before =
          transfer.behind == FlowTape::none ? nullptr : &tape_.transfers()[transfer.behind];
      const bool has_waited = before != nullptr && before->is_over && before->delivered > transfer.start && before->delivered < end;
      PathPiece piece = piece_of(transfer);
      piece.begin = has_waited ? before->delivered : transfer.start;
      piece.end = end;
      if (transfer.ideal > Duration::zero()) piece.contention_s = std::max(0.0, (end - piece.begin - transfer.ideal).in_s());
      end = piece.begin;
      add(std::move(piece));
      if (!has_waited || end <= begin_)
        return transfer.entry == FlowTape::none ? FlowTape::none : tape_.nodes()[transfer.entry].parent;
      number = transfer.behind;
    }
  }

  const TapedRun& run_;
  const FlowTape& tape_;
  const FlowBlame& blame_;
  TransferOrigins origins_;
  Time begin_;
  std::vector<PathPiece> pieces_;  ///< the last first
};

using Span = std::pair<Time, Time>;

/// Disjoint and in order.
std::vector<Span> merged(std::vector<Span> spans) {
  std::ranges::sort(spans);
  std::vector<Span> all;
  for (const Span& span : spans) {
    if (!all.empty() && span.first <= all.back().second) {
      all.back().second = std::max(all.back().second, span.second);
    } else {
      all.push_back(span);
    }
  }
  return all;
}

double length_s(const std::vector<Span>& spans) {
  double sum = 0;
  for (const auto& [begin, end] : spans) sum += (end - begin).in_s();
  return sum;
}

RankTimes rank_times(const TapedRun& run, const ExplainedJob& job, std::uint64_t iteration, Time begin, Time end) {
  struct OfRank {
    std::vector<Span> compute;
    std::vector<Span> collectives;
    std::vector<Span> sends;
  };
  std::map<std::uint32_t, OfRank> ranks;
  for (const OpSpan& op : run.spans.ops) {
    if (op.job != job.id || op.iteration != iteration) continue;
    OfRank& rank = ranks[op.rank];
    const Span span{std::max(op.start, begin), std::min(op.end, end)};
    if (span.second <= span.first) continue;
    (op.is_compute ? rank.compute : op.is_point_to_point ? rank.sends : rank.collectives).push_back(span);
  }
  RankTimes mean;
  for (auto& [number, rank] : ranks) {
    const double computing_s = length_s(merged(rank.compute));
    rank.collectives.insert(rank.collectives.end(), rank.compute.begin(), rank.compute.end());
    const double with_collectives_s = length_s(merged(rank.collectives));
    rank.sends.insert(rank.sends.end(), rank.collectives.begin(), rank.collectives.end());
    const double with_sends_s = length_s(merged(rank.sends));
    const auto count = static_cast<double>(ranks.size());
    mean.computing_s += computing_s / count;
    mean.exposed_collectives_s += (with_collectives_s - computing_s) / count;
    mean.exposed_sends_s += (with_sends_s - with_collectives_s) / count;
    mean.idle_s += ((end - begin).in_s() - with_sends_s) / count;
  }
  return mean;
}

/// Of the job's last attempt.
const RunningJob& last_attempt(const TapedRun& run, const ExplainedJob& job) {
  const FlowTape::Node& last = run.tape().nodes()[job.last];
  return run.recording->attempts->at(last.event.payload_as<IterationDone>().attempt);
}

}  // namespace

std::uint64_t last_iteration(const TapedRun& run, const ExplainedJob& job) { return last_attempt(run, job).iterations - 1; }
std::uint64_t first_iteration(const TapedRun& run, const ExplainedJob& job) { return last_attempt(run, job).first_iteration; }

CriticalPath critical_path(const TapedRun& run, const FlowBlame& blame, const ExplainedJob& job, std::uint64_t iteration) {
  const FlowTape& tape = run.tape();
  const AttemptId attempt = last_attempt(run, job).attempt;
  CriticalPath path;
  path.iteration = iteration;
  path.begin = job.begin;
  std::uint32_t last = FlowTape::none;
  for (std::uint32_t i = 0; i < tape.nodes().size(); ++i) {
    const FlowTape::Node& node = tape.nodes()[i];
    if (node.event.kind == start_job && node.event.target != run.recording->scheduler &&
        node.event.payload_as<StartJob>().attempt == attempt && iteration == first_iteration(run, job)) {
      path.begin = std::max(path.begin, node.event.key.time);
    }
    if (node.event.kind != iteration_done || node.event.target != run.recording->scheduler) continue;
    const auto done = node.event.payload_as<IterationDone>();
    if (done.attempt != attempt) continue;
    if (done.iteration + 1 == iteration) path.begin = std::max(path.begin, done.end);
    if (done.iteration == iteration && done.end >= path.end) {
      path.end = done.end;
      last = i;
    }
  }
  WEFT_CHECK(last != FlowTape::none, "an iteration that is explained has ended");
  // The scheduler hears of it later.
  path.pieces = PathWalk(run, blame, path.begin).from(tape.nodes()[last].parent);
  path.ranks = rank_times(run, job, iteration, path.begin, path.end);
  return path;
}

std::vector<PathShare> shares_of(const CriticalPath& path) {
  std::map<std::string, PathShare> by_kind;
  for (const PathPiece& piece : path.pieces) {
    PathShare& share = by_kind[piece.kind];
    share.kind = piece.kind;
    ++share.pieces;
    share.seconds += piece.seconds();
    share.contention_s += piece.contention_s;
  }
  std::vector<PathShare> shares;
  for (auto& [kind, share] : by_kind) shares.push_back(std::move(share));
  std::ranges::stable_sort(shares, {}, [](const PathShare& share) { return -share.seconds; });
  return shares;
}

}  // namespace weft

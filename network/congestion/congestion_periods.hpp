// SPDX-License-Identifier: Apache-2.0
// Congestion periods: from when until when a link slowed jobs, which ones, and who began it.
//
// Where it sits: network/congestion/congestion_monitor finds them while a run goes on; whoever
// writes results joins them over the times in which jobs were fast-forwarded, and asks who began
// each.
//
// Model
//   - A period is of one link and one cause (congestion_monitor). What is measured of it lies
//     between its jobs' simulated iterations.
//   - A job that is fast-forwarded is not simulated, but goes on as it did. So a period that went
//     on when a job it slows and, if others cause it, one of those began to be fast-forwarded, goes
//     on until the first of the two is fast-forwarded no more. It went on if it was seen within
//     `gap` before, and since the job last began to be simulated.
//   - Periods of one link and cause join where the next begins within `gap` of the end of the one
//     before.
//   - The trigger of a period that others cause is, of the jobs that used the link when it began,
//     the one that had started last, its latest start counting; of those that started at one
//     instant, the last in order of submission. Else it is the job that slows itself.
// Threads: values and functions of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

class LinkFolding;

enum class CongestionCause : std::uint8_t {
  others,  ///< jobs that others are slowed by, at a link that both use
  own,     ///< a job slowed by its own transfers, at a link beyond those of its hosts
};
const char* to_text(CongestionCause cause);

/// What a job has to do with a period.
struct JobInCongestion {
  JobId job;
  Time first;                 ///< seen on the link, by what was measured
  Time last;                  ///< likewise
  std::optional<Time> since;  ///< first slowed; none if it never was
  Time until;                 ///< last slowed
  Duration congested;         ///< of that, measured: while any of its transfers was slowed
  /// What these would have moved more in that time at the rate that their hosts' links would give
  /// them.
  double lost_bits = 0;
  double possible_bits = 0;  ///< and all that they would have moved

  double lost_share() const { return possible_bits > 0 ? lost_bits / possible_bits : 0; }
};

struct CongestionPeriod {
  LinkId link;
  CongestionCause cause = CongestionCause::others;
  /// Of the transfer that it slowed first: the link stands for others that fare alike.
  const LinkFolding* folding = nullptr;
  Time begin;
  Time end;
  Duration congested;  ///< of that, measured: while the link slowed any transfer
  /// From begin to end: while any job that is slowed was fast-forwarded.
  Duration fast_forwarded;
  /// In order of when they were first seen; those of one instant by number.
  std::vector<JobInCongestion> jobs;

  Duration duration() const { return end - begin; }
  /// Of what was simulated of it: for which part the link slowed any transfer.
  double congested_share() const;
  double lost_share() const;
  std::vector<JobId> slowed() const;
};

/// A span of time in which a job was not simulated.
struct FastForwardSpan {
  Time begin;
  Time end;
};
/// In order of time, not overlapping.
using FastForwardSpans = std::map<JobId, std::vector<FastForwardSpan>>;

/// Sorted by begin, link and cause. Requires: of one link and cause `periods` are in order of time.
std::vector<CongestionPeriod> join_periods(std::vector<CongestionPeriod> periods, const FastForwardSpans& fast_forwards,
                                           Duration gap);

/// When each job got GPUs, in order of time.
using JobStarts = std::map<JobId, std::vector<Time>>;

/// Whose start began the period. Requires: `starts` knows every job in it.
JobId trigger_of(const CongestionPeriod& period, const JobStarts& starts);

/// For how long the job was slowed in any of the periods; those of two links at a time count once.
Duration time_in_periods(JobId job, std::span<const CongestionPeriod> periods);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Tier sampler: how busy the links of each tier are over time, in a few hundred intervals whatever
// the run's length.
//
// Where it sits: the run loop stops at next() and calls sample(); finish() hands the sink its
// TierSampleRows, for tier_samples.csv.
// Model: intervals are short at first (interval_at_first). Where there would be more of them than
// intervals_max, two by two become one, so that all are of one length and of every link its bytes
// in each are exact. A longer run has longer intervals, and never more memory: 8 bytes for each
// link and interval. While nothing moves for long, samples are taken further apart; what lasts
// after the last byte, such as timers, has no intervals. Links inside hosts are no tier.
// What it says does not depend on threads, and a run with it takes the same times as one without.
// Threads: belongs to the thread that runs the engine, between its calls of Engine::run().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/values/units.hpp"
#include "host/transport/packet_network.hpp"
#include "network/flow/flow_fabric.hpp"
#include "tools/results/result_sink.hpp"
#include "topologies/topology.hpp"

namespace weft {

class TierSampler {
 public:
  static constexpr std::size_t intervals_most = 240;

  /// `network` is null in flow mode. Keeps references.
  TierSampler(const Topology& topology, const PacketNetwork* network);

  /// When sample() is due.
  Time next() const { return end_; }
  /// The interval that ends at next() is over. `flows` is null where none are.
  void sample(const Engine& engine, const FlowFabric* flows) { sample_at(end_, engine, flows); }
  /// Nothing happens before `time`.
  void skip_to(Time time);
  /// The run is over at `now`, which is not before the last sample. Rows go up to `until` at least.
  void finish(Time now, Time until, const Engine& engine, const FlowFabric* flows, ResultSink& sink);

 private:
  /// Of a tier in an interval.
  struct Counters {
    Bytes queue_peak;
    Duration paused;
    std::uint64_t ecn_marks = 0;
    std::uint64_t drops = 0;
  };

  /// Onto counters, which may be none yet.
  static void add(const std::vector<Counters>& more, std::vector<Counters>& counters);
  void sample_at(Time time, const Engine& engine, const FlowFabric* flows);
  /// There is an interval that ends at `time` or has it inside. Returns its number.
  std::size_t cover(Time time);
  void merge();
  void add_rows(std::size_t interval, Time end, ResultSink& sink) const;

  const Topology& topology_;
  const PacketNetwork* network_;
  std::size_t intervals_max_;
  Duration interval_;
  Duration stride_;  ///< between samples: a multiple of interval_ while nothing moves for long
  std::size_t idle_samples_ = 0;
  Time begin_;  ///< of what the next sample is about
  Time end_;
  Time last_moved_;  ///< end of the last sample in which anything moved
  std::vector<std::string> tiers_;
  std::vector<LinkId> links_;                    ///< outside hosts
  std::vector<std::uint32_t> tier_of_;           ///< of links_
  std::vector<LinkUsage> before_;                ///< of all links, at the last sample
  std::vector<std::vector<Bytes>> bytes_;        ///< by interval, links_; empty: none moved
  std::vector<std::vector<Counters>> counters_;  ///< by interval, tier
};

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Link sampler: what links carried, and what waited for them, interval by interval
// (`--sample=10us`).
//
// Where it sits: tools/simulation/run_loop stops the engine at the end of each interval and has the
// sampler read the packet network; the sink gets a row for each link that was busy.
// Model: a rate counts the packets that began in the interval, and what flows of jobs in flow mode
// moved over cables; a queue is what waits at its end; pauses, marks and drops are what came to
// pass in it.
// Threads: belongs to the thread that runs the engine.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/values/units.hpp"
#include "host/transport/packet_network.hpp"
#include "network/flow/flow_fabric.hpp"
#include "tools/results/result_sink.hpp"
#include "topologies/topology.hpp"

namespace weft {

class LinkSampler {
 public:
  /// Keeps references. Requires: interval > 0 (WEFT_CHECK).
  LinkSampler(const Topology& topology, const PacketNetwork& network, Duration interval, ResultSink& sink);

  /// The end of the interval that comes next.
  Time next() const { return end_; }
  /// `flows`: of jobs in flow mode, which share cables with packets; or null. Requires: the engine
  /// has run until next().
  void sample(const Engine& engine, const FlowFabric* flows);
  /// Nothing happens before `time`: where the last interval was empty, so are those up to it.
  void skip_to(Time time);

 private:
  const Topology& topology_;
  const PacketNetwork& network_;
  Duration interval_;
  ResultSink& sink_;
  Time end_;
  bool was_empty_ = true;
  std::vector<LinkUsage> before_;  ///< by link, at the last sample
  std::vector<LinkUsage> now_;
};

}  // namespace weft

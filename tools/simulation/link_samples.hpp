// Link samples: what links carried, and what waited for them, interval by interval (`--sample=10us`).
//
// Where it sits: the simulation stops the engine at the end of each interval and has the sampler read the packet network; `link_samples.csv` gets
// its rows at once, trace.json its counters when the run has ended.
//
//   link_samples.csv   time_ns,link,rate_bps,queue_bytes,pause_ns,ecn_marks,drops
//
// time_ns is the end of an interval; rate_bps counts the packets that began in it, and what flows of jobs in flow mode moved over cables, queue_bytes is what waits at its end, the others are what came
// to pass in it. A link in whose interval nothing was sent, waited, paused or dropped has no row.
// Threads: belongs to the thread that runs the engine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/engine/engine.hpp"
#include "core/values/units.hpp"
#include "host/transport/packet_network.hpp"
#include "network/flow/flow_fabric.hpp"
#include "tools/results/output_file.hpp"
#include "topologies/topology.hpp"

namespace weft {

struct LinkSample {
  Time begin;
  Time end;
  LinkId link;
  double rate_bps = 0;
  Bytes queue;
};

class LinkSampler {
 public:
  /// Keeps references. Requires: interval > 0 (WEFT_CHECK). `keeps`: samples() has them all.
  LinkSampler(const Topology& topology, const PacketNetwork& network, Duration interval, const std::filesystem::path& file,
              bool keeps);

  /// The end of the interval that comes next.
  Time next() const { return end_; }
  /// `flows`: of jobs in flow mode, which share cables with packets; or null. Requires: the engine has run until next().
  void sample(const Engine& engine, const FlowFabric* flows);
  /// Nothing happens before `time`: where the last interval was empty, so are those up to it.
  void skip_to(Time time);

  const std::vector<LinkSample>& samples() const { return samples_; }
  /// Its table is complete.
  void close() { file_.close(); }

 private:
  const Topology& topology_;
  const PacketNetwork& network_;
  Duration interval_;
  CsvFile file_;
  bool keeps_;
  Time end_;
  bool was_empty_ = true;
  std::vector<LinkUsage> before_;  ///< by link, at the last sample
  std::vector<LinkUsage> now_;
  std::vector<LinkSample> samples_;
};

}  // namespace weft

// Cable outages: which cables are out, and which of them the network has noticed and leads its ways around.
//
// Where it sits: whoever decides about ways has one - network/flow_fabric, and in packet mode network/route_manager - and tells it what cables carry.
//
// Model: a cable that has been out for `reroute` without a break is avoided, until it has been back for as long.
// Threads: belongs to its owner.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "network/network_model.hpp"

namespace weft {

class Topology;

class CableOutages {
 public:
  /// Keeps a reference to the topology.
  explicit CableOutages(const Topology& topology, Duration reroute = {}) : topology_(topology), reroute_(reroute) {}

  /// Before the first change.
  void set_reroute(Duration reroute) { reroute_ = reroute; }
  /// In order of time.
  void change(const CableChanges& change, Time now);
  /// When avoided() may change next; max() if it does not by itself.
  Time next() const { return way_changes_.empty() ? Time::max() : way_changes_.front().at; }
  /// Brings avoided() to `now`; whether it is another one than before.
  bool take(Time now);
  /// By LinkId, alike in both directions; empty before the first change.
  const std::vector<bool>& avoided() const { return avoided_; }

 private:
  /// When a cable's being out, or in service again, shows in the ways.
  struct WayChange {
    Time at;
    LinkId cable;
  };

  const Topology& topology_;
  Duration reroute_;
  std::map<LinkId, Time> turned_;      ///< by first direction: when a cable last went out or came back
  std::deque<WayChange> way_changes_;  ///< in order of time
  std::vector<bool> is_out_;           ///< by LinkId; empty until one is
  std::vector<bool> avoided_;          ///< likewise
};

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Cable outages: which cables are out or slow, as far as the network has noticed: it leads its
// routes around those that are out.
//
// Where it sits: whoever decides about routes has one - network/flow/flow_fabric, and in packet
// mode network/routing/route_manager - and tells it what cables carry.
//
// Model: a cable that has been out for `reroute` without a break is avoided, until it has been back
// for as long. Where the network weighs next hops by capacity (follow_shares), it notices likewise
// that a cable carries another share of its rate.
// Threads: belongs to its owner.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "core/values/ids.hpp"
#include "core/values/units.hpp"
#include "network/network_model.hpp"

namespace weft {

class Topology;

class CableOutages {
 public:
  /// Keeps a reference to the topology.
  explicit CableOutages(const Topology& topology, Duration reroute = {}) : topology_(topology), reroute_(reroute) {}

  /// Before the first change.
  void set_reroute(Duration reroute) { reroute_ = reroute; }
  /// Cables that are slow matter as well as those that are out. Before the first change.
  void follow_shares() { follows_shares_ = true; }
  /// In order of time.
  void change(const CableChanges& change, Time now);
  /// When avoided() may change next; max() if it does not by itself.
  Time next() const { return route_changes_.empty() ? Time::max() : route_changes_.front().at; }
  /// Brings avoided() and shares() to `now`; whether one is another than before.
  bool take(Time now);
  /// By LinkId, alike in both directions; empty before the first change.
  const std::vector<bool>& avoided() const { return avoided_; }
  /// Of its rate that a link carries: 0 if it is avoided, else 1 unless shares are followed.
  /// By LinkId, alike in both directions; empty before the first change.
  const std::vector<double>& shares() const { return shares_; }

 private:
  /// When a change of a cable shows in the routes.
  struct RoutesChange {
    Time at;
    LinkId cable;
  };

  const Topology& topology_;
  Duration reroute_;
  bool follows_shares_ = false;
  std::map<LinkId, Time> turned_;           ///< by first direction: when a cable last changed
  std::deque<RoutesChange> route_changes_;  ///< in order of time
  std::vector<double> shares_now_;          ///< by LinkId; empty until one changes
  std::vector<double> shares_;              ///< likewise, as far as noticed
  std::vector<bool> avoided_;               ///< likewise: those that carry nothing
};

}  // namespace weft

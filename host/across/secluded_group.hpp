// SPDX-License-Identifier: Apache-2.0
// Secluded group: a group whose transfers share no link with others, carried out by itself, ahead
// of the clock.
//
// Where it sits: host/across/across_traffic secludes groups and takes back what it has to.
//
// Model: nothing that the group does depends on anything else then, so that all of it, from an
// instant on, can be done in one go, until a rank is done with its collective, or for so many
// transfers. If anything disturbs the group before the clock is there, what it has done until then
// is found again from how it began.
// Threads: belongs to one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "host/across/across_group.hpp"
#include "host/across/across_ways.hpp"
#include "network/flow/flow_fabric.hpp"
#include "network/flow/private_flows.hpp"

namespace weft {

class SecludedGroup final : private PrivateFlowsObserver {
 public:
  using MakePolicy = std::function<std::unique_ptr<AllocationPolicy>(std::vector<double> capacities_bps)>;

  /// Keeps references. `transfers`: what it has under way, at an instant that is over.
  SecludedGroup(std::unique_ptr<AcrossGroup> group, std::shared_ptr<const AcrossWays> ways, const FlowSettings& settings,
                const MakePolicy& make_policy, const std::vector<FlowFabric::UnderWay>& transfers);
  SecludedGroup(const SecludedGroup&) = delete;
  SecludedGroup& operator=(const SecludedGroup&) = delete;

  /// Goes ahead by about so many transfers, or until a rank has ended, whatever comes first.
  void go_ahead(std::size_t transfers);
  /// How far it is; Time::max(): nothing happens any more.
  Time until() const { return until_; }
  /// The clock is there, and what has been done so far cannot be taken back any more.
  void keep(FlowFabric& fabric);
  /// All after `until` has not happened.
  void take_back(Time until);

  AcrossGroup& group() { return *group_; }
  std::unique_ptr<AcrossGroup> release() { return std::move(group_); }
  const AcrossWays& ways() const { return *ways_; }
  /// What it has under way now, in order of entering.
  std::vector<FlowFabric::UnderWay> transfers() const;

 private:
  void on_left(const Transfer& transfer, Time sent, Time delivered) override { group_->on_left(transfer, sent, delivered); }
  void on_transfer_finished(const FinishedTransfer& finished) override { left_.push_back(finished); }

  void make_flows(const std::vector<FlowFabric::UnderWay>& transfers);
  Time next() { return std::min(flows_->next(), group_->next()); }
  void do_instant(Time now);

  std::unique_ptr<AcrossGroup> group_;
  std::shared_ptr<const AcrossWays> ways_;
  const FlowSettings& settings_;
  const MakePolicy& make_policy_;
  std::unique_ptr<PrivateFlows> flows_;
  std::vector<FinishedTransfer> left_;
  std::vector<Bytes> kept_bytes_;  ///< by link, of the flows so far
  Time until_;
  std::vector<AcrossGroup::Entering> entering_;
  // As of the last keep().
  std::unique_ptr<AcrossGroup> group_before_;
  std::vector<FlowFabric::UnderWay> transfers_before_;
};

}  // namespace weft

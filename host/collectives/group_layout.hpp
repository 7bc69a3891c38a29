// SPDX-License-Identifier: Apache-2.0
// Group layout: where the members of a group are - which of them share a host, and as which of its
// GPUs.
//
// Where it sits: the collective library makes one per placed group and shares equal ones;
// algorithms that care about the topology (rings with several channels, hierarchical) take their
// orders from it.
//
// Model: hosts are numbered in order of first appearance among the positions; a member's rail is
// the number of its GPU within its host. What joins members of one host is told by the worst pair
// of the group, what their hosts are built of by the first member's, but for NICs, of which the
// least host's count: as in NCCL, whose ranks agree on the fewest channels and the lowest rate that
// any of them has found. Groups with equal layouts run equal programs.
// Thread safety: immutable.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/ids.hpp"
#include "host/collectives/subgroups.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// What joins the members of a group that share a host, in the order from good to bad.
enum class InsideLinks : std::uint8_t {
  none,       ///< no two share one
  nvswitch,   ///< every two of a host are one NVSwitch apart
  full_mesh,  ///< every two of a host have a cable of their own, or are one NVSwitch apart
  pcie,       ///< some two have neither: PCIe switches, or the network
};
std::string_view to_text(InsideLinks links);

/// What the members' hosts are built of, as a library that tunes itself to its machine sees it.
struct HostHardware {
  std::string machine;     ///< what the topology calls the server; "" where it has no name
  std::uint32_t gpus = 1;  ///< of a host, members or not
  std::uint32_t nics = 1;  ///< that members use, of the host where these are fewest
  /// Of all NVLinks of a GPU together, each way; 0 where there are none.
  std::int64_t nvlink_bps = 0;
  /// Of all ports of a NIC together, each way, of the slowest host; 0 where there is no network.
  std::int64_t nic_bps = 0;
  bool rails_meet = false;  ///< NICs of equal number share a leaf, others of a host do not
  /// Of the leafs: what they have below over what they have above, at least 1.
  double oversubscription = 1;
  friend auto operator<=>(const HostHardware&, const HostHardware&) = default;
};

class GroupLayout {
 public:
  struct Seat {
    std::uint32_t host = 0;
    std::uint32_t rail = 0;
    friend auto operator<=>(const Seat&, const Seat&) = default;
  };

  /// Of members at these endpoints, in order of position.
  GroupLayout(const Topology& topology, std::span<const NodeId> endpoints);
  /// Requires: at least one seat. `inside` counts where two members share a host.
  explicit GroupLayout(std::vector<Seat> seats, InsideLinks inside = InsideLinks::nvswitch);
  /// `ranks` members that all have a host to themselves.
  static GroupLayout one_per_host(std::uint32_t ranks);
  /// `hosts` hosts with `ranks_per_host` members each, host after host, in order of rail.
  static GroupLayout blocks(std::uint32_t hosts, std::uint32_t ranks_per_host);

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(seats_.size()); }
  std::uint32_t host_count() const { return host_count_; }
  const Seat& seat(std::uint32_t position) const { return seats_[position]; }
  /// Members of every host if all hosts have as many; 0 otherwise.
  std::uint32_t ranks_per_host() const { return ranks_per_host_; }
  InsideLinks inside() const { return inside_; }
  /// Where none was given or found: as hgx_h100 in a rail-optimized fabric.
  const HostHardware& hardware() const { return hardware_; }
  void set_hardware(const HostHardware& hardware) { hardware_ = hardware; }

  /// Whether a path between two members holds more than slots do, so that messages are cut
  /// (collective.chunk). False until set.
  bool is_far_apart() const { return is_far_apart_; }
  void set_far_apart(bool is_far_apart) { is_far_apart_ = is_far_apart; }

  /// A subgroup per host: its members by rail.
  const std::shared_ptr<const Subgroups>& hosts() const { return hosts_; }
  /// Position of a host's k-th member by rail. Requires: the host has so many.
  std::uint32_t member_of_host(std::uint32_t host, std::uint32_t k) const { return hosts_->member(some_member_[host], k); }
  std::uint32_t members_of_host(std::uint32_t host) const { return hosts_->size_at(some_member_[host]); }
  /// A host's members in the order of a chain that begins with the k-th, k = `start`: by rising
  /// rail and round, or by falling rail if `backwards`. Where every two have a cable of their own,
  /// in zigzag (start, +1, -1, +2, -2 ..., or mirrored), so that the chains from all starts take
  /// each cable once in each direction if their number is even (the Walecki decomposition of
  /// complete graphs into Hamiltonian paths; Alspach, "The wonderful Walecki construction", 2008).
  std::vector<std::uint32_t> chain_of_host(std::uint32_t host, std::uint32_t start, bool backwards) const;
  /// The k-th members by rail of all hosts, in order of host; for every k a subgroup. Null unless
  /// all hosts have equally many members.
  const std::shared_ptr<const Subgroups>& rails() const { return rails_; }

  friend std::partial_ordering operator<=>(const GroupLayout& a, const GroupLayout& b) {
    const auto order = std::pair(a.inside_, a.is_far_apart_) <=> std::pair(b.inside_, b.is_far_apart_);
    if (order != 0) return std::partial_ordering(order);
    const auto hardware = a.hardware_ <=> b.hardware_;
    return hardware != 0 ? hardware : std::partial_ordering(a.seats_ <=> b.seats_);
  }
  friend bool operator==(const GroupLayout& a, const GroupLayout& b) { return (a <=> b) == 0; }

 private:
  void divide();

  std::vector<Seat> seats_;
  std::uint32_t host_count_ = 0;
  std::uint32_t ranks_per_host_ = 0;
  InsideLinks inside_ = InsideLinks::none;
  HostHardware hardware_;
  bool is_far_apart_ = false;
  std::vector<std::uint32_t> some_member_;  ///< by host: a position in it
  std::shared_ptr<const Subgroups> hosts_;
  std::shared_ptr<const Subgroups> rails_;
};

/// Whether a path from the first endpoint to another holds more than `bytes` per round trip, by
/// propagation alone.
bool holds_more(const Topology& topology, std::span<const NodeId> endpoints, Bytes bytes);

}  // namespace weft

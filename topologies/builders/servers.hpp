// SPDX-License-Identifier: Apache-2.0
// Servers: the hosts of a fabric in their order, alike or in groups that differ.
//
// Where it sits: builders read it with read_servers(), number their nodes by it and find the host
// of a node in their Routes.
//
// Model: the parameter host_groups overrides parameters of single hosts or ranges of them,
//   host_groups = "0-3: gpus_per_host=4 nics_per_host=4; 8-11: nic_rate=200Gbps"
// ranges separated by semicolons, in any order, without overlap; hosts that no range names are as
// the other parameters say. What may be overridden: gpus_per_host, nics_per_host and every
// parameter of a server (server.hpp).
//   Nodes: hosts in order, each with its server's node_count() nodes, from node 0 on.
//
// Answers cost a search among the groups, of which there are at most 256.
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <vector>

#include "core/text/param_rows.hpp"
#include "topologies/builders/server.hpp"

namespace weft {

class Servers {
 public:
  /// `hosts` alike.
  Servers(const ServerShape& shape, std::uint32_t hosts);

  /// Hosts first .. first+count-1 are `shape`. Requires: they are hosts, and no earlier call named
  /// them.
  void replace(std::uint32_t first, std::uint32_t count, const ServerShape& shape);
  void set_nic_ports(std::uint32_t ports);  ///< of all hosts

  std::uint32_t host_count() const { return hosts_; }
  std::uint64_t node_count() const { return nodes_; }
  std::uint64_t cable_count() const;  ///< inside hosts and from NICs to the fabric
  std::uint32_t nics_max() const;
  /// Whether GPUs of some host use all its NICs, so that routes have to be searched.
  bool have_any_nic() const;
  /// What hosts are like without host_groups; oversubscription is reckoned with it.
  const ServerShape& usual() const { return usual_; }

  const ServerShape& of(std::uint32_t host) const { return group_of_host(host).shape; }
  std::uint32_t first_node(std::uint32_t host) const;

  struct Place {
    std::uint32_t host;
    std::uint32_t offset;  ///< of the node inside its server
    const ServerShape* shape;
  };
  /// Requires: node < node_count().
  Place locate(std::uint32_t node) const;

  /// NICs of hosts below `host`; host_count() asks for all.
  std::uint32_t nics_before(std::uint32_t host) const;
  /// Hosts below `host` that have a NIC of number `nic`.
  std::uint32_t hosts_with_nic_before(std::uint32_t host, std::uint32_t nic) const;

  /// Adds every server, in order.
  void add_to(TopologyBuilder& builder) const;

 private:
  struct Group {
    std::uint32_t first_host;
    std::uint64_t first_node;
    std::uint64_t first_nic;
    ServerShape shape;
  };
  const Group& group_of_host(std::uint32_t host) const;
  std::uint32_t end_of(std::size_t group) const { return group + 1 < groups_.size() ? groups_[group + 1].first_host : hosts_; }
  void count();

  ServerShape usual_;
  std::uint32_t hosts_;
  std::uint64_t nodes_ = 0;
  std::vector<Group> groups_;  ///< by first host; the first begins at host 0
};

/// What the next parameter fills.
struct HostGroupSettings {
  std::string host_groups;
};

inline constexpr std::array host_groups_param = {
    param<&HostGroupSettings::host_groups>(
        {.name = "host_groups",
         .meaning =
             "Hosts that differ: ranges with their own parameters of a server, such as \"0-3: gpus_per_host=4 nics_per_host=4; 8: "
             "nic_rate=200Gbps\".",
         .origin = "all hosts alike"}),
};

/// Parameters of builders whose hosts may differ.
inline constexpr auto servers_params = join_params(server_params, host_groups_param);

/// The hosts that `params` describes. Throws InputError at `place` as read_server(), and
/// [bad-group] for what is wrong with a range, [unknown-param], [bad-value] and [out-of-range] for
/// what it sets.
Servers read_servers(const ParamSet& params, std::uint32_t hosts, const SourcePlace& place);

}  // namespace weft

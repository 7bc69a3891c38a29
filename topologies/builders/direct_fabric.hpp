// SPDX-License-Identifier: Apache-2.0
// Direct fabric: routers that each have hosts, joined in a regular graph. The common core of torus,
// dragonfly and hyperx.
//
// Where it sits: those builders describe their graph of routers by a RouterGraph and its cables;
// build_direct_fabric() adds the hosts and the structural Routes.
//
// Model: host h is at router h / hosts_per_router; every NIC of it has a cable to that router.
// Routers are packet switches of level 0.
//   A next hop from router r towards router t is every cable to a neighbour n with distance(n, t) =
//   distance(r, t) - 1. The distance is arithmetic on the numbers of the routers, so that no table
//   is needed.
// Numbering: servers in order, then routers; a router's links come in the order "hosts, then other
// routers".
//
// Routing is minimal: routes around load (Valiant, UGAL, adaptive routing) are not modelled, nor
// are virtual channels, which real fabrics of this kind need against deadlock.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/text/param_rows.hpp"
#include "topologies/builders/clos_fabric.hpp"
#include "topologies/builders/servers.hpp"

namespace weft {

/// Cables between routers as a closed form.
class RouterGraph {
 public:
  virtual ~RouterGraph() = default;
  /// Cables on a shortest path between two routers, 0 from a router to itself. Any thread may call
  /// it.
  virtual std::uint32_t distance(std::uint32_t from, std::uint32_t to) const = 0;
};

struct RouterCable {
  std::uint32_t a;
  std::uint32_t b;
  CableShape shape;
};

struct DirectShape {
  Servers servers{{}, 1};
  std::uint32_t routers = 1;  ///< a router has servers.host_count() / routers hosts
  Duration nic_delay;
  Bytes buffer;
};

/// What read_direct() reads; host_fibre stands in the builders' own tables, as its default differs.
struct DirectSettings {
  Length host_fibre;
  Bytes buffer;
};

/// Parameters of hosts at routers, besides host_fibre and those of servers.
inline constexpr std::array direct_params = {
    param<&ServerShape::gpus>({.name = "gpus_per_host",
                               .default_text = "1",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "GPUs in a host.",
                               .origin = "one GPU per host keeps closed forms simple"}),
    param<&ServerShape::nics>({.name = "nics_per_host",
                               .default_text = "1",
                               .minimum = "1",
                               .maximum = "1024",
                               .meaning = "NICs that the GPUs of a host share evenly; all of them go to the host's router.",
                               .origin = "one port per host"}),
    param<&DirectSettings::buffer>({.name = "buffer",
                                    .default_text = default_switch_buffer,
                                    .minimum = "1B",
                                    .meaning = "Shared packet memory of a router.",
                                    .origin = switch_buffer_origin}),
};

/// Reads hosts and buffers. Throws InputError as read_servers(), and [too-large] for more than the
/// builder can number.
DirectShape read_direct(const ParamSet& params, std::uint64_t routers, std::uint64_t hosts_per_router, const SourcePlace& place);

/// Throws InputError [too-large] at `place`.
void check_direct_size(const DirectShape& shape, std::uint64_t router_cables, std::string_view builder, const SourcePlace& place);

/// Requires: check_direct_size() passed; `graph` gives the distances of exactly these cables, and
/// joins all routers.
std::shared_ptr<const Topology> build_direct_fabric(const std::string& name, const DirectShape& shape,
                                                    const std::vector<RouterCable>& cables,
                                                    std::unique_ptr<const RouterGraph> graph, const SourcePlace& place);

}  // namespace weft

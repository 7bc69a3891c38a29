// SPDX-License-Identifier: Apache-2.0
// Topology: the immutable graph that a run happens on - GPUs, NVSwitches, NICs, packet switches and
// the links between.
//
// Where it sits: builders (fat_tree, clos, ...) and readers (topology_reader, formats/) make one
// through a TopologyBuilder; the network model, the hosts and the scheduler only read it.
//
// Model
//   - An endpoint is where a transfer begins or ends: a GPU, or a host's single port when the
//     source says nothing of GPUs. Every endpoint belongs to a host. Ranks are placed on endpoints.
//   - A cable is two directed links, each with a rate of its own, and one propagation delay.
//   - A link may be a wide-area line, which loses packets or delays some more than others.
//   - Traffic between endpoints of one host uses its NVSwitches or direct cables if there is such a
//     path, else its PCIe switches if there is one; all other traffic crosses NICs, PCIe switches
//     and packet switches, never an NVSwitch. No path passes through an endpoint, or through PCIe
//     switches of a host where it neither begins nor ends. Among the paths allowed, those with the
//     fewest links count. `Routes` answers accordingly.
//
// Invariants
//   1. Ids are dense; endpoints(), gpus order and links never change. Endpoint order is host order.
//   2. reverse(reverse(l)) == l; source(reverse(l)) == destination(l); rate > 0; delay >= 0.
//   3. All endpoints are mutually reachable (checked by TopologyBuilder::build).
//   4. Every host has an endpoint; a cable of an NVSwitch or a PCIe switch ends in its own host.
//   5. Both directions of a cable are wide-area lines, or neither.
// Thread safety: immutable after build(); any thread may read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

/// A `host` is a host's single port, where the source says nothing of GPUs. A `pcie_switch` stands
/// for whatever carries PCIe traffic inside a host: switches, bridges and the root complexes of
/// CPUs.
enum class NodeKind : std::uint8_t { gpu, host, nvswitch, nic, pcie_switch, packet_switch };
std::string_view to_text(NodeKind kind);
/// Where a transfer may begin or end.
constexpr bool is_endpoint(NodeKind kind) { return kind == NodeKind::gpu || kind == NodeKind::host; }
/// What may only be cabled to nodes of its own host.
constexpr bool stays_inside(NodeKind kind) { return kind == NodeKind::nvswitch || kind == NodeKind::pcie_switch; }
/// What passes traffic on outside the NVSwitches of a host.
constexpr bool forwards(NodeKind kind) {
  return kind == NodeKind::nic || kind == NodeKind::pcie_switch || kind == NodeKind::packet_switch;
}

class Topology;

/// Next hops on shortest paths. Memory is bounded: computed from structure, or searched per
/// destination and cached in a bounded cache, never a table of all pairs.
class Routes {
 public:
  virtual ~Routes() = default;
  /// Replaces `out` by every link of `at` that lies on a shortest path (fewest links) to endpoint
  /// `destination`, in ascending LinkId order. Empty if there is none. Requires: destination is an
  /// endpoint, at != destination. Any thread may call it.
  virtual void next_hops(const Topology& topology, NodeId at, NodeId destination, std::vector<LinkId>& out) const = 0;
};

/// Name of the buffer class of border routers between sites: their memory is that of another kind
/// of switch.
inline constexpr std::string_view border_buffer_class = "border";

/// A class of switch buffers, used by packet mode.
struct BufferClass {
  std::string name;
  Bytes size;  ///< shared packet memory of one switch
};

struct Node {
  NodeKind kind = NodeKind::packet_switch;
  /// Of a packet switch: 1 = leaf (top of rack), 2 = aggregation, 3 = spine; 0 where unknown.
  std::uint8_t level = 0;
  HostId host = HostId::none();    ///< for everything inside a server
  std::uint16_t buffer_class = 0;  ///< index into buffer_classes()
};

struct Link {
  NodeId source;
  NodeId destination;
  Bandwidth rate;
  Duration propagation_delay;
};

/// What makes a link between sites other than a cable in a building.
struct WideAreaLine {
  double loss = 0;  ///< probability that a packet is lost on this link; from 0 to below 1
  /// Mean of an exponentially distributed delay that comes on top of the link's own.
  Duration jitter;
  friend bool operator==(const WideAreaLine&, const WideAreaLine&) = default;
};

class Topology {
 public:
  const std::string& name() const { return name_; }
  /// Name of the machine that its servers are (builders/server_presets); "" where none was named.
  /// Where servers differ, that of the first.
  const std::string& machine() const { return machine_; }

  std::size_t node_count() const { return nodes_.size(); }
  std::size_t link_count() const { return links_.size(); }
  std::size_t host_count() const { return host_endpoints_begin_.empty() ? 0 : host_endpoints_begin_.size() - 1; }

  const Node& node(NodeId id) const { return nodes_[id.index()]; }
  const Link& link(LinkId id) const { return links_[id.index()]; }
  /// The two directions of a cable are neighbours.
  LinkId reverse(LinkId id) const { return LinkId(id.index() ^ 1U); }
  /// Whether any link is a wide-area line; most topologies have none.
  bool has_wide_area() const { return !wide_area_.empty(); }
  /// Ascending.
  std::span<const std::pair<LinkId, WideAreaLine>> wide_area_lines() const { return wide_area_; }
  /// Null for a link that is none.
  const WideAreaLine* wide_area(LinkId id) const;
  /// What the source called it, else a made name: "host3/gpu0", "host3/nic1", "host3", "leaf34",
  /// "agg7", "spine0", "switch2".
  std::string node_name(NodeId id) const;
  std::string link_name(LinkId id) const;  ///< "a->b"

  /// Links that leave a node, ascending.
  std::span<const LinkId> out_links(NodeId id) const;
  /// All endpoints, host by host.
  std::span<const NodeId> endpoints() const { return endpoints_; }
  /// Endpoints of one host, in local GPU order.
  std::span<const NodeId> endpoints_of(HostId host) const;
  std::span<const BufferClass> buffer_classes() const { return buffer_classes_; }
  /// What the source did not say or Weft cannot hold, and what is taken instead; a sentence each,
  /// to be shown to the user.
  std::span<const std::string> assumptions() const { return assumptions_; }

  const Routes& routes() const { return *routes_; }

 private:
  friend class TopologyBuilder;
  friend std::shared_ptr<const Topology> with_rates(const std::shared_ptr<const Topology>& topology,
                                                    std::span<const std::pair<LinkId, Bandwidth>> rates);
  std::string name_;
  std::string machine_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<std::pair<LinkId, WideAreaLine>> wide_area_;  ///< ascending
  std::vector<std::uint32_t> out_begin_;                    ///< CSR over out_links_
  std::vector<LinkId> out_links_;
  std::vector<NodeId> endpoints_;
  std::vector<std::uint32_t> host_endpoints_begin_;
  std::vector<BufferClass> buffer_classes_;
  std::vector<std::string> assumptions_;
  /// Only where the source gave names; otherwise names are made on demand.
  std::vector<std::string> names_;
  /// Index of a node among its kind and level (and inside its host), for made names.
  std::vector<std::uint32_t> ordinal_;
  std::shared_ptr<const Routes> routes_;
};

/// The same with other rates of some links; routes are those of `topology`, which it keeps alive.
/// Requires: rates > 0.
std::shared_ptr<const Topology> with_rates(const std::shared_ptr<const Topology>& topology,
                                           std::span<const std::pair<LinkId, Bandwidth>> rates);

/// Collects nodes and cables, checks them, and freezes them into a Topology.
class TopologyBuilder {
 public:
  explicit TopologyBuilder(std::string name);

  HostId add_host();
  NodeId add_endpoint(HostId host, NodeKind kind, std::string name = {});  ///< kind gpu or host
  /// Kind nvswitch, nic or pcie_switch.
  NodeId add_inside(HostId host, NodeKind kind, std::string name = {});
  NodeId add_switch(std::uint8_t level, std::string name = {}, std::uint16_t buffer_class = 0);
  std::uint16_t add_buffer_class(BufferClass buffer_class);
  void add_assumption(std::string sentence) { topology_->assumptions_.push_back(std::move(sentence)); }
  /// The first name stands.
  void set_machine(std::string_view name) {
    if (topology_->machine_.empty()) topology_->machine_ = std::string(name);
  }
  /// Both directions. Returns the link from a to b; its reverse is b to a. Requires: a != b, rate >
  /// 0, delay >= 0, and invariant 4.
  LinkId add_cable(NodeId a, NodeId b, Bandwidth rate, Duration propagation_delay) {
    return add_cable(a, b, rate, rate, propagation_delay);
  }
  /// The same with a rate from a to b and one back.
  LinkId add_cable(NodeId a, NodeId b, Bandwidth there, Bandwidth back, Duration propagation_delay);
  /// Makes both directions of a cable wide-area lines. Requires: `cable` is what add_cable()
  /// returned, and no wide-area line yet; 0 <= loss < 1; jitter >= 0.
  void set_wide_area(LinkId cable, const WideAreaLine& there, const WideAreaLine& back);

  std::size_t node_count() const { return topology_->nodes_.size(); }
  std::size_t link_count() const { return topology_->links_.size(); }
  const Node& node(NodeId id) const { return topology_->nodes_[id.index()]; }
  std::uint32_t host_count() const { return host_count_; }

  /// Freezes the graph. Requires: every host has an endpoint. `routes` null means: searched with
  /// Boost.Graph, cached (topologies/searched_routes). Throws InputError at `place`:
  /// [no-endpoints], [disconnected] naming two endpoints without a path.
  std::shared_ptr<const Topology> build(std::unique_ptr<const Routes> routes, const SourcePlace& place) &&;

 private:
  NodeId add_node(const Node& node, std::string name);

  std::unique_ptr<Topology> topology_;
  std::uint32_t host_count_ = 0;
};

}  // namespace weft

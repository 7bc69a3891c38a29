// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/simgrid.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "topologies/formats/platform_graph.hpp"
#include "topologies/formats/route_graph.hpp"
#include "topologies/formats/simgrid_cluster.hpp"
#include "topologies/formats/simgrid_notes.hpp"
#include "topologies/formats/simgrid_platform.hpp"
#include "topologies/formats/simgrid_routes.hpp"
#include "topologies/formats/xml_file.hpp"
#include "topologies/link_limits.hpp"

namespace weft {

namespace {

using Names = std::vector<std::string>;

/// Elements and attributes of the format, and which are passed over.
const Names zone_elements = {"zone",    "AS",           "host",          "router",          "link",  "cluster",
                             "cabinet", "peer",         "backbone",      "host_link",       "route", "zoneRoute",
                             "ASroute", "bypassRoute",  "bypassASroute", "bypassZoneRoute", "trace", "trace_connect",
                             "prop",    "storage_type", "storage",       "config"};

class SimgridReader {
 public:
  SimgridReader(const SourceText& source, Diagnostics& diagnostics)
      : platform_(source, diagnostics),
        routes_(platform_),
        file_(platform_.file),
        diagnostics_(diagnostics),
        graph_(platform_.graph),
        findings_(platform_.findings) {}

  std::shared_ptr<const Topology> build() {
    const pugi::xml_node platform = file_.root();
    const Names attributes = {"version"};
    const Names elements = {"config", "random", "include", "zone", "AS", "cluster", "process", "actor", "trace", "trace_connect"};
    file_.check(platform, attributes, elements);
    check_version(platform);
    for (const char* name : {"random", "include", "process", "actor"}) {
      for (const pugi::xml_node child : platform.children(name)) refuse(child, "keep the platform in one file of its own");
    }
    zones_ = 0;
    for (const pugi::xml_node child : platform.children()) collect_ends(child);
    for (const pugi::xml_node child : platform.children()) {
      if (is_zone(child)) {
        if (++zones_ == 2) {
          diagnostics_.error("unsupported", "there are two zones at the top", file_.place(child),
                             "put them into one zone around them");
        }
        read_zone(child);
      } else if (is(child, "cluster")) {
        read_cluster(child);
      } else if (is(child, "trace") || is(child, "trace_connect")) {
        ++findings_.profiles;
      } else if (is(child, "config")) {
        findings_.settings +=
            static_cast<std::uint64_t>(std::distance(child.children("prop").begin(), child.children("prop").end()));
      }
    }
    for (const auto& [zone, full] : route_zones_) routes_.read(zone, full);
    if (graph_.host_count() == 0 && !diagnostics_.has_errors()) {
      diagnostics_.error("no-hosts", "the platform has no host", file_.place(platform), "write <host .../> or <cluster .../>");
    }
    diagnostics_.throw_if_errors();
    return assemble();
  }

 private:
  static bool is(pugi::xml_node element, std::string_view name) { return element.name() == name; }
  static bool is_zone(pugi::xml_node element) { return is(element, "zone") || is(element, "AS"); }

  void refuse(pugi::xml_node element, const std::string& help) {
    diagnostics_.error("unsupported", fmt::format("<{}> is not supported", element.name()), file_.place(element), help);
  }

  void check_version(pugi::xml_node platform) {
    const auto version = file_.required(platform, "version");
    if (!version || *version == "4" || *version == "4.1") return;
    diagnostics_.error("bad-version", fmt::format("version {} is not known", in_quotes(*version)), file_.place(platform, "version"),
                       "versions 4 and 4.1 are read; SimGrid's tool simgrid_update_xml brings older files up to date");
  }

  /// Notes what routes lead to: a cluster needs to know whether its router is used.
  void collect_ends(pugi::xml_node element) {
    for (const char* attribute : {"src", "dst", "gw_src", "gw_dst"}) {
      const std::string_view name = element.attribute(attribute).value();
      if (!name.empty()) route_ends_.emplace(name);
    }
    for (const pugi::xml_node child : element.children()) collect_ends(child);
  }

  void read_zone(pugi::xml_node zone) {
    const Names attributes = {"id", "routing"};
    file_.check(zone, attributes, zone_elements);
    if (const auto id = file_.required(zone, "id")) platform_.claim(*id, zone, platform_.zone_lines, "zone");
    const std::string routing = file_.required(zone, "routing").value_or("Full");
    const Names known = {"Full", "Floyd", "Dijkstra", "DijkstraCache", "None", "Empty", "Cluster"};
    if (routing == "Vivaldi" || routing == "WIFI" || routing == "Wifi" || routing == "Star" || routing == "ns-3") {
      diagnostics_.error("unsupported", fmt::format("zones of routing {} are not supported", in_quotes(routing)),
                         file_.place(zone, "routing"), "write routes: Full, Floyd, Dijkstra, or clusters");
    } else if (std::find(known.begin(), known.end(), routing) == known.end()) {
      diagnostics_.error("unknown-routing", fmt::format("there is no routing {}", in_quotes(routing)), file_.place(zone, "routing"),
                         suggestion(routing, known, "routing"));
    }
    if (routing == "Cluster") return read_star(zone);
    for (const pugi::xml_node child : zone.children()) {
      if (is_zone(child)) {
        read_zone(child);
      } else if (is(child, "host")) {
        read_host(child);
      } else if (is(child, "router")) {
        read_router(child);
      } else if (is(child, "link")) {
        read_link(child);
      } else if (is(child, "cluster")) {
        read_cluster(child);
      } else if (is(child, "peer")) {
        refuse(child, "write a <host>, its <link> and a <route>");
      } else if (is(child, "cabinet") || is(child, "backbone") || is(child, "host_link")) {
        diagnostics_.error("unsupported", fmt::format("<{}> stands outside a zone of routing Cluster", child.name()),
                           file_.place(child), "give the zone routing=\"Cluster\"");
      } else if (is(child, "bypassRoute") || is(child, "bypassASroute") || is(child, "bypassZoneRoute")) {
        ++findings_.bypasses;
      } else if (is(child, "trace") || is(child, "trace_connect")) {
        ++findings_.profiles;
      }
    }
    route_zones_.emplace_back(zone, routing == "Full");
  }

  void read_host(pugi::xml_node host) {
    const Names attributes = {"id", "speed", "core", "availability_file", "state_file", "speed_file", "coordinates", "pstate"};
    const Names elements = {"prop", "disk", "mount", "storage"};
    file_.check(host, attributes, elements);
    platform_.note_profiles(host);
    const auto id = file_.required(host, "id");
    if (id && platform_.room_for_one(host) && platform_.claim(*id, host, platform_.node_lines, "node"))
      platform_.add_node(*id, graph_.add_host(*id));
  }

  void read_router(pugi::xml_node router) {
    const Names attributes = {"id", "coordinates"};
    const Names elements = {"prop"};
    file_.check(router, attributes, elements);
    const auto id = file_.required(router, "id");
    if (id && platform_.room_for_one(router) && platform_.claim(*id, router, platform_.node_lines, "node"))
      platform_.add_node(*id, graph_.add_switch(*id));
  }

  void read_link(pugi::xml_node link) {
    const Names attributes = {"id", "bandwidth", "latency", "sharing_policy", "bandwidth_file", "latency_file", "state_file"};
    const Names elements = {"prop"};
    file_.check(link, attributes, elements);
    platform_.note_profiles(link);
    const auto id = file_.required(link, "id");
    const auto rate = platform_.rate_of(link, "bandwidth");
    const auto delay = platform_.time_of(link, "latency");
    const SimgridPolicy policy = platform_.policy_of(link, "sharing_policy", SimgridPolicy::shared);
    if (!id || !platform_.claim(*id, link, platform_.link_lines, "link")) return;
    platform_.link_numbers.emplace(*id, static_cast<std::uint32_t>(platform_.links.size()));
    platform_.policies.push_back(policy);
    platform_.links.push_back(
        {*id, rate.value_or(Bandwidth::bps(1)), delay.value_or(Duration::zero()), policy != SimgridPolicy::fat_pipe});
  }

  void read_cluster(pugi::xml_node element) {
    const Names attributes = {"id",
                              "prefix",
                              "suffix",
                              "radical",
                              "speed",
                              "core",
                              "bw",
                              "lat",
                              "sharing_policy",
                              "bb_bw",
                              "bb_lat",
                              "bb_sharing_policy",
                              "topology",
                              "topo_parameters",
                              "router_id",
                              "loopback_bw",
                              "loopback_lat",
                              "limiter_link",
                              "availability_file",
                              "state_file"};
    const Names elements = {"prop"};
    file_.check(element, attributes, elements);
    platform_.note_profiles(element);
    SimgridCluster cluster;
    if (const auto id = file_.required(element, "id")) {
      cluster.name = *id;
      platform_.claim(*id, element, platform_.zone_lines, "zone");
    }
    const auto rate = platform_.rate_of(element, "bw");
    const auto delay = platform_.time_of(element, "lat");
    if (!element.attribute("lat")) file_.required(element, "lat");
    const SimgridPolicy policy = platform_.policy_of(element, "sharing_policy", SimgridPolicy::split_duplex);
    const SimgridPolicy backbone_policy = platform_.policy_of(element, "bb_sharing_policy", SimgridPolicy::shared);
    std::optional<SimgridCluster::Backbone> backbone;
    if (element.attribute("bb_bw")) {
      const auto backbone_rate = platform_.rate_of(element, "bb_bw");
      const auto backbone_delay = platform_.time_of(element, "bb_lat");
      if (backbone_rate && backbone_delay) backbone = {*backbone_rate, *backbone_delay, backbone_policy != SimgridPolicy::fat_pipe};
    }
    read_shape(element, cluster);
    const auto hosts = platform_.hosts_of(element);
    if (!rate || !delay || !hosts) return;
    cluster.hosts = *hosts;
    cluster.rate = *rate;
    cluster.delay = *delay;
    cluster.shared = policy != SimgridPolicy::fat_pipe;
    cluster.backbone = backbone;
    const std::string named = element.attribute("router_id").value();
    cluster.router = !named.empty() ? named
                                    : fmt::format("{}{}_router{}", element.attribute("prefix").value(), cluster.name,
                                                  element.attribute("suffix").value());
    cluster.router_is_named = route_ends_.contains(cluster.router);
    if (element.attribute("limiter_link")) {
      if (const auto limit = platform_.rate_of(element, "limiter_link")) cluster.rate = std::min(cluster.rate, *limit);
      ++findings_.limiters;
    }
    if (element.attribute("loopback_bw")) ++findings_.loopbacks;
    const std::size_t cables_before = graph_.cable_count();
    add(cluster, element);
    // The cables of hosts to the routers of a torus stand for nothing in the file; one behind a
    // flat cluster is its backbone.
    const std::size_t cables = graph_.cable_count() - cables_before;
    const bool is_torus = cluster.shape == SimgridCluster::Shape::torus;
    const bool is_flat = cluster.shape == SimgridCluster::Shape::flat;
    if (!diagnostics_.has_errors())
      findings_.count_policy(policy, is_flat ? cluster.hosts.size() : cables - (is_torus ? cluster.hosts.size() : 0));
  }

  void read_shape(pugi::xml_node element, SimgridCluster& cluster) {
    const std::string shape = element.attribute("topology").value();
    if (shape == "FAT_TREE") {
      cluster.shape = SimgridCluster::Shape::fat_tree;
    } else if (shape == "DRAGONFLY") {
      cluster.shape = SimgridCluster::Shape::dragonfly;
    } else if (shape == "TORUS") {
      cluster.shape = SimgridCluster::Shape::torus;
    } else if (!shape.empty() && shape != "FLAT") {
      const Names known = {"FLAT", "FAT_TREE", "DRAGONFLY", "TORUS"};
      diagnostics_.error("unknown-shape", fmt::format("there is no topology {}", in_quotes(shape)),
                         file_.place(element, "topology"), suggestion(shape, known, "topology"));
    }
    if (cluster.shape == SimgridCluster::Shape::flat) return;
    const auto text = file_.required(element, "topo_parameters");
    if (!text) return;
    std::string_view lists = *text;
    while (true) {
      const std::string_view list = lists.substr(0, lists.find(';'));
      std::vector<std::uint32_t> numbers;
      std::string_view rest = list;
      while (true) {
        const std::string_view part = rest.substr(0, rest.find(','));
        std::uint32_t number = 0;
        const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), number);
        if (error != std::errc() || stop != part.data() + part.size()) {
          diagnostics_.error("bad-value", fmt::format("{} in {} is no whole number", in_quotes(part), in_quotes(*text)),
                             file_.place(element, "topo_parameters"), "numbers stand between \",\" and \";\", without blanks");
          return;
        }
        numbers.push_back(number);
        if (part.size() == rest.size()) break;
        rest.remove_prefix(part.size() + 1);
      }
      cluster.parameters.push_back(std::move(numbers));
      if (list.size() == lists.size()) return;
      lists.remove_prefix(list.size() + 1);
    }
  }

  void add(const SimgridCluster& cluster, pugi::xml_node element) {
    if (diagnostics_.has_errors()) return;
    const std::uint32_t first = graph_.node_count();
    if (const auto error = add_cluster(graph_, cluster)) {
      const bool shaped = error->code != "too-large" && cluster.shape != SimgridCluster::Shape::flat;
      diagnostics_.error(error->code, error->message, shaped ? file_.place(element, "topo_parameters") : file_.place(element),
                         error->help);
      return;
    }
    if (cluster.backbone && cluster.shape == SimgridCluster::Shape::flat) note_backbone(cluster);
    for (std::uint32_t node = first; node < graph_.node_count(); ++node) {
      if (graph_.is_host(node)) platform_.add_node(graph_.name(node), node);
    }
    if (cluster.shape != SimgridCluster::Shape::flat) return;
    for (std::uint32_t node = first; node < graph_.node_count(); ++node) {
      if (graph_.name(node) == cluster.router) platform_.add_node(cluster.router, node);
    }
    platform_.node_lines.emplace(cluster.router, file_.place(element).line);
  }

  void note_backbone(const SimgridCluster& cluster) {
    const std::int64_t limit = cluster.backbone->rate.in_bps();
    const bool could_limit =
        cluster.backbone->shared && limit / static_cast<std::int64_t>(cluster.hosts.size()) < cluster.rate.in_bps();
    if (could_limit) {
      findings_.assumptions.push_back(
          fmt::format("the backbone of cluster {} ({}) adds its delay and caps each host; that all {} hosts of {} together share "
                      "it in SimGrid is lost",
                      in_quotes(cluster.name), to_text(cluster.backbone->rate), cluster.hosts.size(), to_text(cluster.rate)));
    } else if (!cluster.backbone->shared && cluster.backbone->rate < cluster.rate) {
      findings_.assumptions.push_back(
          fmt::format("the FATPIPE backbone of cluster {} does not cap single flows", in_quotes(cluster.name)));
    }
  }

  /// A zone of routing Cluster: hosts with host_link, perhaps a backbone and a router.
  void read_star(pugi::xml_node zone) {
    const Names link_attributes = {"id", "up", "down"};
    const Names backbone_attributes = {"id", "bandwidth", "latency"};
    const Names cabinet_attributes = {"id", "prefix", "suffix", "radical", "speed", "bw", "lat"};
    const Names none;
    SimgridCluster cluster;
    cluster.name = zone.attribute("id").value();
    cluster.router = fmt::format("{}/router", cluster.name);
    for (const pugi::xml_node child : zone.children()) {
      if (is(child, "link")) {
        read_link(child);
      } else if (is(child, "backbone")) {
        file_.check(child, backbone_attributes, none);
        const auto rate = platform_.rate_of(child, "bandwidth");
        const auto delay = platform_.time_of(child, "latency");
        if (rate && delay) cluster.backbone = {*rate, *delay, true};
      } else if (is(child, "router")) {
        cluster.router = file_.required(child, "id").value_or(cluster.router);
      } else if (!is(child, "host") && !is(child, "host_link") && !is(child, "cabinet") && !is(child, "prop")) {
        refuse(child, "a zone of routing Cluster holds hosts, cabinets, links, host_links, a router and a backbone");
      }
    }
    cluster.router_is_named = route_ends_.contains(cluster.router);
    // The star itself, then its hosts, each with rate and delay of its own.
    std::map<std::string, std::pair<Bandwidth, Duration>, std::less<>> cables;
    for (const pugi::xml_node child : zone.children("host_link")) {
      file_.check(child, link_attributes, none);
      const auto host = file_.required(child, "id");
      const auto up = platform_.link_of(child, "up");
      const auto down = platform_.link_of(child, "down");
      if (!host || !up || !down) continue;
      findings_.used_in_stars.insert({*up, *down});
      if (*up == *down) findings_.both_ways_in_stars.insert(*up);
      const RoutedLink& a = platform_.links[*up];
      const RoutedLink& b = platform_.links[*down];
      if (a.rate != b.rate || a.delay != b.delay) ++findings_.unequal;
      if (!cables.emplace(*host, std::pair(std::min(a.rate, b.rate), std::max(a.delay, b.delay))).second) {
        diagnostics_.error("duplicate-route", fmt::format("the host {} has two host_links", in_quotes(*host)),
                           file_.place(child, "id"), "keep one of them");
      }
    }
    if (diagnostics_.has_errors()) return;
    if (graph_.node_count() + 2 > PlatformGraph::nodes_max) return;
    Duration behind;
    const bool has_exit = cluster.backbone && cluster.router_is_named;
    if (cluster.backbone) behind = Duration::ticks(cluster.backbone->delay.in_ticks() / 2);
    const std::uint32_t hub = graph_.add_switch(has_exit ? fmt::format("{}/backbone", cluster.name) : cluster.router, 1);
    std::uint32_t exit = hub;
    if (has_exit) {
      exit = graph_.add_switch(cluster.router);
      graph_.join(hub, exit, cluster.backbone->rate, behind);
    }
    platform_.add_node(cluster.router, exit);
    const auto join = [&](std::uint32_t host, Bandwidth rate, Duration delay) {
      if (cluster.backbone) {
        rate = std::min(rate, cluster.backbone->rate);
        delay = std::min(delay + (cluster.backbone->delay - behind), link_delay_max);
      }
      cluster.hosts.push_back(graph_.name(host));
      cluster.rate = std::max(cluster.rate, rate);
      graph_.join(host, hub, rate, delay);
    };
    for (const pugi::xml_node child : zone.children("host")) {
      read_host(child);
      const std::string id = child.attribute("id").value();
      const auto node = platform_.nodes.find(id);
      const auto cable = cables.find(id);
      if (cable == cables.end()) {
        diagnostics_.error("missing-route", fmt::format("the host {} has no host_link", in_quotes(id)), file_.place(child, "id"),
                           fmt::format("write <host_link id={} up=\"...\" down=\"...\"/>", in_quotes(id)));
      } else if (node != platform_.nodes.end() && !diagnostics_.has_errors()) {
        join(node->second, cable->second.first, cable->second.second);
      }
    }
    for (const pugi::xml_node child : zone.children("cabinet")) {
      file_.check(child, cabinet_attributes, none);
      const auto rate = platform_.rate_of(child, "bw");
      const auto delay = platform_.time_of(child, "lat");
      const auto hosts = platform_.hosts_of(child);
      if (!rate || !delay || !hosts || diagnostics_.has_errors()) continue;
      if (hosts->size() > PlatformGraph::nodes_max - std::min<std::uint64_t>(graph_.node_count(), PlatformGraph::nodes_max)) {
        diagnostics_.error("too-large", "the platform has too many hosts", file_.place(child), "describe a smaller platform");
        continue;
      }
      for (const std::string& host : *hosts) {
        const std::uint32_t node = graph_.add_host(host);
        platform_.add_node(host, node);
        join(node, *rate, *delay);
      }
    }
    if (cluster.backbone && !cluster.hosts.empty()) note_backbone(cluster);
  }

  std::shared_ptr<const Topology> assemble() {
    if (graph_.node_count() + 2 * platform_.links.size() > 2 * PlatformGraph::nodes_max) {
      diagnostics_.error("too-large", fmt::format("there are more than {} hosts, routers and links", PlatformGraph::nodes_max),
                         platform_.source.whole_file(), "describe a smaller platform");
      diagnostics_.throw_if_errors();
    }
    JoinedLinks joined = join_by_routes(graph_, platform_.links, platform_.routes);
    std::vector<std::string> assumptions = simgrid_notes(platform_, joined);
    const std::string name = std::filesystem::path(platform_.source.name()).filename().string();
    PlatformGraph::Built built = graph_.build(name, assumptions, platform_.source.whole_file());
    const RouteComparison comparison = compare_routes(graph_, built, joined, platform_.routes);
    const std::size_t before = assumptions.size();
    add_simgrid_notes(platform_, comparison, assumptions);
    // What the routes of the finished topology are is known now only.
    return assumptions.size() == before ? built.topology : graph_.build(name, assumptions, platform_.source.whole_file()).topology;
  }

  SimgridPlatform platform_;
  SimgridRoutes routes_;
  XmlFile& file_;
  Diagnostics& diagnostics_;
  PlatformGraph& graph_;
  SimgridFindings& findings_;
  std::set<std::string, std::less<>> route_ends_;
  /// With whether the zone lists the route of every pair.
  std::vector<std::pair<pugi::xml_node, bool>> route_zones_;
  int zones_ = 0;
};

}  // namespace

std::shared_ptr<const Topology> import_simgrid(const SourceText& source) {
  Diagnostics diagnostics;
  return SimgridReader(source, diagnostics).build();
}

}  // namespace weft

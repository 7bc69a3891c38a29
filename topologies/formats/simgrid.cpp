#include "topologies/formats/simgrid.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/formats/platform_graph.hpp"
#include "topologies/formats/route_graph.hpp"
#include "topologies/formats/simgrid_cluster.hpp"
#include "topologies/formats/simgrid_units.hpp"
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

enum class Policy : std::uint8_t { shared, split_duplex, fat_pipe };

class Platform {
 public:
  Platform(const SourceText& source, Diagnostics& diagnostics)
      : source_(source),
        file_(source, "platform", "a SimGrid platform", diagnostics, "trace"),
        diagnostics_(diagnostics),
        units_(diagnostics) {}

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
        ++profiles_;
      } else if (is(child, "config")) {
        settings_ += static_cast<std::uint64_t>(std::distance(child.children("prop").begin(), child.children("prop").end()));
      }
    }
    for (const auto& [zone, full] : route_zones_) read_routes(zone, full);
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
    diagnostics_.error("unsupported", "<" + std::string(element.name()) + "> is not supported", file_.place(element), help);
  }

  void check_version(pugi::xml_node platform) {
    const auto version = file_.required(platform, "version");
    if (!version || *version == "4" || *version == "4.1") return;
    diagnostics_.error("bad-version", "version " + in_quotes(*version) + " is not known", file_.place(platform, "version"),
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
    if (const auto id = file_.required(zone, "id")) claim(*id, zone, zone_lines_, "zone");
    const std::string routing = file_.required(zone, "routing").value_or("Full");
    const Names known = {"Full", "Floyd", "Dijkstra", "DijkstraCache", "None", "Empty", "Cluster"};
    if (routing == "Vivaldi" || routing == "WIFI" || routing == "Wifi" || routing == "Star" || routing == "ns-3") {
      diagnostics_.error("unsupported", "zones of routing " + in_quotes(routing) + " are not supported",
                         file_.place(zone, "routing"), "write routes: Full, Floyd, Dijkstra, or clusters");
    } else if (std::find(known.begin(), known.end(), routing) == known.end()) {
      diagnostics_.error("unknown-routing", "there is no routing " + in_quotes(routing), file_.place(zone, "routing"),
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
        diagnostics_.error("unsupported", "<" + std::string(child.name()) + "> stands outside a zone of routing Cluster",
                           file_.place(child), "give the zone routing=\"Cluster\"");
      } else if (is(child, "bypassRoute") || is(child, "bypassASroute") || is(child, "bypassZoneRoute")) {
        ++bypasses_;
      } else if (is(child, "trace") || is(child, "trace_connect")) {
        ++profiles_;
      }
    }
    route_zones_.emplace_back(zone, routing == "Full");
  }

  /// True if the name is new among its kind; an error is added otherwise.
  bool claim(const std::string& name, pugi::xml_node element, std::map<std::string, int, std::less<>>& lines, const char* what) {
    const SourcePlace place = file_.place(element, "id");
    const auto [first, is_new] = lines.emplace(name, place.line);
    if (!is_new) {
      diagnostics_.error("duplicate-name", std::string("there are two ") + what + "s called " + in_quotes(name), place,
                         "the first is at line " + std::to_string(first->second) + "; ids are unique in a platform");
    }
    return is_new;
  }

  void add_node(const std::string& name, std::uint32_t node) { nodes_.emplace(name, node); }

  bool room_for_one(pugi::xml_node element) {
    if (graph_.node_count() < PlatformGraph::nodes_max) return true;
    diagnostics_.error("too-large", "there are more than " + std::to_string(PlatformGraph::nodes_max) + " hosts and routers",
                       file_.place(element), "describe a smaller platform");
    return false;
  }

  void read_host(pugi::xml_node host) {
    const Names attributes = {"id", "speed", "core", "availability_file", "state_file", "speed_file", "coordinates", "pstate"};
    const Names elements = {"prop", "disk", "mount", "storage"};
    file_.check(host, attributes, elements);
    note_profiles(host);
    const auto id = file_.required(host, "id");
    if (id && room_for_one(host) && claim(*id, host, node_lines_, "node")) add_node(*id, graph_.add_host(*id));
  }

  void read_router(pugi::xml_node router) {
    const Names attributes = {"id", "coordinates"};
    const Names elements = {"prop"};
    file_.check(router, attributes, elements);
    const auto id = file_.required(router, "id");
    if (id && room_for_one(router) && claim(*id, router, node_lines_, "node")) add_node(*id, graph_.add_switch(*id));
  }

  void note_profiles(pugi::xml_node element) {
    for (const char* attribute : {"availability_file", "state_file", "speed_file", "bandwidth_file", "latency_file"}) {
      if (element.attribute(attribute)) ++profiles_;
    }
  }

  std::optional<Bandwidth> rate_of(pugi::xml_node element, const char* attribute) {
    if (const auto text = file_.required(element, attribute)) return units_.rate(*text, file_.place(element, attribute));
    return std::nullopt;
  }

  std::optional<Duration> time_of(pugi::xml_node element, const char* attribute) {
    if (!element.attribute(attribute)) return Duration::zero();
    if (const auto text = file_.required(element, attribute)) return units_.time(*text, file_.place(element, attribute));
    return std::nullopt;
  }

  Policy policy_of(pugi::xml_node element, const char* attribute, Policy otherwise) {
    if (!element.attribute(attribute)) return otherwise;
    const std::string text = element.attribute(attribute).value();
    if (text == "SHARED") return Policy::shared;
    if (text == "SPLITDUPLEX") return Policy::split_duplex;
    if (text == "FATPIPE") return Policy::fat_pipe;
    const Names known = {"SHARED", "SPLITDUPLEX", "FATPIPE"};
    if (text == "WIFI") {
      diagnostics_.error("unsupported", "wireless links are not supported", file_.place(element, attribute), "write SHARED");
    } else {
      diagnostics_.error("unknown-policy", "there is no sharing policy " + in_quotes(text), file_.place(element, attribute),
                         suggestion(text, known, "policy"));
    }
    return otherwise;
  }

  void count_policy(Policy policy, std::uint64_t links) {
    if (policy == Policy::shared) half_duplex_ += links;
    if (policy == Policy::fat_pipe) fat_pipes_ += links;
  }

  void read_link(pugi::xml_node link) {
    const Names attributes = {"id", "bandwidth", "latency", "sharing_policy", "bandwidth_file", "latency_file", "state_file"};
    const Names elements = {"prop"};
    file_.check(link, attributes, elements);
    note_profiles(link);
    const auto id = file_.required(link, "id");
    const auto rate = rate_of(link, "bandwidth");
    const auto delay = time_of(link, "latency");
    const Policy policy = policy_of(link, "sharing_policy", Policy::shared);
    if (!id || !claim(*id, link, link_lines_, "link")) return;
    link_numbers_.emplace(*id, static_cast<std::uint32_t>(links_.size()));
    policies_.push_back(policy);
    links_.push_back({*id, rate.value_or(Bandwidth::bps(1)), delay.value_or(Duration::zero()), policy != Policy::fat_pipe});
  }

  /// "0-3,8" as numbers; [bad-radical] if it is none.
  std::optional<std::vector<std::uint64_t>> radical_of(pugi::xml_node element) {
    const auto text = file_.required(element, "radical");
    if (!text) return std::nullopt;
    std::vector<std::uint64_t> numbers;
    std::string_view rest = *text;
    while (true) {
      const std::string_view part = rest.substr(0, rest.find(','));
      std::uint64_t first = 0;
      const char* const end = part.data() + part.size();
      auto [stop, error] = std::from_chars(part.data(), end, first);
      std::uint64_t last = first;
      if (error == std::errc() && stop != end && *stop == '-') {
        const auto second = std::from_chars(stop + 1, end, last);
        stop = second.ptr;
        error = second.ec;
      }
      if (error != std::errc() || stop != end || last < first) {
        diagnostics_.error("bad-radical", in_quotes(*text) + " lists no numbers of hosts", file_.place(element, "radical"),
                           "write ranges and numbers between commas, such as \"0-15,20\"");
        return std::nullopt;
      }
      if (last - first >= PlatformGraph::nodes_max - std::min<std::uint64_t>(numbers.size(), PlatformGraph::nodes_max)) {
        diagnostics_.error("too-large", "the radical lists more than " + std::to_string(PlatformGraph::nodes_max) + " hosts",
                           file_.place(element, "radical"), "describe a smaller platform");
        return std::nullopt;
      }
      for (std::uint64_t number = first;; ++number) {
        numbers.push_back(number);
        if (number == last) break;
      }
      if (part.size() == rest.size()) return numbers;
      rest.remove_prefix(part.size() + 1);
    }
  }

  std::optional<std::vector<std::string>> hosts_of(pugi::xml_node element) {
    const auto radical = radical_of(element);
    if (!radical) return std::nullopt;
    const std::string prefix = element.attribute("prefix").value();
    const std::string suffix = element.attribute("suffix").value();
    if ((prefix.size() + suffix.size()) * radical->size() > names_size_max) {
      diagnostics_.error("too-large", "the names of the hosts are too long together", file_.place(element),
                         "shorten prefix and suffix");
      return std::nullopt;
    }
    std::vector<std::string> hosts;
    for (const std::uint64_t number : *radical) {
      hosts.push_back(prefix + std::to_string(number) + suffix);
      const auto [first, is_new] = node_lines_.emplace(hosts.back(), file_.place(element).line);
      if (is_new) continue;
      diagnostics_.error("duplicate-name", "there are two nodes called " + in_quotes(hosts.back()), file_.place(element, "radical"),
                         "the first is at line " + std::to_string(first->second) + "; ids are unique in a platform");
      return std::nullopt;
    }
    return hosts;
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
    note_profiles(element);
    SimgridCluster cluster;
    if (const auto id = file_.required(element, "id")) {
      cluster.name = *id;
      claim(*id, element, zone_lines_, "zone");
    }
    const auto rate = rate_of(element, "bw");
    const auto delay = time_of(element, "lat");
    if (!element.attribute("lat")) file_.required(element, "lat");
    const Policy policy = policy_of(element, "sharing_policy", Policy::split_duplex);
    const Policy backbone_policy = policy_of(element, "bb_sharing_policy", Policy::shared);
    std::optional<SimgridCluster::Backbone> backbone;
    if (element.attribute("bb_bw")) {
      const auto backbone_rate = rate_of(element, "bb_bw");
      const auto backbone_delay = time_of(element, "bb_lat");
      if (backbone_rate && backbone_delay) backbone = {*backbone_rate, *backbone_delay, backbone_policy != Policy::fat_pipe};
    }
    read_shape(element, cluster);
    const auto hosts = hosts_of(element);
    if (!rate || !delay || !hosts) return;
    cluster.hosts = *hosts;
    cluster.rate = *rate;
    cluster.delay = *delay;
    cluster.shared = policy != Policy::fat_pipe;
    cluster.backbone = backbone;
    const std::string named = element.attribute("router_id").value();
    cluster.router = !named.empty()
                         ? named
                         : element.attribute("prefix").value() + cluster.name + "_router" + element.attribute("suffix").value();
    cluster.router_is_named = route_ends_.contains(cluster.router);
    if (element.attribute("limiter_link")) {
      if (const auto limit = rate_of(element, "limiter_link")) cluster.rate = std::min(cluster.rate, *limit);
      ++limiters_;
    }
    if (element.attribute("loopback_bw")) ++loopbacks_;
    const std::size_t cables_before = graph_.cable_count();
    add(cluster, element);
    // The cables of hosts to the routers of a torus stand for nothing in the file; one behind a flat cluster is its backbone.
    const std::size_t cables = graph_.cable_count() - cables_before;
    const bool is_torus = cluster.shape == SimgridCluster::Shape::torus;
    const bool is_flat = cluster.shape == SimgridCluster::Shape::flat;
    if (!diagnostics_.has_errors())
      count_policy(policy, is_flat ? cluster.hosts.size() : cables - (is_torus ? cluster.hosts.size() : 0));
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
      diagnostics_.error("unknown-shape", "there is no topology " + in_quotes(shape), file_.place(element, "topology"),
                         suggestion(shape, known, "topology"));
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
          diagnostics_.error("bad-value", in_quotes(part) + " in " + in_quotes(*text) + " is no whole number",
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
      if (graph_.is_host(node)) add_node(graph_.name(node), node);
    }
    if (cluster.shape != SimgridCluster::Shape::flat) return;
    for (std::uint32_t node = first; node < graph_.node_count(); ++node) {
      if (graph_.name(node) == cluster.router) add_node(cluster.router, node);
    }
    node_lines_.emplace(cluster.router, file_.place(element).line);
  }

  void note_backbone(const SimgridCluster& cluster) {
    const std::int64_t limit = cluster.backbone->rate.in_bps();
    const bool could_limit =
        cluster.backbone->shared && limit / static_cast<std::int64_t>(cluster.hosts.size()) < cluster.rate.in_bps();
    if (could_limit) {
      assumptions_.push_back("the backbone of cluster " + in_quotes(cluster.name) + " (" + to_text(cluster.backbone->rate) +
                             ") adds its delay and caps each host; that all " + std::to_string(cluster.hosts.size()) +
                             " hosts of " + to_text(cluster.rate) + " together share it in SimGrid is lost");
    } else if (!cluster.backbone->shared && cluster.backbone->rate < cluster.rate) {
      assumptions_.push_back("the FATPIPE backbone of cluster " + in_quotes(cluster.name) + " does not cap single flows");
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
    cluster.router = cluster.name + "/router";
    for (const pugi::xml_node child : zone.children()) {
      if (is(child, "link")) {
        read_link(child);
      } else if (is(child, "backbone")) {
        file_.check(child, backbone_attributes, none);
        const auto rate = rate_of(child, "bandwidth");
        const auto delay = time_of(child, "latency");
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
      const auto up = link_of(child, "up");
      const auto down = link_of(child, "down");
      if (!host || !up || !down) continue;
      used_in_stars_.insert({*up, *down});
      if (*up == *down) both_ways_in_stars_.insert(*up);
      const RoutedLink& a = links_[*up];
      const RoutedLink& b = links_[*down];
      if (a.rate != b.rate || a.delay != b.delay) ++unequal_;
      if (!cables.emplace(*host, std::pair(std::min(a.rate, b.rate), std::max(a.delay, b.delay))).second) {
        diagnostics_.error("duplicate-route", "the host " + in_quotes(*host) + " has two host_links", file_.place(child, "id"),
                           "keep one of them");
      }
    }
    if (diagnostics_.has_errors()) return;
    if (graph_.node_count() + 2 > PlatformGraph::nodes_max) return;
    Duration behind;
    const bool has_exit = cluster.backbone && cluster.router_is_named;
    if (cluster.backbone) behind = Duration::ticks(cluster.backbone->delay.in_ticks() / 2);
    const std::uint32_t hub = graph_.add_switch(has_exit ? cluster.name + "/backbone" : cluster.router, 1);
    std::uint32_t exit = hub;
    if (has_exit) {
      exit = graph_.add_switch(cluster.router);
      graph_.join(hub, exit, cluster.backbone->rate, behind);
    }
    add_node(cluster.router, exit);
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
      const auto node = nodes_.find(id);
      const auto cable = cables.find(id);
      if (cable == cables.end()) {
        diagnostics_.error("missing-route", "the host " + in_quotes(id) + " has no host_link", file_.place(child, "id"),
                           "write <host_link id=" + in_quotes(id) + " up=\"...\" down=\"...\"/>");
      } else if (node != nodes_.end() && !diagnostics_.has_errors()) {
        join(node->second, cable->second.first, cable->second.second);
      }
    }
    for (const pugi::xml_node child : zone.children("cabinet")) {
      file_.check(child, cabinet_attributes, none);
      const auto rate = rate_of(child, "bw");
      const auto delay = time_of(child, "lat");
      const auto hosts = hosts_of(child);
      if (!rate || !delay || !hosts || diagnostics_.has_errors()) continue;
      if (hosts->size() > PlatformGraph::nodes_max - std::min<std::uint64_t>(graph_.node_count(), PlatformGraph::nodes_max)) {
        diagnostics_.error("too-large", "the platform has too many hosts", file_.place(child), "describe a smaller platform");
        continue;
      }
      for (const std::string& host : *hosts) {
        const std::uint32_t node = graph_.add_host(host);
        add_node(host, node);
        join(node, *rate, *delay);
      }
    }
    if (cluster.backbone && !cluster.hosts.empty()) note_backbone(cluster);
  }

  std::optional<std::uint32_t> link_of(pugi::xml_node element, const char* attribute) {
    const auto id = file_.required(element, attribute);
    if (!id) return std::nullopt;
    const auto found = link_numbers_.find(*id);
    if (found != link_numbers_.end()) return found->second;
    // The two directions of a SPLITDUPLEX link have names of their own.
    for (const std::string_view ending : {"_UP", "_DOWN"}) {
      if (!id->ends_with(ending)) continue;
      const auto base = link_numbers_.find(id->substr(0, id->size() - ending.size()));
      if (base != link_numbers_.end() && policies_[base->second] == Policy::split_duplex) return base->second;
    }
    diagnostics_.error("unknown-link", "there is no link " + in_quotes(*id), file_.place(element, attribute),
                       similar(*id, link_lines_, "link"));
    return std::nullopt;
  }

  /// Comparing with every name is slow; errors that will not be shown need no suggestion.
  std::string similar(const std::string& name, const std::map<std::string, int, std::less<>>& lines,
                      const std::string& what) const {
    if (diagnostics_.error_count() >= Diagnostics::kept_errors_max) return {};
    Names known;
    for (const auto& [key, line] : lines) known.push_back(key);
    const std::string best = closest(name, known);
    if (!best.empty())
      return "did you mean " + in_quotes(best) + "? it is defined at line " + std::to_string(lines.find(best)->second);
    return "define the " + what + " before the routes, or correct the name";
  }

  void read_routes(pugi::xml_node zone, bool full) {
    std::uint64_t hosts = 0;
    const std::size_t first = routes_.size();
    for (const pugi::xml_node child : zone.children()) {
      if (is(child, "host")) ++hosts;
      if (is(child, "route")) read_route(child, "src", "dst");
      if (is(child, "zoneRoute") || is(child, "ASroute")) read_zone_route(child);
    }
    if (!full) separate_edges(first);
    if (full) pairs_of_full_zones_ += hosts * (hosts > 0 ? hosts - 1 : 0);
    for (const pugi::xml_node child : zone.children("route")) {
      if (full && is_host_pair(child)) pairs_with_route_ += symmetrical(child, false) ? 2 : 1;
    }
  }

  /// Where SimGrid searches routes (Floyd, Dijkstra), the routes of the file are edges, and a route over several edges crosses their
  /// links one after the other, even the same link twice. A link of several edges is one cable only if no route takes two of them: every two
  /// of their ends have an edge, and two edges together always have more links than one. Otherwise each edge gets a cable of its own.
  /// `first` is the zone's first route.
  void separate_edges(std::size_t first) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
    std::map<std::uint32_t, std::vector<std::size_t>> users;  // routes by link, ascending
    for (std::size_t i = first; i < routes_.size(); ++i) {
      edges.insert(std::minmax({routes_[i].from, routes_[i].to}));
      for (const std::uint32_t link : routes_[i].links) {
        std::vector<std::size_t>& routes = users[link];
        if (routes.empty() || routes.back() != i) routes.push_back(i);
      }
    }
    const auto fewest = [](const ListedRoute& a, const ListedRoute& b) { return a.links.size() < b.links.size(); };
    const auto [shortest, longest] =
        std::minmax_element(routes_.begin() + static_cast<std::ptrdiff_t>(first), routes_.end(), fewest);
    const bool one_is_shortest = shortest != routes_.end() && longest->links.size() < 2 * shortest->links.size();
    for (const auto& [link, routes] : users) {
      if (routes.size() == 1 || (one_is_shortest && each_two_have_an_edge(routes, edges))) continue;
      if (links_[link].shared) ++separated_;
      for (std::size_t i = 1; i < routes.size(); ++i) {
        const auto copy = static_cast<std::uint32_t>(links_.size());
        links_.push_back(links_[link]);
        policies_.push_back(policies_[link]);
        copies_.insert(copy);
        std::vector<std::uint32_t>& of_edge = routes_[routes[i]].links;
        std::replace(of_edge.begin(), of_edge.end(), link, copy);
      }
    }
  }

  bool each_two_have_an_edge(const std::vector<std::size_t>& routes,
                             const std::set<std::pair<std::uint32_t, std::uint32_t>>& edges) const {
    std::set<std::uint32_t> ends;
    for (const std::size_t route : routes) ends.insert({routes_[route].from, routes_[route].to});
    if (ends.size() * (ends.size() - 1) / 2 > edges.size()) return false;
    for (auto a = ends.begin(); a != ends.end(); ++a) {
      for (auto b = std::next(a); b != ends.end(); ++b) {
        if (!edges.contains({*a, *b})) return false;
      }
    }
    return true;
  }

  bool is_host_pair(pugi::xml_node route) const {
    const auto from = nodes_.find(std::string_view(route.attribute("src").value()));
    const auto to = nodes_.find(std::string_view(route.attribute("dst").value()));
    return from != nodes_.end() && to != nodes_.end() && from != to && graph_.is_host(from->second) && graph_.is_host(to->second);
  }

  bool symmetrical(pugi::xml_node route, bool complain) {
    const std::string text = route.attribute("symmetrical").value();
    if (text.empty() || text == "YES" || text == "yes") return true;
    if (text != "NO" && text != "no" && complain) {
      diagnostics_.error("bad-value", "symmetrical is YES or NO, not " + in_quotes(text), file_.place(route, "symmetrical"),
                         "leave it out for YES");
    }
    return false;
  }

  void read_zone_route(pugi::xml_node route) {
    for (const char* attribute : {"src", "dst"}) {
      const auto zone = file_.required(route, attribute);
      if (zone && !zone_lines_.contains(*zone)) {
        diagnostics_.error("unknown-node", "there is no zone " + in_quotes(*zone), file_.place(route, attribute),
                           similar(*zone, zone_lines_, "zone"));
      }
    }
    read_route(route, "gw_src", "gw_dst");
  }

  void read_route(pugi::xml_node element, const char* source, const char* destination) {
    const bool between_zones = std::string_view(source) == "gw_src";
    const Names attributes =
        between_zones ? Names{"src", "dst", "gw_src", "gw_dst", "symmetrical"} : Names{"src", "dst", "symmetrical"};
    const Names elements = {"link_ctn"};
    const Names link_attributes = {"id", "direction"};
    const Names none;
    file_.check(element, attributes, elements);
    ListedRoute route;
    route.both_ways = symmetrical(element, true);
    const auto from = end_of(element, source);
    const auto to = end_of(element, destination);
    for (const pugi::xml_node child : element.children("link_ctn")) {
      file_.check(child, link_attributes, none);
      const std::string direction = child.attribute("direction").value();
      if (!direction.empty() && direction != "UP" && direction != "DOWN" && direction != "NONE") {
        diagnostics_.error("bad-value", "a direction is UP, DOWN or NONE, not " + in_quotes(direction),
                           file_.place(child, "direction"), "leave it out for links that are not SPLITDUPLEX");
      }
      if (const auto link = link_of(child, "id")) route.links.push_back(*link);
    }
    if (!element.child("link_ctn")) {
      diagnostics_.error("empty-route", "the route has no links", file_.place(element), "write <link_ctn id=\"...\"/> for each");
    }
    if (!from || !to || route.links.empty()) return;
    if (*from == *to) {
      ++loopbacks_;
      return;
    }
    route.from = *from;
    route.to = *to;
    if (!between_zones) claim_route(route, element);
    routes_.push_back(std::move(route));
    route_places_.push_back(element);
  }

  void claim_route(const ListedRoute& route, pugi::xml_node element) {
    const int line = file_.place(element).line;
    for (const bool backwards : {false, true}) {
      if (backwards && !route.both_ways) break;
      const auto pair = backwards ? std::pair(route.to, route.from) : std::pair(route.from, route.to);
      const auto [first, is_new] = route_lines_.emplace(pair, line);
      if (is_new) continue;
      diagnostics_.error(
          "duplicate-route",
          "there are two routes from " + in_quotes(graph_.name(pair.first)) + " to " + in_quotes(graph_.name(pair.second)),
          file_.place(element),
          "the first is at line " + std::to_string(first->second) + "; symmetrical=\"NO\" makes a route one-way");
      return;
    }
  }

  std::optional<std::uint32_t> end_of(pugi::xml_node route, const char* attribute) {
    const auto name = file_.required(route, attribute);
    if (!name) return std::nullopt;
    const auto found = nodes_.find(*name);
    if (found != nodes_.end()) return found->second;
    // Of a cluster that is itself in error nothing is known; its own error says enough.
    if (diagnostics_.has_errors() && nodes_.empty()) return std::nullopt;
    diagnostics_.error("unknown-node", "there is no host or router " + in_quotes(*name), file_.place(route, attribute),
                       name->find("_router") != std::string::npos
                           ? "only FLAT clusters have a router, called PREFIX + ID + _router + SUFFIX or as router_id says"
                           : similar(*name, node_lines_, "host or router"));
    return std::nullopt;
  }

  std::shared_ptr<const Topology> assemble() {
    if (graph_.node_count() + 2 * links_.size() > 2 * PlatformGraph::nodes_max) {
      diagnostics_.error("too-large",
                         "there are more than " + std::to_string(PlatformGraph::nodes_max) + " hosts, routers and links",
                         source_.whole_file(), "describe a smaller platform");
      diagnostics_.throw_if_errors();
    }
    JoinedLinks joined = join_by_routes(graph_, links_, routes_);
    note(joined);
    std::vector<std::string> assumptions = assumptions_;
    const std::string name = std::filesystem::path(source_.name()).filename().string();
    PlatformGraph::Built built = graph_.build(name, assumptions, source_.whole_file());
    const RouteComparison comparison = compare_routes(graph_, built, joined, routes_);
    const std::size_t before = assumptions.size();
    note(comparison, assumptions);
    // What the routes of the finished topology are is known now only.
    return assumptions.size() == before ? built.topology : graph_.build(name, assumptions, source_.whole_file()).topology;
  }

  void note(const JoinedLinks& joined) {
    std::set<std::uint32_t> used = used_in_stars_;
    for (const ListedRoute& route : routes_) {
      std::copy_if(route.links.begin(), route.links.end(), std::inserter(used, used.end()),
                   [&](std::uint32_t link) { return !copies_.contains(link); });
    }
    for (const std::uint32_t link : used) {
      const bool one_way =
          policies_[link] == Policy::shared && !joined.is_used_both_ways[link] && !both_ways_in_stars_.contains(link);
      if (!one_way) count_policy(policies_[link], 1);
    }
    if (half_duplex_ > 0) {
      assumptions_.push_back(counted(half_duplex_, "SHARED link has", "SHARED links have") +
                             " the full rate in each direction; in SimGrid both directions share it");
    }
    if (fat_pipes_ > 0) {
      assumptions_.push_back(counted(fat_pipes_, "FATPIPE link is", "FATPIPE links are") +
                             " as wide as all hosts need at once; a single flow is capped by its other links only");
    }
    // Of buses that are FATPIPE the note above says enough.
    std::vector<std::uint32_t> buses;
    std::copy_if(joined.buses.begin(), joined.buses.end(), std::back_inserter(buses),
                 [&](std::uint32_t link) { return links_[link].shared; });
    if (!buses.empty()) {
      std::string names;
      constexpr std::size_t named_max = 3;
      for (std::size_t i = 0; i < std::min(buses.size(), named_max); ++i)
        names += (i == 0 ? "" : ", ") + in_quotes(links_[buses[i]].name);
      if (buses.size() > named_max) names += ", ...";
      assumptions_.push_back(counted(buses.size(), "link that all its users cross", "links that all their users cross") + " (" +
                             names + ") became a switch: every flow has its rate and delay, that they share it together is lost");
    }
    if (separated_ > 0) {
      assumptions_.push_back(counted(separated_, "link", "links") +
                             " of several edges between which routes are searched became one cable per edge: every flow has its "
                             "rate and delay, that the edges share it is lost");
    }
    const std::uint64_t unused = links_.size() - copies_.size() - used.size();
    if (unused > 0) assumptions_.push_back(counted(unused, "link is", "links are") + " in no route and left out");
    if (joined.unequal_directions + unequal_ > 0) {
      assumptions_.push_back(counted(joined.unequal_directions + unequal_, "cable has", "cables have") +
                             " the lower rate and the longer delay of its two directions, which differ in the file");
    }
    const auto left_out = [&](std::uint64_t count, const char* one, const char* many) {
      if (count > 0) assumptions_.push_back(counted(count, one, many) + " left out");
    };
    left_out(bypasses_, "bypass route is", "bypass routes are");
    left_out(settings_, "setting of SimGrid is", "settings of SimGrid are");
    left_out(profiles_, "availability profile is", "availability profiles are");
    left_out(loopbacks_, "loopback is", "loopbacks are");
    if (limiters_ > 0) assumptions_.push_back("limiter links cap each direction of a host, not both together");
    if (graph_.cable_count() > 1) {
      assumptions_.emplace_back(
          "switches and routers add flow.switching_delay to the delays of the file; in SimGrid they take no time, as "
          "with --set=flow.switching_delay=0ns");
    }
    if (units_.without_unit() > 0) {
      assumptions_.push_back(counted(units_.without_unit(), "value has", "values have") +
                             " no unit: rates are Bps and times seconds, as in SimGrid");
    }
    if (pairs_with_route_ < pairs_of_full_zones_) {
      assumptions_.push_back(std::to_string(pairs_of_full_zones_ - pairs_with_route_) + " of " +
                             std::to_string(pairs_of_full_zones_) +
                             " pairs of hosts have no route in the file; here the links of the others join them");
    }
  }

  void note(const RouteComparison& comparison, std::vector<std::string>& assumptions) const {
    if (comparison.other > 0) {
      const ListedRoute& route = routes_[*comparison.first_other];
      assumptions.push_back(std::to_string(comparison.other) + " of " + counted(comparison.compared, "route", "routes") +
                            " between hosts are not taken, such as that of line " +
                            std::to_string(file_.place(route_places_[*comparison.first_other]).line) + " between " +
                            in_quotes(graph_.name(route.from)) + " and " + in_quotes(graph_.name(route.to)) +
                            ": there are ways over fewer links, or a link serves several places");
    }
    if (comparison.spread > 0) {
      assumptions.push_back(std::to_string(comparison.spread) + " of " + counted(comparison.compared, "route", "routes") +
                            " between hosts share their traffic with other ways over as few links");
    }
    if (comparison.left_out > 0) {
      assumptions.push_back(counted(comparison.left_out, "route was", "routes were") + " not compared with those of fewest links");
    }
  }

  static constexpr std::size_t names_size_max = std::size_t{256} << 20;

  const SourceText& source_;
  XmlFile file_;
  Diagnostics& diagnostics_;
  SimgridUnits units_;
  PlatformGraph graph_;
  std::vector<RoutedLink> links_;
  std::vector<Policy> policies_;    ///< per link
  std::set<std::uint32_t> copies_;  ///< links that stand for another one in an edge
  std::vector<ListedRoute> routes_;
  std::vector<pugi::xml_node> route_places_;
  std::map<std::string, std::uint32_t, std::less<>> nodes_;  ///< hosts and routers of the file by name
  std::map<std::string, std::uint32_t, std::less<>> link_numbers_;
  std::map<std::string, int, std::less<>> node_lines_;
  std::map<std::string, int, std::less<>> link_lines_;
  std::map<std::string, int, std::less<>> zone_lines_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> route_lines_;
  std::set<std::string, std::less<>> route_ends_;
  std::set<std::uint32_t> used_in_stars_;
  std::set<std::uint32_t> both_ways_in_stars_;
  std::vector<std::pair<pugi::xml_node, bool>> route_zones_;
  std::vector<std::string> assumptions_;
  int zones_ = 0;
  std::uint64_t half_duplex_ = 0;
  std::uint64_t fat_pipes_ = 0;
  std::uint64_t bypasses_ = 0;
  std::uint64_t profiles_ = 0;
  std::uint64_t settings_ = 0;
  std::uint64_t loopbacks_ = 0;
  std::uint64_t limiters_ = 0;
  std::uint32_t unequal_ = 0;
  std::uint64_t separated_ = 0;
  std::uint64_t pairs_of_full_zones_ = 0;
  std::uint64_t pairs_with_route_ = 0;
};

}  // namespace

std::shared_ptr<const Topology> import_simgrid(const SourceText& source) {
  Diagnostics diagnostics;
  return Platform(source, diagnostics).build();
}

}  // namespace weft

#include "topologies/builders/multi_site.hpp"

#include <charconv>
#include <set>
#include <utility>

#include "topologies/builders/clos.hpp"
#include "topologies/builders/clos_fabric.hpp"
#include "topologies/builders/dual_plane_rail.hpp"
#include "topologies/builders/fat_tree.hpp"
#include "topologies/builders/rail_optimized.hpp"
#include "topologies/builders/single_switch.hpp"
#include "topologies/link_limits.hpp"

namespace weft {

namespace {

constexpr std::array<ParamSpec, 11> kMultiSiteParams = {{
    {"sites", ParamKind::integer, "2", "1", "64", "", "Number of sites.", "the smallest WAN"},
    {"fabric", ParamKind::choice, "rail_optimized", "", "", "single_switch|fat_tree|clos|rail_optimized|dual_plane_rail",
     "Builder of every site.", "the fabric of current GPU clusters"},
    {"fabric_params", ParamKind::text, "", "", "", "", "Parameters of that builder: name=value, separated by blanks or commas.",
     "the builder's own defaults"},
    {"borders_per_site", ParamKind::integer, "1", "1", "64", "", "Border routers of a site, each with its own WAN links.",
     "the simplest WAN"},
    {"border_rate", ParamKind::bandwidth, "400Gbps", "1bps", "1000Tbps", "",
     "Rate between a top-tier switch and a border router, each way.", "the rate of the fabric"},
    {"border_fibre", ParamKind::length, "100m", "0m", "100000km", "",
     "Length of the fibre from the top tier to a border router, at 5 ns per metre.", "assumption: within a building"},
    {"border_buffer", ParamKind::bytes, "8GB", "1B", "", "", "Packet memory of a border router.",
     "high-bandwidth memory of a Broadcom Jericho2 (BCM88690), as routers between data centres have"},
    {"wan_rate", ParamKind::bandwidth, "100Gbps", "1bps", "1000Tbps", "", "Rate of a WAN link, each way.",
     "assumption: one 100G wavelength"},
    {"wan_rtt", ParamKind::duration, "50ms", "0ms", "10s", "", "Round-trip time of a WAN link alone.",
     "5,000 km of fibre at 5 ns per metre, there and back"},
    {"pair_rate", ParamKind::text, "", "", "", "", "Rates of single pairs of sites: 0-1=400Gbps, separated by blanks or commas.",
     "all pairs alike"},
    {"pair_rtt", ParamKind::text, "", "", "", "",
     "Round-trip times of single pairs of sites: 0-2=150ms, separated by blanks or commas.", "all pairs alike"},
}};

using ShapeReader = ClosShape (*)(const ParamSet&, const SourcePlace&);
struct SiteFabric {
  Module<TopologyFactory> module;
  ShapeReader read_shape;
};

SiteFabric site_fabric(std::string_view name) {
  if (name == "single_switch") return {single_switch_module(), single_switch_shape};
  if (name == "fat_tree") return {fat_tree_module(), fat_tree_shape};
  if (name == "clos") return {clos_module(), clos_shape};
  if (name == "dual_plane_rail") return {dual_plane_rail_module(), dual_plane_rail_shape};
  return {rail_optimized_module(), rail_optimized_shape};
}

/// "a=1 b=2,c=3" as pairs. Throws InputError [bad-setting].
std::vector<std::pair<std::string, std::string>> split_settings(const ParamSet& params, std::string_view name,
                                                                const SourcePlace& place) {
  std::vector<std::pair<std::string, std::string>> settings;
  std::string_view rest = params.text(name);
  constexpr std::string_view separators = " ,\t";
  for (;;) {
    const std::size_t begin = rest.find_first_not_of(separators);
    if (begin == std::string_view::npos) return settings;
    rest.remove_prefix(begin);
    const std::string_view item = rest.substr(0, rest.find_first_of(separators));
    rest.remove_prefix(item.size());
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      fail("bad-setting", params.module() + "." + std::string(name) + ": \"" + std::string(item) + "\" is not name=value", place,
           "separate settings by blanks or commas and write no blank inside one");
    }
    settings.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
}

/// Index of pair "a-b" in WanShape::pairs. Throws InputError [bad-pair].
std::size_t pair_index(const std::string& text, std::uint32_t sites, const std::string& param, const SourcePlace& place) {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, a);
  const bool dash = first.ec == std::errc() && first.ptr != end && *first.ptr == '-';
  const auto second = dash ? std::from_chars(first.ptr + 1, end, b) : first;
  if (!dash || second.ec != std::errc() || second.ptr != end || a == b || a >= sites || b >= sites) {
    fail("bad-pair", param + ": \"" + text + "\" is not a pair of sites", place,
         "write two different site numbers from 0 to " + std::to_string(sites - 1) + " with a dash between, such as 0-1");
  }
  if (a > b) std::swap(a, b);
  return std::size_t{a} * (2 * sites - a - 1) / 2 + (b - a - 1);
}

template <class Quantity, class Apply>
void apply_pairs(const ParamSet& params, std::string_view name, std::uint32_t sites,
                 ParsedQuantity<Quantity> (*parse)(std::string_view), Quantity minimum, Quantity maximum, const SourcePlace& place,
                 Apply apply) {
  const std::string param = params.module() + "." + std::string(name);
  std::set<std::size_t> seen;
  for (const auto& [pair, value] : split_settings(params, name, place)) {
    const std::size_t index = pair_index(pair, sites, param, place);
    const ParsedQuantity<Quantity> quantity = parse(value);
    if (!quantity.value) {
      fail("bad-value", param + ": " + quantity.error.message, place, quantity.error.help);
    }
    if (*quantity.value < minimum || *quantity.value > maximum) {
      fail("out-of-range", param + ": " + pair + "=" + value + " is out of range", place,
           "allowed: " + to_text(minimum) + " .. " + to_text(maximum));
    }
    if (!seen.insert(index).second) {
      fail("bad-pair", param + ": the pair " + pair + " is given twice", place, "keep one of the two");
    }
    apply(index, *quantity.value);
  }
}

Duration half(Duration round_trip) { return Duration::ticks(round_trip.in_ticks() / 2); }

std::shared_ptr<const Topology> make_multi_site(const ParamSet& params, const SourcePlace& place) {
  const SiteFabric fabric = site_fabric(params.text("fabric"));
  ParamSet fabric_params(std::string(fabric.module.info.name), fabric.module.info.params);
  for (const auto& [name, value] : split_settings(params, "fabric_params", place)) fabric_params.set(name, value, place);
  const ClosShape shape = fabric.read_shape(fabric_params, place);

  WanShape wan;
  wan.sites = static_cast<std::uint32_t>(params.integer("sites"));
  wan.borders_per_site = static_cast<std::uint32_t>(params.integer("borders_per_site"));
  wan.border = {params.bandwidth("border_rate"), propagation_delay(params.length("border_fibre"))};
  wan.border_buffer = params.bytes("border_buffer");
  wan.pairs.assign(std::size_t{wan.sites} * (wan.sites - 1) / 2, {params.bandwidth("wan_rate"), half(params.duration("wan_rtt"))});
  apply_pairs<Bandwidth>(params, "pair_rate", wan.sites, parse_bandwidth, Bandwidth::bps(1), link_rate_max, place,
                         [&](std::size_t pair, Bandwidth rate) { wan.pairs[pair].rate = rate; });
  apply_pairs<Duration>(params, "pair_rtt", wan.sites, parse_duration, Duration::zero(), Duration::s(10), place,
                        [&](std::size_t pair, Duration rtt) { wan.pairs[pair].delay = half(rtt); });
  check_shape(shape, wan, params.module(), place);
  return build_fabrics("multi_site", shape, wan, place);
}

}  // namespace

Module<TopologyFactory> multi_site_module() {
  return {{"topology", "multi_site",
           "Several equal fabrics joined by WAN links between border routers, with a rate and a round-trip time for all pairs of "
           "sites or "
           "for single ones. The fabric of a site is any other builder's.",
           kMultiSiteParams},
          make_multi_site};
}

}  // namespace weft

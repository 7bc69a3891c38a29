// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/multi_site.hpp"

#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "topologies/builders/clos.hpp"
#include "topologies/builders/clos_fabric.hpp"
#include "topologies/builders/dual_plane_rail.hpp"
#include "topologies/builders/fat_tree.hpp"
#include "topologies/builders/rail_optimized.hpp"
#include "topologies/builders/single_switch.hpp"
#include "topologies/link_limits.hpp"

namespace weft {

namespace {

struct MultiSiteSettings {
  std::uint32_t sites;
  std::string fabric;
  std::string fabric_params;
  std::uint32_t borders_per_site;
  Bandwidth border_rate;
  Length border_fibre;
  Bytes border_buffer;
  Bandwidth wan_rate;
  Duration wan_rtt;
  std::string pair_rate;
  std::string pair_rtt;
};

constexpr std::array multi_site_params = {
    param<&MultiSiteSettings::sites>({.name = "sites",
                                      .default_text = "2",
                                      .minimum = "1",
                                      .maximum = "64",
                                      .meaning = "Number of sites.",
                                      .origin = "the smallest WAN"}),
    param<&MultiSiteSettings::fabric>({.name = "fabric",
                                       .default_text = "rail_optimized",
                                       .choices = "single_switch|fat_tree|clos|rail_optimized|dual_plane_rail",
                                       .meaning = "Builder of every site.",
                                       .origin = "the fabric of current GPU clusters"}),
    param<&MultiSiteSettings::fabric_params>({.name = "fabric_params",
                                              .meaning = "Parameters of that builder: name=value, separated by blanks or commas.",
                                              .origin = "the builder's own defaults"}),
    param<&MultiSiteSettings::borders_per_site>({.name = "borders_per_site",
                                                 .default_text = "1",
                                                 .minimum = "1",
                                                 .maximum = "64",
                                                 .meaning = "Border routers of a site, each with its own WAN links.",
                                                 .origin = "the simplest WAN"}),
    param<&MultiSiteSettings::border_rate>({.name = "border_rate",
                                            .default_text = "400Gbps",
                                            .minimum = "1bps",
                                            .maximum = "1000Tbps",
                                            .meaning = "Rate between a top-tier switch and a border router, each way.",
                                            .origin = "the rate of the fabric"}),
    param<&MultiSiteSettings::border_fibre>(
        {.name = "border_fibre",
         .default_text = "100m",
         .minimum = "0m",
         .maximum = "100000km",
         .meaning = "Length of the fibre from the top tier to a border router, at 5 ns per metre.",
         .origin = "assumption: within a building"}),
    param<&MultiSiteSettings::border_buffer>(
        {.name = "border_buffer",
         .default_text = "8GB",
         .minimum = "1B",
         .meaning = "Packet memory of a border router.",
         .origin = "high-bandwidth memory of a Broadcom Jericho2 (BCM88690), as routers between data centres have"}),
    param<&MultiSiteSettings::wan_rate>({.name = "wan_rate",
                                         .default_text = "100Gbps",
                                         .minimum = "1bps",
                                         .maximum = "1000Tbps",
                                         .meaning = "Rate of a WAN link, each way.",
                                         .origin = "assumption: one 100G wavelength"}),
    param<&MultiSiteSettings::wan_rtt>({.name = "wan_rtt",
                                        .default_text = "50ms",
                                        .minimum = "0ms",
                                        .maximum = "10s",
                                        .meaning = "Round-trip time of a WAN link alone.",
                                        .origin = "5,000 km of fibre at 5 ns per metre, there and back"}),
    param<&MultiSiteSettings::pair_rate>({.name = "pair_rate",
                                          .meaning = "Rates of single pairs of sites: 0-1=400Gbps, separated by blanks or commas.",
                                          .origin = "all pairs alike"}),
    param<&MultiSiteSettings::pair_rtt>(
        {.name = "pair_rtt",
         .meaning = "Round-trip times of single pairs of sites: 0-2=150ms, separated by blanks or commas.",
         .origin = "all pairs alike"}),
};

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
std::vector<std::pair<std::string, std::string>> split_settings(std::string_view rest, const std::string& param,
                                                                const SourcePlace& place) {
  std::vector<std::pair<std::string, std::string>> settings;
  constexpr std::string_view separators = " ,\t";
  for (;;) {
    const std::size_t begin = rest.find_first_not_of(separators);
    if (begin == std::string_view::npos) return settings;
    rest.remove_prefix(begin);
    const std::string_view item = rest.substr(0, rest.find_first_of(separators));
    rest.remove_prefix(item.size());
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      fail("bad-setting", fmt::format("{}: \"{}\" is not name=value", param, item), place,
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
    fail("bad-pair", fmt::format("{}: \"{}\" is not a pair of sites", param, text), place,
         fmt::format("write two different site numbers from 0 to {} with a dash between, such as 0-1", sites - 1));
  }
  if (a > b) std::swap(a, b);
  return std::size_t{a} * (2 * sites - a - 1) / 2 + (b - a - 1);
}

template <class Quantity, class Apply>
void apply_pairs(const std::string& text, const std::string& param, std::uint32_t sites,
                 ParsedQuantity<Quantity> (*parse)(std::string_view), Quantity minimum, Quantity maximum, const SourcePlace& place,
                 Apply apply) {
  std::set<std::size_t> seen;
  for (const auto& [pair, value] : split_settings(text, param, place)) {
    const std::size_t index = pair_index(pair, sites, param, place);
    const ParsedQuantity<Quantity> quantity = parse(value);
    if (!quantity.value) {
      fail("bad-value", fmt::format("{}: {}", param, quantity.error.message), place, quantity.error.help);
    }
    if (*quantity.value < minimum || *quantity.value > maximum) {
      fail("out-of-range", fmt::format("{}: {}={} is out of range", param, pair, value), place,
           fmt::format("allowed: {} .. {}", to_text(minimum), to_text(maximum)));
    }
    if (!seen.insert(index).second) {
      fail("bad-pair", fmt::format("{}: the pair {} is given twice", param, pair), place, "keep one of the two");
    }
    apply(index, *quantity.value);
  }
}

Duration half(Duration round_trip) { return Duration::ticks(round_trip.in_ticks() / 2); }

std::shared_ptr<const Topology> make_multi_site(const ParamSet& params, const SourcePlace& place) {
  const auto settings = filled<MultiSiteSettings>(params);
  const std::string& module = params.module();
  const SiteFabric fabric = site_fabric(settings.fabric);
  ParamSet fabric_params(std::string(fabric.module.info.name), fabric.module.info.params);
  for (const auto& [name, value] : split_settings(settings.fabric_params, fmt::format("{}.fabric_params", module), place))
    fabric_params.set(name, value, place);
  const ClosShape shape = fabric.read_shape(fabric_params, place);

  WanShape wan;
  wan.sites = settings.sites;
  wan.borders_per_site = settings.borders_per_site;
  wan.border = {settings.border_rate, propagation_delay(settings.border_fibre)};
  wan.border_buffer = settings.border_buffer;
  wan.pairs.assign(std::size_t{wan.sites} * (wan.sites - 1) / 2, {settings.wan_rate, half(settings.wan_rtt)});
  apply_pairs<Bandwidth>(settings.pair_rate, fmt::format("{}.pair_rate", module), wan.sites, parse_bandwidth, Bandwidth::bps(1),
                         link_rate_max, place, [&](std::size_t pair, Bandwidth rate) { wan.pairs[pair].rate = rate; });
  apply_pairs<Duration>(settings.pair_rtt, fmt::format("{}.pair_rtt", module), wan.sites, parse_duration, Duration::zero(),
                        Duration::s(10), place, [&](std::size_t pair, Duration rtt) { wan.pairs[pair].delay = half(rtt); });
  check_shape(shape, wan, params.module(), place);
  return build_fabrics("multi_site", shape, wan, place);
}

}  // namespace

Module<TopologyFactory> multi_site_module() {
  return {{"topology", "multi_site",
           "Several equal fabrics joined by WAN links between border routers, with a rate and a round-trip time for all pairs of "
           "sites or "
           "for single ones. The fabric of a site is any other builder's.",
           multi_site_params},
          make_multi_site};
}

}  // namespace weft

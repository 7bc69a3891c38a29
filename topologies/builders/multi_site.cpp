// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/multi_site.hpp"

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
#include "topologies/builders/wan_lines.hpp"

namespace weft {

namespace {

struct MultiSiteSettings {
  WanSettings wan;
  std::string fabric;
  std::string fabric_params;
  std::uint32_t borders_per_site;
  Bandwidth border_rate;
  Length border_fibre;
  Bytes border_buffer;
  std::uint32_t hub_hosts;
  Bandwidth hub_host_rate;
  Duration hub_host_rtt;
};

/// Lines of a mesh are as many as pairs of sites.
constexpr std::uint32_t mesh_sites_max = 64;

constexpr std::array multi_site_params = {
    param<&MultiSiteSettings::wan, &WanSettings::sites>({.name = "sites",
                                                         .default_text = "2",
                                                         .minimum = "1",
                                                         .maximum = "1024",
                                                         .meaning = "Number of sites; a mesh joins at most 64.",
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
    param<&MultiSiteSettings::wan, &WanSettings::form>(
        {.name = "wan",
         .default_text = "mesh",
         .choices = "mesh|hub",
         .meaning = "What joins the sites: a line between every two, or a line from each to one core switch, \"internet\", that is "
                    "never the bottleneck itself.",
         .origin = "leased wavelengths between few sites; many sites meet at the internet"}),
    param<&MultiSiteSettings::wan, &WanSettings::rate>(
        {.name = "wan_rate",
         .default_text = "100Gbps",
         .minimum = "1bps",
         .maximum = "1000Tbps",
         .meaning = "Rate of a WAN line, each way; with wan=hub of a site's line, towards the hub.",
         .origin = "assumption: one 100G wavelength"}),
    param<&MultiSiteSettings::wan, &WanSettings::rate_down>({.name = "wan_rate_down",
                                                             .default_text = "same",
                                                             .minimum = "1bps",
                                                             .maximum = "1000Tbps",
                                                             .meaning = "With wan=hub: rate of a site's line towards the site.",
                                                             .origin = "as wan_rate",
                                                             .word = "same"}),
    param<&MultiSiteSettings::wan, &WanSettings::rtt>(
        {.name = "wan_rtt",
         .default_text = "50ms",
         .minimum = "0ms",
         .maximum = "10s",
         .meaning = "Round-trip time between two sites over WAN lines alone; with wan=hub each of the two lines has half of it.",
         .origin = "5,000 km of fibre at 5 ns per metre, there and back"}),
    param<&MultiSiteSettings::wan, &WanSettings::loss>({.name = "wan_loss",
                                                        .default_text = "0",
                                                        .minimum = "0",
                                                        .maximum = "0.999",
                                                        .meaning = "Probability that a WAN line loses a packet, each way.",
                                                        .origin = "leased wavelengths lose next to none"}),
    param<&MultiSiteSettings::wan, &WanSettings::jitter>(
        {.name = "wan_jitter",
         .default_text = "0ms",
         .minimum = "0ms",
         .maximum = "10s",
         .meaning = "Mean of the exponentially distributed delay that a message has on a WAN line on top of the line's own.",
         .origin = "leased wavelengths have none"}),
    param<&MultiSiteSettings::wan, &WanSettings::pair_rate>(
        {.name = "pair_rate",
         .meaning =
             "With wan=mesh: rates of single pairs of sites, each way or 0-1=400Gbps/100Gbps from 0 to 1 and back, separated "
             "by blanks or commas.",
         .origin = "all pairs alike"}),
    param<&MultiSiteSettings::wan, &WanSettings::pair_rtt>(
        {.name = "pair_rtt",
         .meaning = "With wan=mesh: round-trip times of single pairs of sites: 0-2=150ms, separated by blanks or commas.",
         .origin = "all pairs alike"}),
    param<&MultiSiteSettings::wan, &WanSettings::pair_loss>(
        {.name = "pair_loss",
         .meaning = "With wan=mesh: loss of single pairs of sites, each way or 0-1=0.001/0.01 there and back.",
         .origin = "all pairs alike"}),
    param<&MultiSiteSettings::wan, &WanSettings::pair_jitter>(
        {.name = "pair_jitter",
         .meaning = "With wan=mesh: jitter of single pairs of sites, each way or 0-1=5ms/20ms there and back.",
         .origin = "all pairs alike"}),
    param<&MultiSiteSettings::wan, &WanSettings::site_rate>(
        {.name = "site_rate",
         .meaning = "With wan=hub: rates of single sites' lines, each way or 3=200Mbps/1Gbps towards the hub and towards the site.",
         .origin = "all sites alike"}),
    param<&MultiSiteSettings::wan, &WanSettings::site_rtt>(
        {.name = "site_rtt",
         .meaning = "With wan=hub: round-trip times between single sites and the hub: 3=20ms.",
         .origin = "all sites alike"}),
    param<&MultiSiteSettings::wan, &WanSettings::site_loss>(
        {.name = "site_loss",
         .meaning = "With wan=hub: loss of single sites' lines, each way or 3=0.001/0.01 towards the hub and towards the site.",
         .origin = "all sites alike"}),
    param<&MultiSiteSettings::wan, &WanSettings::site_jitter>(
        {.name = "site_jitter",
         .meaning = "With wan=hub: jitter of single sites' lines, each way or 3=5ms/20ms towards the hub and towards the site.",
         .origin = "all sites alike"}),
    param<&MultiSiteSettings::wan, &WanSettings::rate_spread>(
        {.name = "wan_rate_spread",
         .default_text = "0",
         .minimum = "0",
         .maximum = "3",
         .meaning =
             "Coefficient of variation of the lines' rates, which are then drawn log-normally around wan_rate; lines named by "
             "pair_rate or site_rate are not.",
         .origin = "all lines alike"}),
    param<&MultiSiteSettings::wan, &WanSettings::rtt_spread>(
        {.name = "wan_rtt_spread",
         .default_text = "0",
         .minimum = "0",
         .maximum = "3",
         .meaning =
             "Coefficient of variation of the lines' round-trip times, which are then drawn log-normally around those of wan_rtt; "
             "lines named by pair_rtt or site_rtt are not.",
         .origin = "all lines alike"}),
    param<&MultiSiteSettings::wan, &WanSettings::seed>({.name = "wan_seed",
                                                        .default_text = "1",
                                                        .minimum = "0",
                                                        .meaning = "Seed of what is drawn for lines.",
                                                        .origin = "any number will do"}),
    param<&MultiSiteSettings::hub_hosts>({.name = "hub_hosts",
                                          .default_text = "0",
                                          .minimum = "0",
                                          .maximum = "1024",
                                          .meaning =
                                              "With wan=hub: hosts of one GPU each at the core switch, such as parameter servers; "
                                              "numbered after all sites' hosts.",
                                          .origin = "nobody computes in the core"}),
    param<&MultiSiteSettings::hub_host_rate>({.name = "hub_host_rate",
                                              .default_text = "100Gbps",
                                              .minimum = "1bps",
                                              .maximum = "1000Tbps",
                                              .meaning = "Rate of the cable of a host at the core switch, each way.",
                                              .origin = "assumption: one 100G network card, as cloud servers have"}),
    param<&MultiSiteSettings::hub_host_rtt>({.name = "hub_host_rtt",
                                             .default_text = "1us",
                                             .minimum = "0ns",
                                             .maximum = "10s",
                                             .meaning = "Round trip between a host at the core switch and the switch.",
                                             .origin = "100 m of fibre at 5 ns per metre, there and back"}),
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

/// Throws InputError [out-of-range] or [bad-setting] for what the form of the WAN has not.
void check_form(const MultiSiteSettings& settings, const std::string& module, const SourcePlace& place) {
  if (settings.wan.form == WanForm::hub) return;
  if (settings.wan.sites > mesh_sites_max) {
    fail("out-of-range", fmt::format("{}.sites: a mesh of {} sites has too many lines", module, settings.wan.sites), place,
         fmt::format("at most {} sites, or up to 1024 with wan=hub", mesh_sites_max));
  }
  if (settings.hub_hosts > 0) {
    fail("bad-setting", fmt::format("{}.hub_hosts: with wan=mesh there is no core switch", module), place, "set wan=hub");
  }
}

std::shared_ptr<const Topology> make_multi_site(const ParamSet& params, const SourcePlace& place) {
  const auto settings = filled<MultiSiteSettings>(params);
  const std::string& module = params.module();
  const SiteFabric fabric = site_fabric(settings.fabric);
  ParamSet fabric_params(std::string(fabric.module.info.name), fabric.module.info.params);
  for (const auto& [name, value] : split_settings(settings.fabric_params, fmt::format("{}.fabric_params", module), place))
    fabric_params.set(name, value, place);
  const ClosShape shape = fabric.read_shape(fabric_params, place);

  WanShape wan;
  wan.sites = settings.wan.sites;
  wan.borders_per_site = settings.borders_per_site;
  wan.border = {settings.border_rate, propagation_delay(settings.border_fibre)};
  wan.border_buffer = settings.border_buffer;
  wan.has_hub = settings.wan.form == WanForm::hub;
  check_form(settings, module, place);
  wan.lines = wan_lines(settings.wan, module, place);
  wan.hub_hosts = settings.hub_hosts;
  wan.hub_host = {settings.hub_host_rate, Duration::ticks(settings.hub_host_rtt.in_ticks() / 2)};
  check_shape(shape, wan, params.module(), place);
  return build_fabrics("multi_site", shape, wan, place);
}

}  // namespace

Module<TopologyFactory> multi_site_module() {
  return {
      {"topology", "multi_site",
       "Several equal fabrics joined by WAN lines between border routers, or from border routers to one core switch, with a rate, "
       "a round-trip time, a loss and a jitter for all lines or for single ones. The fabric of a site is any other builder's.",
       multi_site_params},
      make_multi_site};
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/host_defects.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/name_pattern.hpp"
#include "core/text/text_pieces.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

constexpr std::string_view blanks = " \t\n";

/// Calls `add` with the hosts and the value of each item.
template <class Add>
void for_each_host(std::string_view text, const std::string& param, const std::string& example, const Add& add) {
  while (!text.empty()) {
    const std::string_view item = trimmed(next_part(text, ","), blanks);
    const std::size_t colon = item.find(':');
    if (colon == 0 || colon == std::string_view::npos) {
      fail("bad-value", fmt::format("{}: {} is not a host, a colon and a value", param, in_quotes(item)), SourcePlace::named(param),
           fmt::format("write none, or hosts such as {}", example));
    }
    add(std::string(trimmed(item.substr(0, colon), blanks)), trimmed(item.substr(colon + 1), blanks));
  }
}

template <class Quantity>
Quantity read_positive(const ParsedQuantity<Quantity>& parsed, Quantity least, std::string_view text, const std::string& param) {
  if (!parsed.value)
    fail("bad-value", fmt::format("{}: {}", param, parsed.error.message), SourcePlace::named(param), parsed.error.help);
  if (*parsed.value < least) {
    fail("bad-value", fmt::format("{}: {} is too little", param, in_quotes(text)), SourcePlace::named(param),
         fmt::format("at least {}", to_text(least)));
  }
  return *parsed.value;
}

}  // namespace

std::vector<HostDefect> read_slow_hosts(std::string_view text, const std::string& param) {
  std::vector<HostDefect> defects;
  if (text == "none") return defects;
  for_each_host(text, param, "host3:40Gbps", [&](std::string hosts, std::string_view value) {
    defects.push_back({std::move(hosts), read_positive(parse_bandwidth(value), Bandwidth::bps(1000), value, param), std::nullopt});
  });
  return defects;
}

std::vector<HostDefect> read_pausing_hosts(std::string_view text, const std::string& param) {
  std::vector<HostDefect> defects;
  if (text == "none") return defects;
  for_each_host(text, param, "host3:1ms", [&](std::string hosts, std::string_view value) {
    defects.push_back(
        {std::move(hosts), std::nullopt, Time::zero() + read_positive(parse_duration(value), Duration::zero(), value, param)});
  });
  return defects;
}

bool concerns(const HostDefect& defect, const Topology& topology, HostId host) {
  if (matches_pattern(defect.hosts, fmt::format("host{}", host.index()))) return true;
  return std::ranges::any_of(topology.endpoints_of(host),
                             [&](NodeId endpoint) { return matches_pattern(defect.hosts, topology.node_name(endpoint)); });
}

void check_defects(const std::vector<HostDefect>& defects, const Topology& topology, const std::string& param,
                   Diagnostics& diagnostics) {
  for (const HostDefect& defect : defects) {
    std::vector<std::string> known;
    bool is_used = false;
    for (std::uint32_t host = 0; host < topology.host_count() && !is_used; ++host) {
      is_used = concerns(defect, topology, HostId(host));
      known.push_back(fmt::format("host{}", host));
    }
    if (is_used) continue;
    diagnostics.error("unknown-host", fmt::format("{}: {} is no host of {}", param, in_quotes(defect.hosts), topology.name()),
                      SourcePlace::named(param), suggestion(defect.hosts, known, "host"));
  }
}

}  // namespace weft

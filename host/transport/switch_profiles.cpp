// SPDX-License-Identifier: Apache-2.0
#include "host/transport/switch_profiles.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/name_pattern.hpp"
#include "core/text/param_rows.hpp"
#include "core/text/params.hpp"
#include "core/text/text_pieces.hpp"
#include "network/packet/packet.hpp"
#include "topologies/topology.hpp"

namespace weft {

namespace {

/// What a profile may set. Defaults are those of the parameters of all switches.
constexpr std::array profile_settings = {
    param<&SwitchProfile::priority>({.name = "priority",
                                     .default_text = "0",
                                     .minimum = "0",
                                     .maximum = "7",
                                     .meaning = "Priority that the profile is for.",
                                     .origin = "all priorities"}),
    param<&SwitchProfile::buffer>(
        {.name = "buffer", .default_text = "32MB", .minimum = "1B", .meaning = "Packet memory.", .origin = "packet.buffer"}),
    param<&SwitchProfile::alpha>({.name = "alpha",
                                  .default_text = "0.125",
                                  .minimum = "0.001",
                                  .maximum = "64",
                                  .meaning = "Dynamic threshold of lossless priorities.",
                                  .origin = "packet.alpha"}),
    param<&SwitchProfile::lossy_alpha>({.name = "lossy_alpha",
                                        .default_text = "1",
                                        .minimum = "0.001",
                                        .maximum = "64",
                                        .meaning = "Dynamic threshold of lossy priorities.",
                                        .origin = "packet.lossy_alpha"}),
    param<&SwitchProfile::ecn_kmin>({.name = "ecn_kmin",
                                     .default_text = "400kB",
                                     .minimum = "0B",
                                     .maximum = "1GB",
                                     .meaning = "Queue up to which nothing is marked.",
                                     .origin = "packet.ecn_kmin"}),
    param<&SwitchProfile::ecn_kmax>({.name = "ecn_kmax",
                                     .default_text = "1600kB",
                                     .minimum = "0B",
                                     .maximum = "2GB",
                                     .meaning = "Queue above which all is marked.",
                                     .origin = "packet.ecn_kmax"}),
    param<&SwitchProfile::ecn_pmax>({.name = "ecn_pmax",
                                     .default_text = "0.2",
                                     .minimum = "0",
                                     .maximum = "1",
                                     .meaning = "Probability of a mark at ecn_kmax.",
                                     .origin = "packet.ecn_pmax"}),
};

constexpr std::string_view separators = " \t\n,";
constexpr std::string_view profile_hint =
    "write switches, a colon and settings, such as leaf: buffer=64MB alpha=0.25; spine*: ecn_kmin=200kB";

SwitchProfile read_profile(std::string_view text, const std::string& param) {
  const SourcePlace place = SourcePlace::named(param);
  const std::size_t colon = text.find(':');
  const auto fail = [&](const std::string& message) {
    weft::fail("bad-profile", fmt::format("{}: {}", param, message), place, std::string(profile_hint));
  };
  std::string switches;
  if (colon != std::string_view::npos) switches = std::string(trimmed(text.substr(0, colon), separators));
  if (switches.empty()) fail(fmt::format("{} does not say which switches it is for", in_quotes(text)));
  std::vector<ProfileSetting> settings;
  std::string_view rest = trimmed(text.substr(colon + 1), separators);
  while (!rest.empty()) {
    const std::string_view item = next_part(rest, separators);
    rest = trimmed(rest, separators);
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string_view::npos) fail(fmt::format("{} is not name=value", in_quotes(item)));
    settings.push_back({std::string(item.substr(0, equals)), std::string(item.substr(equals + 1)), place});
  }
  SwitchProfile profile = switch_profile(std::move(switches), settings, param);
  const bool sets_priorities = profile.alpha || profile.lossy_alpha || profile.ecn_kmin || profile.ecn_kmax || profile.ecn_pmax;
  if (!profile.buffer && !sets_priorities) fail(fmt::format("{} sets nothing", in_quotes(text)));
  if (profile.buffer && profile.priority)
    fail(fmt::format("{} gives a priority a buffer, which all priorities of a switch share", in_quotes(text)));
  return profile;
}

}  // namespace

SwitchProfile switch_profile(std::string switches, std::span<const ProfileSetting> settings, const std::string& subject) {
  ParamSet params(subject, profile_settings);
  Diagnostics diagnostics;
  for (const ProfileSetting& setting : settings) {
    try {
      params.set(setting.name, setting.value, setting.place);
    } catch (const InputError& error) {
      for (const Diagnostic& found : error.diagnostics()) diagnostics.add(found);
    }
  }
  diagnostics.throw_if_errors();
  SwitchProfile profile;
  profile.switches = std::move(switches);
  fill_given(profile, params);
  return profile;
}

std::vector<SwitchProfile> read_switch_profiles(std::string_view text, const std::string& param) {
  std::vector<SwitchProfile> profiles;
  if (text == "none") return profiles;
  while (!text.empty()) {
    const std::string_view item = trimmed(next_part(text, ";"), separators);
    if (!item.empty()) profiles.push_back(read_profile(item, param));
  }
  return profiles;
}

bool selects(const SwitchProfile& profile, const Topology& topology, NodeId packet_switch) {
  if (!profile.nodes.empty()) return std::binary_search(profile.nodes.begin(), profile.nodes.end(), packet_switch);
  const Node& node = topology.node(packet_switch);
  if (profile.switches == fmt::format("level{}", node.level)) return true;
  const auto classes = topology.buffer_classes();
  if (node.buffer_class < classes.size() && profile.switches == classes[node.buffer_class].name) return true;
  const std::string name = topology.node_name(packet_switch);
  return matches_pattern(profile.switches, name) || matches_pattern(profile.switches, name.substr(name.rfind('/') + 1));
}

void check_profiles(const std::vector<SwitchProfile>& profiles, const Topology& topology, std::uint32_t priorities,
                    const std::string& param, Diagnostics& diagnostics) {
  for (const SwitchProfile& profile : profiles) {
    std::set<std::string> known;
    bool is_used = false;
    for (std::uint32_t i = 0; i < topology.node_count() && !is_used; ++i) {
      const NodeId id(i);
      if (topology.node(id).kind != NodeKind::packet_switch) continue;
      is_used = selects(profile, topology, id);
      known.insert(topology.node_name(id));
      known.insert(fmt::format("level{}", topology.node(id).level));
    }
    if (!is_used) {
      for (const BufferClass& buffer_class : topology.buffer_classes()) known.insert(buffer_class.name);
      const std::vector<std::string> candidates(known.begin(), known.end());
      diagnostics.error("unknown-switch",
                        fmt::format("{}: {} is no switch of {}", param, in_quotes(profile.switches), topology.name()),
                        SourcePlace::named(param), suggestion(profile.switches, candidates, "switch or level"));
    }
    if (profile.priority && *profile.priority >= priorities) {
      diagnostics.error("unknown-priority",
                        fmt::format("{} names priority {}, and switches of this run have {}", param, *profile.priority,
                                    priorities == 1 ? "0 only" : fmt::format("0 to {}", priorities - 1)),
                        SourcePlace::named(param), "leave it out");
    }
  }
}

}  // namespace weft

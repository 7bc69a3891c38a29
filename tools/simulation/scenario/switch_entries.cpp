// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/switch_entries.hpp"

#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "tools/simulation/scenario/entry_fields.hpp"
#include "topologies/switch_tiers.hpp"

namespace weft {

namespace {

std::string selector_of(const scenario::Switches& entry) {
  return entry.has_tier() ? fmt::format("tier {}", entry.tier()) : entry.name();
}

/// What an entry sets; fields are called as the settings of profiles are.
std::vector<ProfileSetting> settings_of(const scenario::Switches& entry, const FieldPlaces& inside) {
  std::vector<ProfileSetting> settings;
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) settings.push_back({name, std::move(value), inside.of(entry, name)});
  };
  add("buffer", entry.buffer());
  add("ecn_kmin", entry.ecn_kmin());
  add("ecn_kmax", entry.ecn_kmax());
  if (entry.has_ecn_pmax()) add("ecn_pmax", fmt::format("{}", entry.ecn_pmax()));
  return settings;
}

class SwitchEntryReader {
 public:
  explicit SwitchEntryReader(const Topology& topology) : topology_(topology), tiers_(switch_tiers(topology)) {}

  SwitchProfile read(const scenario::Switches& entry, const SourcePlace& place, const FieldPlaces& inside) const {
    require(entry.has_tier() != !entry.name().empty(), "switches-content", "switches are named either by their tier or by name",
            place, "give one of the two: tier: 1, or name: \"leaf*\"");
    const std::vector<ProfileSetting> settings = settings_of(entry, inside);
    require(!settings.empty(), "switches-content", "switches get nothing of their own", place,
            "give buffer: \"64MB\", ecn_kmin: \"400kB\", ecn_kmax: \"1600kB\" or ecn_pmax: 0.2");
    SwitchProfile profile = switch_profile(selector_of(entry), settings, "switches");
    std::vector<NodeId> nodes;
    for (std::uint32_t i = 0; i < topology_.node_count(); ++i) {
      const NodeId node(i);
      if (topology_.node(node).kind != NodeKind::packet_switch) continue;
      if (entry.has_tier() ? tiers_[i] == entry.tier() : selects(profile, topology_, node)) nodes.push_back(node);
    }
    if (nodes.empty()) refuse(entry, inside);
    profile.nodes = std::move(nodes);
    return profile;
  }

 private:
  [[noreturn]] void refuse(const scenario::Switches& entry, const FieldPlaces& inside) const {
    std::map<std::uint32_t, std::uint64_t> switches_of_tier;
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < topology_.node_count(); ++i) {
      if (tiers_[i] == 0) continue;
      ++switches_of_tier[tiers_[i]];
      names.push_back(topology_.node_name(NodeId(i)));
    }
    std::string tiers;
    for (const auto& [tier, count] : switches_of_tier) {
      tiers += fmt::format("{}{} ({})", tiers.empty() ? "" : ", ", tier, counted(count, "switch", "switches"));
    }
    if (entry.has_tier()) {
      fail("unknown-switch", fmt::format("{} has no switch of tier {}", topology_.name(), entry.tier()), inside.of(entry, "tier"),
           tiers.empty() ? "it has no packet switch at all" : fmt::format("tiers are {}", tiers));
    }
    fail("unknown-switch", fmt::format("{} has no switch {}", topology_.name(), in_quotes(entry.name())), inside.of(entry, "name"),
         suggestion(entry.name(), names, "switch") + (tiers.empty() ? "" : fmt::format("; tiers are {}", tiers)));
  }

  const Topology& topology_;
  std::vector<std::uint32_t> tiers_;
};

}  // namespace

std::vector<SwitchProfile> read_switch_entries(const scenario::Scenario& scenario, const FieldPlaces& places,
                                               const Topology& topology) {
  const SwitchEntryReader reader(topology);
  std::vector<SwitchProfile> profiles;
  Diagnostics diagnostics;
  for (int i = 0; i < scenario.switches_size(); ++i) {
    try {
      profiles.push_back(
          reader.read(scenario.switches(i), places.of(scenario, "switches", i), places.inside(scenario, "switches", i)));
    } catch (const InputError& error) {
      for (const Diagnostic& found : error.diagnostics()) diagnostics.add(found);
    }
  }
  diagnostics.throw_if_errors();
  return profiles;
}

std::string text_of_switch_entries(const scenario::Scenario& scenario, const FieldPlaces& places) {
  std::string text;
  for (int i = 0; i < scenario.switches_size(); ++i) {
    const scenario::Switches& entry = scenario.switches(i);
    text += fmt::format("{}{}:", text.empty() ? "" : "; ", selector_of(entry));
    for (const ProfileSetting& setting : settings_of(entry, places.inside(scenario, "switches", i))) {
      text += fmt::format(" {}={}", setting.name, setting.value);
    }
  }
  return text;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Switch profiles: settings of packet mode that single switches, levels of switches or priorities
// have of their own, in place of those of all.
//
// Where it sits: host/transport/packet_settings reads `packet.profiles`, a scenario has entries of
// its own (`switches`); host/transport/packet_network asks by switch.
//
// Text: profiles separated by semicolons, each a selector, a colon, and settings separated by
// blanks or commas:
//   leaf: buffer=64MB alpha=0.25; spine*: ecn_kmin=200kB ecn_kmax=800kB;
//   border: priority=1 lossy_alpha=8
// A selector is
//   a buffer class of the topology      builders have one per level: leaf, agg, spine, border
//   a level                             level1, level2, ...
//   a name, or a pattern with * and ?   leaf7, leaf1*; it may leave out what stands before the last
//                                       slash of a name (site0/leaf7)
// With `priority` a profile is for that priority alone; without, for all. Where several name the
// same switch, priority and setting, the last one stands.
// Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

class Topology;

struct SwitchProfile {
  std::string switches;  ///< the selector
  /// these, ascending, whatever the selector says; none: by it
  std::vector<NodeId> nodes = {};
  std::optional<std::uint32_t> priority;  ///< none: all of them
  std::optional<Bytes> buffer;
  std::optional<double> alpha;
  std::optional<double> lossy_alpha;
  std::optional<Bytes> ecn_kmin;
  std::optional<Bytes> ecn_kmax;
  std::optional<double> ecn_pmax;

  bool operator==(const SwitchProfile&) const = default;
  bool is_for(std::uint32_t of) const { return !priority || *priority == of; }
};

/// A setting of a profile, and where it is given.
struct ProfileSetting {
  std::string name;
  std::string value;
  SourcePlace place;
};

/// A profile of these settings; messages call one `subject`.NAME. Throws InputError
/// [unknown-param], [bad-value], [out-of-range] with all that is wrong.
SwitchProfile switch_profile(std::string switches, std::span<const ProfileSetting> settings, const std::string& subject);

/// `text` is "none" or holds profiles. Throws InputError [bad-profile], [unknown-param],
/// [bad-value], [out-of-range], all at parameter `param`.
std::vector<SwitchProfile> read_switch_profiles(std::string_view text, const std::string& param);

/// Whether the profile is for this switch. Requires: it is a packet switch.
bool selects(const SwitchProfile& profile, const Topology& topology, NodeId packet_switch);

/// Reports [unknown-switch] for selectors that no packet switch has, and [unknown-priority] for
/// priorities that are not below `priorities`.
void check_profiles(const std::vector<SwitchProfile>& profiles, const Topology& topology, std::uint32_t priorities,
                    const std::string& param, Diagnostics& diagnostics);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Zone database: the clock changes of a named time zone, as the machine's copy of the IANA database
// has them.
//
// Where it sits: under timestamp.hpp, for the zones that it does not know itself. Read are the
// compiled files (RFC 8536, version 2 and later) below /usr/share/zoneinfo. Which zones there are
// and what is known of them depends on the machine.
//
// Model: a list of instants and the offset from UTC before, between and after them. Left out: the
// rule for times after the last instant, in files 2037; the last offset stays. A file that relies
// on that rule earlier ("slim"), or counts leap seconds ("right/..."), is not taken, and
// ZoneLookup::fault says so.
// Thread safety: values and a pure function of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct ClockChanges {
  std::vector<std::int64_t> at_s;      ///< seconds since 1970 UTC, ascending
  std::vector<std::int64_t> offset_s;  ///< from UTC: [0] before at_s[0], [i] from at_s[i - 1] on
};

struct ZoneLookup {
  std::optional<ClockChanges> changes;
  /// Without changes: what was found instead, as a clause; empty if the database just has no such
  /// zone.
  std::string fault;
  bool is_there = false;  ///< the database has a file of this name
};

/// `folder`: of the database.
ZoneLookup read_zone(std::string_view name, const std::string& folder = "/usr/share/zoneinfo");

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/host_speed_entries.hpp"

#include <string>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "tools/simulation/scenario/host_list.hpp"

namespace weft {

namespace {

constexpr double factor_max = 1000;
constexpr double factor_min = 0.001;

class EntryReader {
 public:
  EntryReader(const FieldPlaces& places, Diagnostics& diagnostics) : places_(places), diagnostics_(diagnostics) {}

  HostSpeedEntry read(const scenario::HostSpeed& entry, std::uint32_t host_count) {
    HostSpeedEntry read;
    read_hosts(entry, host_count, read.hosts);
    const SourcePlace factor = places_.of(entry, "factor");
    if (!entry.has_factor()) {
      diagnostics_.error("missing-field", "host_speed has no factor", factor, "for example factor: 0.8");
    } else if (!(entry.factor() >= factor_min && entry.factor() <= factor_max)) {
      diagnostics_.error("out-of-range", "factor is not within 0.001 and 1000", factor, "0.8 is a host at 80 % of its speed");
    } else {
      read.factor = entry.factor();
    }
    read.from = time_of(entry, "from", entry.from(), Time::zero());
    read.until = time_of(entry, "until", entry.until(), Time::max());
    if (read.from >= read.until) {
      diagnostics_.error("out-of-range", "until is not after from", places_.of(entry, "until"), "drop one, or make it longer");
    }
    return read;
  }

 private:
  void read_hosts(const scenario::HostSpeed& entry, std::uint32_t host_count, std::vector<HostId>& hosts) {
    const SourcePlace place = places_.of(entry, "hosts");
    if (entry.hosts().empty()) {
      diagnostics_.error("missing-field", "host_speed has no hosts", place, "for example hosts: \"0-7,16\"");
      return;
    }
    try {
      hosts = parse_host_list("hosts", entry.hosts(), host_count, place);
    } catch (const InputError& error) {
      for (const Diagnostic& found : error.diagnostics()) diagnostics_.add(found);
    }
  }

  Time time_of(const scenario::HostSpeed& entry, const std::string& field, const std::string& text, Time otherwise) {
    if (text.empty()) return otherwise;
    const ParsedQuantity<Duration> parsed = parse_duration(text);
    if (parsed.value) return Time::zero() + *parsed.value;
    diagnostics_.error("bad-value", fmt::format("{}: {}", field, parsed.error.message), places_.of(entry, field),
                       parsed.error.help);
    return otherwise;
  }

  const FieldPlaces& places_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::vector<HostSpeedEntry> read_host_speeds(const scenario::Scenario& scenario, const FieldPlaces& places,
                                             std::uint32_t host_count) {
  Diagnostics diagnostics;
  std::vector<HostSpeedEntry> entries;
  for (int i = 0; i < scenario.host_speed_size(); ++i) {
    const FieldPlaces inside = places.inside(scenario, "host_speed", i);
    entries.push_back(EntryReader(inside, diagnostics).read(scenario.host_speed(i), host_count));
  }
  diagnostics.throw_if_errors();
  return entries;
}

}  // namespace weft

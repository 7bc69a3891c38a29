// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/collective_rules.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/textproto.hpp"
#include "host/collectives/collective.hpp"
#include "host/rules_file.pb.h"

namespace weft {

namespace {

namespace pb = rules_file;

constexpr CollectiveType last_type = CollectiveType::all_to_all_v;
constexpr InsideLinks last_inside = InsideLinks::pcie;

/// Of all values of an enumeration.
template <class Value, class Name>
std::vector<std::string> names_of(Value last, const Name& name) {
  std::vector<std::string> names;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(last); ++i) names.emplace_back(name(static_cast<Value>(i)));
  return names;
}

template <class Factory>
std::vector<std::string> module_names(std::span<const Module<Factory>> modules) {
  std::vector<std::string> names;
  for (const auto& module : modules) names.emplace_back(module.info.name);
  return names;
}

class RulesReader {
 public:
  RulesReader(FieldPlaces places, Diagnostics& diagnostics)
      : places_(places),
        diagnostics_(diagnostics),
        types_(names_of(last_type, [](CollectiveType type) { return to_text(type); })),
        inside_(names_of(last_inside, [](InsideLinks links) { return to_text(links); })),
        algorithms_(module_names(collective_algorithms())),
        protocols_(module_names(collective_protocols())) {}

  std::vector<CollectiveRule> read(const pb::Rules& file) {
    std::vector<CollectiveRule> rules;
    for (int i = 0; i < file.rule_size(); ++i) {
      rules.push_back(read_rule(file.rule(i), places_.inside(file, "rule", i), places_.of(file, "rule", i)));
    }
    return rules;
  }

 private:
  CollectiveRule read_rule(const pb::Rule& given, const FieldPlaces& inside, const SourcePlace& whole) {
    CollectiveRule rule;
    for (int i = 0; i < given.collective_size(); ++i) {
      const std::optional<std::size_t> type =
          known(given.collective(i), types_, "unknown-collective", "collective", inside.of(given, "collective", i));
      if (type) rule.types.push_back(static_cast<CollectiveType>(*type));
    }
    for (int i = 0; i < given.inside_size(); ++i) {
      const std::optional<std::size_t> links =
          known(given.inside(i), inside_, "bad-value", "value of inside", inside.of(given, "inside", i));
      if (links) rule.inside.push_back(static_cast<InsideLinks>(*links));
    }
    rule.bytes = sizes(given, inside, "bytes", given.bytes_min(), given.bytes_max());
    rule.bytes_per_rank = sizes(given, inside, "bytes_per_rank", given.bytes_per_rank_min(), given.bytes_per_rank_max());
    rule.ranks =
        numbers(given, inside, "ranks", given.has_ranks_min(), given.ranks_min(), given.has_ranks_max(), given.ranks_max());
    rule.hosts =
        numbers(given, inside, "hosts", given.has_hosts_min(), given.hosts_min(), given.has_hosts_max(), given.hosts_max());
    rule.ranks_per_host = numbers(given, inside, "ranks_per_host", given.has_ranks_per_host_min(), given.ranks_per_host_min(),
                                  given.has_ranks_per_host_max(), given.ranks_per_host_max());
    if (given.has_uniform()) rule.uniform = given.uniform();
    if (given.has_power_of_two()) rule.power_of_two = given.power_of_two();
    if (given.has_oversubscribed()) rule.oversubscribed = given.oversubscribed();
    if (given.algorithm().empty() && given.protocol().empty()) {
      diagnostics_.error("missing-field", "the rule chooses nothing", whole, "give it an algorithm, a protocol, or both");
    }
    if (!given.algorithm().empty()) read_algorithm(given, inside, rule);
    if (!given.protocol().empty() &&
        known(given.protocol(), protocols_, "unknown-protocol", "protocol", inside.of(given, "protocol"))) {
      rule.protocol = given.protocol();
    }
    return rule;
  }

  void read_algorithm(const pb::Rule& given, const FieldPlaces& inside, CollectiveRule& rule) {
    const SourcePlace place = inside.of(given, "algorithm");
    const std::optional<std::size_t> number = known(given.algorithm(), algorithms_, "unknown-algorithm", "algorithm", place);
    if (!number) return;
    rule.algorithm = given.algorithm();
    const auto& module = collective_algorithms()[*number];
    const auto algorithm = module.make(ParamSet(rule.algorithm, module.info.params));
    for (const CollectiveType type : rule.types) {
      if (algorithm->supports(type)) continue;
      diagnostics_.error("unsupported-collective", fmt::format("{} does not carry out {}", rule.algorithm, to_text(type)), place,
                         "let the rule name collectives that it does, or none: then it is for those that it can carry out");
    }
  }

  /// Index of the name.
  std::optional<std::size_t> known(const std::string& name, const std::vector<std::string>& names, const std::string& code,
                                   const std::string& noun, const SourcePlace& place) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    diagnostics_.error(code, fmt::format("there is no {} {}", noun, in_quotes(name)), place, suggestion(name, names, noun));
    return {};
  }

  std::int64_t size(const pb::Rule& given, const FieldPlaces& inside, const std::string& field, const std::string& text,
                    std::int64_t without) {
    if (text.empty()) return without;
    const ParsedQuantity<Bytes> parsed = parse_bytes(text);
    if (parsed.value && *parsed.value >= Bytes::zero()) return parsed.value->count();
    diagnostics_.error("bad-value", parsed.value ? "a size is not below 0" : parsed.error.message, inside.of(given, field),
                       parsed.value ? "" : parsed.error.help);
    return without;
  }

  RuleRange sizes(const pb::Rule& given, const FieldPlaces& inside, const std::string& what, const std::string& minimum,
                  const std::string& maximum) {
    RuleRange range;
    range.minimum = size(given, inside, fmt::format("{}_min", what), minimum, range.minimum);
    range.maximum = size(given, inside, fmt::format("{}_max", what), maximum, range.maximum);
    return checked(range, given, inside, what, to_text(Bytes::of(range.minimum)));
  }

  RuleRange numbers(const pb::Rule& given, const FieldPlaces& inside, const std::string& what, bool has_minimum,
                    std::uint32_t minimum, bool has_maximum, std::uint32_t maximum) {
    RuleRange range;
    if (has_minimum) range.minimum = minimum;
    if (has_maximum) range.maximum = maximum;
    if (has_maximum && maximum == 0) {
      diagnostics_.error("out-of-range", fmt::format("no group has 0 {}", what), inside.of(given, fmt::format("{}_max", what)),
                         "write 1 or more");
      return {};
    }
    return checked(range, given, inside, what, fmt::to_string(minimum));
  }

  RuleRange checked(const RuleRange& range, const pb::Rule& given, const FieldPlaces& inside, const std::string& what,
                    const std::string& minimum) {
    if (range.minimum <= range.maximum) return range;
    diagnostics_.error("out-of-range", fmt::format("{}_max is below {}_min, which is {}", what, what, minimum),
                       inside.of(given, fmt::format("{}_max", what)),
                       "no request could meet the rule; both bounds belong to the range");
    return {};
  }

  FieldPlaces places_;
  Diagnostics& diagnostics_;
  std::vector<std::string> types_;
  std::vector<std::string> inside_;
  std::vector<std::string> algorithms_;
  std::vector<std::string> protocols_;
};

bool among(const auto& listed, auto value) {
  return listed.empty() || std::find(listed.begin(), listed.end(), value) != listed.end();
}

}  // namespace

bool CollectiveRule::holds(const CollectiveRequest& request) const {
  const GroupLayout& layout = *request.layout;
  if (!among(types, request.type) || !among(inside, layout.inside())) return false;
  const std::int64_t size = request.whole_buffer().count();
  const std::int64_t n = request.ranks();
  // A share that is no whole number of bytes lies between two: above the one, below the other.
  const bool share_holds = size / n >= bytes_per_rank.minimum && size / n + (size % n > 0 ? 1 : 0) <= bytes_per_rank.maximum;
  if (!bytes.holds(size) || !share_holds || !ranks.holds(n) || !hosts.holds(layout.host_count())) return false;
  if (uniform && *uniform != (layout.ranks_per_host() > 0)) return false;
  if (power_of_two && *power_of_two != std::has_single_bit(request.ranks())) return false;
  if (oversubscribed && *oversubscribed != (layout.hardware().oversubscription > 1)) return false;
  for (std::uint32_t host = 0; host < layout.host_count(); ++host) {
    if (!ranks_per_host.holds(layout.members_of_host(host))) return false;
    if (layout.ranks_per_host() > 0) break;  // the others have as many
  }
  return true;
}

CollectiveRules::CollectiveRules(std::vector<CollectiveRule> first, const std::vector<CollectiveRule>& second)
    : rules_(std::move(first)) {
  rules_.insert(rules_.end(), second.begin(), second.end());
}

const std::string* CollectiveRules::find_algorithm(const CollectiveRequest& request,
                                                   const std::function<bool(const std::string&)>& can) const {
  for (const CollectiveRule& rule : rules_) {
    if (!rule.algorithm.empty() && rule.holds(request) && can(rule.algorithm)) return &rule.algorithm;
  }
  return nullptr;
}

const std::string* CollectiveRules::find_protocol(const CollectiveRequest& request, std::string_view algorithm) const {
  for (const CollectiveRule& rule : rules_) {
    const bool fits = rule.algorithm.empty() || rule.algorithm == algorithm;
    if (!rule.protocol.empty() && fits && rule.holds(request)) return &rule.protocol;
  }
  return nullptr;
}

const std::string& CollectiveRules::algorithm(const CollectiveRequest& request,
                                              const std::function<bool(const std::string&)>& can) const {
  const std::string* const found = find_algorithm(request, can);
  WEFT_CHECK(found != nullptr, "the last rules have no conditions");
  return *found;
}

const std::string& CollectiveRules::protocol(const CollectiveRequest& request, std::string_view algorithm) const {
  const std::string* const found = find_protocol(request, algorithm);
  WEFT_CHECK(found != nullptr, "the last rules have no conditions");
  return *found;
}

std::vector<CollectiveRule> read_collective_rules(const SourceText& source) {
  source.require_utf8_text("table of rules");
  pb::Rules file;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, file, diagnostics);
  diagnostics.throw_if_errors();
  if (file.rule_size() == 0) {
    diagnostics.error("no-rules", "the file has no rule", source.whole_file(), "write rule { algorithm: \"ring\" }, for example");
  }
  std::vector<CollectiveRule> rules = RulesReader(document.places(), diagnostics).read(file);
  diagnostics.throw_if_errors();
  return rules;
}

}  // namespace weft

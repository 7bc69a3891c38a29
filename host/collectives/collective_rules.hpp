// SPDX-License-Identifier: Apache-2.0
// Collective rules: a table that says which algorithm and which protocol fit a collective, by its
// size, its ranks and where they are.
//
// Where it sits: the collective library asks it where `auto` is chosen (collective.all_reduce =
// auto and so on). Rules are a file in protobuf text format (rules_file.proto). Those built in are
// host/collectives/built_in_rules.textproto, whose comments say where each threshold comes from;
// `weft modules --rules` prints it.
//
// Model: the first rule whose conditions hold and whose algorithm can carry out the request stands.
// A rule that names no protocol leaves it to later rules; one that names no algorithm is for any.
// What is chosen depends on the request and its group's layout, never on what else runs, so that
// equal requests are carried out alike wherever they occur.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/source_text.hpp"
#include "host/collectives/collective_request.hpp"

namespace weft {

/// From minimum to maximum, both included.
struct RuleRange {
  std::int64_t minimum = 0;
  std::int64_t maximum = std::numeric_limits<std::int64_t>::max();
  bool holds(std::int64_t value) const { return minimum <= value && value <= maximum; }
};

struct CollectiveRule {
  std::vector<CollectiveType> types;  ///< empty: all
  RuleRange bytes;
  RuleRange bytes_per_rank;  ///< compared without rounding
  RuleRange ranks;
  RuleRange hosts;
  RuleRange ranks_per_host;  ///< every host's
  std::optional<bool> uniform;
  std::optional<bool> power_of_two;
  std::optional<bool> oversubscribed;  ///< leafs have more below than above
  std::vector<InsideLinks> inside;     ///< empty: any
  std::string algorithm;               ///< "" leaves it open
  std::string protocol;                ///< "" leaves it open

  /// Whether its conditions hold.
  bool holds(const CollectiveRequest& request) const;
};

class CollectiveRules {
 public:
  /// The first of two tables goes before the second.
  CollectiveRules(std::vector<CollectiveRule> first, const std::vector<CollectiveRule>& second);

  /// Rules that may leave something open.
  explicit CollectiveRules(std::vector<CollectiveRule> rules) : rules_(std::move(rules)) {}

  /// Null where no rule that holds names an algorithm that can, or names a protocol.
  const std::string* find_algorithm(const CollectiveRequest& request, const std::function<bool(const std::string&)>& can) const;
  const std::string* find_protocol(const CollectiveRequest& request, std::string_view algorithm) const;

  /// `can` tells whether an algorithm carries out the request. Requires: some rule without
  /// conditions names an algorithm that can.
  const std::string& algorithm(const CollectiveRequest& request, const std::function<bool(const std::string&)>& can) const;
  /// The protocol for a request that is carried out by `algorithm`. Requires: some rule without
  /// conditions names a protocol and no algorithm.
  const std::string& protocol(const CollectiveRequest& request, std::string_view algorithm) const;

 private:
  std::vector<CollectiveRule> rules_;
};

/// Throws InputError with every error of the file: those of core/text/textproto, [no-rules],
/// [unknown-collective], [unknown-algorithm], [unknown-protocol], [unsupported-collective],
/// [missing-field], [bad-value], [out-of-range].
std::vector<CollectiveRule> read_collective_rules(const SourceText& source);

/// Their text, as a file. One of the rules has no conditions and an algorithm for every type, the
/// last none and a protocol.
std::string_view built_in_rules_text();

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Prices: what the parts of a topology cost and draw, by a table that the user gives.
//
// Where it sits: read from a file that a study names (prices.proto); the study's runner adds up
// each run's topology, so that metrics such as "prices.cost" stand beside what it performs.
// Model: each part is the cheapest entry of its kind that does for it, of equal ones the one with
// fewer watts. Switches: packet switches, by the rates of all their cables together. Cables: those
// that end at a packet switch, once for both directions; 5 ns are a metre. Network cards: NICs, and
// ends of hosts without NICs, by the rates of their cables to packet switches.
// Units: a currency of the user's choice; watts as the table means them, peak or mean.
// Threads: values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/units.hpp"
#include "topologies/topology.hpp"

namespace weft {

struct Price {
  double cost = 0;
  double watts = 0;
};

struct Prices {
  struct Entry {
    double rate_bps = 0;          ///< it does for up to
    Duration reach = Duration();  ///< of a cable, as propagation delay; 0: any
    Price price = {};
  };
  std::string file;
  std::vector<Entry> switches;
  std::vector<Entry> cables;
  std::vector<Entry> nics;
  Price host = {};
};

/// What a topology comes to.
struct PricedTopology {
  Price fabric;  ///< switches and cables
  Price nics;
  Price all;  ///< hosts, too
};

/// Throws InputError: what the text format's reader does, [bad-value], [out-of-range],
/// [missing-field].
Prices read_prices(const std::string& path);

/// Throws InputError [no-price] of a part that no entry does for.
PricedTopology priced(const Topology& topology, const Prices& prices);

}  // namespace weft

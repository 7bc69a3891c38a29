// SPDX-License-Identifier: Apache-2.0
// Published collectives: times that others published of nccl-tests and rccl-tests, mostly across
// hosts, beside what Weft simulates for them.
//
// Where it sits: published_collectives_test asserts the errors; the program measured_collectives
// prints the table of README.md, which lists the sources.
//
// published_collectives.csv holds numbers alone: source, machine, hosts and their GPUs and NICs,
// collective, size as nccl-tests counts it (the whole buffer) and time, the faster of out of place
// and in place. Weft runs each on hosts of that machine in a rail-optimized fabric, one host by
// itself, with as many GPUs and NICs of that rate; nothing else is set. No constant was fitted to
// rows with `fitted` = no; sets with both are fitted at every second size, or at one.
#pragma once

#include <string>
#include <vector>

#include "measured_collectives.hpp"

namespace weft {

struct PublishedCollectives {
  std::string source;
  std::string machine;
  unsigned hosts = 1;
  unsigned gpus_per_host = 8;
  unsigned nics_per_host = 8;
  unsigned nic_gbps = 400;
  std::string collective;
  /// by size, not simulated yet; held out unless `fitted` = yes
  std::vector<CollectiveTime> times;
};

/// All rows, one set after the other as they stand in the file.
std::vector<PublishedCollectives> published_collectives();

/// The set's times, simulated.
std::vector<CollectiveTime> simulate(const PublishedCollectives& set);

/// The Markdown table of all sets, with a final newline.
std::string published_collectives_table();

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Says what a topology and a workload hold and which scheduling policies there are, as the
// libraries of an installed Weft tell.
#include <iostream>

#include "scheduler/policies/policy.hpp"
#include "topologies/topology_reader.hpp"
#include "topologies/topology_summary.hpp"
#include "workloads/dag/summary.hpp"
#include "workloads/formats/workload_reader.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::cout << "gpus " << weft::summarize(*weft::load_topology(argv[1], "weft")).gpus << "\n"
            << "ranks " << weft::summarise(weft::load_workload(argv[2], "weft")).ranks << "\n"
            << "policies";
  for (const auto& policy : weft::scheduling_policies()) std::cout << " " << policy.info.name;
  std::cout << "\n";
}

// SPDX-License-Identifier: Apache-2.0
// Prints the tables of measured and of published collectives that stand in README.md.
#include <iostream>

#include "core/text/diagnostics.hpp"
#include "measured_collectives.hpp"
#include "published_collectives.hpp"
#include "scenario_run.hpp"

int main() {
  for (const weft::MeasuredCollectives& set : weft::measured_collectives()) {
    if (!weft::real_data(std::string(set.file)).empty()) continue;
    std::cerr << "no " << set.file << " in ../shared/data\n";
    return 2;
  }
  std::cout << weft::measured_collectives_table();
  std::cout << "\nPublished by others; nothing was fitted to them but where it says (fitted):\n\n"
            << weft::published_collectives_table();
}

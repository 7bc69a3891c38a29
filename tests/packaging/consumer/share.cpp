// SPDX-License-Identifier: Apache-2.0
// Rates of two flows that share a link of 100, one of which may take 30 at most, with the installed
// solver: 30 and 70.
#include <iostream>

#include "network/max_min/max_min_solver.hpp"

int main() {
  weft::MaxMinSolver solver({100.0}, {});
  const weft::LinkId link(0);
  const auto first = solver.add_flow({.links = {&link, 1}, .cap = 30.0});
  const auto second = solver.add_flow({.links = {&link, 1}});
  solver.update();
  std::cout << solver.rate(first) << " " << solver.rate(second) << "\n";
}

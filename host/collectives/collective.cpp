// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/collective.hpp"

#include <array>

#include "host/collectives/bruck.hpp"
#include "host/collectives/direct.hpp"
#include "host/collectives/double_binary_tree.hpp"
#include "host/collectives/halving_doubling.hpp"
#include "host/collectives/hierarchical.hpp"
#include "host/collectives/nvls.hpp"
#include "host/collectives/nvls_tree.hpp"
#include "host/collectives/pairwise.hpp"
#include "host/collectives/program.hpp"
#include "host/collectives/ring.hpp"
#include "host/collectives/sharp.hpp"

namespace weft {

std::span<const Module<CollectiveAlgorithmFactory>> collective_algorithms() {
  static const std::array<Module<CollectiveAlgorithmFactory>, 11> modules = {ring_algorithm(),
                                                                             direct_algorithm(),
                                                                             double_binary_tree_algorithm(),
                                                                             halving_doubling_algorithm(),
                                                                             bruck_algorithm(),
                                                                             pairwise_algorithm(),
                                                                             hierarchical_algorithm(),
                                                                             nvls_algorithm(),
                                                                             nvls_tree_algorithm(),
                                                                             sharp_algorithm(),
                                                                             program_algorithm()};
  return modules;
}

}  // namespace weft

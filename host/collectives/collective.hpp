// SPDX-License-Identifier: Apache-2.0
// Collective algorithms: ways to carry out a collective, chosen by name.
//
// Where it sits: the collective library (host/collectives/collective_library) picks an algorithm
// for each request and keeps the plan that it compiles.
//
// Adding one: a file that implements CollectiveAlgorithm, and a line in collective_algorithms().
// Thread safety: algorithms are immutable.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/text/params.hpp"
#include "host/collectives/collective_program.hpp"

namespace weft {

class CollectiveAlgorithm {
 public:
  virtual ~CollectiveAlgorithm() = default;
  virtual bool supports(CollectiveType type) const = 0;
  /// Why this request, of a type that it supports, cannot be carried out; "" if it can.
  virtual std::string objection(const CollectiveRequest&) const { return {}; }
  /// Requires: request.ranks() >= 2, supports(request.type), no objection.
  virtual CollectivePlan compile(const CollectiveRequest& request) const = 0;
};

using CollectiveAlgorithmFactory = std::unique_ptr<CollectiveAlgorithm> (*)(const ParamSet& params);
/// All algorithms, by name.
std::span<const Module<CollectiveAlgorithmFactory>> collective_algorithms();

}  // namespace weft

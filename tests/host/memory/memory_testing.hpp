// SPDX-License-Identifier: Apache-2.0
// Models and plans by name, for tests of memory.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft::memory_testing {

inline SourcePlace test_place() { return SourcePlace::named("test"); }

inline TransformerModel model_named(const std::string& name) { return *load_model(name, test_place()).transformer(); }

inline ParallelPlan plan_named(const std::string& name, const TransformerModel& model, std::vector<std::string> settings = {},
                               std::optional<std::uint64_t> gpus = {}) {
  return load_plan({.name = name, .overrides = std::move(settings), .gpus = gpus}, model, test_place());
}

/// Six small layers of grouped queries with gated MLPs.
inline TransformerModel small_model(const std::string& more = "") {
  const SourceText text("test",
                        "transformer { layers: 12 hidden: 64 vocabulary: 1000 sequence: 128 attention { heads: 8 "
                        "key_value_heads: 4 } mlp { width: 192 activation: SWIGLU } norm: RMS_NORM positions { kind: ROTARY } " +
                            more + " }");
  return *read_model(text).transformer();
}

}  // namespace weft::memory_testing

// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/operator_clock.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

using Members = std::array<std::uint64_t, 8>;

struct MembersOfShape {
  Members operator()(const Matmul& op) const { return {op.rows, op.columns, op.inner, op.groups}; }
  Members operator()(const GroupedMatmul& op) const { return {op.rows, op.rows_most, op.columns, op.inner, op.groups}; }
  Members operator()(const FusedAttention& op) const {
    return {op.batch,      op.query_heads, op.key_value_heads, op.query_length,
            op.key_length, op.key_width,   op.value_width,     op.is_causal ? 1U : 0U};
  }
  Members operator()(const RowWise& op) const { return {static_cast<std::uint64_t>(op.what), op.rows, op.width}; }
  Members operator()(const EmbeddingLookup& op) const {
    return {op.rows, op.width, op.table_rows, op.pooled, op.is_updated_in_place ? 1U : 0U};
  }
  Members operator()(const Convolution& op) const {
    return {op.batch, op.input_channels, op.output_channels, op.output_height, op.output_width, op.kernel, op.stride};
  }
  Members operator()(const OptimizerStep& op) const { return {op.parameters}; }
};

/// An operator and its pass, as what they are told apart by.
using Question = std::tuple<std::string_view, std::size_t, Members, std::string_view, OperatorPass>;

}  // namespace

OperatorClock operator_clock(const OperatorTimes& times, const SourcePlace& place) {
  const auto kernels = [&times, place](const Operator& op, OperatorPass pass) {
    const std::optional<Duration> time = times.time_of(op, pass);
    if (!time) {
      fail("no-operator-time",
           fmt::format("{} has no time for {} ({}) in {}, {}", times.origin(), op.name, to_text(op.shape), op.type.name,
                       to_text(pass)),
           place, "another precision, GPU or source of operator times may have");
    }
    return *time;
  };
  return {kernels, times.dispatch()};
}

OperatorClock remembering(OperatorClock clock) {
  auto known = std::make_shared<std::map<Question, Duration>>();
  const Duration dispatch = clock.dispatch();
  const auto kernels = [clock = std::move(clock), known](const Operator& op, OperatorPass pass) {
    const Question question = {op.name, op.shape.index(), std::visit(MembersOfShape(), op.shape), op.type.name, pass};
    const auto found = known->find(question);
    if (found != known->end()) return found->second;
    const Duration time = clock(op, pass);
    known->emplace(question, time);
    return time;
  };
  return {kernels, dispatch};
}

}  // namespace weft

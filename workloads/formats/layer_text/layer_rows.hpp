// SPDX-License-Identifier: Apache-2.0
// Layer rows: the text of an ASTRA-sim or SimAI workload as it stands in the file, checked line by
// line.
//
// Where it sits: formats/layer_text turns it into a DAG; nothing here knows what a policy does.
//
//   POLICY key: number ...           in SimAI model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus,
//                                    pp_comm; in both checkpoints: N row ... and
//                                    checkpoint_initiates: N row ...; for DLRM the last bottom
//                                    layer
//   N                                number of rows that follow
//   name reserved  time comm bytes  time comm bytes  time comm bytes  update
//                                    forward, input gradient, weight gradient; HYBRID_CUSTOMIZED
//                                    adds the row's own policy
//
// comm is NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL; SimAI appends the group: _TP, _DP,
// _EP or _DP_EP. Fields are separated by blanks or tabs, empty lines are skipped. Only pp_comm may
// miss its colon, which is how SimAI's generator writes it.
// Sources: ASTRA-sim 1.0 workload_inputs/README.md and Workload.cc; SimAI's Workload.cc.
//
// Errors, all of a file together: [empty-file], [not-utf8], [unknown-policy], [unknown-key],
// [duplicate-key], [missing-value], [missing-colon], [bad-count], [count-mismatch],
// [wrong-field-count], [bad-value], [negative-number], [out-of-range], [unknown-collective],
// [unsupported-collective], [unknown-group].
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/source_text.hpp"
#include "core/values/units.hpp"
#include "workloads/dag/op_kinds.hpp"

namespace weft {

enum class LayerDialect : std::uint8_t { astra_sim, simai };

enum class LayerPolicy : std::uint8_t {
  data,
  model,
  hybrid_data_model,
  hybrid_model_data,
  hybrid_customized,
  transformer,
  transformer_fwd_in_bckwd,
  dlrm,
  dlrm_enhanced,
  distributed_inference,
  micro
};
std::string_view to_text(LayerPolicy policy);

/// Who takes part in a collective, as far as its name says so.
enum class LayerGroup : std::uint8_t { by_policy, tp, dp, ep, dp_ep };

/// One of a row's three phases.
struct LayerPhase {
  Duration compute;
  std::optional<CollectiveType> collective;  ///< none: NONE
  LayerGroup group = LayerGroup::by_policy;
  Bytes bytes;  ///< as written
};

struct LayerRow {
  std::string name;
  LayerPhase forward;
  LayerPhase input_grad;
  LayerPhase weight_grad;
  Duration update;
  /// The row's own one under hybrid_customized, else the file's.
  LayerPolicy policy = LayerPolicy::data;
  bool names_dependency = false;  ///< the reserved column is not -1
};

/// A number of the first line and where in the line it stands.
struct HeaderNumber {
  std::uint64_t value = 0;
  int column = 0;
  int length = 1;
};

struct LayerRows {
  LayerPolicy policy = LayerPolicy::data;
  int header_line = 1;
  int policy_column = 1;
  /// By key without its colon; "last_bottom_layer" for DLRM.
  std::map<std::string, HeaderNumber, std::less<>> numbers;
  std::vector<HeaderNumber> checkpoints;  ///< rows, from 0
  std::vector<HeaderNumber> checkpoint_initiates;
  std::vector<LayerRow> rows;    ///< at least one
  std::uint64_t idle_sizes = 0;  ///< sizes above 0 beside NONE

  SourcePlace policy_place(const SourceText& source) const {
    return source.at(header_line, policy_column, static_cast<int>(to_text(policy).size()));
  }
  std::optional<std::uint64_t> number(std::string_view key) const {
    const auto found = numbers.find(key);
    return found == numbers.end() ? std::nullopt : std::optional(found->second.value);
  }
};

/// `time_unit`: how long a 1 in a time column is. Throws InputError.
LayerRows read_layer_rows(const SourceText& source, LayerDialect dialect, Duration time_unit);

}  // namespace weft

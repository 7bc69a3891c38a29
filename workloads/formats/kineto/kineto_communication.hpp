// SPDX-License-Identifier: Apache-2.0
// Kineto communication: what a kernel of a profiler trace moves between ranks, put together from
// all events that describe it.
//
// Where it sits: between formats/kineto_trace and formats/kineto.
//
// What is put together; the first that says something wins: the kernel's own arguments, those of
// its cpu_op ("External id", record_param_comms), and those of the calls that enclose its launch,
// from inside out (the annotation "nccl:all_reduce", record_param_comms). Numbers of elements,
// their splits and the type always come from one event. Peers have two origins, which count
// differently and are kept apart: "Src Rank" and "Dst Rank" are ranks of the world; an annotation's
// name ("nccl:send 0->1", "nccl:recv 1<-0") holds positions in the group.
// Thread safety: const functions may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/dag/element_type.hpp"
#include "workloads/formats/kineto/kineto_trace.hpp"

namespace weft {

enum class KinetoVerb : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  barrier,
  send,
  receive,
  bundle,  ///< several calls in one kernel, of which the file names none
};

/// "_reduce_scatter_base" -> reduce_scatter: the beginning decides, without underscores. None if it
/// is unknown.
std::optional<KinetoVerb> kineto_verb(std::string_view collective);
/// The common ones, for suggestions.
std::vector<std::string> kineto_collective_names();

/// PyTorch's element types: c10::ScalarType's names ("Float") and those of tensors in annotations
/// ("float", "c10::Half").
std::optional<ElementType> kineto_element_type(std::string_view name);

/// Looks up the communication of kernels. The trace outlives it.
class KinetoCommunicationFinder {
 public:
  explicit KinetoCommunicationFinder(const KinetoTrace& trace);
  /// None if nothing describes it.
  std::optional<KinetoCommunication> find(std::uint32_t kernel) const;

 private:
  const KinetoTrace& trace_;
  std::unordered_map<std::int64_t, std::uint32_t> of_external_id_;  ///< lookup only
};

}  // namespace weft

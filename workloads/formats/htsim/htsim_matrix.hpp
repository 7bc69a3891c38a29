// SPDX-License-Identifier: Apache-2.0
// htsim matrix: a connection matrix (.cm) of the htsim simulators (csg-htsim, uet-htsim), as
// written.
//
//   Nodes 16
//   Connections 2
//   Triggers 1
//   0->1 id 1 start 0 size 2000000 recv_done_trigger 7
//   1->5 id 2 trigger 7 size 4096
//   trigger id 7 oneshot
//
// Where it sits: formats/htsim_cm makes a workload of it.
//
// What is accepted, as htsim's own reader (sim/datacenter/connection_matrix.cpp) takes it
//   Nodes N, Connections C, Triggers T, Failures F in any order before the rest; the last two may
//   be left out. S->D with, in any order and each once: size BYTES; start PS (may be a fraction or
//   1.5e6) or trigger T; id I (needed with trigger); send_done_trigger T; recv_done_trigger T; prio
//   P.
//   trigger id T and one of oneshot, multishot, barrier; count N for a barrier.
//   failure switch_type TOR|AGG|CORE switch_id I link_id L, which are counted only.
// Words are separated by blanks; empty lines and lines that begin with # are skipped. Ids of flows
// and triggers are 1 or more.
// Errors, all with their place: [empty-file], [missing-field], [unknown-keyword], [bad-value],
// [out-of-range], [duplicate-option], [endless-flow], [duplicate-id], [count-mismatch],
// [self-flow], [unknown-trigger], [start-conflict].
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/text/source_text.hpp"
#include "core/values/units.hpp"

namespace weft {

struct HtsimConnection {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  Bytes size;
  Duration start;  ///< without trigger
  /// This and the next two: indices into HtsimMatrix::triggers.
  std::optional<std::uint32_t> trigger;
  /// Trigger to activate when the source has sent everything.
  std::optional<std::uint32_t> on_send_done;
  std::optional<std::uint32_t> on_receive_done;
  std::optional<std::uint32_t> priority;
  int line = 0;
};

enum class HtsimTriggerKind : std::uint8_t { oneshot, multishot, barrier };

struct HtsimTrigger {
  std::uint32_t id = 0;
  HtsimTriggerKind kind = HtsimTriggerKind::oneshot;
  std::optional<std::uint32_t> count;  ///< of a barrier
  int line = 0;
};

struct HtsimMatrix {
  std::uint32_t nodes = 0;
  std::vector<HtsimConnection> connections;  ///< in file order
  std::vector<HtsimTrigger> triggers;        ///< in file order
  std::uint64_t failures = 0;
};

/// Throws InputError with all errors of the file.
HtsimMatrix read_htsim_matrix(const SourceText& source);

}  // namespace weft

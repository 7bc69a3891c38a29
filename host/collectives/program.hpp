// SPDX-License-Identifier: Apache-2.0
// Program: a collective algorithm of the user's own, read from a file (program_file.proto) that
// says rank by rank what to send and receive.
//
// Model: the file's steps are the steps of the compiled programs, ranks that play one role with the
// same partners' steps share a program. A step costs what it costs everywhere (collective_program),
// so a run shows the time of the algorithm on a fabric; for closed forms see the example
// host/collectives/examples/recursive_doubling_4.textproto: log2 n rounds of B bytes (Thakur et
// al., Optimization of collective communication operations in MPICH, 2005).
//
// Invariants of a file that was read: every send has a receive with equal parts; no rank waits for
// ever; the result is the collective's, whatever the timing (data_flow).
#pragma once

#include "core/text/source_text.hpp"
#include "host/collectives/collective.hpp"

namespace weft {

Module<CollectiveAlgorithmFactory> program_algorithm();

/// Throws InputError with every error of the file: those of core/text/textproto,
/// [unknown-collective], [bad-value], [missing-field], [conflicting-fields], [duplicate-name],
/// [unknown-step], [rank-without-role], [rank-with-two-roles], [out-of-range], [sends-to-itself],
/// [unmatched-send], [unmatched-receive], [unequal-parts], [too-large] and those of data_flow.
std::unique_ptr<CollectiveAlgorithm> read_collective_program(const SourceText& source);

}  // namespace weft

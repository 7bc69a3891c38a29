// SPDX-License-Identifier: Apache-2.0
// Reader of Weft's own topology files (topology.proto): a builder with parameters, or every node
// and link by name.
//
// Where it sits: called by topology_reader.
//
// Nodes get their ids host by host (GPUs or port, NICs, NVSwitches), then the switches, in the
// order of the file; links in the order of the file.
// Thread safety: pure function.
#pragma once

#include <memory>
#include <variant>

#include "core/text/diagnostics.hpp"
#include "core/text/source_text.hpp"
#include "topologies/builders.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// A builder that a topology file names, with its parameters, which may be changed before it
/// builds.
struct BuilderOfFile {
  const Module<TopologyFactory>* module;
  ParamSet params;
  SourcePlace place;  ///< of the builder's name
};

/// What a topology file gives.
using TopologyOrBuilder = std::variant<std::shared_ptr<const Topology>, BuilderOfFile>;

/// Throws InputError with every error of the file: those of core/text/textproto, of the builder,
/// and [topology-source], [empty-topology], [missing-field], [duplicate-name],
/// [host-without-endpoint], [host-kind], [unknown-buffer-class], [unknown-node], [self-link],
/// [duplicate-link], [nvswitch-leaves-host], [conflicting-fields], [bad-value], [out-of-range],
/// [zero-bandwidth], [no-endpoints], [disconnected].
TopologyOrBuilder read_topology_file(const SourceText& source);

}  // namespace weft

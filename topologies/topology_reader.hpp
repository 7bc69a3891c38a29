// SPDX-License-Identifier: Apache-2.0
// Topology reader: the one entry point for topology files of every format.
//
// Where it sits: `weft run`, `check` and `topology` and the scenario call load_topology(); it calls
// the reader of the format: topology_file (ours), or one below formats/: hpcc, simai, simgrid,
// astra_network, nccl_topology.
//
// All errors of a file are reported together, each with its place and what to do.
// Thread safety: pure functions.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/text/source_text.hpp"
#include "topologies/topology.hpp"
#include "topologies/topology_file.hpp"

namespace weft {

/// A format of topology files, for help and messages.
struct TopologyFormat {
  std::string_view name;
  std::string_view summary;  ///< one paragraph
};

/// Formats that load_topology() reads, in the order in which they are printed.
std::span<const TopologyFormat> topology_formats();

/// Reads a file, and lets the caller change the parameters of the builder that it names, if it does
/// so. `format` is a name of topology_formats(); empty means "weft" for a path that ends
/// in .textproto or .textproto.gz, and is an error otherwise: foreign files have no endings of
/// their own. Throws InputError [unknown-format], and what the format's reader finds.
TopologyOrBuilder load_topology_or_builder(const std::string& path, const std::string& format);

/// The same, built with the parameters of the file. Throws what the builder finds, too.
std::shared_ptr<const Topology> load_topology(const std::string& path, const std::string& format);

/// The same for a text already in memory. Requires a format name; throws InputError.
std::shared_ptr<const Topology> read_topology(const SourceText& source, const std::string& format);

}  // namespace weft

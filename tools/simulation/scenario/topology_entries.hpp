// SPDX-License-Identifier: Apache-2.0
// Topology entries: the `topology { ... }` or `cluster { ... }` of a scenario file, and the files
// that --topology names.
//
// Where it sits: the scenario file and the flags say where a run takes place.
// Thread safety: belongs to one thread.
#pragma once

#include <string>

#include "core/text/textproto.hpp"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/loading.hpp"
#include "topologies/builders.hpp"

namespace weft {

/// Reads a topology file, whose mistakes wait for take_topology_file(). The parameters of the
/// builder that it may name join those of the run: to be called before settings are applied.
void open_topology_file(Loading& loading, const std::string& path, const std::string& format);

/// The scenario gets the topology of the file, built with the parameters as they are by now. Throws
/// InputError. Requires: open_topology_file() was called for the same file.
void take_topology_file(Loading& loading, const std::string& path, const std::string& format);

/// The builder of the topology, whose parameters join those of the run; null if there is none.
/// Throws InputError.
const Module<TopologyFactory>* choose_builder(Loading& loading, const scenario::Scenario& message, const FieldPlaces& places);

/// The topology or the cluster. `builder` is what choose_builder() returned; its parameters have
/// been set since. Throws InputError.
void read_place(Loading& loading, const scenario::Scenario& message, const Module<TopologyFactory>* builder,
                const FieldPlaces& places);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Server presets: machines by name, for the parameter `server` of every builder.
//
// Where it sits: read_server() asks for them, so does the manifest; `weft modules server` prints
// them.
//
// Model: a machine gives values to the parameters of a server (server.hpp), gpus_per_host and
// nics_per_host included. What the user gives stands, even where it equals a default; of the rest
// the machine's numbers replace the builder's defaults. A builder that lacks a parameter has no use
// for its value. nic_rate is that of a NIC: where a builder gives NICs several ports (`tors`), they
// share it.
// Thread safety: constants and pure functions.
#pragma once

#include <span>

#include "core/text/params.hpp"

namespace weft {

/// Every machine, in the order of the parameter's choices.
std::span<const ModuleInfo> server_presets();

/// `params` with the numbers of the machine that its parameter `server` names; unchanged if that is
/// "custom" or there is no such parameter. Throws InputError [out-of-range] at `place` where the
/// builder cannot take one of the numbers.
ParamSet with_named_server(ParamSet params, const SourcePlace& place);

}  // namespace weft

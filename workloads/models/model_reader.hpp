// SPDX-License-Identifier: Apache-2.0
// Model reader: model descriptions in protobuf text format (workloads/model.proto), or by the name
// of a preset.
//
// Where it sits: whoever is told MODEL on the command line or in a file calls load_model().
// Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/text/preset_text.hpp"
#include "core/text/source_text.hpp"
#include "workloads/models/model.hpp"

namespace weft {

/// Throws InputError with every error of the file: those of core/text/textproto, [missing-field],
/// [out-of-range], [bad-model].
ModelDescription read_model(const SourceText& source);

/// What `name` stands for: a file if it has a dot or a slash, else a preset. `place` is where it
/// was named. Throws what read_model() does, [no-file] and [unknown-module].
ModelDescription load_model(const std::string& name, const SourcePlace& place);

// --- Presets ---

/// Every model that needs no file.
std::span<const PresetText> model_presets();

/// A paragraph on each preset, in their order: name, parameters, origin.
std::vector<std::string> model_summaries();

}  // namespace weft

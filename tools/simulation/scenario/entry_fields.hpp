// SPDX-License-Identifier: Apache-2.0
// Entry fields: fields that several messages of a scenario file have, and how a condition on one is
// required.
//
// Where it sits: the readers of a scenario's entries share them.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/text/diagnostics.hpp"
#include "core/text/params.hpp"
#include "core/text/textproto.hpp"
#include "core/text/textproto_settings.hpp"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

/// Throws an InputError of these words unless the condition holds.
inline void require(bool condition, std::string code, std::string message, SourcePlace place, std::string help) {
  if (!condition) fail(std::move(code), std::move(message), std::move(place), std::move(help));
}

/// Requires: it is one.
constexpr Mode mode_of(scenario::Mode mode) {
  return mode == scenario::JOB ? Mode::job : mode == scenario::FLOW ? Mode::flow : Mode::packet;
}

/// The parameters of a module as the `set`s of a message say.
template <class Message>
ParamSet params_of(const ModuleInfo& module, const Message& message, const FieldPlaces& places) {
  ParamSet params(std::string(module.name), module.params);
  Diagnostics diagnostics;
  for_each_setting(message, places, diagnostics, [&](const std::string& name, const std::string& value, const SourcePlace& place) {
    params.set(name, value, place);
  });
  diagnostics.throw_if_errors();
  return params;
}

/// How many iterations a job or rule says; nothing if it does not.
template <class Message>
std::optional<std::uint64_t> iterations_of(const Message& message, const FieldPlaces& places) {
  if (!message.has_iterations()) return std::nullopt;
  require(message.iterations() > 0, "no-iterations", "0 iterations run nothing", places.of(message, "iterations"),
          "give at least one, or drop it");
  return message.iterations();
}

/// Samples per iteration; 0 if it does not say.
template <class Message>
std::uint64_t samples_of(const Message& message, const FieldPlaces& places) {
  if (!message.has_samples_per_iteration()) return 0;
  require(message.samples_per_iteration() > 0, "out-of-range", "samples_per_iteration: an iteration is worth a sample at least",
          places.of(message, "samples_per_iteration"), "give at least one, or drop it");
  return message.samples_per_iteration();
}

/// A job's or rule's `iteration_time`. `zero_message` says why it is above 0. Throws InputError
/// [bad-value], [out-of-range].
Duration parse_iteration_time(const std::string& text, const SourcePlace& place, const std::string& zero_message,
                              const std::string& zero_help);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Kineto files: which files of a folder make up a set of traces, and which rank each of them is.
// Where it sits: formats/kineto reads the files; workload_reader names them in its messages.
// Thread safety: functions without state of their own; they read folders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// The traces that a path stands for, sorted by name; none if there are none (see formats/kineto).
std::vector<std::string> kineto_files(const std::string& path);

/// The same, but throws InputError [no-file] with a suggestion if there are none.
std::vector<std::string> require_kineto_files(const std::string& path);

/// The last number in a file's name, without its extensions; none if that is no rank.
std::optional<std::uint32_t> kineto_rank_in_name(const std::string& path);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// File moves: several files that get other names, or go, in one step.
//
// A process that is killed in the middle leaves nothing half done: a child of it, in a session of
// its own and with all signals blocked, carries out the moves and goes on when its parent is gone
// (kill -9, Ctrl-C, out of memory, a closed terminal). If a move fails those before it are taken
// back. What remains is a crash of the machine, or a kill of both processes, within those
// microseconds; file systems have no way to give several files their names at once.
// Threads: any; the calling one waits.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace weft {

struct FileMove {
  std::filesystem::path from;
  std::filesystem::path to;  ///< a name that nothing has yet; empty: the file is removed
};

struct FailedMove {
  std::size_t move;  ///< which
  std::error_code why;
};

/// nullopt if all were carried out. Otherwise no file has a new name; those removed before the
/// failure stay so.
std::optional<FailedMove> carry_out(const std::vector<FileMove>& moves);

}  // namespace weft

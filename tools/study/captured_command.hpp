// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end and keeps what it prints.
//
// Where it sits: slurm_backend talks to sbatch, squeue, scontrol and scancel with it; runs that the
// machine is measured for are programs of their own.
// Threads: any.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct CapturedCommand {
  int status = 0;  ///< 128 + n of signal n
  int signal = 0;  ///< that ended it; 0: none
  std::string output;
  std::string errors;  ///< what it wrote to standard error, without the last line end
};

/// The command is a list of words that is run as it stands, found by PATH; no shell sees it. Throws
/// InputError [program-failed] at `flag` where it cannot be started.
CapturedCommand run_captured(const std::vector<std::string>& command, const std::string& flag);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Explanation: what the time of a scenario's jobs went into, and what would make it shorter.
//
// Where it sits: `weft explain` fills in what it asks for and prints it; files in --out have the
// rows.
// Model: one recorded run (tools/explain/recorded_run) gives critical paths, blame and
// sensitivities; what they say of links is checked by runs with those links faster by `raise`, and
// ideals (tools/explain/what_if) are runs of their own.
// Threads: one caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/explain/critical_path.hpp"
#include "tools/explain/what_if.hpp"

namespace weft {

/// Links, tried at `raise` times their rates beside what the derivative says of that.
struct FasterLinks {
  std::string what;  ///< links that limit alike, or tiers of such
  std::string tier;  ///< of links
  std::uint64_t links = 1;
  double gain_s = 0;              ///< by the derivative, of `raise`; NaN: more than links can give
  std::optional<double> tried_s;  ///< by running it; none: it was not
};

struct ExplainedTime {
  std::string job;
  double seconds = 0;
  std::optional<CriticalPath> path;        ///< of jobs
  bool knows_links = false;                ///< derivatives could be told
  std::vector<FasterLinks> links;          ///< three that have none in common, then the best first
  double together_s = 0;                   ///< the three first at once, as gain_s
  std::size_t links_beyond = 0;            ///< sets left out, of more than links can give
  std::optional<double> together_tried_s;  ///< likewise, run
  std::vector<FasterLinks> tiers;          ///< likewise
};

struct WhatIfRow {
  std::string kind;
  std::string what;
  std::vector<double> gains_s;  ///< by explained time; NaN: it is not there
  std::string error;
};

struct NamedBlame {
  std::string link;  ///< "" for its own connection
  std::string waits;
  std::string blamed;
  std::string pause;  ///< packet mode: the link whose queue made switches pause; "": no pause
  double lost_s = 0;
};

struct Explanation {
  std::string name;
  std::vector<ExplainedTime> times;
  std::vector<NamedBlame> blame;
  double moving_s = 0;              ///< flows alone, all together
  double lost_s = 0;                ///< beyond that
  std::vector<WhatIfRow> what_ifs;  ///< the best first
  std::size_t what_ifs_left_out = 0;
  double raise = 1.1;
  std::vector<std::string> notes;
};

struct ExplainOptions {
  std::string job;                         ///< only this one; empty: all
  std::optional<std::uint64_t> iteration;  ///< of critical paths; none: each job's last
  std::size_t what_ifs_max = 24;           ///< runs; 0: none
  std::uint32_t threads = 0;               ///< 0: all cores
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const std::string& what, double share)> progress;
};

/// Throws InputError [job-mode], [unknown-job], [no-such-iteration], [cannot-explain] and those of
/// runs. `flags` without recording_settings().
Explanation explain(const RunFlags& flags, const ExplainOptions& options);

/// critical_path.csv, link_gains.csv, blame.csv and what_if.csv in a folder, as far as there is
/// something.
void write_tables(const Explanation& explanation, const std::filesystem::path& folder);

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Scenario file: SCENARIO.textproto as a whole, whose parts the readers of its entries take.
//
// Where it sits: load_scenario() makes one and asks for the steps in the order in which they become
// possible.
// Thread safety: belongs to one thread.
#pragma once

#include <string>
#include <vector>

#include "core/text/source_text.hpp"
#include "core/text/textproto.hpp"
#include "host/ranks/host_speed.hpp"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/job_entries.hpp"
#include "tools/simulation/scenario/loading.hpp"

namespace weft {

class ScenarioFile {
 public:
  /// Throws what keeps the file from being parsed.
  explicit ScenarioFile(Loading& loading);

  /// Everything but what rules make of the jobs of traces.
  void read();
  /// Requires: the cluster is known.
  std::vector<HostSpeedEntry> host_speeds() const;
  /// Requires: the topology is known, if there is one.
  void read_switches();
  /// Requires: the cluster, its failures and drains are known.
  void read_events() const;

  JobEntries& jobs() { return jobs_; }
  const JobEntries& jobs() const { return jobs_; }
  bool has_mode() const { return message_.mode() != scenario::MODE_UNSPECIFIED; }
  bool has_jobs() const;
  bool has_scheduler() const { return message_.has_scheduler(); }
  /// Of a field at the top level; the whole file if it was not written.
  SourcePlace place_of(const std::string& field) const { return document_.places().of(message_, field); }

 private:
  void read_parameters(const FieldPlaces& places);
  void read_handler(const scenario::Handler& said, const SourcePlace& place, const FieldPlaces& inside);
  void read_scheduler(const FieldPlaces& inside);
  bool has_workloads() const;

  Loading& loading_;
  Scenario& scenario_;
  SourceText source_;
  scenario::Scenario message_;
  TextprotoDocument document_;
  JobEntries jobs_;
};

}  // namespace weft

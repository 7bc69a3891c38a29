// SPDX-License-Identifier: Apache-2.0
// Job entries: the jobs of a scenario file, those that its events submit among them.
//
// Where it sits: the scenario file reads them first; modes and durations follow when the mode of
// the run is known.
// Thread safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/text/textproto.hpp"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/loading.hpp"

namespace weft {

class JobEntries {
 public:
  explicit JobEntries(Loading& loading) : loading_(loading), scenario_(loading.scenario) {}

  /// Adds the jobs of `message`, which must outlive this. Mistakes go to the loading's diagnostics.
  void read(const scenario::Scenario& message, const FieldPlaces& places);
  /// How many there are: they are the first of the scenario's jobs, those that events submit after
  /// the others.
  std::size_t size() const { return own_jobs_.size(); }

  /// Results tell jobs apart by name. To be called when the jobs of flags are there, too.
  void check_names();
  /// Whether the i-th of the scenario's jobs is one of the file's that says mode: JOB.
  bool is_in_job_mode(std::size_t i) const;
  /// Of jobs with a mode of their own. Requires: that of the run is known.
  void take_modes();
  /// Gives jobs that run their workload in job mode a duration. Requires: everything else is known,
  /// and nothing is wrong.
  void run_in_job_mode(Probing probing);

 private:
  /// A job of the file, or one that its events submit.
  struct OwnJob {
    const scenario::Job* message;
    FieldPlaces inside;
    SourcePlace name;  ///< where it stands; the whole job where it has none
  };

  /// `lines`: of the jobs before it, by name. `submit` returns when it is submitted.
  void read_job(const scenario::Job& job, const SourcePlace& place, const FieldPlaces& inside, std::map<std::string, int>& lines,
                const std::function<Time()>& submit);
  void read_submitted_job(const scenario::Event& event, const SourcePlace& place, const FieldPlaces& inside,
                          std::map<std::string, int>& lines);
  void read_content(JobSpec& spec, const scenario::Job& job, const FieldPlaces& inside);
  void read_elastic(JobSpec& spec, const scenario::Job& job, const FieldPlaces& inside);

  Loading& loading_;
  Scenario& scenario_;
  std::vector<OwnJob> own_jobs_;
};

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
// Failure plan: which part of the cluster fails when, and how long its repair takes.
//
// Where it sits: Outages owns the plan of a run and takes failures from it in order of time.
//
// Model
//   - By chance: each part of a kind with an MTBF fails after a time of its own, Weibull with the
//     shape of the settings (1: exponential) and that mean; once it works again, after another one
//     (a renewal process). Draws come from the stream (seed, part, episode), so that they depend on
//     nothing else.
//   - Links also degrade and flap by chance, each as a process of its own.
//   - By log: what the log lists. A part that fails again before it works again stays out until the
//     later end.
//   - The time to detect a failure is the settings'; a repair takes a draw from their distribution,
//     or what the log says.
// Weibull with shape k and mean m: scale m / Gamma(1 + 1/k), draws scale * (-ln U)^(1/k).
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "core/text/params.hpp"
#include "core/text/source_text.hpp"
#include "core/values/random.hpp"
#include "core/values/units.hpp"
#include "scheduler/failures/part.hpp"
#include "scheduler/lifecycle/duration_model.hpp"

namespace weft {

/// Parameter table "failure".
ParamTable failure_params();

/// What happens to a part. Only links degrade and flap.
enum class Fault : std::uint8_t {
  breaks,    ///< it is out until it is repaired
  degrades,  ///< it carries a share of its speed until it is repaired
  /// It carries nothing for a while, and then goes on by itself, of which the scheduler takes no
  /// notice.
  flaps,
};

struct LoggedFailure {
  Time at;
  Part part;
  std::optional<Duration> repair = {};  ///< none: as by chance
  Fault fault = Fault::breaks;
  double share = 0;  ///< of its speed that a link goes on with
};

/// A CSV table: time_s, part and, optionally, repair_s (empty: a draw) and factor (of a link: which
/// share of its speed it goes on with; 0 or empty: it is out). Rows in any order. `network` may be
/// null: no switches and links. Throws InputError with all that is wrong: what the CSV reader
/// finds, [unknown-part] and [bad-factor].
std::vector<LoggedFailure> read_failure_log(const SourceText& source, const ClusterState& cluster,
                                            const NetworkParts* network = nullptr);

/// Without values nothing fails; the table "failure" has the defaults.
struct FailureSettings {
  std::array<double, part_kind_count> mtbf_h{};  ///< by PartKind, hours; 0: never
  /// Of a link, until it carries `degraded_share` of its speed.
  double degraded_mtbf_h = 0;
  double degraded_share = 0;
  double flap_mtbf_h = 0;  ///< of a link, until it carries nothing for `flap`
  DurationModel flap;
  /// From a change of a link until the network takes other ways.
  Duration reroute;
  std::shared_ptr<const NetworkParts> network;  ///< whose switches and links fail; null: none
  double weibull_shape = 1;
  std::string log_file;            ///< "": none
  std::vector<LoggedFailure> log;  ///< what that says, and events of the run
  FailureScope scope = FailureScope::host;
  Duration detection;
  DurationModel repair;
  std::uint32_t hot_spares = 0;  ///< hosts
  std::uint32_t cold_spares = 0;
  Duration cold_start;

  bool has_failures() const;
  /// Others than those of the log, without end.
  bool has_random_failures() const;
  /// Does the network change in the run?
  bool has_network_failures() const;
  std::uint64_t spares() const { return std::uint64_t{hot_spares} + cold_spares; }
};

struct Failure {
  Time at;
  Part part;
  Duration repair;      ///< of a flap its length
  bool renews = false;  ///< renew() is to be called when it works again
  Fault fault = Fault::breaks;
  double share = 0;  ///< of its speed that a link goes on with
};

class FailurePlan {
 public:
  FailurePlan(const FailureSettings& settings, const ClusterState& cluster, std::uint64_t seed);

  /// When the next part fails; Time::max() if none does.
  Time next() const { return upcoming_.empty() ? Time::max() : upcoming_.top().at; }
  /// The next failure. Requires: there is one.
  Failure take();
  /// What failed by chance works again from `now` on.
  void renew(const Failure& failure, Time now);

 private:
  struct IsLater {
    bool operator()(const Failure& a, const Failure& b) const {
      return std::tie(a.at, a.part, a.renews, a.repair, a.fault, a.share) >
             std::tie(b.at, b.part, b.renews, b.repair, b.fault, b.share);
    }
  };
  /// What happens by chance to parts of a kind: how often and for how long.
  struct Process {
    double scale_h = 0;
    DurationModel repair;
    double share = 0;
    std::vector<std::uint32_t> episodes = {};  ///< by index: how often it was drawn when it comes
  };
  /// One for each kind of part, which breaks, and one for links that degrade and flap each.
  static constexpr std::size_t process_count = part_kind_count + 2;
  static std::size_t process_of(PartKind kind, Fault fault);

  double weibull_shape_;
  std::uint64_t seed_;
  std::array<Process, process_count> processes_;
  std::priority_queue<Failure, std::vector<Failure>, IsLater> upcoming_;
};

/// Gamma function for x in [1, 11], within 1e-13, the same on every platform.
double gamma_function(double x);

}  // namespace weft

#include "scheduler/failures/failure_plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/check.hpp"
#include "workloads/csv_reader.hpp"

namespace weft {
namespace {

constexpr std::array params_table = {
    ParamSpec{"gpu_mtbf_hours", ParamKind::real, "0", "0", "1e9", "", "mean time between failures of a GPU; 0: none fails",
              "off; 143,000 h in Llama 3's training (148 in 54 days on 16,384 H100)"},
    ParamSpec{"nic_mtbf_hours", ParamKind::real, "0", "0", "1e9", "",
              "mean time between failures of a NIC, one for each GPU; 0: none fails",
              "off; 607,000 h by the 35 failures of switches and cables there"},
    ParamSpec{"host_mtbf_hours", ParamKind::real, "0", "0", "1e9", "",
              "mean time between failures of the rest of a host; 0: none fails", "off"},
    ParamSpec{"weibull_shape", ParamKind::real, "1", "0.1", "10", "",
              "shape of the Weibull distribution of times between failures: 1 is exponential, below 1 they come in clusters, above "
              "1 parts wear out",
              "exponential, as Young and Daly assume"},
    ParamSpec{"log", ParamKind::file, "", "", "", "",
              "CSV of failures, time_s,part[,repair_s] with parts like host3, host3/gpu0, host3/nic1", "none"},
    ParamSpec{"scope", ParamKind::choice, "host", "", "", "host|gpu",
              "what a GPU or NIC that fails takes out of service until it is repaired: its host, or only the GPU that it serves",
              "hosts are repaired as a whole"},
    ParamSpec{"detection", ParamKind::duration, "10min", "0s", "8760h", "",
              "from a failure until the scheduler knows; the jobs that it hit hold their GPUs until then",
              "PyTorch's NCCL watchdog"},
    ParamSpec{"repair", ParamKind::text, "4h", "", "", "",
              "from detection until the part works again: a duration or a distribution, like exponential(4h) or lognormal(2h, 1)",
              "round figure; reboots take minutes, new parts days"},
    ParamSpec{"hot_spares", ParamKind::integer, "0", "0", "1000000", "",
              "hosts of the cluster, its last ones, that run nothing until they stand in for one that has failed, at once", "none"},
    ParamSpec{"cold_spares", ParamKind::integer, "0", "0", "1000000", "",
              "likewise, before the hot ones, but they take cold_start to come up", "none"},
    ParamSpec{"cold_start", ParamKind::duration, "30min", "0s", "8760h", "",
              "from the detection of a failure until a cold spare stands in", "round figure for a boot and its checks"},
};

// Purposes of random streams: by kind of part the next ones.
constexpr std::uint32_t kFailureDraw = 0x6661696c;  // "fail"
constexpr std::uint32_t kRepairDraw = 0x72657061;   // "repa"
constexpr std::uint32_t kLoggedRepairDraw = 0x72656c6f;

/// Hours as a Duration; max() beyond the clock.
Duration hours(double value) {
  constexpr double ticks_per_h = 3600.0 * static_cast<double>(Duration::ticks_per_s);
  const double ticks = std::max(1.0, std::round(value * ticks_per_h));
  return ticks < static_cast<double>(Duration::max().in_ticks()) ? Duration::ticks(static_cast<std::int64_t>(ticks))
                                                                 : Duration::max();
}

}  // namespace

ParamTable failure_params() { return params_table; }

// Lanczos's approximation with g = 7 and nine terms (coefficients of Godfrey).
double gamma_function(double x) {
  constexpr std::array coefficients = {0.99999999999980993,  676.5203681218851,     -1259.1392167224028,
                                       771.32342877765313,   -176.61502916214059,   12.507343278686905,
                                       -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};
  constexpr double sqrt_of_two_pi = 2.5066282746310002;
  const double z = x - 1;
  double sum = coefficients[0];
  for (std::size_t i = 1; i < coefficients.size(); ++i) sum += coefficients[i] / (z + static_cast<double>(i));
  const double t = z + 7.5;
  return sqrt_of_two_pi * portable_exp((z + 0.5) * portable_log(t) - t) * sum;
}

std::vector<LoggedFailure> read_failure_log(const SourceText& source, const ClusterState& cluster) {
  enum Column : std::size_t { time_s, part_name, repair_s };
  constexpr std::array columns = {CsvColumn{"time_s"}, CsvColumn{"part"}, CsvColumn{"repair_s", false}};
  Diagnostics diagnostics;
  CsvReader rows(source, columns, OtherColumns::allowed, diagnostics, nullptr);
  std::vector<LoggedFailure> log;
  while (rows.next()) {
    const auto at = rows.duration(time_s, "s");
    const auto part = parse_part(rows.field(part_name), cluster);
    if (!part) {
      rows.fault(part_name, "unknown-part", "the cluster has no part \"" + std::string(rows.field(part_name)) + "\"",
                 "parts are host0 to host" + std::to_string(cluster.host_count() - 1) +
                     ", and of each its GPUs, like host0/gpu0, and NICs, like host0/nic0");
    }
    const bool has_repair = rows.is_given(repair_s);
    const auto repair = has_repair ? rows.duration(repair_s, "s") : std::nullopt;
    if (at && part && (repair || !has_repair)) log.push_back({Time::zero() + *at, *part, repair});
  }
  diagnostics.throw_if_errors();
  return log;
}

FailureSettings FailureSettings::of(const ParamSet& params) {
  FailureSettings settings;
  for (const PartKind kind : part_kinds) {
    settings.mtbf_h[static_cast<std::size_t>(kind)] = params.real(std::string(to_text(kind)) + "_mtbf_hours");
  }
  settings.weibull_shape = params.real("weibull_shape");
  settings.scope = params.text("scope") == "gpu" ? FailureScope::gpu : FailureScope::host;
  settings.detection = params.duration("detection");
  settings.repair = DurationModel::parse(params.text("repair"), SourcePlace::named("failure.repair"));
  settings.hot_spares = static_cast<std::uint32_t>(params.integer("hot_spares"));
  settings.cold_spares = static_cast<std::uint32_t>(params.integer("cold_spares"));
  settings.cold_start = params.duration("cold_start");
  return settings;
}

bool FailureSettings::has_failures() const {
  return !log.empty() || std::any_of(mtbf_h.begin(), mtbf_h.end(), [](double mtbf) { return mtbf > 0; });
}

FailurePlan::FailurePlan(const FailureSettings& settings, const ClusterState& cluster, std::uint64_t seed)
    : weibull_shape_(settings.weibull_shape), repair_(settings.repair), seed_(seed) {
  for (std::uint32_t row = 0; row < settings.log.size(); ++row) {
    const LoggedFailure& failure = settings.log[row];
    const Duration repair = failure.repair ? *failure.repair : repair_.sample(RandomStream(seed_, row, kLoggedRepairDraw));
    upcoming_.push({failure.at, failure.part, repair, false});
  }
  for (const PartKind kind : part_kinds) {
    const auto k = static_cast<std::size_t>(kind);
    if (settings.mtbf_h[k] == 0) continue;
    scale_h_[k] = settings.mtbf_h[k] / gamma_function(1 + 1 / weibull_shape_);
    failures_[k].assign(part_count(kind, cluster), 0);
    for (std::uint32_t i = 0; i < failures_[k].size(); ++i) renew({kind, i}, Time::zero());
  }
}

Duration FailurePlan::time_to_failure(const Part& part, std::uint32_t episode) const {
  const auto kind = static_cast<std::size_t>(part.kind);
  const double draw = RandomStream(seed_, part.index, kFailureDraw + static_cast<std::uint32_t>(kind), episode).exponential(1);
  if (weibull_shape_ == 1) return hours(scale_h_[kind] * draw);
  return hours(draw > 0 ? scale_h_[kind] * portable_exp(portable_log(draw) / weibull_shape_) : 0);
}

void FailurePlan::renew(const Part& part, Time now) {
  const auto kind = static_cast<std::size_t>(part.kind);
  const std::uint32_t episode = failures_[kind][part.index]++;
  const Duration until = time_to_failure(part, episode);
  if (until >= Time::max() - now) return;
  const Duration repair = repair_.sample(RandomStream(seed_, part.index, kRepairDraw + static_cast<std::uint32_t>(kind), episode));
  upcoming_.push({now + until, part, repair, true});
}

Failure FailurePlan::take() {
  WEFT_CHECK(!upcoming_.empty(), "there is a next failure");
  const Upcoming next = upcoming_.top();
  upcoming_.pop();
  return {next.at, next.part, next.repair, next.by_chance};
}

}  // namespace weft

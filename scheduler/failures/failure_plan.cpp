// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/failure_plan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/csv_reader.hpp"
#include "core/text/param_rows.hpp"
#include "scheduler/failures/network_parts.hpp"
#include "scheduler/failures/part_names.hpp"

namespace weft {
namespace {

DurationModel duration_model(const std::string& text, const std::string& param) {
  return DurationModel::parse(text, SourcePlace::named(param));
}

constexpr std::array failure_plan_params = {
    param<&FailureSettings::mtbf_h, PartKind::gpu>(
        {.name = "gpu_mtbf_hours",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1e9",
         .meaning = "mean time between failures of a GPU; 0: none fails",
         .origin = "off; 143,000 h in Llama 3's training (148 in 54 days on 16,384 H100)"}),
    param<&FailureSettings::mtbf_h, PartKind::nic>(
        {.name = "nic_mtbf_hours",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1e9",
         .meaning = "mean time between failures of a NIC, one for each GPU; 0: none fails",
         .origin = "off; 607,000 h by the 35 failures of switches and cables there"}),
    param<&FailureSettings::mtbf_h, PartKind::host>({.name = "host_mtbf_hours",
                                                     .default_text = "0",
                                                     .minimum = "0",
                                                     .maximum = "1e9",
                                                     .meaning = "mean time between failures of the rest of a host; 0: none fails",
                                                     .origin = "off"}),
    param<&FailureSettings::mtbf_h, PartKind::packet_switch>(
        {.name = "switch_mtbf_hours",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1e9",
         .meaning = "mean time between failures of a switch of the topology; hosts without a way to most of the network are out of "
                    "service meanwhile; 0: none fails",
         .origin = "off"}),
    param<&FailureSettings::mtbf_h, PartKind::link>(
        {.name = "link_mtbf_hours",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1e9",
         .meaning = "likewise of a cable between switches or from a host to a switch; its two directions fail together",
         .origin = "off"}),
    param<&FailureSettings::degraded_mtbf_h>(
        {.name = "link_degraded_mtbf_hours",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1e9",
         .meaning = "mean time until such a cable carries less, until it is repaired; no way changes for it; 0: never",
         .origin = "off",
         .unused = {{"mode = job", "job mode knows no speeds of links"}}}),
    param<&FailureSettings::degraded_share>({.name = "link_degraded_factor",
                                             .default_text = "0.5",
                                             .minimum = "0.001",
                                             .maximum = "0.999",
                                             .meaning = "the share of its speed that it then carries",
                                             .origin = "round figure: half of the lanes",
                                             .unused = {{"failure.link_degraded_mtbf_hours = 0", "no link degrades by chance"},
                                                        {"mode = job", "no link degrades by chance"}}}),
    param<&FailureSettings::flap_mtbf_h>(
        {.name = "flap_mtbf_hours",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1e9",
         .meaning = "mean time until such a cable carries nothing for flap_duration, and then goes on by itself; 0: never",
         .origin = "off",
         .unused = {{"mode = job", "job mode knows no speeds of links"}}}),
    param_read<duration_model, &FailureSettings::flap>(
        {.name = "flap_duration",
         .default_text = "5s",
         .meaning = "how long a flap lasts: a duration or a distribution, as repair; one that is shorter than reroute "
                    "moves nothing to other ways",
         .origin = "several seconds (MegaScale, NSDI 2024)",
         .unused = {{"failure.flap_mtbf_hours = 0", "no link flaps"}, {"mode = job", "no link flaps"}}}),
    param<&FailureSettings::reroute>(
        {.name = "reroute",
         .default_text = "1s",
         .minimum = "0s",
         .maximum = "1h",
         .meaning =
             "from a cable's going out, or working again, until the network takes other ways; until then what crosses one that is "
             "out stands still in flow mode, and is lost and sent again in packet mode",
         .origin = "round figure: BGP in data centres (RFC 7938) takes some 100 ms to seconds",
         .unused = {{"mode = job", "job mode knows no speeds of links"},
                    {"network_failures = none", "no switch and no link fails"}}}),
    param<&FailureSettings::weibull_shape>(
        {.name = "weibull_shape",
         .default_text = "1",
         .minimum = "0.1",
         .maximum = "10",
         .meaning =
             "shape of the Weibull distribution of times between failures: 1 is exponential, below 1 they come in clusters, above "
             "1 parts wear out",
         .origin = "exponential, as Young and Daly assume",
         .unused = {{"failures = none", "nothing fails"}}}),
    param<&FailureSettings::log_file>(
        {.name = "log",
         .kind = ParamKind::file,
         .meaning = "CSV of failures, time_s,part[,repair_s][,factor] with parts like host3, host3/gpu0, host3/nic1, leaf0, "
                    "leaf0->spine1; a link "
                    "with a factor above 0 goes on with that share of its speed",
         .origin = "none"}),
    param<&FailureSettings::scope>({.name = "scope",
                                    .default_text = "host",
                                    .choices = "host|gpu",
                                    .meaning = "what a GPU or NIC that fails, or a GPU that is cut off, takes out of service until "
                                               "it is repaired: its host, or only the "
                                               "GPU",
                                    .origin = "hosts are repaired as a whole",
                                    .unused = {{"failures = none", "nothing fails"}}}),
    param<&FailureSettings::detection>(
        {.name = "detection",
         .default_text = "10min",
         .minimum = "0s",
         .maximum = "8760h",
         .meaning = "from a failure until the scheduler knows; the jobs that it hit hold their GPUs until then",
         .origin = "PyTorch's NCCL watchdog",
         .unused = {{"failures = none", "nothing fails"}}}),
    param_read<duration_model, &FailureSettings::repair>(
        {.name = "repair",
         .default_text = "4h",
         .meaning =
             "from detection until the part works again: a duration or a distribution, like exponential(4h) or lognormal(2h, 1)",
         .origin = "round figure; reboots take minutes, new parts days",
         .unused = {{"failures = none", "nothing fails"}}}),
    param<&FailureSettings::hot_spares>(
        {.name = "hot_spares",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1000000",
         .meaning = "hosts of the cluster, its last ones, that run nothing until they stand in for one that has failed, at once",
         .origin = "none"}),
    param<&FailureSettings::cold_spares>({.name = "cold_spares",
                                          .default_text = "0",
                                          .minimum = "0",
                                          .maximum = "1000000",
                                          .meaning = "likewise, before the hot ones, but they take cold_start to come up",
                                          .origin = "none"}),
    param<&FailureSettings::cold_start>({.name = "cold_start",
                                         .default_text = "30min",
                                         .minimum = "0s",
                                         .maximum = "8760h",
                                         .meaning = "from the detection of a failure until a cold spare stands in",
                                         .origin = "round figure for a boot and its checks",
                                         .unused = {{"failure.cold_spares = 0", "there are no cold spares"}}}),
};

// Purposes of random streams: by kind of part the next ones.
constexpr std::uint32_t failure_draw = 0x6661696c;  // "fail"
constexpr std::uint32_t repair_draw = 0x72657061;   // "repa"
constexpr std::uint32_t logged_repair_draw = 0x72656c6f;

/// Hours as a Duration; max() beyond the clock.
Duration hours(double value) {
  constexpr double ticks_per_h = 3600.0 * static_cast<double>(Duration::ticks_per_s);
  const double ticks = std::max(1.0, std::round(value * ticks_per_h));
  return ticks < static_cast<double>(Duration::max().in_ticks()) ? Duration::ticks(static_cast<std::int64_t>(ticks))
                                                                 : Duration::max();
}

}  // namespace

ParamTable failure_params() { return failure_plan_params; }

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

namespace {

/// A number in [0, 1); none for anything else.
std::optional<double> parse_factor(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value < 1)) return std::nullopt;
  return value;
}

}  // namespace

std::vector<LoggedFailure> read_failure_log(const SourceText& source, const ClusterState& cluster, const NetworkParts* network) {
  enum Column : std::size_t { time_s, part_name, repair_s, factor };
  constexpr std::array columns = {CsvColumn{"time_s"}, CsvColumn{"part"}, CsvColumn{"repair_s", false}, CsvColumn{"factor", false}};
  PartNames parts(cluster, network);
  Diagnostics diagnostics;
  CsvReader rows(source, columns, OtherColumns::allowed, diagnostics, nullptr);
  std::vector<LoggedFailure> log;
  while (rows.next()) {
    const auto at = rows.duration(time_s, "s");
    const auto part = parts.find(rows.field(part_name));
    if (!part) {
      rows.fault(part_name, "unknown-part", fmt::format("the cluster has no part \"{}\"", rows.field(part_name)),
                 parts.help(rows.field(part_name)));
    }
    const bool has_repair = rows.is_given(repair_s);
    const auto repair = has_repair ? rows.duration(repair_s, "s") : std::nullopt;
    const auto share = rows.is_given(factor) ? parse_factor(rows.field(factor)) : std::optional(0.0);
    const bool is_link = part && part->kind == PartKind::link;
    if (!share) {
      rows.fault(factor, "bad-factor", fmt::format("\"{}\" is no share of a speed", rows.field(factor)),
                 "write a number from 0, which is out, to less than 1");
    } else if (part && *share > 0 && !is_link) {
      rows.fault(factor, "bad-factor",
                 fmt::format("\"{}\" is no link, and only links carry a share of their speed", rows.field(part_name)),
                 "leave it empty, or name a cable, like leaf0->spine0");
      continue;
    }
    if (!at || !part || !share || (has_repair && !repair)) continue;
    log.push_back({Time::zero() + *at, *part, repair, *share > 0 ? Fault::degrades : Fault::breaks, *share});
  }
  diagnostics.throw_if_errors();
  return log;
}

bool FailureSettings::has_failures() const { return !log.empty() || has_random_failures(); }

bool FailureSettings::has_random_failures() const {
  return degraded_mtbf_h > 0 || flap_mtbf_h > 0 || std::any_of(mtbf_h.begin(), mtbf_h.end(), [](double mtbf) { return mtbf > 0; });
}

bool FailureSettings::has_network_failures() const {
  const auto is_change = [](const LoggedFailure& failure) { return is_of_network(failure.part.kind); };
  return degraded_mtbf_h > 0 || flap_mtbf_h > 0 || mtbf_h[static_cast<std::size_t>(PartKind::packet_switch)] > 0 ||
         mtbf_h[static_cast<std::size_t>(PartKind::link)] > 0 || std::any_of(log.begin(), log.end(), is_change);
}

std::size_t FailurePlan::process_of(PartKind kind, Fault fault) {
  return fault == Fault::breaks ? static_cast<std::size_t>(kind) : part_kind_count - 1 + static_cast<std::size_t>(fault);
}

FailurePlan::FailurePlan(const FailureSettings& settings, const ClusterState& cluster, std::uint64_t seed)
    : weibull_shape_(settings.weibull_shape), seed_(seed) {
  for (std::uint32_t row = 0; row < settings.log.size(); ++row) {
    const LoggedFailure& failure = settings.log[row];
    const Duration repair = failure.repair ? *failure.repair : settings.repair.sample(RandomStream(seed_, row, logged_repair_draw));
    upcoming_.push({failure.at, failure.part, repair, false, failure.fault, failure.share});
  }
  const auto begin = [&](PartKind kind, Fault fault, double mtbf_h, const DurationModel& repair, double share) {
    if (mtbf_h == 0) return;
    Process& process = processes_[process_of(kind, fault)];
    process = {mtbf_h / gamma_function(1 + 1 / weibull_shape_), repair, share};
    process.episodes.assign(part_count(kind, cluster, settings.network.get()), 0);
    for (std::uint32_t i = 0; i < process.episodes.size(); ++i)
      renew({Time::zero(), {kind, i}, Duration::zero(), true, fault, share}, Time::zero());
  };
  for (const PartKind kind : part_kinds)
    begin(kind, Fault::breaks, settings.mtbf_h[static_cast<std::size_t>(kind)], settings.repair, 0);
  begin(PartKind::link, Fault::degrades, settings.degraded_mtbf_h, settings.repair, settings.degraded_share);
  begin(PartKind::link, Fault::flaps, settings.flap_mtbf_h, settings.flap, 0);
}

void FailurePlan::renew(const Failure& failure, Time now) {
  const std::size_t number = process_of(failure.part.kind, failure.fault);
  Process& process = processes_[number];
  const std::uint32_t episode = process.episodes[failure.part.index]++;
  const auto stream = [&](std::uint32_t purpose) {
    return RandomStream(seed_, failure.part.index, purpose + static_cast<std::uint32_t>(number), episode);
  };
  const double draw = stream(failure_draw).exponential(1);
  double until_h = process.scale_h * draw;
  if (weibull_shape_ != 1) until_h = draw > 0 ? process.scale_h * portable_exp(portable_log(draw) / weibull_shape_) : 0;
  const Duration until = hours(until_h);
  if (until >= Time::max() - now) return;
  upcoming_.push({now + until, failure.part, process.repair.sample(stream(repair_draw)), true, failure.fault, process.share});
}

Failure FailurePlan::take() {
  WEFT_CHECK(!upcoming_.empty(), "there is a next failure");
  const Failure next = upcoming_.top();
  upcoming_.pop();
  return next;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "tools/results/run_summary.hpp"

#include <charconv>
#include <string>
#include <system_error>
#include "core/text/printed_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weft {

namespace {

/// "fct_p50_s", "fct_p90_s", ...
void add_percentiles(nlohmann::ordered_json& json, const std::string& name, const std::string& unit,
                     const std::optional<Percentiles>& values) {
  if (!values) return;
  json[fmt::format("{}_p50{}", name, unit)] = values->p50;
  json[fmt::format("{}_p90{}", name, unit)] = values->p90;
  json[fmt::format("{}_p99{}", name, unit)] = values->p99;
  json[fmt::format("{}_max{}", name, unit)] = values->max;
}

/// Rounds all figures to 15 digits, as many as doubles hold: further ones say how sums were
/// rounded.
void round_figures(nlohmann::ordered_json& json) {
  if (json.is_number_float()) {
    const std::string text = fmt::format("{:.15g}", json.get<double>());
    double rounded = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), rounded).ec == std::errc()) json = rounded;
  } else if (json.is_structured()) {
    for (nlohmann::ordered_json& inside : json) round_figures(inside);
  }
}

}  // namespace

std::string RunSummary::to_json() const {
  nlohmann::ordered_json json;
  json["name"] = name;
  json["mode"] = mode;
  json["interrupted"] = interrupted;
  if (stopped_at) json["stopped_at_s"] = stopped_at->in_s();
  for (const Diagnostic& why : standstill) json["standstill"].push_back({{"code", why.code}, {"message", why.message}});
  json["gpus"] = gpus;
  json["jobs_total"] = jobs_total;
  json["jobs_finished"] = jobs_finished;
  if (jobs_cancelled > 0) json["jobs_cancelled"] = jobs_cancelled;
  json["makespan_s"] = makespan.in_s();
  json["makespan_ticks_10ps"] = makespan.in_ticks();
  json["gpu_time_s"] = gpu_time_s;
  json["gpu_utilization"] = gpu_utilization;
  json["stranded_gpu_time_s"] = stranded_gpu_time_s;
  if (steady) {
    json["steady"] = {{"from_s", steady->from_s},
                      {"until_s", steady->until_s},
                      {"starts", steady->starts},
                      {"mean_wait_s", steady->mean_wait_s},
                      {"mean_stranded_gpus", steady->mean_stranded_gpus},
                      {"mean_busy_gpus", steady->mean_busy_gpus}};
  }
  json["preemptions"] = preemptions;
  json["failures"] = failures;
  if (flaps > 0) json["link_flaps"] = flaps;
  json["moves"] = moves;
  json["out_of_service_gpu_time_s"] = out_of_service_gpu_time_s;
  json["draining_gpu_time_s"] = draining_gpu_time_s;
  json["lost_to_preemptions_gpu_time_s"] = lost_to_preemptions_gpu_time_s;
  json["lost_to_failures_gpu_time_s"] = lost_to_failures_gpu_time_s;
  json["lost_to_moves_gpu_time_s"] = lost_to_moves_gpu_time_s;
  if (elastic_restarts > 0) json["elastic_restarts"] = elastic_restarts;
  if (jobs_cancelled > 0) json["lost_to_cancellations_gpu_time_s"] = lost_to_cancellations_gpu_time_s;
  json["overhead_gpu_time_s"] = overhead_gpu_time_s;
  json["checkpoint_gpu_time_s"] = checkpoint_gpu_time_s;
  json["goodput"] = goodput;
  json["effective_time_ratio"] = effective_time_ratio;
  json["mean_wait_s"] = mean_wait_s;
  add_percentiles(json, "wait", "_s", wait_s);
  json["mean_jct_s"] = mean_jct_s;
  add_percentiles(json, "jct", "_s", jct_s);
  if (fast_forward) {
    json["fast_forward"] = {{"jumps", fast_forward->jumps},
                            {"iterations_simulated", fast_forward->simulated},
                            {"iterations_skipped", fast_forward->skipped},
                            {"spread_mean", fast_forward->spread_mean},
                            {"spread_max", fast_forward->spread_max},
                            {"mean_jct_risk_s", fast_forward->jct_risk_mean_s}};
  }
  json["iterations"] = iterations;
  json["mean_iteration_s"] = mean_iteration_s;
  if (aligned_mean_iteration_s) json["aligned_mean_iteration_s"] = *aligned_mean_iteration_s;
  add_percentiles(json, "iteration", "_s", iteration_s);
  json["exposed_comm_share"] = exposed_comm_share;
  for (const auto& [communicator, share] : exposed_comm_share_by_communicator) {
    json["exposed_comm_share_by_communicator"][communicator] = share;
  }
  if (ranks_simulated > 0) {
    json["ranks_simulated"] = ranks_simulated;
    json["ranks_total"] = ranks_total;
    json["flows_simulated"] = flows_simulated;
  }
  for (const auto& [type, counts] : algorithms_picked) json["algorithms_picked"][type] = counts;
  for (const auto& [choice, largest] : picked_because) {
    json["picked_because"].push_back({{"collective", choice[0]},
                                      {"algorithm", choice[1]},
                                      {"protocol", choice[2]},
                                      {"size_bytes", largest.size_bytes},
                                      {"ranks", largest.ranks},
                                      {"channels", largest.channels},
                                      {"reason", largest.reason}});
  }
  json["flows_finished"] = flows_finished;
  json["payload_bytes"] = payload_bytes;
  json["mean_fct_s"] = mean_fct_s;
  add_percentiles(json, "fct", "_s", fct_s);
  json["mean_slowdown"] = mean_slowdown;
  add_percentiles(json, "slowdown", "", slowdown);
  json["max_link_utilization"] = max_link_utilization;
  if (!busiest_link.empty()) json["link_utilization_over_s"] = link_utilization_over.in_s();
  json["busiest_link"] = busiest_link;
  if (congestion) {
    json["congestion"] = {{"periods", congestion->periods},
                          {"links", congestion->links},
                          {"jobs_slowed_by_others", congestion->jobs_slowed_by_others},
                          {"jobs_slowed_by_own", congestion->jobs_slowed_by_own}};
    if (congestion->longest) {
      const CongestionSummary::Longest& longest = *congestion->longest;
      json["congestion"]["longest"] = {{"link", longest.link},       {"cause", longest.is_own ? "own" : "others"},
                                       {"trigger", longest.trigger}, {"begin_s", longest.begin_s},
                                       {"end_s", longest.end_s},     {"lost_share", longest.lost_share}};
    }
  }
  if (packets) {
    json["packets"] = {{"data", packets->data_packets},   {"repeated", packets->data_repeated},
                       {"acks", packets->acks},           {"congestion_notifications", packets->notifications},
                       {"ecn_marks", packets->ecn_marks}, {"pauses", packets->pauses},
                       {"drops", packets->drops},         {"pause_storms", packets->pause_storms}};
    if (packets->lossless_drops > 0) json["packets"]["drops_without_headroom"] = packets->lossless_drops;
    json["cards"] = {{"sending_s", packets->sending.in_s()},
                     {"sending_again_s", packets->sending_again.in_s()},
                     {"held_by_pauses_s", packets->held_by_pauses.in_s()},
                     {"held_by_congestion_control_s", packets->held_by_congestion_control.in_s()},
                     {"held_by_acknowledgements_s", packets->held_by_acknowledgements.in_s()}};
    json["switches"] = {{"mean_packet_wait_s", packets->mean_wait_s()}};
  }
  for (const TierUsage& tier : tiers) {
    json["tiers"].push_back({{"tiers", tier.tiers},
                             {"links", tier.links},
                             {"peak_queue_bytes", tier.queue_peak.count()},
                             {"ecn_marks", tier.ecn_marks},
                             {"pause_ns", tier.paused.in_ns()},
                             {"pause_ns_link_max", tier.paused_link_max.in_ns()},
                             {"drops", tier.drops}});
  }
  if (flow_mode) {
    json["flow_mode"] = {{"makespan_s", flow_mode->makespan_s}};
    if (flow_mode->mean_iteration_s > 0) json["flow_mode"]["mean_iteration_s"] = flow_mode->mean_iteration_s;
    json["flow_mode"]["mean_fct_s"] = flow_mode->mean_fct_s;
  } else if (!no_flow_mode_because.empty()) {
    json["flow_mode"] = {{"left_out_because", no_flow_mode_because}};
  }
  if (!notes.empty()) json["notes"] = notes;
  json["events"] = events;
  json["fingerprint"] = fingerprint;
  json["machine"] = {{"threads", threads},
                     {"logical_processes", logical_processes},
                     {"load_wall_time_s", load_wall_time_s},
                     {"run_wall_time_s", run_wall_time_s},
                     {"events_per_s", run_wall_time_s > 0 ? static_cast<double>(events) / run_wall_time_s : 0.0}};
  if (flow_mode) json["machine"]["flow_mode_run_wall_time_s"] = flow_mode->run_wall_time_s;
  round_figures(json);
  return printed_json(json) + "\n";
}

}  // namespace weft

#include "tools/results/run_summary.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"

namespace weft {

namespace {

/// Ways of carrying out collectives that are explained on screen.
constexpr std::size_t kPickedToldMax = 8;

std::string readable_gpu_time(double gpu_s) {
  char buffer[48];
  const bool is_short = gpu_s < 36000;
  std::snprintf(buffer, sizeof buffer, "%.6g GPU-%s", is_short ? gpu_s : gpu_s / 3600, is_short ? "s" : "h");
  return buffer;
}

[[gnu::format(printf, 2, 3)]] void line(std::string& text, const char* format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  text += buffer;
  text += '\n';
}

/// Where the time of cards went that had data to send.
std::string held_up_text(const PacketCounters& packets) {
  const double all_s =
      (packets.sending + packets.held_by_pauses + packets.held_by_congestion_control + packets.held_by_acknowledgements).in_s();
  if (all_s <= 0) return {};
  std::string text;
  const auto share = [&](Duration time) { return 100 * time.in_s() / all_s; };
  line(text,
       "  cards           with data to send: %.1f %% of the time at line rate, %.1f %% sending again; held up %.1f %% by "
       "congestion control,",
       share(packets.sending - packets.sending_again), share(packets.sending_again), share(packets.held_by_congestion_control));
  line(text, "                  %.1f %% by pauses, %.1f %% by acknowledgements, as others share the way or queues are long",
       share(packets.held_by_pauses), share(packets.held_by_acknowledgements));
  return text;
}

/// Of a data packet in all switches on its way, beside what it takes alone.
double mean_wait_s_of(const PacketCounters& packets) {
  return packets.data_packets > 0 ? packets.waiting.in_s() / static_cast<double>(packets.data_packets) : 0;
}

std::string wait_text(const PacketCounters& packets, double mean_fct_s) {
  std::string text;
  const double wait_s = mean_wait_s_of(packets);
  line(text, "  queues          a data packet waits %s in switches on its way, %.1f %% of a transfer's mean completion",
       readable(wait_s).c_str(), mean_fct_s > 0 ? 100 * wait_s / mean_fct_s : 0.0);
  return text;
}

std::string flow_mode_text(const RunSummary& run) {
  std::string text;
  const auto more = [](double packet_s, double flow_s) { return flow_s > 0 ? 100 * (packet_s / flow_s - 1) : 0.0; };
  const FlowModeFigures& flow = *run.flow_mode;
  const bool has_iterations = flow.mean_iteration_s > 0;
  const double flow_s = has_iterations ? flow.mean_iteration_s : flow.makespan_s;
  const double packet_s = has_iterations ? run.mean_iteration_s : run.makespan.in_s();
  line(text, "  in flow mode    %s %s, packets make it %+.1f %%; mean completion of transfers %s, %+.1f %%",
       has_iterations ? "iteration" : "makespan", readable(flow_s).c_str(), more(packet_s, flow_s),
       readable(flow.mean_fct_s).c_str(), more(run.mean_fct_s, flow.mean_fct_s));
  return text;
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
  json["mean_jct_s"] = mean_jct_s;
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
  json["mean_slowdown"] = mean_slowdown;
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
    json["switches"] = {{"mean_packet_wait_s", mean_wait_s_of(*packets)}};
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
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string RunSummary::to_text() const {
  std::string text;
  std::string cut_off = interrupted ? ", interrupted" : stopped_at ? ", stopped at " + readable(stopped_at->in_s()) : "";
  if (!standstill.empty()) cut_off = ", ended as nothing got on any more";
  line(text, "%s (%s mode)%s", name.c_str(), mode.c_str(), cut_off.c_str());
  if (jobs_total > 0) {
    line(text, "  jobs            %llu of %llu finished on %s", static_cast<unsigned long long>(jobs_finished),
         static_cast<unsigned long long>(jobs_total), counted(gpus, "GPU", "GPUs").c_str());
    line(text, "  makespan        %s", readable(makespan.in_s()).c_str());
    line(text, "  GPU time        %s, %.1f %% of the cluster's", readable_gpu_time(gpu_time_s).c_str(), gpu_utilization * 100);
    if (stranded_gpu_time_s > 0)
      line(text, "  stranded        %s idle while jobs waited", readable_gpu_time(stranded_gpu_time_s).c_str());
    if (preemptions > 0) {
      line(text, "  preemptions     %llu, for which %s of work was lost", static_cast<unsigned long long>(preemptions),
           readable_gpu_time(lost_to_preemptions_gpu_time_s).c_str());
    }
    if (failures > 0) {
      line(text, "  failures        %llu, for which %s of work and waiting was lost", static_cast<unsigned long long>(failures),
           readable_gpu_time(lost_to_failures_gpu_time_s).c_str());
    }
    if (flaps > 0) line(text, "  link flaps      %llu", static_cast<unsigned long long>(flaps));
    if (moves > 0) {
      line(text, "  moves           %llu, for which %s of work was lost", static_cast<unsigned long long>(moves),
           readable_gpu_time(lost_to_moves_gpu_time_s).c_str());
    }
    if (elastic_restarts > 0)
      line(text, "  elastic         %s on fewer GPUs", counted(elastic_restarts, "restart", "restarts").c_str());
    if (jobs_cancelled > 0) {
      line(text, "  cancelled       %s, for which %s of work was lost", counted(jobs_cancelled, "job", "jobs").c_str(),
           readable_gpu_time(lost_to_cancellations_gpu_time_s).c_str());
    }
    if (out_of_service_gpu_time_s > 0 || draining_gpu_time_s > 0) {
      text += "  out of service  " + readable_gpu_time(out_of_service_gpu_time_s);
      if (draining_gpu_time_s > 0) text += ", and " + readable_gpu_time(draining_gpu_time_s) + " that jobs held on";
      text += "\n";
    }
    if (checkpoint_gpu_time_s > 0) line(text, "  checkpoints     took %s", readable_gpu_time(checkpoint_gpu_time_s).c_str());
    if (overhead_gpu_time_s > 0) line(text, "  starts          took %s", readable_gpu_time(overhead_gpu_time_s).c_str());
    if (goodput < gpu_utilization)
      line(text, "  goodput         %.1f %% of the cluster's GPU time was for work that counts", goodput * 100);
    if (failures > 0 || checkpoint_gpu_time_s > 0)
      line(text, "  effective time  %.1f %% of the time from first start to end, by GPU time", effective_time_ratio * 100);
    line(text, "  job completion  %s mean, of which waiting %s", readable(mean_jct_s).c_str(), readable(mean_wait_s).c_str());
  } else {
    line(text, "  makespan        %s", readable(makespan.in_s()).c_str());
  }
  if (fast_forward && fast_forward->jumps > 0) {
    const auto all = static_cast<double>(fast_forward->skipped + fast_forward->simulated);
    line(text, "  fast forward    %s over %.4g %% of %.0f iterations; those simulated differ by %.2g %%, %.2g %% at most",
         counted(fast_forward->jumps, "jump", "jumps").c_str(), 100 * static_cast<double>(fast_forward->skipped) / all, all,
         100 * fast_forward->spread_mean, 100 * fast_forward->spread_max);
    line(text, "  risk            mean completion may be off by %s, %.2g %%", readable(fast_forward->jct_risk_mean_s).c_str(),
         mean_jct_s > 0 ? 100 * fast_forward->jct_risk_mean_s / mean_jct_s : 0.0);
  }
  if (iterations > 0) {
    line(text, "  iteration       %s mean over %llu, exposed communication %.1f %%", readable(mean_iteration_s).c_str(),
         static_cast<unsigned long long>(iterations), exposed_comm_share * 100);
    if (exposed_comm_share_by_communicator.size() > 1) {
      std::string shares;
      for (const auto& [communicator, share] : exposed_comm_share_by_communicator) {
        char buffer[32];
        std::snprintf(buffer, sizeof buffer, " %.1f %%", share * 100);
        shares += (shares.empty() ? "" : ", ") + communicator + buffer;
      }
      text += "  exposed by      " + shares + "\n";
    }
  }
  if (!algorithms_picked.empty()) {
    std::string picked;
    for (const auto& [type, counts] : algorithms_picked) {
      std::string names;
      for (const auto& [algorithm, count] : counts) names += (names.empty() ? "" : ", ") + algorithm + " " + std::to_string(count);
      picked += (picked.empty() ? "" : "; ") + type + " " + names;
    }
    text += "  picked          " + picked + "\n";
    // The largest first; equal ones by name.
    std::vector<std::pair<std::array<std::string, 3>, PickedCollective>> largest_first(picked_because.begin(),
                                                                                       picked_because.end());
    std::stable_sort(largest_first.begin(), largest_first.end(),
                     [](const auto& a, const auto& b) { return a.second.size_bytes > b.second.size_bytes; });
    const std::size_t told = std::min(largest_first.size(), kPickedToldMax);
    for (std::size_t i = 0; i < told; ++i) {
      const auto& [choice, largest] = largest_first[i];
      text += "                  " + choice[0] + " of " + weft::to_text(Bytes::of(largest.size_bytes)) + " over " +
              std::to_string(largest.ranks) + " ranks: " + largest.reason +
              (choice[2] == "ideal" ? "; by protocol ideal steps cost nothing beside the network's own time" : "") + "\n";
    }
    if (told < largest_first.size()) {
      text += "                  and " + std::to_string(largest_first.size() - told) +
              " more of smaller ones: picked_because in summary.json; each collective is in collectives.csv\n";
    }
  }
  if (ranks_simulated > 0) {
    line(text, "  alike           %llu of %llu ranks and %llu of %llu transfers were simulated, each for its class",
         static_cast<unsigned long long>(ranks_simulated), static_cast<unsigned long long>(ranks_total),
         static_cast<unsigned long long>(flows_simulated), static_cast<unsigned long long>(flows_finished));
  }
  if (!not_folded_because.empty()) text += "  alike           " + not_folded_because + "\n";
  if (ranks_simulated_if_sprayed > 0) {
    line(text, "  alike           no two ranks, as paths collide for some; with --set=flow.routing=spray %llu would do for all",
         static_cast<unsigned long long>(ranks_simulated_if_sprayed));
  }
  if (flows_finished > 0) {
    line(text, "  transfers       %llu, %.4g GB payload, mean completion %s, mean slowdown %.3f",
         static_cast<unsigned long long>(flows_finished), payload_bytes / 1e9, readable(mean_fct_s).c_str(), mean_slowdown);
    if (!busiest_link.empty() && fast_forward && fast_forward->jumps > 0) {
      line(text, "  busiest link    %s, by what was simulated", busiest_link.c_str());
    } else if (!busiest_link.empty()) {
      const std::string span = link_utilization_over == makespan
                                   ? "the run"
                                   : readable(link_utilization_over.in_s()) + ", with what was on its way at its end";
      line(text, "  busiest link    %s, %.1f %% of its capacity over %s", busiest_link.c_str(), max_link_utilization * 100,
           span.c_str());
    }
  }
  if (congestion && congestion->periods == 0) {
    text += "  congestion      none: no job got less than its hosts' own links would give it\n";
  } else if (congestion) {
    text += "  congestion      " + counted(congestion->periods, "period", "periods") + " on " +
            counted(congestion->links, "link", "links") + ", " + counted(congestion->jobs_slowed_by_others, "job", "jobs") +
            " slowed by others, " + std::to_string(congestion->jobs_slowed_by_own) + " by their own transfers\n";
    const CongestionSummary::Longest& longest = *congestion->longest;
    char share[32];
    std::snprintf(share, sizeof share, "%.1f %%", longest.lost_share * 100);
    text += "  longest         " + readable(longest.end_s - longest.begin_s) + " on " + longest.link + ", " + share +
            " of bandwidth lost, since " + readable(longest.begin_s) + ": job \"" + longest.trigger + "\" " +
            (longest.is_own ? "slows itself" : "had started") + "\n";
  }
  if (flow_mode) text += flow_mode_text(*this);
  if (!no_flow_mode_because.empty()) text += "  in flow mode    not known: " + no_flow_mode_because + "\n";
  if (packets) {
    text += "  packets         " + std::to_string(packets->data_packets) + " of data" +
            (packets->data_repeated > 0 ? " (" + std::to_string(packets->data_repeated) + " sent again)" : "") + ", " +
            counted(packets->acks, "acknowledgement", "acknowledgements") + ", " +
            counted(packets->notifications, "congestion notification", "congestion notifications") + "\n";
    text += held_up_text(*packets);
    text += "  switches        " + counted(packets->ecn_marks, "ECN mark", "ECN marks") + ", " +
            counted(packets->pauses, "pause", "pauses") + ", " + counted(packets->drops, "drop", "drops") +
            (packets->lossless_drops > 0
                 ? " (" + std::to_string(packets->lossless_drops) + " in lossless priorities, for want of headroom)"
                 : "") +
            (packets->pause_storms > 0 ? ", " + counted(packets->pause_storms, "pause storm", "pause storms") : "") + "\n";
    text += wait_text(*packets, mean_fct_s);
  }
  for (const TierUsage& tier : tiers) {
    line(text, "  %-15s %s, longest queue %.4g kB, %s, paused %s at most, %s", tier.tiers.c_str(),
         counted(tier.links, "link", "links").c_str(), static_cast<double>(tier.queue_peak.count()) / 1e3,
         counted(tier.ecn_marks, "ECN mark", "ECN marks").c_str(), readable(tier.paused_link_max.in_s()).c_str(),
         counted(tier.drops, "drop", "drops").c_str());
  }
  line(text, "  fingerprint     %s", fingerprint.c_str());
  line(text, "  machine         %.3g s to read, %.3g s to run, %.3g M events/s, %s, %s", load_wall_time_s, run_wall_time_s,
       run_wall_time_s > 0 ? static_cast<double>(events) / run_wall_time_s / 1e6 : 0.0,
       counted(threads, "thread", "threads").c_str(), counted(logical_processes, "logical process", "logical processes").c_str());
  return text;
}

}  // namespace weft

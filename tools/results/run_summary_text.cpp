// SPDX-License-Identifier: Apache-2.0
// The text of a run summary: what `weft run` prints on screen when a run is over.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/results/run_summary.hpp"

namespace weft {

namespace {

/// Choices of the rules for collectives that are explained on screen.
constexpr std::size_t picked_told_max = 8;

/// A line with its title in a column of its own; without one it goes on with the line above.
class Lines {
 public:
  template <class... Arguments>
  void add(std::string_view title, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), "  {:<15} ", title);
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void add_whole(std::string_view line) { (text_ += line) += '\n'; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// "; p50 1 s, p90 2 s, p99 3 s, max 4 s"; nothing where all values look the same.
template <class ToText>
std::string percentiles_text(const std::optional<Percentiles>& values, std::uint64_t count, const ToText& to_text) {
  if (!values || count < 2 || to_text(values->p50) == to_text(values->max)) return {};
  return fmt::format("; p50 {}, p90 {}, p99 {}, max {}", to_text(values->p50), to_text(values->p90), to_text(values->p99),
                     to_text(values->max));
}

std::string times_text(const std::optional<Percentiles>& values, std::uint64_t count) {
  return percentiles_text(values, count, readable);
}

void add_jobs(const RunSummary& run, Lines& lines) {
  lines.add("jobs", "{} of {} finished on {}", run.jobs_finished, run.jobs_total, counted(run.gpus, "GPU", "GPUs"));
  lines.add("makespan", "{}", readable(run.makespan.in_s()));
  lines.add("GPU time", "{}, {} of the cluster's", readable_gpu_time(run.gpu_time_s), readable_share(run.gpu_utilization));
  if (run.stranded_gpu_time_s > 0) lines.add("stranded", "{} idle while jobs waited", readable_gpu_time(run.stranded_gpu_time_s));
  if (run.steady) {
    lines.add("steady state", "from {} to {}: {} started after {} in the mean; {:.4g} GPUs stranded, {:.4g} busy",
              readable(run.steady->from_s), readable(run.steady->until_s), counted(run.steady->starts, "job", "jobs"),
              readable(run.steady->mean_wait_s), run.steady->mean_stranded_gpus, run.steady->mean_busy_gpus);
  }
  if (run.preemptions > 0) {
    lines.add("preemptions", "{}, for which {} of work was lost", run.preemptions,
              readable_gpu_time(run.lost_to_preemptions_gpu_time_s));
  }
  if (run.failures > 0) {
    lines.add("failures", "{}, for which {} of work and waiting was lost", run.failures,
              readable_gpu_time(run.lost_to_failures_gpu_time_s));
  }
  if (run.flaps > 0) lines.add("link flaps", "{}", run.flaps);
  if (run.moves > 0)
    lines.add("moves", "{}, for which {} of work was lost", run.moves, readable_gpu_time(run.lost_to_moves_gpu_time_s));
  if (run.elastic_restarts > 0) lines.add("elastic", "{} on fewer GPUs", counted(run.elastic_restarts, "restart", "restarts"));
  if (run.jobs_cancelled > 0) {
    lines.add("cancelled", "{}, for which {} of work was lost", counted(run.jobs_cancelled, "job", "jobs"),
              readable_gpu_time(run.lost_to_cancellations_gpu_time_s));
  }
  if (run.out_of_service_gpu_time_s > 0 || run.draining_gpu_time_s > 0) {
    const std::string held =
        run.draining_gpu_time_s > 0 ? fmt::format(", and {} that jobs held on", readable_gpu_time(run.draining_gpu_time_s)) : "";
    lines.add("out of service", "{}{}", readable_gpu_time(run.out_of_service_gpu_time_s), held);
  }
  if (run.checkpoint_gpu_time_s > 0) lines.add("checkpoints", "took {}", readable_gpu_time(run.checkpoint_gpu_time_s));
  if (run.overhead_gpu_time_s > 0) lines.add("starts", "took {}", readable_gpu_time(run.overhead_gpu_time_s));
  if (run.goodput < run.gpu_utilization)
    lines.add("goodput", "{} of the cluster's GPU time was for work that counts", readable_share(run.goodput));
  if (run.failures > 0 || run.checkpoint_gpu_time_s > 0)
    lines.add("effective time", "{} of the time from first start to end, by GPU time", readable_share(run.effective_time_ratio));
  if (run.jobs_finished == 0) return;
  lines.add("job completion", "{} mean{}", readable(run.mean_jct_s), times_text(run.jct_s, run.jobs_finished));
  if (run.mean_wait_s > 0)
    lines.add("waiting", "{} mean of it{}", readable(run.mean_wait_s), times_text(run.wait_s, run.jobs_finished));
}

void add_fast_forward(const RunSummary& run, Lines& lines) {
  if (!run.fast_forward || run.fast_forward->jumps == 0) return;
  const FastForwardReport& forward = *run.fast_forward;
  const auto all = static_cast<double>(forward.skipped + forward.simulated);
  lines.add("fast forward", "{} over {:.4g} % of {:.0f} iterations; those simulated differ by {:.2g} %, {:.2g} % at most",
            counted(forward.jumps, "jump", "jumps"), 100 * static_cast<double>(forward.skipped) / all, all,
            100 * forward.spread_mean, 100 * forward.spread_max);
  lines.add("risk", "mean completion may be off by {}, {:.2g} %", readable(forward.jct_risk_mean_s),
            run.mean_jct_s > 0 ? 100 * forward.jct_risk_mean_s / run.mean_jct_s : 0.0);
}

void add_iterations(const RunSummary& run, Lines& lines) {
  if (run.iterations == 0) return;
  lines.add("iteration", "{} mean{} over {}{}", readable(run.mean_iteration_s),
            run.aligned_mean_iteration_s ? fmt::format(" ({} aligned)", readable(*run.aligned_mean_iteration_s)) : "",
            run.iterations, times_text(run.iteration_s, run.iterations));
  const auto& shares = run.exposed_comm_share_by_communicator;
  std::string parts;
  for (const auto& [communicator, share] : shares)
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", communicator, readable_share(share));
  lines.add("exposed", "communication that no computation hid: {} of iterations", readable_share(run.exposed_comm_share));
  if (shares.size() > 1) lines.add("", "by communicator: {}; where several are under way, each counts", parts);
}

void add_picked(const RunSummary& run, Lines& lines) {
  if (run.algorithms_picked.empty()) return;
  std::string picked;
  for (const auto& [type, counts] : run.algorithms_picked) {
    std::string names;
    for (const auto& [algorithm, count] : counts) names += fmt::format("{}{} {}", names.empty() ? "" : ", ", algorithm, count);
    picked += fmt::format("{}{} {}", picked.empty() ? "" : "; ", type, names);
  }
  lines.add("picked", "{}", picked);
  // The largest first; equal ones by name.
  std::vector<std::pair<std::array<std::string, 3>, RunSummary::PickedCollective>> largest_first(run.picked_because.begin(),
                                                                                                 run.picked_because.end());
  std::ranges::stable_sort(largest_first, std::ranges::greater(), [](const auto& one) { return one.second.size_bytes; });
  const std::size_t told = std::min(largest_first.size(), picked_told_max);
  for (std::size_t i = 0; i < told; ++i) {
    const auto& [choice, largest] = largest_first[i];
    lines.add("", "{} of {} over {} ranks: {}{}", choice[0], to_text(Bytes::of(largest.size_bytes)), largest.ranks, largest.reason,
              choice[2] == "ideal" ? "; by protocol ideal steps cost nothing beside the network's own time" : "");
  }
  if (told < largest_first.size()) {
    lines.add("", "and {} more of smaller ones: picked_because in summary.json; each collective is in collectives.csv",
              largest_first.size() - told);
  }
}

void add_alike(const RunSummary& run, Lines& lines) {
  if (run.ranks_simulated > 0) {
    lines.add("alike", "{} of {} ranks and {} of {} transfers were simulated, each for its class", run.ranks_simulated,
              run.ranks_total, run.flows_simulated, run.flows_finished);
  }
  if (!run.not_folded_because.empty()) lines.add("alike", "{}", run.not_folded_because);
  if (run.ranks_simulated_if_sprayed > 0) {
    lines.add("alike", "no two ranks, as paths collide for some; with --set=flow.routing=spray {} would do for all",
              run.ranks_simulated_if_sprayed);
  }
}

void add_transfers(const RunSummary& run, Lines& lines) {
  if (run.flows_finished == 0) return;
  const auto factor = [](double slowdown) { return fmt::format("{:.3f}", slowdown); };
  lines.add("transfers", "{}, {} of payload", run.flows_finished, readable_bytes(run.payload_bytes));
  lines.add("completion", "{} mean{}", readable(run.mean_fct_s), times_text(run.fct_s, run.flows_finished));
  lines.add("slowdown", "{} mean{} (completion over what a transfer takes alone)", factor(run.mean_slowdown),
            percentiles_text(run.slowdown, run.flows_finished, factor));
  if (run.busiest_link.empty()) return;
  if (run.fast_forward && run.fast_forward->jumps > 0) {
    lines.add("busiest link", "{}, by what was simulated", run.busiest_link);
    return;
  }
  const std::string span = run.link_utilization_over == run.makespan
                               ? "the run"
                               : fmt::format("{}, with what was on its way at its end", readable(run.link_utilization_over.in_s()));
  lines.add("busiest link", "{}, {} of its capacity over {}", run.busiest_link, readable_share(run.max_link_utilization), span);
}

void add_congestion(const CongestionSummary& congestion, Lines& lines) {
  if (congestion.periods == 0) {
    lines.add("congestion", "none: no job got less than its hosts' own links would give it");
    return;
  }
  lines.add("congestion", "{} on {}, {} slowed by others, {} by their own transfers",
            counted(congestion.periods, "period", "periods"), counted(congestion.links, "link", "links"),
            counted(congestion.jobs_slowed_by_others, "job", "jobs"), congestion.jobs_slowed_by_own);
  const CongestionSummary::Longest& longest = *congestion.longest;
  lines.add("longest", "{} on {}, {} of bandwidth lost, since {}: job \"{}\" {}", readable(longest.end_s - longest.begin_s),
            longest.link, readable_share(longest.lost_share), readable(longest.begin_s), longest.trigger,
            longest.is_own ? "slows itself" : "had started");
}

void add_flow_mode(const RunSummary& run, Lines& lines) {
  if (!run.no_flow_mode_because.empty()) lines.add("in flow mode", "not known: {}", run.no_flow_mode_because);
  if (!run.flow_mode) return;
  const auto more = [](double packet_s, double flow_s) { return flow_s > 0 ? 100 * (packet_s / flow_s - 1) : 0.0; };
  const FlowModeFigures& flow = *run.flow_mode;
  const bool has_iterations = flow.mean_iteration_s > 0;
  const double flow_s = has_iterations ? flow.mean_iteration_s : flow.makespan_s;
  const double packet_s = has_iterations ? run.mean_iteration_s : run.makespan.in_s();
  lines.add("in flow mode", "{} {}, packets make it {:+.1f} %; mean completion of transfers {}, {:+.1f} %",
            has_iterations ? "iteration" : "makespan", readable(flow_s), more(packet_s, flow_s), readable(flow.mean_fct_s),
            more(run.mean_fct_s, flow.mean_fct_s));
}

/// Where the time of cards went that had data to send.
void add_cards(const PacketCounters& packets, Lines& lines) {
  const double all_s =
      (packets.sending + packets.held_by_pauses + packets.held_by_congestion_control + packets.held_by_acknowledgements).in_s();
  if (all_s <= 0) return;
  const auto share = [&](Duration time) { return readable_share(time.in_s() / all_s); };
  lines.add("cards", "with data to send: {} of the time at line rate, {} sending again; held up {} by congestion control,",
            share(packets.sending - packets.sending_again), share(packets.sending_again),
            share(packets.held_by_congestion_control));
  lines.add("", "{} by pauses, {} by acknowledgements, as others share the route or queues are long", share(packets.held_by_pauses),
            share(packets.held_by_acknowledgements));
}

void add_packets(const RunSummary& run, Lines& lines) {
  const PacketCounters& packets = *run.packets;
  lines.add("packets", "{} of data{}, {}, {}", packets.data_packets,
            packets.data_repeated > 0 ? fmt::format(" ({} sent again)", packets.data_repeated) : "",
            counted(packets.acks, "acknowledgement", "acknowledgements"),
            counted(packets.notifications, "congestion notification", "congestion notifications"));
  add_cards(packets, lines);
  lines.add(
      "switches", "{}, {}, {}{}{}", counted(packets.ecn_marks, "ECN mark", "ECN marks"), counted(packets.pauses, "pause", "pauses"),
      counted(packets.drops, "drop", "drops"),
      packets.lossless_drops > 0 ? fmt::format(" ({} in lossless priorities, for want of headroom)", packets.lossless_drops) : "",
      packets.pause_storms > 0 ? fmt::format(", {}", counted(packets.pause_storms, "pause storm", "pause storms")) : "");
  const double wait_s = packets.mean_wait_s();
  lines.add("queues", "a data packet waits {} in switches on its route, {} of a transfer's mean completion", readable(wait_s),
            readable_share(run.mean_fct_s > 0 ? wait_s / run.mean_fct_s : 0));
  for (const TierUsage& tier : run.tiers) {
    lines.add(tier.tiers, "{}, longest queue {}, {}, paused {} at most, {}", counted(tier.links, "link", "links"),
              readable_bytes(static_cast<double>(tier.queue_peak.count())), counted(tier.ecn_marks, "ECN mark", "ECN marks"),
              readable(tier.paused_link_max.in_s()), counted(tier.drops, "drop", "drops"));
  }
}

}  // namespace

std::string RunSummary::to_text() const {
  Lines lines;
  std::string cut_off = interrupted  ? ", interrupted"
                        : stopped_at ? fmt::format(", stopped at {}", readable(stopped_at->in_s()))
                                     : "";
  if (!standstill.empty()) cut_off = ", ended as nothing got on any more";
  lines.add_whole(fmt::format("{} ({} mode){}", name, mode, cut_off));
  if (jobs_total > 0) {
    add_jobs(*this, lines);
  } else {
    lines.add("makespan", "{}", readable(makespan.in_s()));
  }
  add_fast_forward(*this, lines);
  add_iterations(*this, lines);
  add_picked(*this, lines);
  add_alike(*this, lines);
  add_transfers(*this, lines);
  if (congestion) add_congestion(*congestion, lines);
  add_flow_mode(*this, lines);
  if (packets) add_packets(*this, lines);
  lines.add("fingerprint", "{}", fingerprint);
  lines.add("machine", "{:.3g} s to read, {:.3g} s to run, {:.3g} M events/s, {}, {}", load_wall_time_s, run_wall_time_s,
            run_wall_time_s > 0 ? static_cast<double>(events) / run_wall_time_s / 1e6 : 0.0, counted(threads, "thread", "threads"),
            counted(logical_processes, "logical process", "logical processes"));
  return lines.take();
}

}  // namespace weft

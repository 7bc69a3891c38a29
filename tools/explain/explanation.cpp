// SPDX-License-Identifier: Apache-2.0
#include "tools/explain/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/diagnostics.hpp"
#include "tools/explain/recorded_run.hpp"
#include "tools/results/output_file.hpp"
#include "tools/simulation/run_recording.hpp"

namespace weft {

namespace {

constexpr double rounding = 1e-6;  // of a time
constexpr std::size_t links_tried = 3;
constexpr std::size_t links_kept = 20;
constexpr std::size_t tiers_tried = 3;
constexpr std::size_t links_named = 2;        // of a set
constexpr std::size_t sets_looked_at = 1000;  // of the largest

void tell(const ExplainOptions& options, const std::string& what, double share) {
  if (options.progress) options.progress(what, share);
}

class Explainer {
 public:
  Explainer(const RunFlags& flags, const ExplainOptions& options)
      : options_(options), scenario_(load_scenario(flags)), flags_(flags) {}

  Explanation explain() {
    result_.name = scenario_.name;
    if (!simulates_network(scenario_.mode)) {
      fail("job-mode", "in job mode jobs are durations, and nothing is known of what they wait for",
           SourcePlace::named(scenario_.name),
           "--mode=flow simulates the network of jobs with workloads; attempts.csv and cluster.csv of "
           "weft run say what jobs in job mode waited for");
    }
    check_job();
    tell(options_, "run", 0);
    as_it_is_ = job_times(scenario_, nullptr, options_.interrupt);
    for (const auto& [job, seconds] : as_it_is_.seconds) {
      if ((!options_.job.empty() && job != options_.job) || std::isnan(seconds)) continue;
      result_.times.emplace_back().job = job;
      result_.times.back().seconds = seconds;
    }
    if (scenario_.mode == Mode::flow) {
      record();
    } else {
      result_.notes.emplace_back(
          "packet mode: sensitivities are told of flow mode only (--mode=flow); waiting is that of data packets in switches");
      explain_packets();
    }
    if (options_.what_ifs_max > 0) try_ideals();
    return std::move(result_);
  }

 private:
  void check_job() const {
    if (options_.job.empty()) return;
    std::vector<std::string> names;
    for (const JobSpec& job : scenario_.jobs) names.push_back(job.name);
    if (scenario_.flows) names = {scenario_.flows->name, mean_transfer};
    if (std::ranges::find(names, options_.job) != names.end()) return;
    std::string known;
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 10); ++i) known += (i > 0 ? ", " : "known: ") + names[i];
    fail("unknown-job", fmt::format("there is no job {} in {}", in_quotes(options_.job), scenario_.name),
         SourcePlace::named("--job"), known);
  }

  /// `queue_blame`: of packet mode.
  std::unique_ptr<TapedRun> recorded(std::vector<JobQueueBlame>* queue_blame) const {
    check_recordable(scenario_);
    RunFlags flags = flags_;
    flags.settings.insert(flags.settings.end(), recording_settings().begin(), recording_settings().end());
    const Scenario recorded_scenario = load_scenario(flags);
    RecordingOptions recording;
    recording.interrupt = options_.interrupt;
    recording.queue_blame = queue_blame;
    recording.progress = [this](const RunState& state) { tell(options_, "recording", state.share()); };
    return record_run(recorded_scenario, recording);
  }

  void record() {
    const std::unique_ptr<TapedRun> run = recorded(nullptr);
    if (run->summary.interrupted) return;
    FlowBlame blame;
    if (run->tape().has_limits()) {
      blame = add_blame(*run);
    } else {
      result_.notes.emplace_back(
          "which link limits a flow is known of flow.allocation=max_min and one priority class only: no blame, no "
          "sensitivities");
    }
    best_.resize(result_.times.size());
    for (std::size_t t = 0; t < result_.times.size(); ++t) {
      ExplainedTime& time = result_.times[t];
      const auto job = std::ranges::find(run->jobs, scenario_.flows ? run->jobs.front().name : time.job, &ExplainedJob::name);
      if (job == run->jobs.end()) continue;
      if (!scenario_.flows) time.path = critical_path(*run, blame, *job, iteration_of(*run, *job));
      if (run->tape().has_limits())
        add_links(*run, time.job == mean_transfer ? mean_of_transfers(run->tape()) : job->ends, time, best_[t]);
    }
    if (run->tape().has_limits() && options_.what_ifs_max > 0) {
      try_links();
      idealise_best_links();
      for (ExplainedTime& time : result_.times) {
        put_tried_first(time.links);
        put_tried_first(time.tiers);
      }
    }
  }

  void explain_packets() {
    std::vector<JobQueueBlame> blame;
    std::optional<RunSummary> summary;
    if (!scenario_.flows) summary = record_packets(blame);
    if (!summary) {
      ResultSink nobody;
      RunOptions options;
      options.interrupt = options_.interrupt;
      options.queue_blame = &blame;
      summary = finish_run(scenario_, nobody, options).summary;
    }
    if (summary->interrupted) return;
    add_queue_blame(*summary, std::move(blame));
  }

  /// Nothing where the run cannot be recorded.
  std::optional<RunSummary> record_packets(std::vector<JobQueueBlame>& blame) {
    std::unique_ptr<TapedRun> run;
    try {
      run = recorded(&blame);
    } catch (const InputError& error) {
      const Diagnostic& why = error.diagnostics().front();
      if (why.code != "cannot-explain" && why.code != "too-long-to-explain") throw;
      result_.notes.push_back("no critical paths: " + why.message);
      return std::nullopt;
    }
    if (run->summary.interrupted) return run->summary;
    for (ExplainedTime& time : result_.times) {
      const auto job = std::ranges::find(run->jobs, time.job, &ExplainedJob::name);
      if (job != run->jobs.end()) time.path = critical_path(*run, {}, *job, iteration_of(*run, *job));
    }
    return run->summary;
  }

  void add_queue_blame(const RunSummary& summary, std::vector<JobQueueBlame> blame) {
    std::ranges::stable_sort(blame, {}, [](const JobQueueBlame& one) { return -one.lost_s; });
    const auto name = [&](JobId job) { return job.is_none() ? scenario_.flows->name : scenario_.jobs[job.index()].name; };
    const Topology& topology = *scenario_.topology;
    std::map<LinkId, double> lost_at;
    for (const JobQueueBlame& one : blame) lost_at[one.link] += one.lost_s;
    std::vector<std::pair<double, LinkId>> worst;
    for (const auto& [link, lost_s] : lost_at) worst.emplace_back(-lost_s, link);
    std::ranges::sort(worst);
    worst.resize(std::min(worst.size(), links_tried));
    for (const auto& [lost_s, link] : worst) links_to_idealise_.emplace_back(topology.link_name(link), std::vector{link});
    for (const JobQueueBlame& one : blame) {
      NamedBlame row{topology.link_name(one.link), name(one.waits), name(one.blamed), "", one.lost_s};
      if (one.is_pause) row.pause = one.paused_by.is_none() ? "a host" : topology.link_name(one.paused_by);
      result_.lost_s += one.lost_s;
      result_.blame.push_back(std::move(row));
    }
    if (summary.packets) {
      result_.notes.push_back(
          fmt::format("cards, too, were held back: by pauses {:.6g} s, by congestion control {:.6g} s, all together",
                      summary.packets->held_by_pauses.in_s(), summary.packets->held_by_congestion_control.in_s()));
    }
  }

  std::uint64_t iteration_of(const TapedRun& run, const ExplainedJob& job) const {
    const std::uint64_t last = last_iteration(run, job);
    const std::uint64_t first = first_iteration(run, job);
    if (!options_.iteration) return last;
    if (*options_.iteration < first || *options_.iteration > last) {
      fail("no-such-iteration", fmt::format("job {} has iterations {} to {} in its last attempt", job.name, first, last),
           SourcePlace::named("--iteration"), "iterations are counted from 0, as in iterations.csv");
    }
    return *options_.iteration;
  }

  FlowBlame add_blame(const TapedRun& run) {
    const FlowTape& tape = run.tape();
    std::vector<std::uint32_t> job_of_flow;
    for (const FlowTape::FlowRecord& flow : tape.flows()) {
      const AttemptId attempt = tape.transfers()[flow.transfer].transfer.attempt;
      job_of_flow.push_back(attempt.is_none() ? 0 : run.recording->attempts->at(attempt).job.index());
    }
    FlowBlame blame = flow_blame(tape, job_of_flow);
    const auto name = [&](std::uint32_t job) { return scenario_.flows ? scenario_.flows->name : scenario_.jobs[job].name; };
    for (const Blame& one : blame.blame) {
      result_.lost_s += one.lost_s;
      result_.blame.push_back({one.link == FlowTape::none ? "" : scenario_.topology->link_name(LinkId(one.link)), name(one.waits),
                               name(one.blamed), "", one.lost_s});
    }
    result_.moving_s = blame.moving_s;
    return blame;
  }

  /// What ExplainedTime names, link by link.
  struct Candidates {
    std::vector<std::vector<LinkId>> links;
    std::vector<std::vector<LinkId>> tiers;
  };

  void add_links(const TapedRun& run, const std::vector<WeighedFlow>& ends, ExplainedTime& time, Candidates& best) {
    time.knows_links = true;
    const LinkSensitivities found = link_sensitivities(run.tape(), ends);
    const double more = result_.raise - 1;
    const Topology& topology = *scenario_.topology;
    // Were all links as much faster, a time that is theirs alone would be that much shorter. Where
    // many messages end together, a derivative may be any number: the least change tips their
    // order.
    const double bound_s = time.seconds * more * (1 + rounding);
    const auto gain_of = [&](const std::vector<LinkId>& ids) {
      std::vector<bool> contains(topology.link_count(), false);
      for (const LinkId link : ids) contains[link.index()] = true;
      const double gain_s = -found.of(contains) * more;
      return gain_s > bound_s ? NAN : gain_s;
    };
    const auto add = [&](FasterLinks links, std::vector<LinkId> ids, std::vector<FasterLinks>& into,
                         std::vector<std::vector<LinkId>>& ids_into) {
      links.links = ids.size();
      if (links.gain_s <= 0) return;
      const auto rank = [&](const FasterLinks& one) { return std::isnan(one.gain_s) ? -bound_s : -one.gain_s; };
      const auto place = std::ranges::upper_bound(into, rank(links), {}, rank);
      ids_into.insert(ids_into.begin() + (place - into.begin()), std::move(ids));
      into.insert(place, std::move(links));
    };
    // What a set has by itself bounds nothing, but of thousands those are worth a look.
    std::vector<const TiedLinks*> sets;
    for (const TiedLinks& set : found.tied) sets.push_back(&set);
    std::ranges::stable_sort(sets, {}, &TiedLinks::seconds);
    sets.resize(std::min(sets.size(), sets_looked_at));
    for (const TiedLinks* set : sets) {
      FasterLinks links;
      links.gain_s = gain_of(set->links);
      if (std::isnan(links.gain_s)) {
        ++time.links_beyond;
        continue;
      }
      std::set<std::string> tiers;
      for (std::size_t i = 0; i < set->links.size(); ++i) {
        if (i < links_named) links.what += (i > 0 ? " + " : "") + topology.link_name(set->links[i]);
        tiers.insert(tier_name(topology, set->links[i]));
      }
      if (set->links.size() > links_named) links.what += fmt::format(" + {} more", set->links.size() - links_named);
      links.tier = fmt::format("{}", fmt::join(tiers, " + "));
      add(std::move(links), set->links, time.links, best.links);
    }
    put_apart_first(time, best);
    time.links.resize(std::min(time.links.size(), links_kept));
    best.links.resize(time.links.size());
    time.together_s = gain_of(union_of(best.links, std::min(links_tried, best.links.size())));

    std::map<std::string, std::vector<LinkId>> links_of_tier;
    std::vector<std::string> tier_of;
    for (std::uint32_t link = 0; link < topology.link_count(); ++link) {
      tier_of.push_back(tier_name(topology, LinkId(link)));
      links_of_tier[tier_of.back()].emplace_back(link);
    }
    std::set<std::set<std::string>> tier_sets;
    for (const TiedLinks& set : found.tied) {
      std::set<std::string> tiers;
      for (const LinkId link : set.links) tiers.insert(tier_of[link.index()]);
      tier_sets.insert(std::move(tiers));
    }
    for (const std::set<std::string>& tiers : tier_sets) {
      FasterLinks links;
      links.what = fmt::format("{}", fmt::join(tiers, " + "));
      std::vector<LinkId> ids;
      for (const std::string& tier : tiers) ids.insert(ids.end(), links_of_tier[tier].begin(), links_of_tier[tier].end());
      links.gain_s = gain_of(ids);
      add(std::move(links), std::move(ids), time.tiers, best.tiers);
    }
  }

  static std::vector<LinkId> union_of(const std::vector<std::vector<LinkId>>& sets, std::size_t first_ones) {
    std::vector<LinkId> all;
    for (std::size_t i = 0; i < first_ones; ++i) all.insert(all.end(), sets[i].begin(), sets[i].end());
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// The best that have no link in common come first: what is a part of another is no other advice.
  static void put_apart_first(ExplainedTime& time, Candidates& best) {
    std::set<LinkId> taken;
    std::size_t apart = 0;
    for (std::size_t i = 0; i < time.links.size() && apart < links_tried; ++i) {
      if (std::ranges::any_of(best.links[i], [&](LinkId link) { return taken.contains(link); })) continue;
      taken.insert(best.links[i].begin(), best.links[i].end());
      const auto place = static_cast<std::ptrdiff_t>(apart);
      const auto from = static_cast<std::ptrdiff_t>(i);
      std::rotate(time.links.begin() + place, time.links.begin() + from, time.links.begin() + from + 1);
      std::rotate(best.links.begin() + place, best.links.begin() + from, best.links.begin() + from + 1);
      ++apart;
    }
  }

  /// What the derivative says of the best, run.
  void try_links() {
    std::vector<Ideal> ideals;
    std::vector<std::pair<std::size_t, std::function<void(double)>>> into;
    for (std::size_t t = 0; t < result_.times.size() && t < best_.size(); ++t) {
      ExplainedTime& time = result_.times[t];
      const auto add = [&](std::span<const LinkId> links, std::function<void(double)> take) {
        ideals.push_back(faster_links(scenario_, links, result_.raise, "link", ""));
        into.emplace_back(t, std::move(take));
      };
      const std::size_t tried = std::min(links_tried, time.links.size());
      for (std::size_t i = 0; i < tried; ++i) add(best_[t].links[i], [&time, i](double gain_s) { time.links[i].tried_s = gain_s; });
      if (tried > 1) add(union_of(best_[t].links, tried), [&time](double gain_s) { time.together_tried_s = gain_s; });
      for (std::size_t i = 0; i < std::min(tiers_tried, time.tiers.size()); ++i)
        add(best_[t].tiers[i], [&time, i](double gain_s) { time.tiers[i].tried_s = gain_s; });
      // Of many jobs, those of the first are enough to judge by.
      if (ideals.size() >= options_.what_ifs_max) break;
    }
    const std::vector<WhatIfOutcome> outcomes = carry_out(ideals, "faster links");
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const std::string& job = result_.times[into[i].first].job;
      if (outcomes[i].error.empty()) into[i].second(as_it_is_.of(job) - outcomes[i].times.of(job));
    }
  }

  /// The best of them first.
  static void put_tried_first(std::vector<FasterLinks>& all) {
    std::ranges::stable_sort(
        all, {}, [](const FasterLinks& one) { return one.tried_s ? -*one.tried_s : std::numeric_limits<double>::infinity(); });
  }

  /// The first of each job that have no link in common, until a quarter of the runs are theirs.
  void idealise_best_links() {
    std::set<LinkId> taken;
    for (std::size_t t = 0; t < std::min(result_.times.size(), best_.size()); ++t) {
      std::size_t of_job = 0;
      for (std::size_t i = 0; i < best_[t].links.size() && of_job < links_tried; ++i) {
        if (4 * links_to_idealise_.size() >= options_.what_ifs_max) return;
        const std::vector<LinkId>& links = best_[t].links[i];
        if (std::ranges::any_of(links, [&](LinkId link) { return taken.contains(link); })) continue;
        taken.insert(links.begin(), links.end());
        links_to_idealise_.emplace_back(result_.times[t].links[i].what, links);
        ++of_job;
      }
    }
  }

  void try_ideals() {
    std::vector<Ideal> ideals;
    for (const auto& [what, links] : links_to_idealise_) ideals.push_back(ideal_links(scenario_, links, "link", what));
    std::ranges::move(ideals_of(scenario_, as_it_is_), std::back_inserter(ideals));
    if (ideals.size() > options_.what_ifs_max) {
      result_.what_ifs_left_out = ideals.size() - options_.what_ifs_max;
      ideals.resize(options_.what_ifs_max);
    }
    const std::vector<WhatIfOutcome> outcomes = carry_out(ideals, "what if");
    for (std::size_t i = 0; i < ideals.size(); ++i) {
      WhatIfRow row{ideals[i].kind, ideals[i].what, {}, outcomes[i].error};
      for (const ExplainedTime& time : result_.times) {
        const bool is_the_one_gone = row.kind == "job" && row.what == time.job;
        row.gains_s.push_back(is_the_one_gone ? NAN : time.seconds - outcomes[i].times.of(time.job));
      }
      result_.what_ifs.push_back(std::move(row));
    }
    const auto best = [](const WhatIfRow& row) {
      double gain = -std::numeric_limits<double>::infinity();
      for (const double one : row.gains_s) gain = std::isnan(one) ? gain : std::max(gain, one);
      return gain;
    };
    std::ranges::stable_sort(result_.what_ifs, {}, [&](const WhatIfRow& row) { return -best(row); });
  }

  std::vector<WhatIfOutcome> carry_out(std::span<const Ideal> ideals, const std::string& what) {
    WhatIfOptions options;
    options.threads = options_.threads;
    options.interrupt = options_.interrupt;
    options.progress = [&](std::size_t done, std::size_t total) {
      tell(options_, fmt::format("{}: {} of {} runs", what, done, total), static_cast<double>(done) / static_cast<double>(total));
    };
    return run_what_ifs(scenario_, ideals, options);
  }

  const ExplainOptions& options_;
  Scenario scenario_;
  const RunFlags& flags_;
  JobTimes as_it_is_;
  std::vector<Candidates> best_;  ///< by explained time
  std::vector<std::pair<std::string, std::vector<LinkId>>> links_to_idealise_;
  Explanation result_;
};

void write_paths(const Explanation& explanation, const std::filesystem::path& folder) {
  CsvFile table(folder / "critical_path.csv", "job,iteration,kind,op,where,begin_ns,end_ns,contention_ns");
  for (const ExplainedTime& time : explanation.times) {
    if (!time.path) continue;
    for (const PathPiece& piece : time.path->pieces) {
      table.text(time.job).number(time.path->iteration).text(piece.kind).text(piece.what).text(piece.where);
      table.nanoseconds(piece.begin.since_start()).nanoseconds(piece.end.since_start());
      table.nanoseconds(Duration::from_seconds(piece.contention_s));
      table.end_row();
    }
  }
  table.commit();
}

void write_gains(const Explanation& explanation, const std::filesystem::path& folder) {
  CsvFile table(folder / "link_gains.csv", "job,tier,link,links,raise,gain_s,tried_gain_s");
  for (const ExplainedTime& time : explanation.times) {
    const auto row = [&](const std::string& tier, const std::string& link, const FasterLinks& links) {
      table.text(time.job).text(tier).text(link).number(links.links).number(explanation.raise);
      table.number_if_known(links.gain_s);
      table.number_if_known(links.tried_s.value_or(NAN));
      table.end_row();
    };
    for (const FasterLinks& link : time.links) row(link.tier, link.what, link);
    for (const FasterLinks& tier : time.tiers) row(tier.what, "", tier);
  }
  table.commit();
}

void write_blame(const Explanation& explanation, const std::filesystem::path& folder) {
  CsvFile table(folder / "blame.csv", "job,link,blamed_job,paused_by,lost_s");
  for (const NamedBlame& blame : explanation.blame) {
    table.text(blame.waits).text(blame.link).text(blame.blamed).text(blame.pause).number(blame.lost_s);
    table.end_row();
  }
  table.commit();
}

void write_what_ifs(const Explanation& explanation, const std::filesystem::path& folder) {
  CsvFile table(folder / "what_if.csv", "kind,what,job,gain_s,error");
  for (const WhatIfRow& row : explanation.what_ifs) {
    for (std::size_t i = 0; i < explanation.times.size(); ++i) {
      table.text(row.kind).text(row.what).text(explanation.times[i].job);
      table.number_if_known(row.error.empty() ? row.gains_s[i] : NAN).text(row.error);
      table.end_row();
    }
  }
  table.commit();
}

}  // namespace

Explanation explain(const RunFlags& flags, const ExplainOptions& options) { return Explainer(flags, options).explain(); }

void write_tables(const Explanation& explanation, const std::filesystem::path& folder) {
  make_folder(folder);
  write_paths(explanation, folder);
  write_gains(explanation, folder);
  write_blame(explanation, folder);
  write_what_ifs(explanation, folder);
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies/mast.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft {
namespace {

/// Throws InputError [bad-value].
std::map<std::string, double, std::less<>> parse_quotas(const std::string& text, const std::string& param) {
  std::map<std::string, double, std::less<>> quotas;
  const auto refuse = [&](const std::string& what) {
    fail("bad-value", fmt::format("{}: {}", param, what), SourcePlace::named(param),
         "write tenants with their shares, such as research:0.5,ads:0.2");
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string entry = text.substr(begin, end - begin);
    const std::size_t colon = entry.rfind(':');
    double share = 0;
    const char* const last = entry.data() + entry.size();
    if (colon == std::string::npos || colon == 0) refuse(fmt::format("\"{}\" is no tenant with a share", entry));
    const auto [stop, error] = std::from_chars(entry.data() + colon + 1, last, share);
    if (error != std::errc() || stop != last || !(share >= 0 && share <= 1))
      refuse(fmt::format("\"{}\" has no share from 0 to 1", entry));
    if (!quotas.emplace(entry.substr(0, colon), share).second) refuse(fmt::format("\"{}\" has two shares", entry.substr(0, colon)));
    begin = end + 1;
  }
  return quotas;
}

constexpr std::array mast_params = {
    param<&MastSettings::ageing>(
        {.name = "ageing",
         .default_text = "24h",
         .minimum = "0s",
         .maximum = "8760h",
         .meaning = "how long a job of a lower priority has to wait to pass one of the next higher priority",
         .origin = "round figure: a day"}),
    param<&MastSettings::large_first>(
        {.name = "large_first",
         .default_text = "4h",
         .minimum = "0s",
         .maximum = "8760h",
         .meaning = "by how much a job goes before one of half its GPUs; 0s: by submission alone",
         .origin = "assumption: large jobs, which find places seldom, come before the small ones that would fill the gaps"}),
    param<&MastSettings::long_first>({.name = "long_first",
                                      .default_text = "4h",
                                      .minimum = "0s",
                                      .maximum = "8760h",
                                      .meaning = "likewise than one that declares half its run time",
                                      .origin = "assumption: what starts last should not run for long"}),
    param<&MastSettings::reserve_after>({.name = "reserve_after",
                                         .default_text = "336h",
                                         .minimum = "0s",
                                         .maximum = "8760h",
                                         .meaning = "how long a job waits before GPUs are kept free for it",
                                         .origin = "round figure: what is kept free stands idle"}),
    param<&MastSettings::preempts>(
        {.name = "preempt",
         .default_text = "true",
         .meaning = "whether jobs may take the GPUs of running ones of lower priority, or of tenants beyond their quotas",
         .origin = "paper, section 2.3: the production scheduler allows preemption"}),
    param<&MastSettings::low_priority>({.name = "low_priority",
                                        .default_text = "0",
                                        .minimum = "-1000000",
                                        .maximum = "1000000",
                                        .meaning = "jobs of at most this priority do not start beside a waiting job of higher "
                                                   "priority unless they declare to end in time",
                                        .origin = "paper, section 2.3: it delays low-priority jobs"}),
    param<&MastSettings::regions>(
        {.name = "regions",
         .default_text = "1",
         .minimum = "1",
         .maximum = "1000",
         .meaning = "equal parts of the hosts, in order, that jobs do not cross; the sites of a multi_site topology, for example",
         .origin = "off"}),
    param<&MastSettings::remote_after>(
        {.name = "remote_after",
         .default_text = "1h",
         .minimum = "0s",
         .maximum = "8760h",
         .meaning = "how long a job waits for a place in the region of its data before it takes another",
         .origin = "round figure"}),
    param_read<parse_quotas, &MastSettings::quotas>({.name = "quotas",
                                                     .meaning = "shares of the GPUs in service that tenants (groups of jobs) may "
                                                                "hold before their jobs come last: research:0.5,ads:0.2",
                                                     .origin = "none"}),
    param<&MastSettings::default_quota>({.name = "default_quota",
                                         .default_text = "1",
                                         .minimum = "0",
                                         .maximum = "1",
                                         .meaning = "share of every tenant that quotas does not name",
                                         .origin = "none"}),
};

std::unique_ptr<SchedulingPolicy> make_mast(const ParamSet& params) { return std::make_unique<Mast>(MastSettings(params)); }

/// Hosts of a region: from the first to before the second.
std::pair<std::uint32_t, std::uint32_t> hosts_of(std::uint32_t region, std::uint32_t regions, std::uint32_t hosts) {
  const auto bound = [&](std::uint64_t r) { return static_cast<std::uint32_t>(r * hosts / regions); };
  return {bound(region), bound(std::uint64_t{region} + 1)};
}

/// With only what is free between the two hosts.
ClusterState only(const ClusterState& cluster, std::pair<std::uint32_t, std::uint32_t> hosts) {
  ClusterState result = cluster;
  std::vector<GpuSlot> gpus;
  for (std::uint32_t i = 0; i < cluster.host_count(); ++i) {
    const HostId host(i);
    if ((i >= hosts.first && i < hosts.second) || cluster.free_gpus(host) == 0) continue;
    gpus.clear();
    cluster.append_free(host, cluster.free_gpus(host), gpus);
    result.withdraw(gpus);
  }
  return result;
}

/// How often a second doubles to that.
int doublings_of(Duration run) { return std::bit_width(static_cast<std::uint64_t>(run.in_ticks() / Duration::s(1).in_ticks())); }

}  // namespace

MastSettings::MastSettings(const ParamSet& params) { fill(*this, params); }

std::int64_t Mast::rank_of(const JobView& job) const {
  // A step of priority may be a century.
  __extension__ using Wide = __int128;
  const Wide rank = Wide{job.submit.in_ticks()} - Wide{settings_.ageing.in_ticks()} * job.priority -
                    Wide{settings_.large_first.in_ticks()} * (std::bit_width(job.gpus) - 1) -
                    Wide{settings_.long_first.in_ticks()} * doublings_of(job.declared_run.value_or(Duration::zero()));
  constexpr Wide least = std::numeric_limits<std::int64_t>::min();
  constexpr Wide most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(rank, least, most));
}

std::uint32_t Mast::tenant_of(std::string_view group) {
  const auto known = tenants_.find(group);
  if (known != tenants_.end()) return known->second;
  const auto named = settings_.quotas.find(group);
  const double quota = named != settings_.quotas.end() ? named->second : settings_.default_quota;
  std::uint32_t tenant = unlimited;
  if (quota < 1) {
    tenant = static_cast<std::uint32_t>(quota_.size());
    quota_.push_back(quota);
    held_gpus_.push_back(0);
  }
  return tenants_.emplace(std::string(group), tenant).first->second;
}

Mast::Kind Mast::kind_of(const JobView& job) {
  return {tenant_of(job.group), job.gpus, job.least_gpus, job.priority, settings_.regions > 1 ? job.data_region : std::nullopt};
}

const Mast::Kind& Mast::known_kind(const SchedulingPass& pass, JobId id) {
  if (id.index() >= kinds_.size()) kinds_.resize(id.index() + 1);
  std::optional<Kind>& kind = kinds_[id.index()];
  if (!kind) kind = kind_of(pass.job(id));
  return *kind;
}

void Mast::wait(const SchedulingPass& pass, JobId id) {
  const JobView job = pass.job(id);
  if (id.index() < kinds_.size()) kinds_[id.index()].reset();  // its priority may have changed
  const Kind& kind = known_kind(pass, id);
  ranks_.resize(kinds_.size());
  ranks_[id.index()] = rank_of(job);
  waiting_[kind].emplace(ranks_[id.index()], id);
}

void Mast::forget(JobId id) {
  const auto found = waiting_.find(*kinds_[id.index()]);
  found->second.erase({ranks_[id.index()], id});
  if (found->second.empty()) waiting_.erase(found);
}

void Mast::count_running(const SchedulingPass& pass) {
  held_gpus_.assign(quota_.size(), 0);
  lowest_running_ = std::numeric_limits<std::int32_t>::max();
  for (const JobId id : pass.running()) {
    const Kind& kind = known_kind(pass, id);
    held_gpus_[kind.tenant] += pass.placement(id).gpus.size();
    lowest_running_ = std::min(lowest_running_, pass.priority(id));
  }
}

bool Mast::is_beyond_quota(const SchedulingPass& pass, std::uint32_t tenant, std::uint64_t gpus) const {
  return tenant != unlimited && static_cast<double>(gpus) > quota_[tenant] * pass.cluster().gpus_in_service();
}

std::optional<Mast::Head> Mast::next_head(const SchedulingPass& pass, const std::map<Kind, Ranked>& passed_over) const {
  std::optional<Head> best;
  for (const auto& [kind, jobs] : waiting_) {
    const auto last = passed_over.find(kind);
    const auto first = last == passed_over.end() ? jobs.begin() : jobs.upper_bound(last->second);
    if (first == jobs.end()) continue;
    const Head head{is_beyond_quota(pass, kind.tenant, held_gpus_[kind.tenant] + kind.gpus), *first, kind};
    if (!best || head < *best) best = head;
  }
  return best;
}

std::optional<Placement> Mast::place(const SchedulingPass& pass, const ClusterState& cluster, const JobView& job) const {
  if (cluster.free_gpus() < job.gpus) return std::nullopt;
  return place_in_regions(pass, cluster, job, &SchedulingPass::place);
}

std::optional<Placement> Mast::place_smaller(const SchedulingPass& pass, const ClusterState& cluster, const JobView& job) const {
  if (job.least_gpus == job.gpus || cluster.free_gpus() < job.least_gpus) return std::nullopt;
  return place_in_regions(pass, cluster, job, &SchedulingPass::place_smaller);
}

std::optional<Placement> Mast::place_in_regions(const SchedulingPass& pass, const ClusterState& cluster, const JobView& job,
                                                PlaceIn find) const {
  if (settings_.regions == 1) return (pass.*find)(cluster, job.id);
  using Score = std::tuple<bool, std::size_t, std::uint32_t, std::uint32_t>;
  std::optional<std::pair<Score, Placement>> best;
  const bool stays_local = job.data_region && pass.now() - job.queued < settings_.remote_after;
  bool fits_a_region = false;
  for (std::uint32_t region = 0; region < settings_.regions; ++region) {
    const auto hosts = hosts_of(region, settings_.regions, cluster.host_count());
    std::uint64_t gpus = 0;
    for (std::uint32_t host = hosts.first; host < hosts.second; ++host) gpus += cluster.gpus_in_service(HostId(host));
    fits_a_region = fits_a_region || gpus >= job.gpus;
    const bool is_remote = job.data_region && *job.data_region != region;
    if (gpus < job.least_gpus || (is_remote && stays_local)) continue;
    ClusterState there = only(cluster, hosts);
    std::optional<Placement> placement = (pass.*find)(there, job.id);
    if (!placement) continue;
    there.take(job.id, *placement);
    const Score score{is_remote, job.gpus - placement->gpus.size(), there.fragmented_gpus(), there.free_gpus()};
    if (!best || score < best->first) best = {score, std::move(*placement)};
  }
  if (!fits_a_region) return (pass.*find)(cluster, job.id);
  return best ? std::optional(std::move(best->second)) : std::nullopt;
}

std::optional<Placement> Mast::make_room(SchedulingPass& pass, const JobView& job) {
  struct Victim {
    bool is_within_quota = true;
    std::int32_t priority = 0;
    std::int64_t since = 0;  ///< negative ticks: the latest start first
    JobId id;
    auto operator<=>(const Victim&) const = default;
  };
  const bool limits_tenants = quota_.size() > 1;
  if (!limits_tenants && lowest_running_ >= job.priority) return std::nullopt;
  const std::uint32_t tenant = tenant_of(job.group);
  std::vector<Victim> victims;
  for (const JobId id : pass.running()) {
    const Kind& kind = known_kind(pass, id);
    const bool is_beyond = kind.tenant != tenant && is_beyond_quota(pass, kind.tenant, held_gpus_[kind.tenant]);
    // Not its kind's: priorities may change while jobs run.
    const JobView running = pass.job(id);
    if (!is_beyond && running.priority >= job.priority) continue;
    victims.push_back({!is_beyond, running.priority, -running.since->in_ticks(), id});
  }
  std::sort(victims.begin(), victims.end());
  ClusterState without = pass.cluster();
  std::vector<std::uint64_t> held = held_gpus_;
  std::vector<JobId> stopped;
  std::optional<Placement> placement;
  for (const Victim& victim : victims) {
    const Kind& kind = known_kind(pass, victim.id);
    // What goes for the quota's sake ends with it.
    if (!victim.is_within_quota && !is_beyond_quota(pass, kind.tenant, held[kind.tenant]) && victim.priority >= job.priority)
      continue;
    without.release(victim.id, pass.placement(victim.id));
    held[kind.tenant] -= pass.placement(victim.id).gpus.size();
    stopped.push_back(victim.id);
    if (without.free_gpus() >= job.gpus) placement = place(pass, without, job);
    if (placement) break;
  }
  if (!placement) return std::nullopt;
  for (std::size_t i = stopped.size(); i-- > 0;) {
    const Placement& kept = pass.placement(stopped[i]);
    without.take(stopped[i], kept);
    std::optional<Placement> other = place(pass, without, job);
    if (other) {
      placement = std::move(other);
      stopped.erase(stopped.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      without.release(stopped[i], kept);
    }
  }
  for (const JobId id : stopped) {
    const Kind& kind = known_kind(pass, id);
    held_gpus_[kind.tenant] -= pass.placement(id).gpus.size();
    pass.preempt(id);
    wait(pass, id);
  }
  return placement;
}

std::optional<Mast::Promise> Mast::promise_to(const SchedulingPass& pass, const JobView& job) const {
  std::optional<Reservation> reservation = reserve(pass, job.least_gpus, [&](const ClusterState& later) {
    std::optional<Placement> placement = place(pass, later, job);
    return placement ? std::move(placement) : place_smaller(pass, later, job);
  });
  if (!reservation) return std::nullopt;
  Promise promise{std::move(*reservation), pass.cluster(), job.priority};
  promise.beside.take(job.id, free_part(promise.beside, promise.reservation.placement));
  return promise;
}

bool Mast::respects(const SchedulingPass& pass, const Promise& promise, const JobView& job, Placement& placement) const {
  const bool is_delayed = job.priority <= settings_.low_priority && job.priority < promise.priority;
  std::optional<Placement> beside = is_delayed ? std::nullopt : place(pass, promise.beside, job);
  if (beside) placement = std::move(*beside);
  return beside || declared_end(job, pass.now()) <= promise.reservation.begin;
}

void Mast::start(SchedulingPass& pass, const Head& head, Placement placement) {
  forget(head.best.second);
  held_gpus_[head.kind.tenant] += placement.gpus.size();
  pass.start(head.best.second, std::move(placement));
}

void Mast::schedule(SchedulingPass& pass) {
  for (const JobId id : pass.left()) forget(id);
  for (const JobId id : pass.arrived()) wait(pass, id);
  count_running(pass);
  std::map<Kind, Ranked> passed_over;
  std::optional<Promise> promise;
  Time next_remote = Time::max();
  while (const std::optional<Head> head = next_head(pass, passed_over)) {
    if (promise && pass.cluster().free_gpus() == 0) break;
    const JobView job = pass.job(head->best.second);
    std::optional<Placement> placement = place(pass, pass.cluster(), job);
    const bool is_held_up = placement && promise && !respects(pass, *promise, job, *placement);
    if (is_held_up) placement.reset();
    if (!placement && !promise) {
      if (settings_.preempts && !head->is_beyond_quota) placement = make_room(pass, job);
      if (!placement) placement = place_smaller(pass, pass.cluster(), job);
      if (!placement && pass.now() - job.queued >= settings_.reserve_after) {
        promise = promise_to(pass, job);
        if (!promise) break;
      }
    }
    if (placement) {
      if (promise) promise->beside.take(job.id, free_part(promise->beside, *placement));
      start(pass, *head, std::move(*placement));
      continue;
    }
    passed_over[head->kind] = is_held_up ? head->best : *waiting_.at(head->kind).rbegin();
    const Time goes_elsewhere = job.queued + settings_.remote_after;
    if (head->kind.data_region && pass.now() < goes_elsewhere) next_remote = std::min(next_remote, goes_elsewhere);
  }
  if (next_remote < Time::max()) pass.wake_at(next_remote);
}

Module<SchedulingPolicyFactory> mast_module() {
  return {
      {"scheduler", "mast",
       "Like Meta's MAST: priorities with ageing, large and long jobs before those that would fill the gaps, quotas of tenants, "
       "regions with data locality, preemption.",
       mast_params},
      make_mast};
}

}  // namespace weft

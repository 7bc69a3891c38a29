// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/job_attempt.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"

namespace weft {
namespace {

/// 1 / speed of the time, up to the longest there is.
Duration at_speed(Duration time, double speed) {
  if (speed == 1) return time;
  const double seconds = time.in_s() / speed;
  return seconds < Duration::max().in_s() ? Duration::from_seconds(seconds) : Duration::max();
}

}  // namespace

JobAttempt::JobAttempt(const Terms& terms, Placement placement, Time since, const KeptWork& kept)
    : terms_(terms), placement_(std::move(placement)), since_(since), part_since_(since) {
  past_.kept = past_.whole = on_this_scale(kept);
}

Time JobAttempt::got_on_until(Time now) const {
  if (const auto* const moving = std::get_if<Moving>(&phase_)) return std::min(now, moving->since);
  if (const auto* const failed = std::get_if<Failed>(&phase_)) return std::min(now, failed->got_on_until);
  return now;
}

std::uint32_t JobAttempt::parts_left() const {
  if (const auto* const fetching = std::get_if<Fetching>(&phase_)) return fetching->parts_left;
  if (const auto* const moving = std::get_if<Moving>(&phase_)) return moving->parts_left;
  return 0;
}

const ProgressModel* JobAttempt::model() const {
  if (const auto* const by_model = std::get_if<ByModel>(&phase_)) return &by_model->model;
  if (const auto* const forwarded = std::get_if<FastForwarded>(&phase_)) return &forwarded->model;
  if (const auto* const moving = std::get_if<Moving>(&phase_)) return std::get_if<ProgressModel>(&moving->basis);
  if (const auto* const failed = std::get_if<Failed>(&phase_)) return std::get_if<ProgressModel>(&failed->basis);
  return nullptr;
}

const WorkloadProgress* JobAttempt::ranks() const {
  if (const auto* const simulated = std::get_if<Simulated>(&phase_)) return &simulated->ranks;
  if (const auto* const moving = std::get_if<Moving>(&phase_)) return std::get_if<WorkloadProgress>(&moving->basis);
  if (const auto* const failed = std::get_if<Failed>(&phase_)) return std::get_if<WorkloadProgress>(&failed->basis);
  return nullptr;
}

Duration JobAttempt::elapsed(Time now) const {
  const Duration elapsed = std::max(Duration::zero(), got_on_until(now) - part_since_);
  const ProgressModel* const by_model = model();
  return by_model != nullptr ? std::min(elapsed, by_model->held().value()) : elapsed;
}

AttemptAccount JobAttempt::account(Time now) const {
  const Duration so_far = elapsed(now);
  if (const ProgressModel* const by_model = model()) return past_.followed_by(by_model->account(so_far));
  if (const WorkloadProgress* const by_ranks = ranks()) return past_.followed_by(by_ranks->account(so_far));
  // Its ranks have not begun.
  AttemptAccount result = past_;
  result.overhead = so_far;
  return result;
}

bool JobAttempt::has_done_all(Time now) const {
  // Of a job that is fast-forwarded the report is on its way for a message longer.
  const ProgressModel* const by_model = model();
  return by_model != nullptr && gets_on() && now - part_since_ >= by_model->held();
}

Duration JobAttempt::of_all_gpus(Duration time) const { return time_on_all(time, terms_.gpus_wanted, gpus()); }

Duration JobAttempt::time_for(Duration work) const {
  return at_speed(time_on_fewer(work, terms_.gpus_wanted, gpus()), terms_.speed);
}

KeptWork JobAttempt::on_common_scale(const KeptWork& kept) const {
  return {kept.iterations, at_speed(of_all_gpus(kept.work), 1 / terms_.speed)};
}

JobTimer JobAttempt::await(std::uint16_t kind) {
  awaited_ = {kind, {terms_.restarts, part_}};
  return {terms_.job, awaited_.generation};
}

JobAttempt::Basis JobAttempt::take_basis() {
  if (auto* const by_model = std::get_if<ByModel>(&phase_)) return by_model->model;
  if (auto* const forwarded = std::get_if<FastForwarded>(&phase_)) return forwarded->model;
  if (auto* const simulated = std::get_if<Simulated>(&phase_)) return std::move(simulated->ranks);
  if (auto* const moving = std::get_if<Moving>(&phase_)) return std::move(moving->basis);
  return {};
}

void JobAttempt::restore(Time part_since, const std::optional<AttemptAccount>& past) {
  WEFT_CHECK(is<Starting>(), "an attempt is restored before it gets on");
  part_since_ = part_since;
  if (past) past_ = *past;
}

void JobAttempt::begin_later_part(Time part_since) {
  WEFT_CHECK(is<Starting>(), "an attempt is restored before it gets on");
  part_since_ = part_since;
  ++part_;
}

void JobAttempt::fetch(AttemptId published, std::uint32_t parts, std::vector<HostId> stores) {
  WEFT_CHECK(is<Starting>() && parts > 0, "a job fetches data before its ranks begin");
  published_ = published;
  awaited_ = {};
  phase_ = Fetching{parts, std::move(stores)};
}

bool JobAttempt::take_arrival(Time now) {
  WEFT_CHECK(parts_left() > 0, "what arrives was on its way");
  if (auto* const moving = std::get_if<Moving>(&phase_)) return --moving->parts_left == 0;
  if (--std::get<Fetching>(phase_).parts_left > 0) return false;
  terms_.start_overhead = now - since_;
  phase_ = Starting{};
  return true;
}

void JobAttempt::drop_data() {
  if (auto* const fetching = std::get_if<Fetching>(&phase_)) fetching->parts_left = 0;
  if (auto* const moving = std::get_if<Moving>(&phase_)) moving->parts_left = 0;
}

JobTimer JobAttempt::run_by_model(Duration total, std::uint64_t iterations, Duration start_overhead) {
  WEFT_CHECK(is<Starting>(), "a job of job mode gets on once");
  terms_.start_overhead = start_overhead;
  phase_ = ByModel{ProgressModel(total, iterations, past_.kept, start_overhead, terms_.checkpoints)};
  return await(job_ends);
}

void JobAttempt::simulate(const RunningJob& published, Time begin, Duration control_delay) {
  WEFT_CHECK(is<Starting>(), "ranks are launched by a job that starts");
  awaited_ = {};
  if (part_since_ != since_ || part_ > 0) return simulate_from(begin, published);
  published_ = published.attempt;
  phase_ = Simulated{WorkloadProgress(published, since_, terms_.start_overhead, control_delay)};
}

void JobAttempt::simulate_from(Time begin, const RunningJob& published) {
  published_ = published.attempt;
  phase_ = Simulated{WorkloadProgress(published, begin, Duration::zero(), Duration::zero())};
}

std::optional<IterationRecord> JobAttempt::take_report(const IterationDone& report) {
  WEFT_CHECK(is<Simulated>(), "ranks of a simulated job report");
  return std::get<Simulated>(phase_).ranks.add(report);
}

void JobAttempt::simulate_anew(const WorkloadProgress::Landmark& landmark, const RunningJob& published, Time begin) {
  WEFT_CHECK(is<Simulated>(), "only a simulated job is simulated anew");
  past_ = past_.followed_by(landmark.account);
  ++part_;
  part_since_ = begin;
  simulate_from(begin, published);
}

JobTimer JobAttempt::fast_forward(const WorkloadProgress::Landmark& landmark, Duration period, std::uint64_t iterations, Time now) {
  WEFT_CHECK(is<Simulated>(), "only a simulated job is fast-forwarded");
  const std::uint64_t simulated_up_to = std::get<Simulated>(phase_).ranks.tally().completed();
  past_ = past_.followed_by(landmark.account);
  part_since_ = landmark.at;
  ++part_;
  phase_ = FastForwarded{ProgressModel(period * static_cast<std::int64_t>(iterations), iterations, {landmark.iterations, {}},
                                       Duration::zero(), terms_.checkpoints),
                         simulated_up_to, now};
  return await(job_ends);
}

JobTimer JobAttempt::restore_fast_forward(AttemptId published, Duration period, std::uint64_t iterations, Time now) {
  WEFT_CHECK(is<Starting>(), "an attempt is restored before it gets on");
  published_ = published;
  phase_ = FastForwarded{ProgressModel(period * static_cast<std::int64_t>(iterations), iterations, {past_.whole.iterations, {}},
                                       Duration::zero(), terms_.checkpoints),
                         past_.whole.iterations, now};
  return await(job_ends);
}

JobTimer JobAttempt::plan_resume(std::uint64_t iteration) {
  WEFT_CHECK(is<FastForwarded>() && !as<FastForwarded>().resumes_at, "a job that is fast-forwarded is told to resume once");
  std::get<FastForwarded>(phase_).resumes_at = iteration;
  ++part_;
  return await(job_resumes);
}

Time JobAttempt::resumed_part_since() const {
  WEFT_CHECK(is<FastForwarded>() && as<FastForwarded>().resumes_at, "a job resumes as planned");
  const auto& forwarded = std::get<FastForwarded>(phase_);
  return part_since_ + forwarded.model.begin_of(*forwarded.resumes_at);
}

void JobAttempt::resume(const RunningJob& published) {
  const Time begin = resumed_part_since();
  past_ = past_.followed_by(std::get<FastForwarded>(phase_).model.account(begin - part_since_));
  part_since_ = begin;
  awaited_ = {};
  simulate_from(begin, published);
}

JobTimer JobAttempt::move(Time now) {
  WEFT_CHECK(gets_on(), "only a job that gets on begins to move");
  Basis basis = take_basis();
  phase_ = Moving{now, std::move(basis)};
  // Nothing but this timer follows, and its kind tells it from the earlier ones.
  part_ = 0;
  return await(job_moves);
}

void JobAttempt::send_last_checkpoint(AttemptId published, std::uint32_t parts) {
  WEFT_CHECK(is<Moving>(), "a job that moves writes its last checkpoint");
  published_ = published;
  std::get<Moving>(phase_).parts_left = parts;
}

void JobAttempt::fail(Time now) {
  WEFT_CHECK(!is<Failed>(), "a job fails once in an attempt");
  const Time until = got_on_until(now);
  Basis basis = take_basis();
  awaited_ = {};
  phase_ = Failed{now, until, std::move(basis)};
}

}  // namespace weft

// Jobs that run workloads, on hosts that only pretend: each rank's iteration takes a time given by a formula.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "core/check.hpp"
#include "core/fingerprint.hpp"
#include "scheduler_run.hpp"

namespace weft {
namespace {

using testing_scheduler::fcfs_first_fit;
using testing_scheduler::find_double_booking;
using testing_scheduler::job;

Time at_us(std::int64_t us) { return Time::zero() + Duration::us(us); }

using IterationTime = std::function<Duration(JobId, RankId, std::uint32_t iteration)>;

/// Runs every rank on its endpoints for the time that the formula says; a tenth of it is exposed communication.
class PretendHost final : public Entity {
 public:
  PretendHost(NodeId first, std::uint32_t endpoints, const JobTable& jobs, Duration control_delay, const IterationTime& time)
      : first_(first), endpoints_(endpoints), jobs_(jobs), control_delay_(control_delay), time_(time) {}

  void handle(const Event& event, EventContext& context) override {
    if (event.kind == start_job) {
      scheduler_ = event.key.source;
      ++starts;
      const RunningJob& running = jobs_.at(event.payload_as<StartJob>().job);
      for (std::uint32_t rank = 0; rank < running.endpoint_of_rank.size(); ++rank) {
        const std::uint32_t endpoint = running.endpoint_of_rank[rank].index();
        if (endpoint >= first_.index() && endpoint < first_.index() + endpoints_) begin({running.id, RankId(rank), 0}, context);
      }
      return;
    }
    const auto step = event.payload_as<Step>();
    const Duration took = time_(step.job, step.rank, step.iteration);
    context.send(scheduler_, control_delay_, iteration_done,
                 IterationDone{step.job, step.rank, step.iteration, 0, context.now(), Duration::ticks(took.in_ticks() / 10)});
    if (step.iteration + 1 < jobs_.at(step.job).iterations) begin({step.job, step.rank, step.iteration + 1}, context);
  }

  int starts = 0;

 private:
  struct Step {
    JobId job;
    RankId rank;
    std::uint32_t iteration;
  };
  void begin(const Step& step, EventContext& context) {
    context.schedule(time_(step.job, step.rank, step.iteration), EventClass::timer, 1, step);
  }

  NodeId first_;
  std::uint32_t endpoints_;
  const JobTable& jobs_;
  Duration control_delay_;
  const IterationTime& time_;
  EntityId scheduler_;
};

class Iterations final : public JobObserver {
 public:
  void iteration_finished(const JobSpec&, const IterationRecord& record) override { records.push_back(record); }
  std::vector<IterationRecord> records;
};

JobSpec workload_job(std::string name, Time submit, std::uint32_t ranks, std::uint64_t iterations) {
  JobSpec spec = job(std::move(name), 0, ranks, {});
  spec.submit = submit;
  spec.iterations = iterations;
  auto workload = std::make_shared<Workload>();
  workload->name = "pretended";
  workload->rank_count = ranks;
  spec.workload = std::move(workload);
  return spec;
}

struct HostedRun {
  std::vector<JobRecord> records;
  std::vector<IterationRecord> iterations;
  std::vector<int> starts;  ///< start_job messages per host
  JobCounters counters;
  RunReport report;
  std::string failure;  ///< of require_all_finished()
};

HostedRun run_on_hosts(const std::vector<JobSpec>& jobs, std::uint32_t hosts, std::uint32_t gpus_per_host,
                       const IterationTime& time, EngineOptions options = {}) {
  JobTable table(jobs.size());
  Iterations observer;
  JobLifecycleSettings settings = fcfs_first_fit(&observer);
  settings.wiring.jobs = &table;
  EngineBuilder builder;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    settings.wiring.entity_of_host.push_back(builder.add_entity(
        std::make_unique<PretendHost>(NodeId(100 + host * gpus_per_host), gpus_per_host, table, settings.control_delay, time),
        "host" + std::to_string(host)));
    // Nodes are not numbered as slots are, so that a mix-up shows.
    for (std::uint32_t gpu = 0; gpu < gpus_per_host; ++gpu)
      settings.wiring.endpoint_of_gpu.emplace_back(100 + host * gpus_per_host + gpu);
  }
  const std::vector<EntityId> entities = settings.wiring.entity_of_host;
  const EntityId id =
      JobLifecycle::add_to(builder, std::make_unique<JobLifecycle>(jobs, ClusterState(hosts, gpus_per_host), std::move(settings)));
  Engine engine = std::move(builder).build(std::move(options));
  HostedRun run;
  run.report = engine.run({});
  const JobLifecycle& lifecycle = engine.entity_as<JobLifecycle>(id);
  try {
    lifecycle.require_all_finished();
  } catch (const CheckFailure& failure) {
    run.failure = failure.what();
  }
  run.records = lifecycle.records();
  run.counters = lifecycle.counters();
  run.iterations = observer.records;
  for (const EntityId entity : entities) run.starts.push_back(engine.entity_as<PretendHost>(entity).starts);
  return run;
}

// Two hosts of two GPUs; three ranks for two iterations; rank r takes (r+1) x (100 + 10 i) us for iteration i; messages take 10 us.
//   start at 0; the hosts hear of it at 10.
//   rank 0: 10 -> 110 -> 220;  rank 1: 10 -> 210 -> 430;  rank 2: 10 -> 310 -> 640.
//   iteration 0 is 10 .. 310, iteration 1 is 110 (rank 0 begins) .. 640; the last report arrives at 650.
TEST(WorkloadJobs, FollowATimelineByHand) {
  const IterationTime time = [](JobId, RankId rank, std::uint32_t iteration) {
    return Duration::us((rank.index() + 1) * (100 + 10 * iteration));
  };
  const HostedRun run = run_on_hosts({workload_job("A", Time::zero(), 3, 2)}, 2, 2, time);
  ASSERT_EQ(run.failure, "");
  ASSERT_EQ(run.iterations.size(), 2U);
  EXPECT_EQ(run.iterations[0].start, at_us(10));
  EXPECT_EQ(run.iterations[0].end, at_us(310));
  EXPECT_EQ(run.iterations[0].exposed_communication, Duration::us(20));  // (10 + 20 + 30) / 3
  EXPECT_EQ(run.iterations[1].start, at_us(110));
  EXPECT_EQ(run.iterations[1].end, at_us(640));
  EXPECT_EQ(run.iterations[1].exposed_communication, Duration::us(22));  // (11 + 22 + 33) / 3
  const JobRecord& record = run.records[0];
  EXPECT_EQ(record.start, Time::zero());
  EXPECT_EQ(record.end, at_us(650));
  EXPECT_EQ(record.iterations, 2U);
  EXPECT_EQ(record.mean_iteration, Duration::us(315));  // (640 - 10) / 2
  EXPECT_EQ(record.exposed_communication, Duration::us(42));
  EXPECT_EQ(record.placement, "host0:0-1,host1:0");
  EXPECT_EQ(run.starts, (std::vector{1, 1}));
  EXPECT_NEAR(run.counters.busy_gpu_s, 3 * 650e-6, 1e-15);
}

TEST(WorkloadJobs, GpusServeTheNextJobOnceTheLastReportIsIn) {
  const IterationTime time = [](JobId, RankId, std::uint32_t) { return Duration::us(100); };
  JobSpec timed = job("timed", 0, 2, Duration::us(7));
  timed.submit = at_us(1);
  const HostedRun run = run_on_hosts({workload_job("A", Time::zero(), 2, 1), timed, workload_job("B", at_us(1), 2, 1)}, 1, 2, time);
  EXPECT_EQ(run.records[0].end, at_us(120));    // 10 + 100 + 10
  EXPECT_EQ(run.records[1].start, at_us(120));  // job mode beside workloads
  EXPECT_EQ(run.records[2].start, at_us(127));
  EXPECT_EQ(run.records[2].end, at_us(247));
  EXPECT_EQ(run.starts, std::vector{2});
}

TEST(WorkloadJobs, ARankThatNeverReportsIsNamed) {
  // Rank 1 would need longer than the run lasts: it stands for one that waits for a message for ever.
  const std::vector<JobSpec> jobs{workload_job("stuck", Time::zero(), 2, 3)};
  JobTable table(1);
  const IterationTime time = [](JobId, RankId rank, std::uint32_t) { return rank.index() == 0 ? Duration::us(1) : Duration::s(1); };
  JobLifecycleSettings settings = fcfs_first_fit();
  settings.wiring = {{EntityId(0)}, {NodeId(0), NodeId(1)}, &table};
  EngineBuilder builder;
  builder.add_entity(std::make_unique<PretendHost>(NodeId(0), 2, table, settings.control_delay, time), "host0");
  const EntityId id = JobLifecycle::add_to(builder, std::make_unique<JobLifecycle>(jobs, ClusterState(1, 2), std::move(settings)));
  Engine engine = std::move(builder).build({});
  RunControl control;
  control.until = at_us(500);
  engine.run(control);
  try {
    engine.entity_as<JobLifecycle>(id).require_all_finished();
    FAIL();
  } catch (const CheckFailure& failure) {
    EXPECT_NE(std::string(failure.what()).find("job \"stuck\" waits for rank 1, which has finished 0 of 3 iterations"),
              std::string::npos)
        << failure.what();
  }
}

TEST(WorkloadJobs, NeedHosts) {
  EXPECT_THROW(JobLifecycle({workload_job("A", Time::zero(), 2, 1)}, ClusterState(1, 2), fcfs_first_fit()), CheckFailure);
}

TEST(WorkloadJobs, AreTheSameForAnyThreadsAndPartition) {
  std::mt19937 random(5);
  std::vector<JobSpec> jobs;
  for (std::uint32_t i = 0; i < 120; ++i) {
    jobs.push_back(workload_job("job" + std::to_string(i), at_us(random() % 20'000), 1 + random() % 20, 1 + random() % 6));
  }
  sort_by_submission(jobs);
  const IterationTime time = [](JobId of, RankId rank, std::uint32_t iteration) {
    const std::uint64_t mixed = mix64((std::uint64_t{of.index()} << 40) ^ (std::uint64_t{rank.index()} << 20) ^ iteration);
    return Duration::us(static_cast<std::int64_t>(50 + mixed % 4 * 25));  // few values, so that instants are shared
  };
  constexpr std::uint32_t hosts = 8;
  const HostedRun alone = run_on_hosts(jobs, hosts, 4, time);
  ASSERT_EQ(alone.failure, "");
  EXPECT_EQ(find_double_booking(alone.records), "");
  std::vector<EngineOptions> variants(4);
  variants[0].threads = 2;
  variants[1].threads = 8;
  variants[2].threads = 2;
  variants[2].partition = PartitionByZeta{Duration::us(1)};
  variants[3].threads = 8;
  PartitionExplicit halves;
  for (std::uint32_t entity = 0; entity <= hosts; ++entity) halves.lp_of_entity.emplace_back(entity % 2);
  variants[3].partition = halves;
  for (EngineOptions& options : variants) {
    const HostedRun run = run_on_hosts(jobs, hosts, 4, time, std::move(options));
    EXPECT_EQ(run.report.fingerprint.to_text(), alone.report.fingerprint.to_text());
    ASSERT_EQ(run.records.size(), alone.records.size());
    for (std::size_t i = 0; i < run.records.size(); ++i) {
      EXPECT_EQ(run.records[i].start, alone.records[i].start);
      EXPECT_EQ(run.records[i].end, alone.records[i].end);
      EXPECT_EQ(run.records[i].placement, alone.records[i].placement);
      EXPECT_EQ(run.records[i].exposed_communication, alone.records[i].exposed_communication);
    }
    ASSERT_EQ(run.iterations.size(), alone.iterations.size());
    for (std::size_t i = 0; i < run.iterations.size(); ++i) {
      EXPECT_EQ(run.iterations[i].job, alone.iterations[i].job);
      EXPECT_EQ(run.iterations[i].end, alone.iterations[i].end);
    }
  }
}

}  // namespace
}  // namespace weft

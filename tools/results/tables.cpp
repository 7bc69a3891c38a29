// SPDX-License-Identifier: Apache-2.0
#include "tools/results/tables.hpp"

#include <array>
#include <type_traits>

namespace weft {

namespace {

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

/// A cell by `to_cell` of the value; an empty one where the value is optional and missing.
template <class Value, class ToCell>
Cell filled(const Value& value, const ToCell& to_cell) {
  if constexpr (is_optional<Value>) {
    return value ? Cell(to_cell(*value)) : Cell();
  } else {
    return to_cell(value);
  }
}

double seconds_of(Time time) { return time.in_s(); }
double seconds_of(Duration duration) { return duration.in_s(); }
Duration ticks_of(Time time) { return time.since_start(); }
Duration ticks_of(Duration duration) { return duration; }

template <auto member>
constexpr auto text = [](const auto& row) -> Cell { return row.*member; };
template <auto member>
constexpr auto count = [](const auto& row) -> Cell { return std::uint64_t{row.*member}; };
template <auto member>
constexpr auto maybe_count = [](const auto& row) { return filled(row.*member, [](std::uint64_t value) { return value; }); };
template <auto member>
constexpr auto real = [](const auto& row) { return filled(row.*member, [](double value) { return value; }); };
template <auto member>
constexpr auto bytes = [](const auto& row) -> Cell { return (row.*member).count(); };
template <auto member>
constexpr auto in_s = [](const auto& row) { return filled(row.*member, [](auto value) { return seconds_of(value); }); };
template <auto member>
constexpr auto in_ns = [](const auto& row) { return filled(row.*member, [](auto value) { return ticks_of(value); }); };

constexpr std::array job_columns = {
    Column<JobRow>{{"job", "", "Its name"}, text<&JobRow::job>},
    Column<JobRow>{{"gpus", "", "GPUs that it wants"}, count<&JobRow::gpus>},
    Column<JobRow>{{"submit_s", "s", "When it was submitted"}, in_s<&JobRow::submit>},
    Column<JobRow>{{"start_s", "s", "When it first got GPUs; empty if it never did"}, in_s<&JobRow::start>},
    Column<JobRow>{{"end_s", "s", "When it ended; empty if it did not"}, in_s<&JobRow::end>},
    Column<JobRow>{{"wait_s", "s", "Time in the queue, over all its attempts"}, in_s<&JobRow::wait>},
    Column<JobRow>{{"run_s", "s", "Time with GPUs, over all its attempts"}, in_s<&JobRow::run>},
    Column<JobRow>{{"jct_s", "s", "Job completion time: from submission to end"}, in_s<&JobRow::completion>},
    Column<JobRow>{{"iterations", "", "Iterations that count"}, count<&JobRow::iterations>},
    Column<JobRow>{{"mean_iteration_s", "s",
                    "From the first rank's start of the first iteration to the last rank's end of the last, over "
                    "their number, without checkpoints"},
                   in_s<&JobRow::mean_iteration>},
    Column<JobRow>{{"exposed_comm_s", "s", "Communication that no computation hid, mean over ranks, summed over iterations"},
                   in_s<&JobRow::exposed_communication>},
    Column<JobRow>{{"restarts", "", "Starts after the first"}, count<&JobRow::restarts>},
    Column<JobRow>{{"preemptions", "", "Times that the scheduler took its GPUs away"}, count<&JobRow::preemptions>},
    Column<JobRow>{{"placement", "", "Hosts and GPUs of the last attempt"}, text<&JobRow::placement>},
    Column<JobRow>{{"failures", "", "Times that a part failed which it needed"}, count<&JobRow::failures>},
    Column<JobRow>{{"moves", "", "Times that it left a host which was drained"}, count<&JobRow::moves>},
    Column<JobRow>{{"lost_s", "s", "Of run_s: work that did not count in the end, and time from failures until their detection"},
                   in_s<&JobRow::lost>},
    Column<JobRow>{{"overhead_s", "s", "Of run_s: from starts until the job got on"}, in_s<&JobRow::overhead>},
    Column<JobRow>{{"checkpoint_s", "s", "Of run_s: writing checkpoints"}, in_s<&JobRow::checkpointing>},
    Column<JobRow>{{"goodput_iterations_per_s", "1/s", "Iterations that count, from the first start to the end"},
                   real<&JobRow::goodput_iterations_per_s>},
    Column<JobRow>{
        {"goodput_samples_per_s", "1/s", "Samples in these iterations, where the scenario says how many an iteration has"},
        real<&JobRow::goodput_samples_per_s>},
    Column<JobRow>{{"elastic_restarts", "", "Restarts on fewer GPUs than the job wants"}, count<&JobRow::elastic_restarts>},
    Column<JobRow>{{"user", "", "Who submitted it, where the trace says so"}, text<&JobRow::user>},
    Column<JobRow>{{"group", "", "Virtual cluster or group"}, text<&JobRow::group>},
    Column<JobRow>{{"model", "", "What it trains: the trace's model or type, or the name of its workload"}, text<&JobRow::model>},
    Column<JobRow>{{"priority", "", "The higher, the sooner; as it was last"},
                   [](const JobRow& row) -> Cell { return std::int64_t{row.priority}; }},
};

constexpr std::array attempt_columns = {
    Column<AttemptRow>{{"job", "", "Its name"}, text<&AttemptRow::job>},
    Column<AttemptRow>{{"attempt", "", "Number of the attempt of the job, from 0"}, count<&AttemptRow::attempt>},
    Column<AttemptRow>{{"start_s", "s", "When it got GPUs"}, in_s<&AttemptRow::start>},
    Column<AttemptRow>{{"end_s", "s", "When it left them, or the run stopped"}, in_s<&AttemptRow::end>},
    Column<AttemptRow>{{"reason", "",
                        "Why: ended, preempted, failed (a part that it needs), moved (off a drained host), cancelled, or running "
                        "when the run stopped"},
                       text<&AttemptRow::reason>},
    Column<AttemptRow>{{"gpus", "", "GPUs that it held"}, count<&AttemptRow::gpus>},
    Column<AttemptRow>{{"hosts", "", "Its hosts, each with the numbers of its GPUs"}, text<&AttemptRow::hosts>},
};

constexpr std::array cluster_columns = {
    Column<ClusterRow>{{"time_s", "s", "From when on the row holds, until the next"}, in_s<&ClusterRow::since>},
    Column<ClusterRow>{{"running_jobs", "", "Jobs that hold GPUs"}, count<&ClusterRow::running_jobs>},
    Column<ClusterRow>{{"waiting_jobs", "", "Jobs in the queue"}, count<&ClusterRow::waiting_jobs>},
    Column<ClusterRow>{{"waiting_gpus", "", "GPUs that these want"}, count<&ClusterRow::waiting_gpus>},
    Column<ClusterRow>{{"busy_gpus", "", "GPUs that jobs hold; with free_gpus and gpus_out the whole cluster"},
                       count<&ClusterRow::busy_gpus>},
    Column<ClusterRow>{{"free_gpus", "", "GPUs that jobs could have"}, count<&ClusterRow::free_gpus>},
    Column<ClusterRow>{{"stranded_gpus", "", "Free GPUs while jobs wait"}, count<&ClusterRow::stranded_gpus>},
    Column<ClusterRow>{{"fragmented_gpus", "", "Free GPUs on hosts that are partly held or out of service"},
                       count<&ClusterRow::fragmented_gpus>},
    Column<ClusterRow>{{"gpus_out", "", "GPUs out of service that no job holds: failed ones, drained ones and spares"},
                       count<&ClusterRow::gpus_out>},
    Column<ClusterRow>{{"draining_gpus", "",
                        "Busy GPUs that are out of service: a job holds them until it leaves a drained host, or until "
                        "a failure is known"},
                       count<&ClusterRow::draining_gpus>},
};

constexpr std::array iteration_columns = {
    Column<IterationRow>{{"job", "", "Its name"}, text<&IterationRow::job>},
    Column<IterationRow>{{"iteration", "", "Number, from 0"}, count<&IterationRow::iteration>},
    Column<IterationRow>{{"start_s", "s", "When its first rank began it"}, in_s<&IterationRow::start>},
    Column<IterationRow>{{"end_s", "s", "When its last rank ended it"}, in_s<&IterationRow::end>},
    Column<IterationRow>{{"duration_s", "s", "The time between"},
                         [](const IterationRow& row) -> Cell { return (row.end - row.start).in_s(); }},
    Column<IterationRow>{{"exposed_comm_s", "s", "Communication that no computation hid, mean over ranks"},
                         in_s<&IterationRow::exposed_communication>},
};

constexpr std::array communicator_columns = {
    Column<CommunicatorRow>{{"job", "", "Its name"}, text<&CommunicatorRow::job>},
    Column<CommunicatorRow>{{"communicator", "", "Its name in the workload"}, text<&CommunicatorRow::communicator>},
    Column<CommunicatorRow>{{"groups", "", "Groups of ranks that it has"}, count<&CommunicatorRow::groups>},
    Column<CommunicatorRow>{{"group_size_min", "", "Ranks in the smallest of them"}, count<&CommunicatorRow::group_size_min>},
    Column<CommunicatorRow>{{"group_size_max", "", "Ranks in the largest of them"}, count<&CommunicatorRow::group_size_max>},
    Column<CommunicatorRow>{{"exposed_s", "s",
                             "Its communication that no computation hid, mean over ranks and iterations; where "
                             "several communicators are under way at a time, each counts"},
                            real<&CommunicatorRow::exposed_s>},
    Column<CommunicatorRow>{{"exposed_share", "", "The same over the time of iterations"}, real<&CommunicatorRow::exposed_share>},
};

constexpr std::array collective_columns = {
    Column<CollectiveRow>{{"job", "", "Its name"}, text<&CollectiveRow::job>},
    Column<CollectiveRow>{{"iteration", "", "Number, from 0"}, count<&CollectiveRow::iteration>},
    Column<CollectiveRow>{{"op", "", "Name of the operation in the workload"}, text<&CollectiveRow::op>},
    Column<CollectiveRow>{{"kind", "", "Type of the collective, or send, or receive"}, text<&CollectiveRow::kind>},
    Column<CollectiveRow>{{"communicator", "", "Its name in the workload"}, text<&CollectiveRow::communicator>},
    Column<CollectiveRow>{{"group", "", "Number of the group of ranks, from 0"}, count<&CollectiveRow::group>},
    Column<CollectiveRow>{{"ranks", "", "Ranks that take part"}, count<&CollectiveRow::ranks>},
    Column<CollectiveRow>{{"size_bytes", "bytes", "Size as the workload gives it"}, bytes<&CollectiveRow::size>},
    Column<CollectiveRow>{{"algorithm", "", "How it was carried out"}, text<&CollectiveRow::algorithm>},
    Column<CollectiveRow>{{"protocol", "", "How its messages were sent"}, text<&CollectiveRow::protocol>},
    Column<CollectiveRow>{{"start_ns", "ns", "When its first rank began it"}, in_ns<&CollectiveRow::start>},
    Column<CollectiveRow>{{"end_ns", "ns", "When its last rank ended it"}, in_ns<&CollectiveRow::end>},
    Column<CollectiveRow>{{"duration_ns", "ns", "The time between"},
                          [](const CollectiveRow& row) -> Cell { return row.end - row.start; }},
    Column<CollectiveRow>{{"bus_bandwidth_gbps", "Gbps",
                           "Bus bandwidth in gigabits: size over duration, times the factor of nccl-tests that makes "
                           "it comparable with the rates of links"},
                          real<&CollectiveRow::bus_bandwidth_gbps>},
    Column<CollectiveRow>{{"multiplicity", "", "Groups alike that the row stands for, itself included; 1 unless ranks were folded"},
                          count<&CollectiveRow::multiplicity>},
    Column<CollectiveRow>{{"channels", "", "Channels that it was cut into"}, count<&CollectiveRow::channels>},
    Column<CollectiveRow>{{"bus_bandwidth_gbytes_per_s", "GB/s", "Bus bandwidth as nccl-tests print it, busbw"},
                          [](const CollectiveRow& row) -> Cell { return row.bus_bandwidth_gbps / 8; }},
    Column<CollectiveRow>{{"nic_share", "", "Of what the NICs of the host that sends most can send in that time"},
                          real<&CollectiveRow::nic_share>},
};

template <auto percentile>
constexpr auto completion_of =
    [](const FlowRow& row) { return filled(row.completions, [](const FlowRow::Completions& of) { return of.*percentile; }); };

constexpr std::array flow_columns = {
    Column<FlowRow>{
        {"flow_id", "", "Number: in order of entering the network, and then those that hosts moved on links of their own"},
        count<&FlowRow::flow>},
    Column<FlowRow>{{"job", "", "Its name; empty for flows of a list"}, text<&FlowRow::job>},
    Column<FlowRow>{{"src", "", "Endpoint that sends"}, text<&FlowRow::source>},
    Column<FlowRow>{{"dst", "", "Endpoint that receives"}, text<&FlowRow::destination>},
    Column<FlowRow>{{"size_bytes", "bytes", "Payload"}, bytes<&FlowRow::size>},
    Column<FlowRow>{{"start_ns", "ns", "When its host handed it over"}, in_ns<&FlowRow::start>},
    Column<FlowRow>{{"end_ns", "ns", "When it was delivered"}, in_ns<&FlowRow::end>},
    Column<FlowRow>{{"fct_ns", "ns", "Flow completion time: the time between"}, in_ns<&FlowRow::completion>},
    Column<FlowRow>{{"ideal_fct_ns", "ns", "What it takes alone in the network, latencies included"}, in_ns<&FlowRow::ideal>},
    Column<FlowRow>{{"slowdown", "", "fct_ns over ideal_fct_ns"}, real<&FlowRow::slowdown>},
    Column<FlowRow>{
        {"multiplicity", "", "Transfers that the row stands for, itself included: of ranks that are alike, or of a class"},
        count<&FlowRow::multiplicity>},
    Column<FlowRow>{{"input_row", "", "Place of the flow in the list that --flows named, from 0"},
                    maybe_count<&FlowRow::input_row>},
    Column<FlowRow>{{"op", "", "Operation of the workload that sent it, as in collectives.csv; empty of data and checkpoints"},
                    text<&FlowRow::op>},
    Column<FlowRow>{{"collective", "", "Type of the collective, or send"}, text<&FlowRow::collective>},
    Column<FlowRow>{{"iteration", "", "Iteration of the job, from 0"}, maybe_count<&FlowRow::iteration>},
    Column<FlowRow>{{"communicator", "", "Communicator of the operation"}, text<&FlowRow::communicator>},
    Column<FlowRow>{{"fct_p50_ns", "ns", "Of the completion times of a class: half of them are below; empty of one transfer"},
                    completion_of<&FlowRow::Completions::p50>},
    Column<FlowRow>{{"fct_p90_ns", "ns", "90 % are below"}, completion_of<&FlowRow::Completions::p90>},
    Column<FlowRow>{{"fct_p99_ns", "ns", "99 % are below"}, completion_of<&FlowRow::Completions::p99>},
    Column<FlowRow>{{"fct_max_ns", "ns", "The longest"}, completion_of<&FlowRow::Completions::max>},
};

constexpr std::array link_columns = {
    Column<LinkRow>{{"link", "", "Its name; each direction of a cable is a link"}, text<&LinkRow::link>},
    Column<LinkRow>{{"src", "", "Node that sends on it"}, text<&LinkRow::source>},
    Column<LinkRow>{{"dst", "", "Node that receives from it"}, text<&LinkRow::destination>},
    Column<LinkRow>{{"rate_bps", "bps", "Its rate"}, [](const LinkRow& row) -> Cell { return row.rate.in_bps(); }},
    Column<LinkRow>{{"bytes", "bytes", "What it carried, headers included"}, bytes<&LinkRow::bytes>},
    Column<LinkRow>{{"mean_utilization", "",
                     "bytes over what it carries at its rate in link_utilization_over_s of summary.json: the makespan, "
                     "and what the network still moved after it"},
                    real<&LinkRow::mean_utilization>},
    Column<LinkRow>{{"peak_queue_bytes", "bytes", "Most that ever waited for it in its switch; packet mode"},
                    bytes<&LinkRow::queue_peak>},
    Column<LinkRow>{{"ecn_marks", "", "Packets marked because of what waited for it; packet mode"}, count<&LinkRow::ecn_marks>},
    Column<LinkRow>{{"pause_ns", "ns", "How long its end asked for a pause of any priority; packet mode"}, in_ns<&LinkRow::paused>},
    Column<LinkRow>{{"drops", "", "Packets that came by it and were dropped; packet mode"}, count<&LinkRow::drops>},
    Column<LinkRow>{{"tier", "", "Levels that it joins, such as host->leaf; host inside a host"}, text<&LinkRow::tier>},
};

constexpr std::array pause_storm_columns = {
    Column<PauseStormRow>{{"time_ns", "ns", "When the watchdog of a switch found the queue stuck"}, in_ns<&PauseStormRow::found>},
    Column<PauseStormRow>{{"link", "", "Link that the queue leads to"}, text<&PauseStormRow::link>},
    Column<PauseStormRow>{{"priority", "", "Of the queue"}, count<&PauseStormRow::priority>},
    Column<PauseStormRow>{{"drops", "", "Packets dropped at that queue until it recovered"}, count<&PauseStormRow::drops>},
};

constexpr std::array event_columns = {
    Column<EventRow>{{"time_s", "s", "When it happened"}, in_s<&EventRow::at>},
    Column<EventRow>{{"event", "", "drain, fail, submit, cancel, set, call, priority, or what a handler notes"},
                     text<&EventRow::event>},
    Column<EventRow>{{"subject", "", "Host, part, job, parameter or handler that it is about"}, text<&EventRow::subject>},
    Column<EventRow>{{"by", "", "\"scenario\", or the handler that did it"}, text<&EventRow::by>},
};

constexpr std::array congestion_columns = {
    Column<CongestionRow>{{"link", "", "Link that slowed jobs"}, text<&CongestionRow::link>},
    Column<CongestionRow>{{"cause", "", "others, or own where a job slowed itself"}, text<&CongestionRow::cause>},
    Column<CongestionRow>{{"begin_s", "s", "When it began"}, in_s<&CongestionRow::begin>},
    Column<CongestionRow>{{"end_s", "s", "When it ended"}, in_s<&CongestionRow::end>},
    Column<CongestionRow>{{"duration_s", "s", "The time between"},
                          [](const CongestionRow& row) -> Cell { return (row.end - row.begin).in_s(); }},
    Column<CongestionRow>{{"congested_share", "", "Share of it, as far as it was simulated, in which it slowed a transfer"},
                          real<&CongestionRow::congested_share>},
    Column<CongestionRow>{{"lost_share", "", "Of what the transfers that it slowed could have moved over their hosts' own links"},
                          real<&CongestionRow::lost_share>},
    Column<CongestionRow>{{"trigger", "", "Job whose start began it"}, text<&CongestionRow::trigger>},
    Column<CongestionRow>{{"slowed", "", "Jobs that it slowed, joined by semicolons"}, text<&CongestionRow::slowed>},
    Column<CongestionRow>{{"jobs", "", "Jobs that used the link meanwhile, in order of joining"}, text<&CongestionRow::jobs>},
    Column<CongestionRow>{{"multiplicity", "", "Links alike that the row stands for; 1 unless ranks were folded"},
                          count<&CongestionRow::multiplicity>},
};

constexpr std::array congested_job_columns = {
    Column<CongestedJobRow>{{"job", "", "A job that was slowed, or whose start began a period"}, text<&CongestedJobRow::job>},
    Column<CongestedJobRow>{{"periods", "", "Periods that slowed it"}, count<&CongestedJobRow::periods>},
    Column<CongestedJobRow>{{"in_periods_s", "s", "Time in them; those of several links count once"},
                            in_s<&CongestedJobRow::in_periods>},
    Column<CongestedJobRow>{{"congested_s", "s", "Of what was simulated, while any of its transfers was slowed"},
                            in_s<&CongestedJobRow::congested>},
    Column<CongestedJobRow>{{"lost_share", "", "Of what these transfers could have moved"}, real<&CongestedJobRow::lost_share>},
    Column<CongestedJobRow>{{"triggered", "", "Periods of others that its start began"}, count<&CongestedJobRow::triggered>},
};

constexpr std::array aligned_job_columns = {
    Column<AlignedJobRow>{{"job", "", "A job that did an iteration"}, text<&AlignedJobRow::job>},
    Column<AlignedJobRow>{{"gpus", "", "That the alignment goes by: of the cluster or of the job"}, count<&AlignedJobRow::gpus>},
    Column<AlignedJobRow>{{"mean_iteration_s", "s", "As simulated; also in jobs.csv"}, in_s<&AlignedJobRow::mean_iteration>},
    Column<AlignedJobRow>{{"aligned_iteration_s", "s", "As the profile's alignment corrects it"},
                          in_s<&AlignedJobRow::aligned_iteration>},
};

constexpr std::array link_sample_columns = {
    Column<LinkSampleRow>{{"time_ns", "ns", "End of the interval"}, in_ns<&LinkSampleRow::end>},
    Column<LinkSampleRow>{{"link", "", "A link that sent, queued, paused or dropped anything in it"}, text<&LinkSampleRow::link>},
    Column<LinkSampleRow>{{"rate_bps", "bps", "Of packets that began in it, and of flows of jobs in flow mode"},
                          real<&LinkSampleRow::rate_bps>},
    Column<LinkSampleRow>{{"queue_bytes", "bytes", "What waits at its end"}, bytes<&LinkSampleRow::queue>},
    Column<LinkSampleRow>{{"pause_ns", "ns", "How long it was paused"}, in_ns<&LinkSampleRow::paused>},
    Column<LinkSampleRow>{{"ecn_marks", "", "Packets marked"}, count<&LinkSampleRow::ecn_marks>},
    Column<LinkSampleRow>{{"drops", "", "Packets dropped"}, count<&LinkSampleRow::drops>},
};

constexpr std::array tier_sample_columns = {
    Column<TierSampleRow>{{"begin_ns", "ns", "Begin of the interval"}, in_ns<&TierSampleRow::begin>},
    Column<TierSampleRow>{{"end_ns", "ns", "Its end: all are of one length, but for the last"}, in_ns<&TierSampleRow::end>},
    Column<TierSampleRow>{{"tier", "", "Levels that its links join, such as host->leaf"}, text<&TierSampleRow::tier>},
    Column<TierSampleRow>{{"links", "", "Links that it has"}, count<&TierSampleRow::links>},
    Column<TierSampleRow>{{"bytes", "bytes", "What they carried, headers included"}, bytes<&TierSampleRow::bytes>},
    Column<TierSampleRow>{{"mean_utilization", "", "Of their rates, mean over the links"}, real<&TierSampleRow::mean_utilization>},
    Column<TierSampleRow>{{"max_utilization", "", "Of the busiest link's rate"}, real<&TierSampleRow::max_utilization>},
    Column<TierSampleRow>{{"busiest_link", "", "Which it is; empty where none carried anything"}, text<&TierSampleRow::busiest>},
    Column<TierSampleRow>{{"queue_bytes", "bytes",
                           "The longest queue for any of them at the end, or at ends of parts of the interval; "
                           "packet mode, like the rest"},
                          bytes<&TierSampleRow::queue>},
    Column<TierSampleRow>{{"pause_ns", "ns", "How long they were paused, summed"}, in_ns<&TierSampleRow::paused>},
    Column<TierSampleRow>{{"ecn_marks", "", "Packets marked"}, count<&TierSampleRow::ecn_marks>},
    Column<TierSampleRow>{{"drops", "", "Packets dropped"}, count<&TierSampleRow::drops>},
};

template <class Row>
TableDescription description() {
  TableDescription table{TableOf<Row>::info, {}};
  for (const Column<Row>& column : TableOf<Row>::columns()) table.columns.push_back(column.info);
  return table;
}

}  // namespace

std::optional<double> number_of(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::optional<double> {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Duration>) {
          return value.in_ns();
        } else if constexpr (std::is_arithmetic_v<Value>) {
          return static_cast<double>(value);
        } else {
          return std::nullopt;
        }
      },
      cell);
}

const TableInfo TableOf<JobRow>::info = {
    "jobs.csv", "A row for each job: when it ended or was cancelled; of jobs that did neither, when the run stops.", ""};
std::span<const Column<JobRow>> TableOf<JobRow>::columns() { return job_columns; }

const TableInfo TableOf<AttemptRow>::info = {"attempts.csv",
                                             "A row for each attempt of a job: from when it got GPUs until it left them.", ""};
std::span<const Column<AttemptRow>> TableOf<AttemptRow>::columns() { return attempt_columns; }

const TableInfo TableOf<ClusterRow>::info = {"cluster.csv", "A row for each instant at which the cluster changed.", ""};
std::span<const Column<ClusterRow>> TableOf<ClusterRow>::columns() { return cluster_columns; }

const TableInfo TableOf<IterationRow>::info = {"iterations.csv", "A row for each iteration that was simulated.", ""};
std::span<const Column<IterationRow>> TableOf<IterationRow>::columns() { return iteration_columns; }

const TableInfo TableOf<CommunicatorRow>::info = {"communicators.csv",
                                                  "A row for each communicator of a job that any operation uses.", ""};
std::span<const Column<CommunicatorRow>> TableOf<CommunicatorRow>::columns() { return communicator_columns; }

const TableInfo TableOf<CollectiveRow>::info = {
    "collectives.csv", "A row for each collective of a group of ranks, and for each send and receive.", ""};
std::span<const Column<CollectiveRow>> TableOf<CollectiveRow>::columns() { return collective_columns; }

const TableInfo TableOf<FlowRow>::info = {
    "flows.csv",
    "A row for each transfer that was delivered. Where jobs make more than a million, unless --flows-csv=whole, a row for each "
    "class: all transfers of an operation and iteration whose sizes lie between the same powers of two, from the first start "
    "to the last end, with the means of sizes, completion times and slowdowns and percentiles of completion times.",
    ""};
std::span<const Column<FlowRow>> TableOf<FlowRow>::columns() { return flow_columns; }

const TableInfo TableOf<LinkRow>::info = {
    "links.csv",
    "A row for each directed link. In flow mode no queue forms and nothing is marked, paused or dropped: these columns "
    "are 0 by the model, as they are of links inside a host.",
    ""};
std::span<const Column<LinkRow>> TableOf<LinkRow>::columns() { return link_columns; }

const TableInfo TableOf<PauseStormRow>::info = {
    "pause_storms.csv", "A row for each queue that the watchdog of a switch found stuck.", "in packet mode, with packet.watchdog"};
std::span<const Column<PauseStormRow>> TableOf<PauseStormRow>::columns() { return pause_storm_columns; }

const TableInfo TableOf<EventRow>::info = {
    "events.csv", "A row for each thing that the scenario had happen by hand, or that a handler did, in order.",
    "if the scenario has events or handlers"};
std::span<const Column<EventRow>> TableOf<EventRow>::columns() { return event_columns; }

const TableInfo TableOf<CongestionRow>::info = {"congestion.csv",
                                                "A row for each period in which a link slowed jobs, in order of begin.",
                                                "in flow mode, with flow.detect_congestion"};
std::span<const Column<CongestionRow>> TableOf<CongestionRow>::columns() { return congestion_columns; }

const TableInfo TableOf<CongestedJobRow>::info = {"congested_jobs.csv",
                                                  "A row for each job that was slowed or began a period, in order of submission.",
                                                  "in flow mode, with flow.detect_congestion"};
std::span<const Column<CongestedJobRow>> TableOf<CongestedJobRow>::columns() { return congested_job_columns; }

const TableInfo TableOf<AlignedJobRow>::info = {"aligned_jobs.csv",
                                                "A row for each job that did an iteration, in order of jobs.csv.", "with --align"};
std::span<const Column<AlignedJobRow>> TableOf<AlignedJobRow>::columns() { return aligned_job_columns; }

const TableInfo TableOf<LinkSampleRow>::info = {"link_samples.csv", "A row for each busy link in each interval of --sample.",
                                                "in packet mode, with --sample"};
std::span<const Column<LinkSampleRow>> TableOf<LinkSampleRow>::columns() { return link_sample_columns; }

const TableInfo TableOf<TierSampleRow>::info = {
    "tier_samples.csv",
    "A row for each tier of the network in each of a few hundred intervals of the run. Links inside hosts are no tier.",
    "with --report, where there is a network"};
std::span<const Column<TierSampleRow>> TableOf<TierSampleRow>::columns() { return tier_sample_columns; }

std::vector<TableDescription> all_tables() {
  return {description<JobRow>(),          description<AttemptRow>(),      description<ClusterRow>(),    description<IterationRow>(),
          description<CommunicatorRow>(), description<CollectiveRow>(),   description<FlowRow>(),       description<LinkRow>(),
          description<LinkSampleRow>(),   description<TierSampleRow>(),   description<PauseStormRow>(), description<EventRow>(),
          description<CongestionRow>(),   description<CongestedJobRow>(), description<AlignedJobRow>()};
}

}  // namespace weft

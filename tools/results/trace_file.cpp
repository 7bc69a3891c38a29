// SPDX-License-Identifier: Apache-2.0
#include "tools/results/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/text/readable.hpp"

namespace weft {

namespace {

/// A text in JSON, quotes included.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Microseconds, exact to the tick: 12.34567.
std::string in_us(Duration time) {
  constexpr std::int64_t ticks_per_us = Duration::ticks_per_ns * 1000;
  const std::int64_t ticks = time.in_ticks();
  if (ticks % ticks_per_us == 0) return fmt::format("{}", ticks / ticks_per_us);
  return fmt::format("{}.{:05}", ticks / ticks_per_us, ticks % ticks_per_us);
}

std::string in_us(Time time) { return in_us(time.since_start()); }

/// Of `most` ranks that are spread evenly over all of them, rank 0 among them.
bool is_among(std::uint32_t rank, std::uint32_t ranks, std::uint32_t most) {
  if (ranks <= most) return true;
  const auto spread = [&](std::uint64_t below) { return (below * most + ranks - 1) / ranks; };
  return spread(std::uint64_t{rank} + 1) > spread(rank);
}

/// A listed transfer takes so many bytes at least.
constexpr std::uint64_t listed_bytes = 100;

}  // namespace

TraceFile::TraceFile(const std::filesystem::path& path, const TraceLimits& limits, std::string_view choice)
    : file_(path, OutputFile::Packing::none, choice), limits_(limits) {
  file_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

bool TraceFile::write(std::string_view event, Time at) {
  if (left_out_from_ || bytes_ + event.size() + 2 > limits_.bytes_max) {
    left_out_from_ = left_out_from_ ? std::min(*left_out_from_, at) : at;
    return false;
  }
  file_.write(is_empty_ ? "\n" : ",\n");
  file_.write(event);
  is_empty_ = false;
  bytes_ += event.size() + 2;
  return true;
}

TraceFile::Process& TraceFile::process(const std::string& name) {
  const auto [known, is_new] = processes_.try_emplace(name);
  if (!is_new) return known->second;
  known->second.number = processes_.size();
  write(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", known->second.number, json_text(name)),
        Time::max());
  return known->second;
}

TraceFile::Thread TraceFile::thread_of(Process& process, const std::string& name, Time start, Time end) {
  Track& track = process.tracks[name];
  auto free = std::ranges::find_if(track.busy_until, [start](Time until) { return until <= start; });
  const auto lane = static_cast<std::size_t>(free - track.busy_until.begin());
  if (free == track.busy_until.end()) {
    const std::uint64_t number = process.threads++;
    const std::string title = lane == 0 ? name : fmt::format("{} ({})", name, lane + 1);
    write(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process.number, number,
                      json_text(title)),
          Time::max());
    track.threads.push_back(number);
    track.busy_until.push_back(end);
  } else {
    *free = end;
  }
  return {process.number, track.threads[lane]};
}

bool TraceFile::slice(const Thread& thread, std::string_view name, std::string_view category, Time start, Time end,
                      std::string_view arguments) {
  return write(fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", json_text(name),
                           category, thread.process, thread.number, in_us(start), in_us(end - start), arguments),
               start);
}

void TraceFile::add_attempt(const AttemptRow& row) {
  const Thread thread = thread_of(process("cluster"), "jobs", row.start, row.end);
  slice(thread, row.job, "attempt", row.start, row.end,
        fmt::format(R"("attempt":{},"gpus":{},"reason":"{}","hosts":{})", row.attempt, row.gpus, row.reason, json_text(row.hosts)));
}

void TraceFile::count(Process& process, const std::string& name, Time at, double value) {
  write(fmt::format(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{"value":{}}}}})", json_text(name), process.number, in_us(at),
                    value),
        at);
}

void TraceFile::add_cluster(const ClusterRow& row) {
  Process& cluster = process("cluster");
  if (!cluster_ || cluster_->busy_gpus != row.busy_gpus) count(cluster, "busy GPUs", row.since, row.busy_gpus);
  if (!cluster_ || cluster_->waiting_jobs != row.waiting_jobs)
    count(cluster, "waiting jobs", row.since, static_cast<double>(row.waiting_jobs));
  cluster_ = row;
}

void TraceFile::add_op(const OpRow& row) {
  if (row.ranks_alike == 1 && !is_among(row.rank, row.job_ranks, limits_.ranks_max)) {
    if (const auto known = thinned_.find(row.job); known == thinned_.end()) thinned_.emplace(row.job, row.job_ranks);
    return;
  }
  const std::string rank = "rank " + fmt::to_string(row.rank);
  const std::string alike = row.ranks_alike == 1 ? "" : fmt::format(" (for {} alike)", row.ranks_alike);
  const std::string stream =
      row.stream > 0 ? fmt::format(" stream {}", row.stream) : std::string(row.is_compute ? "" : " communication");
  const Thread thread = thread_of(process(std::string(row.job)), rank + stream + alike, row.start, row.end);
  const std::string size = row.is_compute ? "" : fmt::format(R"(,"size_bytes":{})", row.size.count());
  slice(thread, row.op, row.kind, row.start, row.end, fmt::format(R"("iteration":{}{})", row.iteration, size));
  if (row.is_point_to_point) messages_[{row.job_id, row.rank}].push_back({row.start, row.end, thread});
}

void TraceFile::add_flow(const FlowRow& row) {
  if (row.source_rank && row.destination_rank && row.collective == "send")
    arrows_.push_back({row.flow, row.job_id, *row.source_rank, *row.destination_rank, row.start, row.end});
  if (!row.input_row || listed_.size() * listed_bytes >= limits_.bytes_max) return;
  FlowRow kept = row;
  names_.keep_names(kept, &FlowRow::source, &FlowRow::destination);
  listed_.push_back(kept);
}

void TraceFile::count_link(const std::string& link, Counters& last, Time at, const std::array<double, 2>& values) {
  static constexpr std::array<const char*, 2> names = {" Gb/s", " queued bytes"};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != last.values[i]) count(process("links"), link + names[i], at, values[i]);
  }
  last.values = values;
}

void TraceFile::add_link_sample(const LinkSampleRow& row) {
  auto known = counters_.find(row.link);
  if (known == counters_.end()) known = counters_.emplace(std::string(row.link), Counters{}).first;
  auto& [link, last] = *known;
  // A link is idle where it has no sample.
  if (last.until < row.begin) count_link(link, last, last.until, {});
  count_link(link, last, row.begin, {row.rate_bps / 1e9, static_cast<double>(row.queue.count())});
  last.until = row.end;
}

void TraceFile::add_link_pause(const LinkPauseRow& row) {
  const Thread thread = thread_of(process("links"), std::string(row.link), row.begin, row.end);
  slice(thread, "paused", "pfc", row.begin, row.end, "");
}

void TraceFile::draw_arrows() {
  const auto slice_at = [this](JobId job, std::uint32_t rank, Time at) -> const Slice* {
    const auto of_rank = messages_.find({job, rank});
    if (of_rank == messages_.end()) return nullptr;
    const auto found = std::ranges::find_if(of_rank->second, [at](const Slice& slice) { return slice.end >= at; });
    return found == of_rank->second.end() ? nullptr : &*found;
  };
  for (auto& [rank, slices] : messages_) std::ranges::sort(slices, {}, &Slice::end);
  std::ranges::stable_sort(arrows_, {}, &Arrow::start);
  for (const Arrow& arrow : arrows_) {
    const Slice* const from = slice_at(arrow.job, arrow.source_rank, arrow.start);
    const Slice* const to = slice_at(arrow.job, arrow.destination_rank, arrow.end);
    if (from == nullptr || to == nullptr) continue;
    const auto end_of = [&](const char* phase, const Slice& slice, Time at, const char* more) {
      return fmt::format(R"({{"ph":"{}","id":{},"name":"message","cat":"message","pid":{},"tid":{},"ts":{}{}}})", phase, arrow.flow,
                         slice.thread.process, slice.thread.number, in_us(std::clamp(at, slice.start, slice.end)), more);
    };
    const std::string begin = end_of("s", *from, arrow.start, "");
    const std::string end = end_of("f", *to, arrow.end, R"(,"bp":"e")");
    // Both or none.
    if (!write(begin + ",\n" + end, arrow.start)) return;
  }
}

void TraceFile::write_rest() {
  std::ranges::stable_sort(listed_, {}, &FlowRow::start);
  for (const FlowRow& row : listed_) {
    const Thread thread = thread_of(process("transfers"), std::string(row.source), row.start, row.end);
    const bool has_room = slice(thread, "to " + std::string(row.destination), "transfer", row.start, row.end,
                                fmt::format(R"("size_bytes":{},"slowdown":{})", row.size.count(), row.slowdown));
    if (!has_room) break;
  }
  draw_arrows();
  for (auto& [link, last] : counters_) count_link(link, last, last.until, {});
  file_.write("\n]}\n");
}

void TraceFile::close() {
  write_rest();
  file_.close();
}

void TraceFile::commit() {
  write_rest();
  file_.commit();
}

std::vector<std::string> TraceFile::notes() const {
  std::vector<std::string> notes;
  for (const auto& [job, ranks] : thinned_) {
    notes.push_back(
        fmt::format("trace.json draws {} of the {} ranks of {}; --trace-ranks={} draws all", limits_.ranks_max, ranks, job, ranks));
  }
  if (!left_out_from_) return notes;
  const std::string from =
      *left_out_from_ == Time::max() ? "" : fmt::format(" what happened from {} on", readable(left_out_from_->in_s()));
  notes.push_back(fmt::format("trace.json leaves out{}, as it has reached {}; --trace-size=1GB makes room for more",
                              from.empty() ? " some tracks" : from, readable_bytes(static_cast<double>(limits_.bytes_max))));
  return notes;
}

}  // namespace weft

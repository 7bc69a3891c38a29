#include "tools/results/trace_file.hpp"

#include <nlohmann/json.hpp>

namespace weft {

namespace {

using Json = nlohmann::ordered_json;

/// Jobs are processes by their number; links are one before them.
constexpr std::uint64_t links_process = 0;
std::uint64_t process_of(JobId job) { return std::uint64_t{job.index()} + 1; }

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json named(const char* what, std::uint64_t process, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"args", {{"name", name}}}};
}

}  // namespace

TraceFile::TraceFile(const std::filesystem::path& path) : file_(path) {
  file_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

void TraceFile::write(const std::string& event) {
  file_.write(is_empty_ ? "\n" : ",\n");
  file_.write(event);
  is_empty_ = false;
}

void TraceFile::name_process(std::uint64_t process, const std::string& name) {
  if (named_processes_.insert(process).second) write(text_of(named("process_name", process, name)));
}

void TraceFile::add_op(const OpRow& row) {
  const std::uint64_t process = process_of(row.job_id);
  name_process(process, std::string(row.job));
  // Computation and communication of a rank overlap: a track for each keeps them apart.
  const std::uint64_t track = 2 * std::uint64_t{row.rank} + (row.is_compute ? 0 : 1);
  if (named_threads_.emplace(process, track).second) {
    const std::string name = "rank " + std::to_string(row.rank) + (row.is_compute ? "" : " communication") +
                             (row.ranks_alike == 1 ? "" : " (for " + std::to_string(row.ranks_alike) + " alike)");
    Json event = named("thread_name", process, name);
    event["tid"] = track;
    write(text_of(event));
  }
  Json arguments = {{"iteration", row.iteration}};
  if (!row.is_compute) arguments["size_bytes"] = row.size.count();
  write(text_of({{"ph", "X"},
                 {"name", row.op},
                 {"cat", row.kind},
                 {"pid", process},
                 {"tid", track},
                 {"ts", row.start.in_ns() / 1e3},
                 {"dur", (row.end - row.start).in_us()},
                 {"args", arguments}}));
}

void TraceFile::count(const std::string& link, Counters& last, Time at, const std::array<double, 2>& values) {
  static constexpr std::array<const char*, 2> names = {" Gb/s", " queued bytes"};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == last.values[i]) continue;
    write(text_of({{"ph", "C"},
                   {"name", link + names[i]},
                   {"pid", links_process},
                   {"ts", at.since_start().in_us()},
                   {"args", {{"value", values[i]}}}}));
  }
  last.values = values;
}

void TraceFile::add_link_sample(const LinkSampleRow& row) {
  name_process(links_process, "links");
  auto known = counters_.find(row.link);
  if (known == counters_.end()) known = counters_.emplace(std::string(row.link), Counters{}).first;
  auto& [link, last] = *known;
  // A link is idle where it has no sample.
  if (last.until < row.begin) count(link, last, last.until, {});
  count(link, last, row.begin, {row.rate_bps / 1e9, static_cast<double>(row.queue.count())});
  last.until = row.end;
}

void TraceFile::add_link_pause(const LinkPauseRow& row) {
  name_process(links_process, "links");
  const std::uint64_t track = row.link_id.index();
  if (named_threads_.emplace(links_process, track).second) {
    Json event = named("thread_name", links_process, std::string(row.link));
    event["tid"] = track;
    write(text_of(event));
  }
  write(text_of({{"ph", "X"},
                 {"name", "paused"},
                 {"cat", "pfc"},
                 {"pid", links_process},
                 {"tid", track},
                 {"ts", row.begin.since_start().in_us()},
                 {"dur", (row.end - row.begin).in_us()}}));
}

void TraceFile::close() {
  for (auto& [link, last] : counters_) count(link, last, last.until, {});
  file_.write("\n]}\n");
  file_.close();
}

}  // namespace weft

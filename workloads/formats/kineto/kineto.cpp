#include "workloads/formats/kineto/kineto.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/source_text.hpp"
#include "workloads/dag/element_type.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/formats/counted_note.hpp"
#include "workloads/formats/kineto/kineto_communication.hpp"
#include "workloads/formats/kineto/kineto_iterations.hpp"
#include "workloads/formats/kineto/kineto_replay.hpp"
#include "workloads/formats/kineto/kineto_splits.hpp"
#include "workloads/formats/kineto/kineto_trace.hpp"
#include "workloads/formats/rank_set.hpp"

namespace weft {

namespace {

namespace fs = std::filesystem;

/// Names of kernels are C++ signatures of any length; so much of them is kept.
constexpr std::size_t kNameLengthMax = 96;

bool is_trace_name(std::string_view name) { return name.ends_with(".json") || name.ends_with(".json.gz"); }

// --- Files ---

/// Traces in a folder whose names start so, sorted.
std::vector<std::string> traces_in(const fs::path& folder, const std::string& start, bool with_folder) {
  std::vector<std::string> files;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    if (is_trace_name(name) && name.starts_with(start)) files.push_back(with_folder ? (folder / name).string() : name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> find_files(const std::string& path) {
  std::error_code ec;
  if (fs::exists(path, ec) && !fs::is_directory(path, ec)) return {path};
  const fs::path given(path);
  if (fs::is_directory(given, ec)) return traces_in(given, "", true);
  const fs::path folder = given.has_parent_path() ? given.parent_path() : fs::path(".");
  return traces_in(folder, given.filename().string(), given.has_parent_path());
}

std::vector<std::string> require_files(const std::string& path) {
  std::vector<std::string> files = find_files(path);
  if (!files.empty()) return files;
  std::error_code ec;
  const fs::path given(path);
  const bool is_folder = fs::is_directory(given, ec);
  std::string help = "name a trace (.json or .json.gz), a folder of traces, or the beginning of their names";
  if (!is_folder) {
    const fs::path folder = given.has_parent_path() ? given.parent_path() : fs::path(".");
    std::vector<std::string> known = traces_in(folder, "", false);
    for (std::string& name : known) name = fs::path(name).filename().string();
    if (!known.empty()) help = suggestion(given.filename().string(), known, "trace") + "; " + help;
  }
  weft::fail("no-file", is_folder ? "there is no Kineto trace in this folder" : "there is no Kineto trace of this name",
             SourcePlace::named(path), help);
}

/// The last number in a file's name, without its extensions.
std::optional<std::uint32_t> rank_in_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  for (const std::string_view extension : {".gz", ".json", ".trace", ".pt"}) {
    if (name.ends_with(extension)) name.resize(name.size() - extension.size());
  }
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string::npos) return std::nullopt;
  const std::size_t before = name.find_last_not_of("0123456789", end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  std::uint32_t rank = 0;
  const auto [last, error] = std::from_chars(name.data() + begin, name.data() + end + 1, rank);
  if (error != std::errc{} || rank >= workload_rank_count_max) return std::nullopt;
  return rank;
}

// --- The set ---

/// One rank on its way into the workload.
struct Rank {
  std::uint32_t number = 0;
  std::string path;
  std::vector<Op> ops;
  std::vector<std::uint32_t> op_names;  ///< index of `names`
  std::vector<std::string> names;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
};

class KinetoImporter {
 public:
  KinetoImporter(const std::string& path, const KinetoOptions& options) : path_(path), options_(options) {
    if (!options.process_groups_path.empty()) given_groups_ = read_process_groups(options.process_groups_path);
  }

  Workload import() {
    const std::vector<std::string> files = require_files(path_);
    if (options_.ranks && (*options_.ranks == 0 || *options_.ranks > workload_rank_count_max)) {
      weft::fail("out-of-range", "the number of ranks is " + std::to_string(*options_.ranks),
                 SourcePlace::named(options_.names("ranks")), "at least 1 and at most " + std::to_string(workload_rank_count_max),
                 "ranks");
    }
    if (options_.ranks && files.size() > 1 && *options_.ranks != files.size()) {
      weft::fail("rank-conflict",
                 options_.names("ranks", std::to_string(*options_.ranks)) + " contradicts the " + std::to_string(files.size()) +
                     " files of the set",
                 SourcePlace::named(path_),
                 "leave " + options_.names("ranks") + " out; only a single file can be replayed on more ranks", "ranks");
    }
    replayed_ = options_.ranks && files.size() == 1;
    file_count_ = files.size();
    std::vector<KinetoSteps> steps = read_ranks(files);
    if (options_.iteration && !alignment_ && !align_kineto_iterations(steps).is_plain) {
      // Each rank's own iteration of this position was cut out; now it is known which one belongs
      // to those of the others.
      KinetoImporter again(path_, options_);
      again.alignment_ = align_kineto_iterations(steps);
      again.require_shared_iteration();
      return again.import();
    }
    std::sort(ranks_.begin(), ranks_.end(), [](const Rank& a, const Rank& b) { return a.number < b.number; });
    require_complete();
    place_communication();
    join_splits();
    return finish();
  }

 private:
  /// Communication that waits for its communicator.
  struct Exchange {
    std::size_t rank = 0;  ///< number of the rank; index of ranks_ once these are sorted
    std::uint32_t op = 0;
    KinetoVerb verb = KinetoVerb::all_reduce;
    KinetoCommunication communication;
  };

  [[noreturn]] static void fail(std::string code, std::string message, const std::string& path, std::string help,
                                std::string option = {}) {
    weft::fail(std::move(code), std::move(message), SourcePlace::named(path), std::move(help), std::move(option));
  }

  void require_shared_iteration() const {
    if (*options_.iteration < alignment_->count) return;
    fail("no-such-iteration",
         options_.names("iteration", std::to_string(*options_.iteration)) + ", but all ranks have only " +
             counted(alignment_->count, "iteration", "iterations") + " in common",
         path_, "iterations count from 0, among those that all ranks have", "iteration");
  }

  /// The iteration that stands for a set is known only after its last file; what needs no such
  /// choice is not kept so long.
  std::vector<KinetoSteps> read_ranks(const std::vector<std::string>& files) {
    const bool chooses = !options_.iteration && !options_.as_recorded;
    std::vector<KinetoRecording> recordings;
    std::vector<KinetoSteps> steps;
    for (std::size_t i = 0; i < files.size(); ++i) {
      KinetoRecording& recording = recordings.emplace_back();
      recording.trace = read_kineto_trace(files[i]);
      recording.iterations = find_kineto_iterations(recording.trace);
      steps.push_back({recording.iterations.count(), recording.iterations.steps});
      if (chooses) continue;
      const std::uint32_t shared = options_.iteration.value_or(0);
      add_rank(recording, files[i], alignment_ ? alignment_->iteration(i, shared) : shared, shared);
      recordings.clear();
    }
    if (!chooses) return steps;
    alignment_ = align_kineto_iterations(steps);
    const std::uint32_t shared = typical_kineto_iteration(recordings, *alignment_);
    for (std::size_t i = 0; i < recordings.size(); ++i) {
      add_rank(recordings[i], files[i], alignment_->iteration(i, shared), shared);
      recordings[i] = KinetoRecording();
    }
    return steps;
  }

  /// `chosen`: the iteration of this rank; `shared`: its position among those that all ranks have.
  void add_rank(const KinetoRecording& recording, const std::string& path, std::uint32_t chosen, std::uint32_t shared) {
    const KinetoTrace& trace = recording.trace;
    const KinetoIterations& iterations = recording.iterations;
    const KinetoCommunicationFinder finder(trace);
    Rank rank;
    rank.path = path;
    rank.number = number_of(trace, path);
    world_size_ = std::max(world_size_, trace.world_size.value_or(1));
    says_world_ = says_world_ || trace.world_size.has_value();
    for (const auto& [category, count] : trace.unknown_categories) unknown_categories_[category] += count;
    for (const ProcessGroup& group : trace.groups) declared_groups_[rank.number].push_back(group);

    if (options_.iteration && *options_.iteration >= std::max<std::uint32_t>(iterations.count(), 1)) {
      weft::fail("no-such-iteration",
                 options_.names("iteration", std::to_string(*options_.iteration)) + ", but the trace has " +
                     (iterations.count() == 0 ? std::string("no marks of iterations: it is one")
                                              : counted(iterations.count(), "iteration", "iterations")),
                 SourcePlace::named(path), "iterations count from 0", "iteration");
    }
    const bool whole = iterations.count() == 0 || (options_.as_recorded && !options_.iteration);
    const KinetoReplay replay = rebuild_kineto(trace, iterations.boundaries, iterations.main_thread);
    if (replay.lane_count >= UINT16_MAX) {
      fail("too-many-streams", "the trace has " + std::to_string(replay.lane_count) + " threads and streams", path,
           "at most " + std::to_string(UINT16_MAX - 1) + " are supported");
    }
    const std::vector<std::int64_t> means = whole ? std::vector<std::int64_t>() : mean_durations(trace, iterations, chosen);
    tell_iterations(iterations, whole, chosen, shared, !means.empty());
    add_ops(trace, finder, replay, means, iterations, whole, chosen, rank);
    unlaunched_ += replay.unlaunched;
    guessed_syncs_ += replay.guessed_syncs;
    guessed_waits_ += replay.guessed_waits;
    handovers_ += replay.handovers;
    overlapping_ += replay.overlapping;
    ranks_.push_back(std::move(rank));
  }

  std::uint32_t number_of(const KinetoTrace& trace, const std::string& path) const {
    if (trace.rank) return *trace.rank;
    if (file_count_ == 1) return 0;
    const auto number = rank_in_name(path);
    if (!number) {
      fail("unknown-rank", "neither distributedInfo nor the file's name says which rank this is", path,
           "end the names with the rank: trace-0.json, trace-1.json");
    }
    return *number;
  }

  /// Per kernel of the chosen iteration its mean over the iterations that launch the same; empty if
  /// there is nothing to average.
  std::vector<std::int64_t> mean_durations(const KinetoTrace& trace, const KinetoIterations& iterations, std::uint32_t chosen) {
    if (options_.as_recorded) return {};
    std::vector<std::uint32_t> alike;
    for (std::uint32_t i = 0; i < iterations.count(); ++i) {
      if (are_alike(trace, iterations, chosen, i)) alike.push_back(i);
    }
    if (alike.size() < 2) return {};
    averaged_ = std::max<std::uint64_t>(averaged_, alike.size());
    std::vector<std::int64_t> means(trace.kernels.size(), 0);
    for (std::size_t k = 0; k < iterations.kernels[chosen].size(); ++k) {
      std::int64_t sum_ns = 0;
      for (const std::uint32_t i : alike) {
        const KinetoKernel& kernel = trace.kernels[iterations.kernels[i][k]];
        sum_ns += kernel.end_ns - kernel.begin_ns;
      }
      means[iterations.kernels[chosen][k]] = sum_ns / static_cast<std::int64_t>(alike.size());
    }
    return means;
  }

  void tell_iterations(const KinetoIterations& iterations, bool whole, std::uint32_t chosen, std::uint32_t shared, bool averaged) {
    if (iterations.count() == 0) {
      told_.insert("the trace shows no iterations; it is taken whole as one");
      return;
    }
    const char* by = iterations.source == KinetoIterations::Source::profiler_steps    ? "ProfilerStep annotations"
                     : iterations.source == KinetoIterations::Source::optimizer_steps ? "optimizer steps"
                                                                                      : "its repeating sequence of GPU ops";
    if (whole) {
      told_.insert("the trace is replayed whole, with its " + counted(iterations.count(), "iteration", "iterations") + " (by " +
                   by + ")");
      return;
    }
    const std::string all = alignment_ && !alignment_->is_plain
                                ? counted(alignment_->count, "iteration that all ranks have", "iterations that all ranks have")
                                : counted(iterations.count(), "iteration", "iterations");
    const std::string step = iterations.steps.empty() ? "" : ": ProfilerStep#" + std::to_string(iterations.steps[chosen]);
    told_.insert("of " + all + " (by " + by + "), number " + std::to_string(shared) + " is taken" + step);
    if (alignment_ && alignment_->shares_no_number) {
      told_.insert(
          "no number of a ProfilerStep annotation is on all ranks, so iterations are matched by their position in the files");
    }
    if (averaged) {
      told_.insert("kernels take their mean over " + std::to_string(averaged_) + " iterations of the same kernels");
    } else if (!options_.as_recorded && iterations.count() > 1) {
      told_.insert("no other iteration launches the same kernels as the one taken, so nothing is averaged");
    }
  }

  void add_ops(const KinetoTrace& trace, const KinetoCommunicationFinder& finder, const KinetoReplay& replay,
               const std::vector<std::int64_t>& means, const KinetoIterations& iterations, bool whole, std::uint32_t chosen,
               Rank& rank) {
    const std::vector<bool> kept = choose_ops(trace, replay, iterations, whole, chosen);
    for (const std::string& name : trace.names) {
      rank.names.push_back(name.size() <= kNameLengthMax ? name : name.substr(0, kNameLengthMax - 3) + "...");
    }
    const auto extra_name = [&](const char* name) {
      rank.names.emplace_back(name);
      return static_cast<std::uint32_t>(rank.names.size() - 1);
    };
    const std::uint32_t host = extra_name("host");
    const std::array delays = {extra_name("launch latency"), extra_name("stream gap"), extra_name("event wait")};

    std::vector<std::uint32_t> index(replay.ops.size(), kineto_none);
    for (std::uint32_t i = 0; i < replay.ops.size(); ++i) {
      if (!kept[i]) continue;
      const KinetoOp& source = replay.ops[i];
      Op op;
      op.processor = source.kind == KinetoOp::Kind::kernel ? Processor::gpu : Processor::cpu;
      op.stream = source.lane == kineto_none ? std::uint16_t{0} : static_cast<std::uint16_t>(source.lane + 1);
      op.duration = Duration::ns(source.end_ns - source.begin_ns);
      std::uint32_t name = source.name;
      if (source.kind == KinetoOp::Kind::host) name = host;
      if (source.kind == KinetoOp::Kind::delay) {
        name = delays[static_cast<std::size_t>(source.delay)];
        if (op.duration > Duration::ms(1)) {
          ++unexplained_;
          unexplained_time_ += op.duration;
        }
      }
      if (source.kind == KinetoOp::Kind::kernel) {
        const KinetoKernel& kernel = trace.kernels[source.kernel];
        op.duration = Duration::ns(means.empty() ? kernel.end_ns - kernel.begin_ns : means[source.kernel]);
        if (is_kineto_communication(trace, kernel)) {
          ++communications_;
          if (!options_.as_recorded) describe(finder, source.kernel, rank, static_cast<std::uint32_t>(rank.ops.size()));
        }
      }
      index[i] = static_cast<std::uint32_t>(rank.ops.size());
      rank.ops.push_back(op);
      rank.op_names.push_back(name);
    }
    diagnostics_.throw_if_errors();

    std::vector<bool> has_predecessor(replay.ops.size(), false);
    for (const auto& [dependency, op] : replay.edges) {
      if (index[dependency] == kineto_none || index[op] == kineto_none) continue;
      rank.edges.emplace_back(index[dependency], index[op]);
      has_predecessor[op] = true;
    }
    // What an op waited for may lie in an earlier iteration; its launch never does.
    for (std::uint32_t i = 0; i < replay.ops.size(); ++i) {
      const KinetoOp& op = replay.ops[i];
      if (index[i] == kineto_none || op.kind != KinetoOp::Kind::delay || has_predecessor[i]) continue;
      if (op.launch != kineto_none && index[op.launch] != kineto_none) rank.edges.emplace_back(index[op.launch], index[i]);
    }
    if (rank.ops.empty()) {
      fail("no-ops", "iteration " + std::to_string(chosen) + " of the trace is empty", rank.path,
           "take another one with " + options_.names("iteration", "N"));
    }
  }

  std::vector<bool> choose_ops(const KinetoTrace& trace, const KinetoReplay& replay, const KinetoIterations& iterations, bool whole,
                               std::uint32_t chosen) {
    const auto& matters = replay.thread_matters;
    const bool none_matters = std::find(matters.begin(), matters.end(), true) == matters.end();
    const bool keep_watchers = none_matters || (whole && options_.as_recorded);
    std::vector<bool> kept(replay.ops.size(), false);
    std::vector<bool> at_work(trace.threads.size(), false);
    for (std::size_t i = replay.ops.size(); i-- > 0;) {
      const KinetoOp& op = replay.ops[i];
      if (!whole && op.iteration != chosen) continue;
      const bool on_thread = op.lane < trace.threads.size();
      if (on_thread && !keep_watchers && !matters[op.lane] && op.lane != iterations.main_thread) {
        watchers_.insert(trace.threads[op.lane]);
        continue;
      }
      if (on_thread && op.kind == KinetoOp::Kind::call) at_work[op.lane] = true;
      // Behind its last call a thread is idle; only the main thread's time counts to the end of the
      // iteration.
      const bool trailing = on_thread && op.kind == KinetoOp::Kind::host && !at_work[op.lane];
      if (trailing && !whole && op.lane != iterations.main_thread) continue;
      kept[i] = true;
    }
    return kept;
  }

  // --- Communication ---

  SourcePlace place_of(const std::string& path, const KinetoCommunication& communication) const {
    // The text was not kept; errors are rare.
    return SourceText::read(path).at_offset(communication.offset,
                                            static_cast<int>(std::min<std::size_t>(communication.collective.size() + 2, 60)));
  }

  /// Turns an op of `rank` into communication, or leaves it as recorded.
  void describe(const KinetoCommunicationFinder& finder, std::uint32_t kernel, const Rank& rank, std::uint32_t op) {
    std::optional<KinetoCommunication> found = finder.find(kernel);
    if (!found) {
      ++undescribed_;
      return;
    }
    KinetoCommunication& communication = *found;
    const auto verb = kineto_verb(communication.collective);
    if (!verb) {
      if (!reported_.insert(communication.collective).second) return;
      const std::vector<std::string> known = kineto_collective_names();
      diagnostics_.error("unknown-collective", "there is no collective " + in_quotes(communication.collective),
                         place_of(rank.path, communication),
                         options_.names("as_recorded") + " lets collectives take their recorded time; " +
                             suggestion(communication.collective, known, "collective"));
      return;
    }
    const bool says_size = communication.elements_in >= 0 && !communication.type.empty();
    if (*verb == KinetoVerb::bundle || (!says_size && *verb != KinetoVerb::barrier)) {
      ++undescribed_;
      return;
    }
    exchanges_.push_back({rank.number, op, *verb, std::move(communication)});
  }

  void require_complete() {
    for (std::size_t r = 1; r < ranks_.size(); ++r) {
      if (ranks_[r].number != ranks_[r - 1].number) continue;
      fail("duplicate-rank", "rank " + std::to_string(ranks_[r].number) + " has two traces", ranks_[r].path,
           "remove it or " + ranks_[r - 1].path);
    }
    if (replayed_) {
      rank_count_ = *options_.ranks;
      return;
    }
    rank_count_ = static_cast<std::uint32_t>(ranks_.size());
    std::uint64_t needed = std::max<std::uint64_t>(world_size_, std::uint64_t{ranks_.back().number} + 1);
    for (const Exchange& exchange : exchanges_) {
      needed = std::max(needed, static_cast<std::uint64_t>(
                                    std::clamp<std::int64_t>(exchange.communication.group_size, 0, workload_rank_count_max)));
    }
    if (needed == rank_count_) return;
    if (exchanges_.empty()) {
      told_.insert(std::to_string(rank_count_) + " of " + std::to_string(needed) +
                   " ranks have a trace; nothing is simulated between ranks, so the others are left out");
      return;
    }
    constexpr std::uint32_t kShown = 8;
    std::string missing;
    std::uint32_t shown = 0;
    std::size_t next = 0;
    for (std::uint32_t rank = 0; rank < needed && shown < kShown; ++rank) {
      if (next < ranks_.size() && ranks_[next].number == rank) {
        ++next;
        continue;
      }
      missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
      ++shown;
    }
    const std::uint64_t left = needed - rank_count_ - shown;
    if (left > 0) missing += " and " + std::to_string(left) + " more";
    fail("missing-rank",
         "the set has traces of " + std::to_string(rank_count_) + " of " + std::to_string(needed) + " ranks; missing: " + missing,
         path_,
         std::string("add the missing files, replay ") + (rank_count_ == 1 ? "the one file" : "one file") + " on N ranks with " +
             options_.names("ranks", "N") + ", or take collectives " + options_.names("as_recorded"));
  }

  void place_communication() {
    communicators_.emplace(rank_count_);
    for (Exchange& exchange : exchanges_) {
      const auto rank = std::lower_bound(ranks_.begin(), ranks_.end(), exchange.rank,
                                         [](const Rank& a, std::size_t number) { return a.number < number; });
      place(exchange, *rank);
    }
    diagnostics_.throw_if_errors();
  }

  void place(const Exchange& exchange, Rank& rank) {
    const KinetoCommunication& communication = exchange.communication;
    Op& op = rank.ops[exchange.op];
    if (exchange.verb == KinetoVerb::barrier) {
      place_barrier(communication, rank, op);
      return;
    }
    const auto type = kineto_element_type(communication.type);
    if (!type) {
      if (reported_.insert("type " + communication.type).second) {
        diagnostics_.error("unknown-type", "there is no element type " + in_quotes(communication.type),
                           place_of(rank.path, communication), "known are PyTorch's: Float, BFloat16, Half, Long, Byte, ...");
      }
      return;
    }
    const auto bytes = tensor_size(static_cast<std::uint64_t>(communication.elements_in), *type);
    if (!bytes || *bytes > op_size_max) {
      diagnostics_.error("out-of-range", "a communication moves more than 1 PiB", place_of(rank.path, communication),
                         "the trace is damaged; record it again");
      return;
    }
    Op placed;
    placed.stream = op.stream;
    placed.bytes = *bytes;
    if (exchange.verb == KinetoVerb::send || exchange.verb == KinetoVerb::receive) {
      if (!place_message(exchange, rank, placed)) return;
    } else {
      const auto group = group_of(communication, rank);
      if (!group) return;
      if (!counts_fit(exchange, *group)) ++misfits_;
      placed.kind = OpKind::collective;
      placed.collective = type_of(exchange.verb);
      placed.communicator = communicator_of(communication, *group);
      const auto group_size = group->empty() ? rank_count_ : static_cast<std::uint32_t>(group->size());
      if (has_root(placed.collective)) placed.peer = root_of(communication, placed.collective, group_size);
      if (exchange.verb == KinetoVerb::all_to_all) {
        if (auto split = kineto_split(communication, *type, group_size)) {
          splits_.emplace(std::pair(rank.number, exchange.op), std::move(*split));
        } else if (communication.splits_in.size() > 2) {
          ++unused_splits_;  // more than "[]"
        }
      }
    }
    op = placed;
  }

  void place_barrier(const KinetoCommunication& communication, const Rank& rank, Op& op) {
    const auto group = group_of(communication, rank);
    if (!group) return;
    Op placed;
    placed.stream = op.stream;
    placed.kind = OpKind::collective;
    placed.collective = CollectiveType::barrier;
    placed.communicator = communicator_of(communication, *group);
    op = placed;
  }

  /// Position of the root; 0 if the trace does not name it.
  std::int32_t root_of(const KinetoCommunication& communication, CollectiveType type, std::uint32_t group_size) {
    if (communication.root >= 0 && communication.root < group_size) return static_cast<std::int32_t>(communication.root);
    ++(type == CollectiveType::broadcast ? broadcasts_ : rooted_);
    return 0;
  }

  static CollectiveType type_of(KinetoVerb verb) {
    switch (verb) {
      case KinetoVerb::all_gather:
        return CollectiveType::all_gather;
      case KinetoVerb::reduce_scatter:
        return CollectiveType::reduce_scatter;
      case KinetoVerb::all_to_all:
        return CollectiveType::all_to_all;
      case KinetoVerb::broadcast:
        return CollectiveType::broadcast;
      case KinetoVerb::reduce:
        return CollectiveType::reduce;
      case KinetoVerb::gather:
        return CollectiveType::gather;
      case KinetoVerb::scatter:
        return CollectiveType::scatter;
      default:
        return CollectiveType::all_reduce;
    }
  }

  /// Whether the elements in and out of what gathers or scatters are apart by the size of its
  /// group.
  bool counts_fit(const Exchange& exchange, const std::vector<std::uint32_t>& group) const {
    const KinetoCommunication& communication = exchange.communication;
    const bool gathers = exchange.verb == KinetoVerb::all_gather || exchange.verb == KinetoVerb::gather;
    const bool scatters = exchange.verb == KinetoVerb::reduce_scatter || exchange.verb == KinetoVerb::scatter;
    if ((!gathers && !scatters) || communication.elements_out < 0) return true;
    const auto size = communication.group_size > 0 ? communication.group_size : static_cast<std::int64_t>(group.size());
    if (size == 0) return true;
    const std::int64_t shard = gathers ? communication.elements_in : communication.elements_out;
    const std::int64_t whole = gathers ? communication.elements_out : communication.elements_in;
    return whole % size == 0 && whole / size == shard;
  }

  /// Ranks of the job that was recorded, as far as the files say.
  std::uint32_t recorded_world() const { return says_world_ ? world_size_ : rank_count_; }

  /// The ranks of a group in the trace's own numbers; empty = everyone. None after an error.
  std::optional<std::vector<std::uint32_t>> group_of(const KinetoCommunication& communication, const Rank& rank) {
    const bool is_cut = communication.group_ranks.find("...") != std::string::npos;
    auto ranks = known_group(communication, rank.number);
    if (!ranks) {
      const bool unnamed = communication.group_name.empty() && communication.group_size < 0;
      if (unnamed) {
        ++unnamed_groups_;
        return std::vector<std::uint32_t>();
      }
      if (communication.group_size >= 0 && communication.group_size == std::int64_t{recorded_world()}) {
        return std::vector<std::uint32_t>();
      }
      ranks = continued_group(communication, rank.number);
    }
    if (!ranks) {
      if (replayed_) return guessed_group(communication.group_size, rank.number, is_cut ? cut_groups_ : sized_groups_);
      if (reported_.insert("group " + communication.group_name).second) {
        diagnostics_.error("unknown-process-group",
                           (is_cut ? "the trace lists only the first ranks of process group "
                                   : "the trace does not list the ranks of process group ") +
                               in_quotes(communication.group_name) + (is_cut ? ", and they do not tell the others" : ""),
                           place_of(rank.path, communication),
                           "name them in a JSON file {" + in_quotes(communication.group_name) + ": [0, 1, ...]} and give it as " +
                               options_.names("process_groups", "FILE"));
      }
      return std::nullopt;
    }
    if (ranks->empty() || replayed_) return ranks;
    if (auto fault = fault_of_process_group(communication.group_name, *ranks, rank.number, rank_count_)) {
      if (reported_.insert("group " + communication.group_name).second) {
        fault->place = place_of(rank.path, communication);
        diagnostics_.add(std::move(*fault));
      }
      return std::nullopt;
    }
    // The default group is the world communicator.
    const bool is_default =
        communication.group_name.empty() || communication.group_name == "0" || communication.group_name == "default_pg";
    if (is_default && ranks->size() == rank_count_ && std::is_sorted(ranks->begin(), ranks->end())) ranks->clear();
    return ranks;
  }

  /// Of a replayed rank: so many neighbours if that many divide the ranks, else everyone.
  std::vector<std::uint32_t> guessed_group(std::int64_t size, std::uint32_t number, std::uint64_t& guesses) {
    std::vector<std::uint32_t> ranks;
    if (size <= 0 || size > rank_count_ || rank_count_ % size != 0) {
      ++widened_groups_;
      return ranks;
    }
    ++guesses;
    const auto count = static_cast<std::uint32_t>(size);
    for (std::uint32_t i = 0; i < count; ++i) ranks.push_back(number / count * count + i);
    return ranks;
  }

  /// Of a list that was cut short: it goes on as it began, if that is one of the rank's own groups.
  std::optional<std::vector<std::uint32_t>> continued_group(const KinetoCommunication& communication, std::uint32_t number) {
    // PyTorch writes a stride whenever the ranks have one.
    const bool is_irregular = communication.rank_start >= 0 && communication.rank_stride < 0;
    auto ranks = complete_kineto_ranks(communication.group_ranks, communication.group_size);
    if (is_irregular || !ranks || ranks->back() >= recorded_world() || !std::binary_search(ranks->begin(), ranks->end(), number)) {
      return std::nullopt;
    }
    continued_groups_.insert(communication.group_name);
    return ranks;
  }

  std::optional<std::vector<std::uint32_t>> known_group(const KinetoCommunication& communication, std::uint32_t number) const {
    const std::string& name = communication.group_name;
    if (const ProcessGroup* given = find_process_group(given_groups_, name)) return given->ranks;
    if (auto ranks = parse_kineto_ranks(communication.group_ranks); ranks && !ranks->empty()) return ranks;
    if (const auto own = declared_groups_.find(number); own != declared_groups_.end() && !name.empty()) {
      if (const ProcessGroup* declared = find_process_group(own->second, name)) return declared->ranks;
    }
    const std::int64_t size = communication.group_size;
    const std::int64_t stride = communication.rank_stride;
    const std::int64_t start = communication.rank_start;
    const bool regular = size > 0 && stride > 0 && start >= 0 && size <= workload_rank_count_max &&
                         stride <= workload_rank_count_max && start + (size - 1) * stride < workload_rank_count_max;
    if (!regular || size > std::int64_t{recorded_world()}) return std::nullopt;
    std::vector<std::uint32_t> ranks;
    for (std::int64_t i = 0; i < size; ++i) ranks.push_back(static_cast<std::uint32_t>(start + i * stride));
    return ranks;
  }

  std::uint16_t communicator_of(const KinetoCommunication& communication, const std::vector<std::uint32_t>& group) {
    if (group.empty()) return 0;
    const std::string name = communication.group_name.empty() ? "unnamed" : communication.group_name;
    if (!replayed_) return communicators_->communicator_of(name, group);
    // One rank stands for all: its groups are every rank's.
    const auto repeated = communicators_->repeated_communicator_of(name, group, says_world_ ? world_size_ : 0);
    if (!repeated) ++widened_groups_;
    if (repeated.value_or(0) != 0) repeated_groups_.insert(name);
    return repeated.value_or(0);
  }

  bool place_message(const Exchange& exchange, const Rank& rank, Op& op) {
    const bool sends = exchange.verb == KinetoVerb::send;
    const std::optional<std::uint32_t> peer = peer_of(exchange, rank);
    if (!peer) return false;
    op.kind = sends ? OpKind::send : OpKind::receive;
    ++messages_;
    if (!replayed_) {
      op.peer = static_cast<std::int32_t>(*peer);
      return true;
    }
    // As offsets, neighbours of equal ranks are equal.
    const auto count = static_cast<std::int64_t>(rank_count_);
    const std::int64_t offset = static_cast<std::int64_t>(*peer) - static_cast<std::int64_t>(rank.number);
    offsets_.insert(offset);
    op.addressing = PeerAddressing::relative;
    op.peer = static_cast<std::int32_t>((offset % count + count) % count);
    return true;
  }

  /// The rank at the other end of a message, in the trace's own numbers. None after an error.
  std::optional<std::uint32_t> peer_of(const Exchange& exchange, const Rank& rank) {
    const KinetoCommunication& communication = exchange.communication;
    const bool sends = exchange.verb == KinetoVerb::send;
    const std::int64_t named = sends ? communication.destination : communication.source;
    const std::int64_t position = sends ? communication.destination_position : communication.source_position;
    // A peer that is named by its rank needs no group, but must be in one that is known.
    std::vector<std::uint32_t> group;
    if (named < 0 || known_group(communication, rank.number)) {
      auto found = group_of(communication, rank);
      if (!found) return std::nullopt;
      group = std::move(*found);
    }
    const std::int64_t group_size = group.empty() ? recorded_world() : static_cast<std::int64_t>(group.size());
    std::int64_t peer = named;
    if (named < 0 && group.size() == 2) {
      peer = group[0] == rank.number ? group[1] : group[0];
    } else if (named < 0 && position >= 0 && position < group_size) {
      peer = group.empty() ? position : group[static_cast<std::size_t>(position)];
    }
    const std::string goes = sends ? "a send goes to " : "a receive comes from ";
    if (peer < 0) {
      return fail_peer("unknown-peer",
                       position >= 0 ? goes + "position " + std::to_string(position) + " of a group of " +
                                           counted(static_cast<std::uint64_t>(group_size), "rank", "ranks")
                                     : std::string("the trace does not say ") +
                                           (sends ? "to which rank a send goes" : "from which rank a receive comes"),
                       exchange, rank, "record it with a newer PyTorch, or take communication " + options_.names("as_recorded"));
    }
    const std::int64_t world = !replayed_ ? rank_count_ : says_world_ ? world_size_ : workload_rank_count_max;
    if (peer >= world) {
      return fail_peer("unknown-peer",
                       goes + "rank " + std::to_string(peer) + ", but the world has " +
                           counted(static_cast<std::uint64_t>(world), "rank", "ranks"),
                       exchange, rank, "ranks count from 0; the trace is damaged, or of another job");
    }
    if (!group.empty() && std::find(group.begin(), group.end(), peer) == group.end()) {
      return fail_peer(
          "not-a-member",
          goes + "rank " + std::to_string(peer) + ", which is not in process group " + in_quotes(communication.group_name),
          exchange, rank,
          sends ? "\"Dst Rank\" is a rank of the world, not a position in the group"
                : "\"Src Rank\" is a rank of the world, not a position in the group");
    }
    return static_cast<std::uint32_t>(peer);
  }

  std::nullopt_t fail_peer(std::string code, std::string message, const Exchange& exchange, const Rank& rank, std::string help) {
    if (reported_.insert(exchange.verb == KinetoVerb::send ? "send" : "recv").second) {
      diagnostics_.error(std::move(code), std::move(message), place_of(rank.path, exchange.communication), std::move(help));
    }
    return std::nullopt;
  }

  /// Distance to the only peer of a replayed rank; 0 if there are several, or pairs of this
  /// distance do not fill the ranks.
  std::uint32_t partner_distance() const {
    if (offsets_.size() != 1) return 0;
    const auto distance = static_cast<std::uint64_t>(std::abs(*offsets_.begin()));
    return distance == 0 || rank_count_ % (2 * distance) != 0 ? 0 : static_cast<std::uint32_t>(distance);
  }

  /// Joins what matching all-to-alls divide into tables; where a rank does not say it, they get the
  /// mean of their sizes.
  void join_splits() {
    if (exchanges_.empty()) return;
    const std::vector<Communicator> communicators = communicators_->build();
    if (replayed_) {
      for (auto& [key, split] : splits_) repeat_split(communicators, split, ranks_.front().ops[key.second]);
      return;
    }
    std::vector<std::vector<std::vector<std::uint32_t>>> collectives(ranks_.size());  // per rank and communicator, in order
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      collectives[r].resize(communicators.size());
      for (std::uint32_t o = 0; o < ranks_[r].ops.size(); ++o) {
        const Op& op = ranks_[r].ops[o];
        if (op.kind == OpKind::collective) collectives[r][op.communicator].push_back(o);
      }
    }
    for (std::size_t c = 0; c < communicators.size(); ++c) {
      for (std::uint32_t g = 0; g < communicators[c].group_count(); ++g) {
        const auto members = communicators[c].ranks(GroupId(g));
        std::size_t count = SIZE_MAX;
        for (const RankId member : members) count = std::min(count, collectives[member.index()][c].size());
        for (std::size_t i = 0; i < count; ++i) join_splits(members, c, i, collectives);
      }
    }
  }

  /// Of a replayed rank: every rank divides its input as that one does.
  void repeat_split(const std::vector<Communicator>& communicators, const KinetoSplit& split, Op& op) {
    if (is_even(split.sent)) return;
    const auto positions = static_cast<std::uint32_t>(split.sent.size());
    // All groups of a repeated communicator have one size.
    if (communicators[op.communicator].ranks(GroupId(0)).size() != positions) {
      ++unused_splits_;
      return;
    }
    std::vector<Bytes> bytes;
    for (std::uint32_t from = 0; from < positions; ++from) bytes.insert(bytes.end(), split.sent.begin(), split.sent.end());
    use_table(op, positions, bytes);
    ++repeated_splits_;
  }

  static bool is_even(const std::vector<Bytes>& sizes) {
    return std::all_of(sizes.begin(), sizes.end(), [&](Bytes size) { return size == sizes.front(); });
  }

  void use_table(Op& op, std::uint32_t positions, const std::vector<Bytes>& bytes) {
    op.collective = CollectiveType::all_to_all_v;
    op.splits = tables_.index_of(positions, bytes);
    op.bytes = tables_[op.splits].row_sum_max();
  }

  void join_splits(std::span<const RankId> members, std::size_t c, std::size_t i,
                   const std::vector<std::vector<std::vector<std::uint32_t>>>& collectives) {
    const auto op_of = [&](RankId member) -> Op& { return ranks_[member.index()].ops[collectives[member.index()][c][i]]; };
    Bytes sum = Bytes::zero();
    bool uneven = false;
    std::vector<const KinetoSplit*> rows;
    for (const RankId member : members) {
      const Op& op = op_of(member);
      if (op.collective != CollectiveType::all_to_all) return;
      uneven = uneven || op.bytes != op_of(members.front()).bytes;
      sum += op.bytes;
      const auto row = splits_.find({member.index(), collectives[member.index()][c][i]});
      if (row == splits_.end()) continue;
      rows.push_back(&row->second);
      uneven = uneven || !is_even(row->second.sent);
    }
    if (!uneven) return;
    if (rows.size() == members.size()) {
      const auto positions = static_cast<std::uint32_t>(members.size());
      std::vector<Bytes> bytes;
      for (const KinetoSplit* row : rows) bytes.insert(bytes.end(), row->sent.begin(), row->sent.end());
      if (!receive_what_is_sent(rows)) ++split_misfits_;
      for (const RankId member : members) use_table(op_of(member), positions, bytes);
      return;
    }
    ++uneven_;
    const auto count = static_cast<std::int64_t>(members.size());
    for (const RankId member : members) op_of(member).bytes = Bytes::of((sum.count() + count - 1) / count);
  }

  static bool receive_what_is_sent(const std::vector<const KinetoSplit*>& rows) {
    for (std::size_t to = 0; to < rows.size(); ++to) {
      if (rows[to]->received.empty()) continue;
      for (std::size_t from = 0; from < rows.size(); ++from) {
        if (rows[from]->sent[to] != rows[to]->received[from]) return false;
      }
    }
    return true;
  }

  // --- The workload ---

  Workload finish() {
    Workload workload;
    workload.name = fs::path(path_).filename().string();
    workload.rank_count = rank_count_;
    RoleTable roles;
    for (Rank& rank : ranks_) {
      roles.add_rank(workload, dag_of(rank), rank.number, rank.path);
      if (replayed_) spread_roles(workload, rank);
      rank = Rank();
    }
    workload.communicators = communicators_->build();
    workload.splits = std::move(tables_).take();
    if (workload.communicators.size() > workload_communicator_count_max) {
      fail("too-many-communicators", "the set uses too many overlapping process groups", path_,
           "at most " + std::to_string(workload_communicator_count_max) + " are supported");
    }
    note_assumptions(workload.assumptions);
    Diagnostics diagnostics;
    check_workload(workload, SourcePlace::named(path_), diagnostics);
    diagnostics.throw_if_errors();
    return workload;
  }

  static RoleDag dag_of(const Rank& rank) {
    RoleBuilder builder;
    builder.reserve(rank.ops.size(), rank.edges.size());
    for (std::size_t o = 0; o < rank.ops.size(); ++o) builder.add(rank.ops[o], rank.names[rank.op_names[o]]);
    for (const auto& [dependency, op] : rank.edges) builder.depend(op, dependency);
    RoleBuilder::Result result = std::move(builder).finish();
    if (!result.cycle.empty()) {
      fail("contradictory-times",
           "the times of the trace make op " + in_quotes(rank.names[rank.op_names[result.cycle.front()]]) + " wait for itself",
           rank.path, "the trace is damaged; record it again");
    }
    return std::move(result.dag);
  }

  /// Gives every rank the role of the one that was replayed, or, in pairs, that of its partner, who
  /// sends what it receives.
  void spread_roles(Workload& workload, Rank& rank) const {
    workload.role_of.assign(workload.rank_count, 0);
    const std::uint32_t distance = partner_distance();
    if (distance == 0) return;
    for (Op& op : rank.ops) {
      if (op.kind != OpKind::send && op.kind != OpKind::receive) continue;
      op.kind = op.kind == OpKind::send ? OpKind::receive : OpKind::send;
      op.peer = static_cast<std::int32_t>(rank_count_) - op.peer;
    }
    workload.roles.push_back(dag_of(rank));
    workload.role_names.push_back("as_partner_of_rank_" + std::to_string(rank.number));
    // The recorded rank is in the lower half of its pairs if its partner lies above it.
    const std::uint32_t block = 2 * distance;
    const bool is_below = *offsets_.begin() > 0;
    const std::uint32_t low = (is_below ? rank.number : rank.number - distance) % block;
    for (std::uint32_t r = 0; r < workload.rank_count; ++r) {
      const bool below = (r + block - low) % block < distance;
      if (below != is_below) workload.role_of[r] = 1;
    }
  }

  void note_assumptions(std::vector<std::string>& notes) const {
    const auto note = [&notes](std::uint64_t count, std::string_view one, std::string_view many, std::string_view rest) {
      add_counted_note(notes, count, one, many, rest);
    };
    notes.insert(notes.end(), told_.begin(), told_.end());
    if (replayed_) {
      const std::uint32_t distance = partner_distance();
      notes.push_back("one trace is replayed on " + counted(rank_count_, "rank", "ranks") + (distance == 0 ? ", all alike" : ""));
      note(repeated_groups_.size(), "process group of the trace is", "process groups of the trace are",
           " repeated over all ranks with the recorded size and stride");
      note(sized_groups_, "communication says", "communications say",
           " how many ranks the process group has, but not which: taken are so many neighbours in order of ranks");
      note(cut_groups_, "communication lists", "communications list",
           " only the first ranks of the process group, which do not tell the others: taken are so many neighbours in order of "
           "ranks");
      note(widened_groups_, "communication of another process group is", "communications of other process groups are",
           " taken to be among all ranks");
      if (distance == 0) {
        note(messages_, "send or receive goes", "sends and receives go", " to the same offset from every rank");
      } else {
        note(messages_, "send or receive has", "sends and receives have",
             " one peer: ranks that are " + std::to_string(distance) +
                 " apart are taken as pairs, of which one sends what the other receives");
      }
    }
    note(continued_groups_.size(), "process group of the trace, of which only the first ranks are listed, goes on",
         "process groups of the trace, of which only the first ranks are listed, go on", " at the distance of these");
    if (options_.as_recorded) {
      note(communications_, "communication kernel takes", "communication kernels take",
           " the time that the trace recorded, without a network");
    }
    note(undescribed_, "communication kernel, which does not say what it moves, takes",
         "communication kernels, which do not say what they move, take", " the recorded time");
    note(unnamed_groups_, "communication names", "communications name", " no process group; taken: all ranks");
    note(broadcasts_, "broadcast starts", "broadcasts start", " at position 0 of the group; the trace does not name the root");
    note(rooted_, "reduce, gather or scatter has", "reduces, gathers and scatters have",
         " position 0 of the group as root; the trace does not name it");
    note(misfits_, "collective that gathers or scatters has", "collectives that gather or scatter have",
         " an \"Out msg nelems\" that contradicts \"In msg nelems\" and the size of the group; taken: \"In msg nelems\"");
    note(repeated_splits_, "all-to-all of uneven sizes divides", "all-to-alls of uneven sizes divide",
         " the input of every rank as that of the recorded one: equal positions get equal sizes");
    note(split_misfits_, "all-to-all has", "all-to-alls have",
         " an \"Out split size\" that contradicts the \"In split size\" of another rank; taken: \"In split size\"");
    note(unused_splits_, "all-to-all runs as an even one", "all-to-alls run as even ones",
         ": its \"In split size\" does not divide its elements among all ranks of its group");
    note(uneven_, "all-to-all of uneven sizes runs as an even one", "all-to-alls of uneven sizes run as even ones",
         " of the mean size: not every rank lists how it divides");
    note(handovers_, "wait", "waits", " between CPU threads of the file, read off their idle times");
    note(guessed_syncs_, "synchronisation call of the file does", "synchronisation calls of the file do",
         " not say what was waited for; taken: the GPU op that ended last before the call returned");
    note(guessed_waits_, "wait", "waits", " between GPU streams of the file, inferred from the order of calls and from times");
    note(unlaunched_, "GPU op of the file has", "GPU ops of the file have",
         " no launching call in it; nothing but the stream decides when");
    note(overlapping_, "GPU op of the file overlaps others of its stream and runs",
         "GPU ops of the file overlap others of their stream and run", " beside them");
    note(unexplained_, "GPU op", "GPU ops",
         " started more than 1ms later than launch, stream and known waits explain; these delays (" +
             to_text(Duration::ms(unexplained_time_.in_ticks() / Duration::ticks_per_ms)) + " in total) stay as they are");
    note(watchers_.size(), "CPU thread is left out that launches nothing and that nobody waits for",
         "CPU threads are left out that launch nothing and that nobody waits for", "");
    for (const auto& [category, count] : unknown_categories_) {
      note(count, "event is ignored", "events are ignored", ": unknown category " + in_quotes(category));
    }
  }

  std::string path_;
  KinetoOptions options_;
  bool replayed_ = false;
  std::size_t file_count_ = 0;
  std::uint32_t rank_count_ = 0;
  std::uint32_t world_size_ = 1;
  bool says_world_ = false;
  std::vector<ProcessGroup> given_groups_;
  std::map<std::uint32_t, std::vector<ProcessGroup>> declared_groups_;  ///< by rank
  std::optional<KinetoAlignment> alignment_;  ///< once all files are read; where one position fits all ranks it may stay unknown
  std::vector<Rank> ranks_;
  std::vector<Exchange> exchanges_;
  std::optional<CommunicatorTable> communicators_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, KinetoSplit> splits_;  ///< of all-to-alls, by number of rank and op
  SplitTableSet tables_;
  std::set<std::int64_t> offsets_;  ///< from the replayed rank to its peers
  Diagnostics diagnostics_;
  std::set<std::string> reported_;  ///< mistakes that every further kernel would repeat

  // For the notes.
  std::set<std::string> told_;
  std::set<std::string> repeated_groups_;
  std::set<std::string> continued_groups_;
  std::set<std::string> watchers_;
  std::map<std::string, std::uint64_t> unknown_categories_;
  std::uint64_t averaged_ = 0;
  std::uint64_t communications_ = 0;
  std::uint64_t undescribed_ = 0;
  std::uint64_t unnamed_groups_ = 0;
  std::uint64_t sized_groups_ = 0;
  std::uint64_t cut_groups_ = 0;
  std::uint64_t widened_groups_ = 0;
  std::uint64_t misfits_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t broadcasts_ = 0;
  std::uint64_t rooted_ = 0;
  std::uint64_t repeated_splits_ = 0;
  std::uint64_t split_misfits_ = 0;
  std::uint64_t unused_splits_ = 0;
  std::uint64_t uneven_ = 0;
  std::uint64_t handovers_ = 0;
  std::uint64_t guessed_syncs_ = 0;
  std::uint64_t guessed_waits_ = 0;
  std::uint64_t unlaunched_ = 0;
  std::uint64_t overlapping_ = 0;
  std::uint64_t unexplained_ = 0;
  Duration unexplained_time_;
};

}  // namespace

Workload import_kineto(const std::string& path, const KinetoOptions& options) { return KinetoImporter(path, options).import(); }

std::vector<std::string> kineto_files(const std::string& path) { return find_files(path); }

}  // namespace weft

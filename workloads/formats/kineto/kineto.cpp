// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/formats/group_growth.hpp"
#include "workloads/formats/kineto/kineto_communication.hpp"
#include "workloads/formats/kineto/kineto_files.hpp"
#include "workloads/formats/kineto/kineto_iterations.hpp"
#include "workloads/formats/kineto/kineto_notes.hpp"
#include "workloads/formats/kineto/kineto_placement.hpp"
#include "workloads/formats/kineto/kineto_replay.hpp"
#include "workloads/formats/kineto/kineto_set.hpp"
#include "workloads/formats/kineto/kineto_split_join.hpp"
#include "workloads/formats/kineto/kineto_trace.hpp"
#include "workloads/formats/rank_set.hpp"
#include "workloads/formats/ranks_option.hpp"

namespace weft {

namespace {

namespace fs = std::filesystem;

/// Names of kernels are C++ signatures of any length; so much of them is kept.
constexpr std::size_t name_length_max = 96;

class KinetoImporter {
 public:
  KinetoImporter(const std::string& path, const KinetoOptions& options) : path_(path), options_(options) {
    if (!options.process_groups_path.empty()) set_.given_groups = read_process_groups(options.process_groups_path);
  }

  Workload import() {
    const std::vector<std::string> files = require_kineto_files(path_);
    if (options_.ranks) {
      if (auto fault = fault_of_ranks(*options_.ranks, options_.names)) throw InputError(*std::move(fault));
    }
    if (options_.ranks && files.size() > 1 && *options_.ranks != files.size()) {
      fail_rank_conflict(*options_.ranks, options_.names, fmt::format("the {} files of the set", files.size()),
                         SourcePlace::named(path_),
                         fmt::format("leave {} out; only a single file can be replayed on more ranks", options_.names("ranks")));
    }
    set_.replayed = options_.ranks && files.size() == 1;
    require_replayed_groups(options_.group_sizes, set_.replayed, options_.as_recorded, options_.names);
    set_.group_sizes = options_.group_sizes;
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
    std::sort(set_.ranks.begin(), set_.ranks.end(), [](const KinetoRank& a, const KinetoRank& b) { return a.number < b.number; });
    require_complete();
    KinetoPlacement placement(set_, options_.names, errors_, findings_);
    placement.place_all();
    return finish(placement);
  }

 private:
  [[noreturn]] static void fail(std::string code, std::string message, const std::string& path, std::string help,
                                std::string option = {}) {
    weft::fail(std::move(code), std::move(message), SourcePlace::named(path), std::move(help), std::move(option));
  }

  void require_shared_iteration() const {
    if (*options_.iteration < alignment_->count) return;
    fail(
        "no-such-iteration",
        fmt::format("{}, but all ranks have only {} in common", options_.names("iteration", fmt::format("{}", *options_.iteration)),
                    counted(alignment_->count, "iteration", "iterations")),
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
    KinetoRank rank;
    rank.path = path;
    rank.number = number_of(trace, path);
    set_.world_size = std::max(set_.world_size, trace.world_size.value_or(1));
    set_.declares_world = set_.declares_world || trace.world_size.has_value();
    for (const auto& [category, count] : trace.unknown_categories) findings_.unknown_categories[category] += count;
    for (const ProcessGroup& group : trace.groups) set_.declared_groups[rank.number].push_back(group);

    if (options_.iteration && *options_.iteration >= std::max<std::uint32_t>(iterations.count(), 1)) {
      weft::fail("no-such-iteration",
                 fmt::format("{}, but the trace has {}", options_.names("iteration", fmt::format("{}", *options_.iteration)),
                             iterations.count() == 0 ? std::string("no marks of iterations: it is one")
                                                     : counted(iterations.count(), "iteration", "iterations")),
                 SourcePlace::named(path), "iterations count from 0", "iteration");
    }
    const bool whole = iterations.count() == 0 || (options_.as_recorded && !options_.iteration);
    const KinetoReplay replay = rebuild_kineto(trace, iterations.boundaries, iterations.main_thread);
    if (replay.lane_count >= UINT16_MAX) {
      fail("too-many-streams", fmt::format("the trace has {} threads and streams", replay.lane_count), path,
           fmt::format("at most {} are supported", UINT16_MAX - 1));
    }
    const std::vector<std::int64_t> means = whole ? std::vector<std::int64_t>() : mean_durations(trace, iterations, chosen);
    tell_iterations(iterations, whole, chosen, shared, !means.empty());
    add_ops(trace, finder, replay, means, iterations, whole, chosen, rank);
    findings_.unlaunched += replay.unlaunched;
    findings_.guessed_syncs += replay.guessed_syncs;
    findings_.guessed_waits += replay.guessed_waits;
    findings_.handovers += replay.handovers;
    findings_.overlapping += replay.overlapping;
    set_.ranks.push_back(std::move(rank));
  }

  std::uint32_t number_of(const KinetoTrace& trace, const std::string& path) const {
    if (trace.rank) return *trace.rank;
    if (file_count_ == 1) return 0;
    const auto number = kineto_rank_in_name(path);
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
    findings_.averaged = std::max<std::uint64_t>(findings_.averaged, alike.size());
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
      findings_.told.insert("the trace shows no iterations; it is taken whole as one");
      return;
    }
    const char* by = iterations.source == KinetoIterations::Source::profiler_steps    ? "ProfilerStep annotations"
                     : iterations.source == KinetoIterations::Source::optimizer_steps ? "optimizer steps"
                                                                                      : "its repeating sequence of GPU ops";
    if (whole) {
      findings_.told.insert(fmt::format("the trace is replayed whole, with its {} (by {})",
                                        counted(iterations.count(), "iteration", "iterations"), by));
      return;
    }
    const std::string all = alignment_ && !alignment_->is_plain
                                ? counted(alignment_->count, "iteration that all ranks have", "iterations that all ranks have")
                                : counted(iterations.count(), "iteration", "iterations");
    const std::string step = iterations.steps.empty() ? "" : fmt::format(": ProfilerStep#{}", iterations.steps[chosen]);
    findings_.told.insert(fmt::format("of {} (by {}), number {} is taken{}", all, by, shared, step));
    if (alignment_ && alignment_->shares_no_number) {
      findings_.told.insert(
          "no number of a ProfilerStep annotation is on all ranks, so iterations are matched by their position in the files");
    }
    if (averaged) {
      findings_.told.insert(fmt::format("kernels take their mean over {} iterations of the same kernels", findings_.averaged));
    } else if (!options_.as_recorded && iterations.count() > 1) {
      findings_.told.insert("no other iteration launches the same kernels as the one taken, so nothing is averaged");
    }
  }

  void add_ops(const KinetoTrace& trace, const KinetoCommunicationFinder& finder, const KinetoReplay& replay,
               const std::vector<std::int64_t>& means, const KinetoIterations& iterations, bool whole, std::uint32_t chosen,
               KinetoRank& rank) {
    const std::vector<bool> kept = choose_ops(trace, replay, iterations, whole, chosen);
    for (const std::string& name : trace.names) {
      rank.names.push_back(name.size() <= name_length_max ? name : fmt::format("{}...", name.substr(0, name_length_max - 3)));
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
          ++findings_.unexplained;
          findings_.unexplained_time += op.duration;
        }
      }
      if (source.kind == KinetoOp::Kind::kernel) {
        const KinetoKernel& kernel = trace.kernels[source.kernel];
        op.duration = Duration::ns(means.empty() ? kernel.end_ns - kernel.begin_ns : means[source.kernel]);
        if (is_kineto_communication(trace, kernel)) {
          ++findings_.communications;
          if (!options_.as_recorded) describe(finder, source.kernel, rank, static_cast<std::uint32_t>(rank.ops.size()));
        }
      }
      index[i] = static_cast<std::uint32_t>(rank.ops.size());
      rank.ops.push_back(op);
      rank.op_names.push_back(name);
    }
    errors_.diagnostics.throw_if_errors();

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
      fail("no-ops", fmt::format("iteration {} of the trace is empty", chosen), rank.path,
           fmt::format("take another one with {}", options_.names("iteration", "N")));
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
        findings_.watchers.insert(trace.threads[op.lane]);
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

  /// Turns an op of `rank` into communication, or leaves it as recorded.
  void describe(const KinetoCommunicationFinder& finder, std::uint32_t kernel, const KinetoRank& rank, std::uint32_t op) {
    std::optional<KinetoCommunication> found = finder.find(kernel);
    if (!found) {
      ++findings_.undescribed;
      return;
    }
    KinetoCommunication& communication = *found;
    const auto verb = kineto_verb(communication.collective);
    if (!verb) {
      if (!errors_.is_new(communication.collective)) return;
      const std::vector<std::string> known = kineto_collective_names();
      errors_.diagnostics.error("unknown-collective", fmt::format("there is no collective {}", in_quotes(communication.collective)),
                                kineto_place_of(rank.path, communication),
                                fmt::format("{} lets collectives take their recorded time; {}", options_.names("as_recorded"),
                                            suggestion(communication.collective, known, "collective")));
      return;
    }
    const bool says_size = communication.elements_in >= 0 && !communication.type.empty();
    if (*verb == KinetoVerb::bundle || (!says_size && *verb != KinetoVerb::barrier)) {
      ++findings_.undescribed;
      return;
    }
    set_.exchanges.push_back({rank.number, op, *verb, std::move(communication)});
  }

  void require_complete() {
    for (std::size_t r = 1; r < set_.ranks.size(); ++r) {
      if (set_.ranks[r].number != set_.ranks[r - 1].number) continue;
      fail_two_traces(set_.ranks[r].number, SourcePlace::named(set_.ranks[r].path), set_.ranks[r - 1].path);
    }
    if (set_.replayed) {
      set_.rank_count = *options_.ranks;
      return;
    }
    set_.rank_count = static_cast<std::uint32_t>(set_.ranks.size());
    std::uint64_t needed = std::max<std::uint64_t>(set_.world_size, std::uint64_t{set_.ranks.back().number} + 1);
    for (const KinetoExchange& exchange : set_.exchanges) {
      needed = std::max(needed, static_cast<std::uint64_t>(
                                    std::clamp<std::int64_t>(exchange.communication.group_size, 0, workload_rank_count_max)));
    }
    if (needed == set_.rank_count) return;
    if (set_.exchanges.empty()) {
      findings_.told.insert(fmt::format(
          "{} of {} ranks have a trace; nothing is simulated between ranks, so the others are left out", set_.rank_count, needed));
      return;
    }
    constexpr std::uint32_t shown_max = 8;
    std::string missing;
    std::uint32_t shown = 0;
    std::size_t next = 0;
    for (std::uint32_t rank = 0; rank < needed && shown < shown_max; ++rank) {
      if (next < set_.ranks.size() && set_.ranks[next].number == rank) {
        ++next;
        continue;
      }
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
      ++shown;
    }
    const std::uint64_t left = needed - set_.rank_count - shown;
    if (left > 0) missing += fmt::format(" and {} more", left);
    fail("missing-rank", fmt::format("the set has traces of {} of {} ranks; missing: {}", set_.rank_count, needed, missing), path_,
         fmt::format("add the missing files, replay {} on N ranks with {}, or take collectives {}",
                     set_.rank_count == 1 ? "the one file" : "one file", options_.names("ranks", "N"),
                     options_.names("as_recorded")));
  }

  // --- The workload ---

  Workload finish(const KinetoPlacement& placement) {
    const std::vector<Communicator> communicators = placement.communicators();
    std::vector<SplitTable> splits = KinetoSplitJoin(set_, placement.splits(), findings_).join(communicators);
    Workload workload;
    workload.name = fs::path(path_).filename().string();
    workload.rank_count = set_.rank_count;
    RoleTable roles;
    for (KinetoRank& rank : set_.ranks) {
      roles.add_rank(workload, dag_of(rank), rank.number, rank.path);
      if (set_.replayed) spread_roles(workload, rank, placement);
      rank = KinetoRank();
    }
    workload.communicators = communicators;
    workload.splits = std::move(splits);
    if (workload.communicators.size() > workload_communicator_count_max) {
      fail("too-many-communicators", "the set uses too many overlapping process groups", path_,
           fmt::format("at most {} are supported", workload_communicator_count_max));
    }
    const KinetoImportKind kind = {set_.replayed, options_.as_recorded, set_.rank_count, placement.partner_distance()};
    add_kineto_notes(findings_, kind, workload.assumptions);
    placement.add_group_notes(workload.assumptions);
    Diagnostics diagnostics;
    check_workload(workload, SourcePlace::named(path_), diagnostics);
    diagnostics.throw_if_errors();
    return workload;
  }

  static RoleDag dag_of(const KinetoRank& rank) {
    RoleBuilder builder;
    builder.reserve(rank.ops.size(), rank.edges.size());
    for (std::size_t o = 0; o < rank.ops.size(); ++o) builder.add(rank.ops[o], rank.names[rank.op_names[o]]);
    for (const auto& [dependency, op] : rank.edges) builder.depend(op, dependency);
    RoleBuilder::Result result = std::move(builder).finish();
    if (!result.cycle.empty()) {
      fail("contradictory-times",
           fmt::format("the times of the trace make op {} wait for itself",
                       in_quotes(rank.names[rank.op_names[result.cycle.front()]])),
           rank.path, "the trace is damaged; record it again");
    }
    return std::move(result.dag);
  }

  /// Gives every rank the role of the one that was replayed, or, in pairs, that of its partner, who
  /// sends what it receives.
  void spread_roles(Workload& workload, KinetoRank& rank, const KinetoPlacement& placement) const {
    workload.role_of.assign(workload.rank_count, 0);
    const std::uint32_t distance = placement.partner_distance();
    if (distance == 0) return;
    for (Op& op : rank.ops) {
      if (op.kind != OpKind::send && op.kind != OpKind::receive) continue;
      op.kind = op.kind == OpKind::send ? OpKind::receive : OpKind::send;
      op.peer = static_cast<std::int32_t>(set_.rank_count) - op.peer;
    }
    workload.roles.push_back(dag_of(rank));
    workload.role_names.push_back(fmt::format("as_partner_of_rank_{}", rank.number));
    // The recorded rank is in the lower half of its pairs if its partner lies above it.
    const std::uint32_t block = 2 * distance;
    const bool is_below = placement.partner_is_above();
    const auto place = static_cast<std::uint32_t>(placement.place_of(rank.number) % block);
    const std::uint32_t low = (is_below ? place : place + distance) % block;
    for (std::uint32_t r = 0; r < workload.rank_count; ++r) {
      const bool below = (r + block - low) % block < distance;
      if (below != is_below) workload.role_of[r] = 1;
    }
  }

  std::string path_;
  KinetoOptions options_;
  std::size_t file_count_ = 0;
  /// Once all files are read; where one position fits all ranks it may stay unknown.
  std::optional<KinetoAlignment> alignment_;
  KinetoSet set_;
  KinetoErrors errors_;
  KinetoFindings findings_;
};

}  // namespace

Workload import_kineto(const std::string& path, const KinetoOptions& options) { return KinetoImporter(path, options).import(); }

}  // namespace weft

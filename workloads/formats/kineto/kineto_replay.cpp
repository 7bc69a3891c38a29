// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto_replay.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace weft {

namespace {

/// A gap of a thread shorter than this is its own time, whatever other threads do.
constexpr std::int64_t handover_gap_min_ns = 50'000;
/// Part of such a gap that may pass after the other thread's end, and that the other thread must
/// have worked.
constexpr std::int64_t handover_share = 10;
/// What launching takes on a free stream stays below this.
constexpr std::int64_t explained_delay_max_ns = 20'000;
/// An op that waited for another stream starts within this after the other's end.
constexpr std::int64_t wake_up_max_ns = 10'000;
/// Searches among neighbours in time end after so many; only damaged files have more that do not
/// fit.
constexpr int look_back_max = 4096;
/// Ops of one stream that overlap run side by side on so many lanes; more are ordered by their
/// dependencies alone.
constexpr std::size_t lanes_per_stream_max = 16;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// How a runtime call concerns the order of things.
enum class CallRole : std::uint8_t { other, device_sync, stream_or_event_sync, stream_wait };

CallRole role_of(std::string_view name) {
  if (name.ends_with("DeviceSynchronize") || name.ends_with("CtxSynchronize")) return CallRole::device_sync;
  if (name.ends_with("StreamSynchronize") || name.ends_with("EventSynchronize")) return CallRole::stream_or_event_sync;
  if (contains(name, "StreamWaitEvent")) return CallRole::stream_wait;
  return CallRole::other;
}

/// Whether a copy call returns after the copy only.
bool is_blocking_copy(std::string_view call, std::string_view copy) {
  if (!contains(call, "Memcpy")) return false;
  return !contains(call, "Async") || (contains(copy, "DtoH") && contains(copy, "Pageable"));
}

/// An outermost stretch of a thread.
struct TopCall {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t busy_before_ns = 0;  ///< of the stretches before this one
  std::uint32_t name = 0;
  std::uint32_t first_call = 0;  ///< calls [first_call, last_call) lie in it
  std::uint32_t last_call = 0;
};

class Rebuilder {
 public:
  Rebuilder(const KinetoTrace& trace, const KinetoBoundaries& boundaries, std::uint32_t main_thread)
      : trace_(trace), boundaries_(boundaries), main_thread_(main_thread) {}

  KinetoReplay rebuild() {
    replay_.thread_matters.assign(trace_.threads.size(), false);
    classify_names();
    place_kernels();
    index_calls();
    find_tops();
    for (std::uint32_t thread = 0; thread < tops_.size(); ++thread) walk_thread(thread);
    resolve_pending();
    find_stream_waits();
    add_kernels();
    sort_ops();
    return std::move(replay_);
  }

 private:
  /// What the next stretch of a thread waits for.
  struct Pending {
    std::uint32_t op = 0;                ///< the stretch that waits
    std::uint32_t kernel = kineto_none;  ///< for a kernel, or
    std::uint32_t thread = kineto_none;  ///< for the stretch of a thread
    std::int64_t at_ns = 0;              ///< that ends then
  };

  void classify_names() {
    roles_.reserve(trace_.names.size());
    for (const std::string& name : trace_.names) roles_.push_back(role_of(name));
  }

  void place_kernels() {
    const auto count = static_cast<std::uint32_t>(trace_.kernels.size());
    begin_.resize(count);
    end_.resize(count);
    launched_.resize(count);
    communicates_.resize(count);
    launch_op_.assign(count, kineto_none);
    order_.resize(count);
    for (std::uint32_t k = 0; k < count; ++k) {
      const KinetoKernel& kernel = trace_.kernels[k];
      begin_[k] = kernel.begin_ns;
      if (trace_.kernels[k].launch == kineto_none) {
        ++replay_.unlaunched;
      } else {
        // Clocks of CPU and GPU differ by microseconds: nothing runs before it is launched.
        begin_[k] = std::max(begin_[k], trace_.calls[trace_.kernels[k].launch].begin_ns);
        replay_.thread_matters[trace_.calls[trace_.kernels[k].launch].thread] = true;
      }
      end_[k] = std::max(kernel.end_ns, begin_[k]);
      launched_[k] = trace_.kernels[k].launch == kineto_none ? begin_[k] : trace_.calls[trace_.kernels[k].launch].begin_ns;
      communicates_[k] = is_kineto_communication(trace_, kernel);
      order_[k] = k;
    }
    std::sort(order_.begin(), order_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return std::tuple(begin_[a], end_[a], a) < std::tuple(begin_[b], end_[b], b);
    });
    position_.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) position_[order_[i]] = i;
    by_end_ = order_;
    std::stable_sort(by_end_.begin(), by_end_.end(), [this](std::uint32_t a, std::uint32_t b) { return end_[a] < end_[b]; });
    by_launch_of_stream_.resize(trace_.streams.size());
    by_launch_of_thread_.resize(trace_.threads.size());
    std::vector<std::uint32_t> by_launch = order_;
    std::stable_sort(by_launch.begin(), by_launch.end(),
                     [this](std::uint32_t a, std::uint32_t b) { return launched_[a] < launched_[b]; });
    for (const std::uint32_t k : by_launch) {
      by_launch_of_stream_[trace_.kernels[k].stream].push_back(k);
      if (trace_.kernels[k].launch == kineto_none) continue;
      by_launch_of_thread_[trace_.calls[trace_.kernels[k].launch].thread].push_back(k);
      kernels_of_call_.emplace_back(trace_.kernels[k].launch, k);
    }
    std::sort(kernels_of_call_.begin(), kernels_of_call_.end());
  }

  void index_calls() {
    for (std::uint32_t s = 0; s < trace_.syncs.size(); ++s) sync_of_correlation_.try_emplace(trace_.syncs[s].correlation, s);
    if (trace_.syncs.empty()) return;
    for (std::uint32_t c = 0; c < trace_.calls.size(); ++c) {
      if (trace_.calls[c].correlation >= 0) call_of_correlation_.try_emplace(trace_.calls[c].correlation, c);
    }
  }

  void find_tops() {
    tops_.resize(trace_.threads.size());
    for (std::uint32_t c = 0; c < trace_.calls.size(); ++c) {
      const KinetoCall& call = trace_.calls[c];
      if (call.kind == KinetoCall::Kind::annotation) continue;
      std::vector<TopCall>& tops = tops_[call.thread];
      if (!tops.empty() && call.begin_ns < tops.back().end_ns) {
        tops.back().end_ns = std::max(tops.back().end_ns, call.end_ns);
        tops.back().last_call = c + 1;
        continue;
      }
      TopCall top;
      top.begin_ns = call.begin_ns;
      top.end_ns = call.end_ns;
      top.name = call.name;
      top.first_call = c;
      top.last_call = c + 1;
      if (!tops.empty()) top.busy_before_ns = tops.back().busy_before_ns + tops.back().end_ns - tops.back().begin_ns;
      tops.push_back(top);
    }
  }

  // --- CPU threads ---

  std::uint32_t iteration_at(std::int64_t time_ns) const {
    const auto next = std::upper_bound(boundaries_.begin(), boundaries_.end(), time_ns);
    if (next == boundaries_.begin() || next == boundaries_.end()) return kineto_none;
    return static_cast<std::uint32_t>(next - boundaries_.begin()) - 1;
  }

  /// One thread on its way through its calls.
  struct Walk {
    std::uint32_t thread = 0;
    std::int64_t cursor_ns = 0;
    std::uint32_t last_op = kineto_none;
    std::vector<Pending> pending;
  };

  /// Adds stretches from the cursor to `until`, one per iteration that it touches.
  void advance(Walk& walk, std::int64_t until_ns, KinetoOp::Kind kind, std::uint32_t name) {
    while (walk.cursor_ns < until_ns) {
      const auto boundary = std::upper_bound(boundaries_.begin(), boundaries_.end(), walk.cursor_ns);
      append(walk, boundary == boundaries_.end() ? until_ns : std::min(until_ns, *boundary), kind, name);
    }
  }

  /// Adds the stretch from the cursor to `end`; it waits for what is pending.
  void append(Walk& walk, std::int64_t end_ns, KinetoOp::Kind kind, std::uint32_t name) {
    KinetoOp op;
    op.kind = kind;
    op.name = name;
    op.lane = walk.thread;
    op.begin_ns = walk.cursor_ns;
    op.end_ns = end_ns;
    op.iteration = iteration_at(op.begin_ns);
    walk.last_op = add(op);
    ops_of_thread_[walk.thread].push_back(walk.last_op);
    walk.cursor_ns = end_ns;
    for (Pending pending : walk.pending) {
      pending.op = walk.last_op;
      pending_.push_back(pending);
    }
    walk.pending.clear();
  }

  std::uint32_t add(const KinetoOp& op) {
    replay_.ops.push_back(op);
    return static_cast<std::uint32_t>(replay_.ops.size() - 1);
  }

  void walk_thread(std::uint32_t thread) {
    if (ops_of_thread_.empty()) ops_of_thread_.resize(tops_.size());
    Walk walk;
    walk.thread = thread;
    for (const TopCall& top : tops_[thread]) {
      if (const auto handover = find_handover(thread, walk.cursor_ns, top.begin_ns)) {
        walk.cursor_ns = handover->at_ns;
        walk.pending.push_back(*handover);
        replay_.thread_matters[handover->thread] = true;
        ++replay_.handovers;
      }
      advance(walk, top.begin_ns, KinetoOp::Kind::host, kineto_none);
      for (std::uint32_t c = top.first_call; c < top.last_call; ++c) walk_call(walk, c, top.name);
      advance(walk, top.end_ns, KinetoOp::Kind::call, top.name);
    }
    if (thread == main_thread_ && !boundaries_.empty()) advance(walk, boundaries_.back(), KinetoOp::Kind::host, kineto_none);
  }

  void walk_call(Walk& walk, std::uint32_t c, std::uint32_t top_name) {
    const KinetoCall& call = trace_.calls[c];
    if (call.kind != KinetoCall::Kind::runtime) return;
    const CallRole role = roles_[call.name];
    while (next_launch_ < kernels_of_call_.size() && kernels_of_call_[next_launch_].first < c) ++next_launch_;
    const bool launching = next_launch_ < kernels_of_call_.size() && kernels_of_call_[next_launch_].first == c;
    const bool waiting = role == CallRole::device_sync || role == CallRole::stream_or_event_sync;
    if (!launching && !waiting) return;
    advance(walk, call.begin_ns, KinetoOp::Kind::call, top_name);
    std::vector<std::uint32_t> awaited;
    if (waiting) awaited = awaited_by(c, role);
    for (; next_launch_ < kernels_of_call_.size() && kernels_of_call_[next_launch_].first == c; ++next_launch_) {
      const std::uint32_t k = kernels_of_call_[next_launch_].second;
      launch_op_[k] = walk.last_op;
      if (end_[k] <= call.end_ns && is_blocking_copy(trace_.names[call.name], trace_.names[trace_.kernels[k].name])) {
        awaited.push_back(k);
      }
    }
    if (awaited.empty()) return;
    for (const std::uint32_t k : awaited) {
      Pending pending;
      pending.kernel = k;
      walk.pending.push_back(pending);
      walk.cursor_ns = std::max(walk.cursor_ns, std::min(end_[k], call.end_ns));
    }
    // Where nothing of the call remains, an op without length keeps the wait for what follows on
    // the thread.
    if (walk.cursor_ns >= call.end_ns) append(walk, walk.cursor_ns, KinetoOp::Kind::call, top_name);
  }

  /// The stretch of another thread for which `thread` has waited in a gap.
  std::optional<Pending> find_handover(std::uint32_t thread, std::int64_t gap_begin_ns, std::int64_t gap_end_ns) const {
    const std::int64_t gap_ns = gap_end_ns - gap_begin_ns;
    if (gap_ns < handover_gap_min_ns) return std::nullopt;
    std::optional<Pending> found;
    for (std::uint32_t other = 0; other < tops_.size(); ++other) {
      if (other == thread) continue;
      const std::vector<TopCall>& tops = tops_[other];
      const auto after =
          std::partition_point(tops.begin(), tops.end(), [&](const TopCall& top) { return top.begin_ns < gap_end_ns; });
      if (after == tops.begin()) continue;
      const TopCall& last = *(after - 1);
      // Still at work, or idle all the time, or idle for long before.
      if (last.end_ns > gap_end_ns || last.end_ns <= gap_begin_ns || gap_end_ns - last.end_ns > gap_ns / handover_share) continue;
      const auto first = std::partition_point(tops.begin(), after, [&](const TopCall& top) { return top.end_ns <= gap_begin_ns; });
      const std::int64_t busy_ns = last.busy_before_ns + last.end_ns - last.begin_ns - first->busy_before_ns -
                                   std::max<std::int64_t>(0, gap_begin_ns - first->begin_ns);
      if (busy_ns < gap_ns / handover_share) continue;
      if (found && found->at_ns >= last.end_ns) continue;
      found.emplace();
      found->thread = other;
      found->at_ns = last.end_ns;
    }
    return found;
  }

  /// The kernels for which a synchronisation call waits.
  std::vector<std::uint32_t> awaited_by(std::uint32_t c, CallRole role) {
    const KinetoCall& call = trace_.calls[c];
    std::vector<std::uint32_t> awaited;
    const auto wait_for = [&](std::uint32_t stream, std::int64_t before_ns) {
      if (const auto k = last_launched(by_launch_of_stream_[stream], before_ns, call.end_ns)) awaited.push_back(*k);
    };
    const auto known = sync_of_correlation_.find(call.correlation);
    if (role == CallRole::device_sync) {
      for (std::uint32_t stream = 0; stream < by_launch_of_stream_.size(); ++stream) wait_for(stream, call.begin_ns);
    } else if (call.correlation >= 0 && known != sync_of_correlation_.end()) {
      if (const auto source = source_of(trace_.syncs[known->second], call.begin_ns)) wait_for(source->first, source->second);
    } else {
      ++replay_.guessed_syncs;
      auto at = std::upper_bound(by_end_.begin(), by_end_.end(), call.end_ns,
                                 [this](std::int64_t time_ns, std::uint32_t k) { return time_ns < end_[k]; });
      for (int i = 0; i < look_back_max && at != by_end_.begin() && end_[*(at - 1)] > call.begin_ns; ++i, --at) {
        if (launched_[*(at - 1)] > call.begin_ns) continue;
        awaited.push_back(*(at - 1));
        break;
      }
    }
    return awaited;
  }

  /// The last of `kernels` (by launch) launched by `before_ns` that had ended at `ended_ns`.
  std::optional<std::uint32_t> last_launched(const std::vector<std::uint32_t>& kernels, std::int64_t before_ns,
                                             std::int64_t ended_ns) const {
    auto at = std::partition_point(kernels.begin(), kernels.end(), [&](std::uint32_t k) { return launched_[k] <= before_ns; });
    for (int i = 0; i < look_back_max && at != kernels.begin(); ++i) {
      --at;
      if (end_[*at] <= ended_ns) return *at;
    }
    return std::nullopt;
  }

  /// Stream that a recorded synchronisation waited for, and until when it was given work.
  std::optional<std::pair<std::uint32_t, std::int64_t>> source_of(const KinetoSync& sync, std::int64_t call_begin_ns) const {
    if (sync.record_correlation < 0) {
      if (sync.wait_on_stream != kineto_none) return std::pair(sync.wait_on_stream, call_begin_ns);
      if (sync.stream != kineto_none) return std::pair(sync.stream, call_begin_ns);
      return std::nullopt;
    }
    const auto found = call_of_correlation_.find(sync.record_correlation);
    if (found == call_of_correlation_.end()) return std::nullopt;
    const KinetoCall& record = trace_.calls[found->second];
    if (sync.wait_on_stream != kineto_none) return std::pair(sync.wait_on_stream, record.begin_ns);
    // The event was recorded behind what the thread had launched last.
    const std::vector<std::uint32_t>& launched = by_launch_of_thread_[record.thread];
    const auto after =
        std::partition_point(launched.begin(), launched.end(), [&](std::uint32_t k) { return launched_[k] <= record.begin_ns; });
    if (after == launched.begin()) return std::nullopt;
    return std::pair(trace_.kernels[*(after - 1)].stream, record.begin_ns);
  }

  void resolve_pending() {
    for (const Pending& pending : pending_) {
      if (pending.kernel != kineto_none) {
        kernel_edges_.emplace_back(pending.kernel, pending.op);
        continue;
      }
      const std::vector<std::uint32_t>& ops = ops_of_thread_[pending.thread];
      const auto after =
          std::partition_point(ops.begin(), ops.end(), [&](std::uint32_t op) { return replay_.ops[op].end_ns <= pending.at_ns; });
      if (after != ops.begin()) replay_.edges.emplace_back(*(after - 1), pending.op);
    }
  }

  // --- GPU streams ---

  void wait_between(std::uint32_t source, std::uint32_t waiter) {
    // Evidence against it: the waiter did not wait.
    if (end_[source] > begin_[waiter] || position_[source] >= position_[waiter]) return;
    waits_.emplace_back(waiter, source);
  }

  void find_stream_waits() {
    waited_communications_.assign(trace_.threads.size(), 0);
    std::vector<std::uint32_t> stack;
    std::vector<std::uint32_t> exits;
    for (std::uint32_t c = 0; c < trace_.calls.size(); ++c) {
      const KinetoCall& call = trace_.calls[c];
      while (!stack.empty() &&
             (trace_.calls[stack.back()].thread != call.thread || trace_.calls[stack.back()].end_ns <= call.begin_ns)) {
        stack.pop_back();
      }
      if (call.kind == KinetoCall::Kind::runtime && roles_[call.name] == CallRole::stream_wait) {
        if (!recorded_wait(c) && !feeds_communication(c, stack)) exits.push_back(c);
      }
      stack.push_back(c);
    }
    for (const std::uint32_t c : exits) guessed_wait(c);
    if (trace_.syncs.empty()) {
      for (const std::uint32_t k : order_) {
        if (communicates_[k]) feed(k);
      }
    }
    std::sort(waits_.begin(), waits_.end());
    waits_.erase(std::unique(waits_.begin(), waits_.end()), waits_.end());
  }

  /// What a thread launches first after a call: on `stream` if that is known, else the first that
  /// is no communication.
  std::optional<std::uint32_t> first_launched(std::uint32_t thread, std::int64_t after_ns, std::uint32_t stream) const {
    const std::vector<std::uint32_t>& launched = by_launch_of_thread_[thread];
    auto at = std::partition_point(launched.begin(), launched.end(), [&](std::uint32_t k) { return launched_[k] < after_ns; });
    for (int i = 0; i < look_back_max && at != launched.end(); ++i, ++at) {
      if (stream == kineto_none ? !communicates_[*at] : trace_.kernels[*at].stream == stream) return *at;
    }
    return std::nullopt;
  }

  /// Waits that a cuda_sync event describes.
  bool recorded_wait(std::uint32_t c) {
    const KinetoCall& call = trace_.calls[c];
    const auto known = sync_of_correlation_.find(call.correlation);
    if (call.correlation < 0 || known == sync_of_correlation_.end()) return false;
    const KinetoSync& sync = trace_.syncs[known->second];
    const auto source = source_of(sync, call.begin_ns);
    const auto waiter = first_launched(call.thread, call.begin_ns, sync.stream);
    if (source && waiter) {
      if (const auto k = last_launched(by_launch_of_stream_[source->first], source->second, begin_[*waiter]))
        wait_between(*k, *waiter);
    }
    return true;
  }

  /// Whether a wait belongs to a c10d call that launches communication; feed() knows what that
  /// waits for.
  bool feeds_communication(std::uint32_t c, const std::vector<std::uint32_t>& stack) const {
    for (const std::uint32_t outer : stack) {
      const KinetoCall& call = trace_.calls[outer];
      const std::string_view name = trace_.names[call.name];
      if (!name.starts_with("c10d::") && !name.starts_with("nccl:") && call.communication == kineto_none) continue;
      const std::vector<std::uint32_t>& launched = by_launch_of_thread_[trace_.calls[c].thread];
      auto at =
          std::partition_point(launched.begin(), launched.end(), [&](std::uint32_t k) { return launched_[k] < call.begin_ns; });
      for (; at != launched.end() && launched_[*at] < call.end_ns; ++at) {
        if (communicates_[*at]) return true;
      }
      return false;
    }
    return false;
  }

  /// A wait of which only the call is known.
  void guessed_wait(std::uint32_t c) {
    const KinetoCall& call = trace_.calls[c];
    const auto waiter = first_launched(call.thread, call.begin_ns, kineto_none);
    const std::vector<std::uint32_t>& launched = by_launch_of_thread_[call.thread];
    std::size_t& next = waited_communications_[call.thread];
    while (next < launched.size() && !communicates_[launched[next]]) ++next;
    if (next < launched.size() && launched_[launched[next]] < call.begin_ns) {
      if (waiter) wait_between(launched[next], *waiter);
      ++next;
      ++replay_.guessed_waits;
      return;
    }
    if (!waiter) return;
    // No communication: the last op that the thread launched on another stream.
    auto at = std::partition_point(launched.begin(), launched.end(), [&](std::uint32_t k) { return launched_[k] < call.begin_ns; });
    for (int i = 0; i < look_back_max && at != launched.begin(); ++i) {
      --at;
      if (trace_.kernels[*at].stream == trace_.kernels[*waiter].stream || communicates_[*at]) continue;
      wait_between(*at, *waiter);
      ++replay_.guessed_waits;
      return;
    }
  }

  /// Communication waits for what its thread launched before it.
  void feed(std::uint32_t k) {
    if (trace_.kernels[k].launch == kineto_none) return;
    const std::vector<std::uint32_t>& launched = by_launch_of_thread_[trace_.calls[trace_.kernels[k].launch].thread];
    auto at = std::partition_point(launched.begin(), launched.end(),
                                   [&](std::uint32_t other) { return launched_[other] < launched_[k]; });
    for (int i = 0; i < look_back_max && at != launched.begin(); ++i) {
      --at;
      if (communicates_[*at] || trace_.kernels[*at].stream == trace_.kernels[k].stream) continue;
      wait_between(*at, k);
      ++replay_.guessed_waits;
      return;
    }
  }

  /// An op of another stream that ended just before `k` began and after everything else that `k`
  /// waited for.
  std::optional<std::uint32_t> unrecorded_wait(std::uint32_t k, std::int64_t ready_ns) const {
    if (begin_[k] - ready_ns < explained_delay_max_ns) return std::nullopt;
    const std::int64_t since_ns = std::max(ready_ns, begin_[k] - wake_up_max_ns);
    auto at = std::upper_bound(by_end_.begin(), by_end_.end(), begin_[k],
                               [this](std::int64_t time_ns, std::uint32_t other) { return time_ns < end_[other]; });
    for (int i = 0; i < look_back_max && at != by_end_.begin(); ++i) {
      --at;
      if (end_[*at] <= since_ns) return std::nullopt;
      if (trace_.kernels[*at].stream != trace_.kernels[k].stream && position_[*at] < position_[k]) return *at;
    }
    return std::nullopt;
  }

  /// The lanes of a stream: one, and more for ops that overlap.
  struct Lane {
    std::uint32_t number = 0;
    std::int64_t free_from_ns = 0;
    std::uint32_t last_op = kineto_none;
  };

  void add_kernels() {
    replay_.lane_count = static_cast<std::uint32_t>(trace_.threads.size() + trace_.streams.size());
    lanes_.resize(trace_.streams.size());
    for (std::size_t s = 0; s < lanes_.size(); ++s) {
      lanes_[s].push_back({static_cast<std::uint32_t>(trace_.threads.size() + s), 0, kineto_none});
    }
    op_of_kernel_.assign(trace_.kernels.size(), kineto_none);
    for (const std::uint32_t k : order_) add_kernel(k);
    for (const auto& [kernel, op] : kernel_edges_) replay_.edges.emplace_back(op_of_kernel_[kernel], op);
  }

  void add_kernel(std::uint32_t k) {
    std::vector<Lane>& lanes = lanes_[trace_.kernels[k].stream];
    Lane* lane = nullptr;
    std::uint32_t before = kineto_none;  // the last op of the stream that had ended
    for (Lane& candidate : lanes) {
      if (candidate.free_from_ns > begin_[k]) continue;
      if (lane == nullptr) lane = &candidate;
      const bool later =
          before == kineto_none || (candidate.last_op != kineto_none && candidate.free_from_ns > replay_.ops[before].end_ns);
      if (later) before = candidate.last_op;
    }
    if (lane == nullptr) {
      ++replay_.overlapping;
      if (lanes.size() < lanes_per_stream_max) {
        lanes.push_back({replay_.lane_count++, 0, kineto_none});
        lane = &lanes.back();
      }
    }

    KinetoOp op;
    op.kind = KinetoOp::Kind::kernel;
    op.begin_ns = begin_[k];
    op.end_ns = end_[k];
    op.name = trace_.kernels[k].name;
    op.kernel = k;
    op.launch = launch_op_[k];
    op.lane = lane == nullptr ? kineto_none : lane->number;
    op.iteration = iteration_at(launched_[k]);

    predecessors_.clear();
    KinetoOp delay = op;
    delay.kind = KinetoOp::Kind::delay;
    delay.delay = KinetoOp::Delay::launch_latency;
    delay.lane = kineto_none;
    std::int64_t ready_ns = trace_.kernels[k].launch == kineto_none ? 0 : launched_[k];
    std::uint32_t latest = launch_op_[k];
    if (latest != kineto_none) predecessors_.push_back(latest);
    const auto wait_for = [&](std::uint32_t other, KinetoOp::Delay kind) {
      predecessors_.push_back(other);
      if (replay_.ops[other].end_ns <= ready_ns) return;
      ready_ns = replay_.ops[other].end_ns;
      latest = other;
      delay.delay = kind;
    };
    if (before != kineto_none) wait_for(before, KinetoOp::Delay::stream_gap);
    for (auto wait = std::lower_bound(waits_.begin(), waits_.end(), std::pair(k, std::uint32_t{0}));
         wait != waits_.end() && wait->first == k; ++wait) {
      wait_for(op_of_kernel_[wait->second], KinetoOp::Delay::event_wait);
    }
    if (const auto other = unrecorded_wait(k, ready_ns)) {
      wait_for(op_of_kernel_[*other], KinetoOp::Delay::event_wait);
      ++replay_.guessed_waits;
    }

    std::uint32_t delay_op = kineto_none;
    if (begin_[k] > ready_ns) {
      delay.begin_ns = ready_ns;
      delay.end_ns = begin_[k];
      delay_op = add(delay);
      if (latest != kineto_none) replay_.edges.emplace_back(latest, delay_op);
    }
    op_of_kernel_[k] = add(op);
    if (delay_op != kineto_none) replay_.edges.emplace_back(delay_op, op_of_kernel_[k]);
    for (const std::uint32_t predecessor : predecessors_) {
      if (predecessor != latest || delay_op == kineto_none) replay_.edges.emplace_back(predecessor, op_of_kernel_[k]);
    }
    if (lane != nullptr) {
      lane->free_from_ns = end_[k];
      lane->last_op = op_of_kernel_[k];
    }
  }

  void sort_ops() {
    std::vector<KinetoOp>& ops = replay_.ops;
    std::vector<std::uint32_t> order(ops.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(ops[a].begin_ns, ops[a].end_ns, a) < std::tuple(ops[b].begin_ns, ops[b].end_ns, b);
    });
    std::vector<std::uint32_t> position(ops.size());
    std::vector<KinetoOp> sorted;
    sorted.reserve(ops.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      position[order[i]] = i;
      sorted.push_back(ops[order[i]]);
    }
    for (KinetoOp& op : sorted) {
      if (op.launch != kineto_none) op.launch = position[op.launch];
    }
    ops = std::move(sorted);
    for (auto& [dependency, op] : replay_.edges) {
      dependency = position[dependency];
      op = position[op];
    }
  }

  const KinetoTrace& trace_;
  const KinetoBoundaries& boundaries_;
  std::uint32_t main_thread_;
  KinetoReplay replay_;
  std::vector<CallRole> roles_;  ///< by name
  std::vector<std::vector<TopCall>> tops_;

  // By kernel.
  std::vector<std::int64_t> begin_;
  std::vector<std::int64_t> end_;
  std::vector<std::int64_t> launched_;
  std::vector<bool> communicates_;
  std::vector<std::uint32_t> launch_op_;
  std::vector<std::uint32_t> op_of_kernel_;
  std::vector<std::uint32_t> position_;  ///< in order_

  // Kernels in other orders.
  std::vector<std::uint32_t> order_;  ///< by begin and end
  std::vector<std::uint32_t> by_end_;
  std::vector<std::vector<std::uint32_t>> by_launch_of_stream_;
  std::vector<std::vector<std::uint32_t>> by_launch_of_thread_;
  /// (call, kernel), sorted.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> kernels_of_call_;
  std::size_t next_launch_ = 0;  ///< in kernels_of_call_

  std::unordered_map<std::int64_t, std::uint32_t> sync_of_correlation_;  ///< lookup only
  std::unordered_map<std::int64_t, std::uint32_t> call_of_correlation_;  ///< lookup only
  std::vector<std::vector<std::uint32_t>> ops_of_thread_;
  std::vector<Pending> pending_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> kernel_edges_;  ///< (kernel, waiting op)
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits_;         ///< (waiting kernel, kernel)
  /// Per thread: in by_launch_of_thread_.
  std::vector<std::size_t> waited_communications_;
  std::vector<std::vector<Lane>> lanes_;
  std::vector<std::uint32_t> predecessors_;
};

}  // namespace

KinetoReplay rebuild_kineto(const KinetoTrace& trace, const KinetoBoundaries& boundaries, std::uint32_t main_thread) {
  return Rebuilder(trace, boundaries, main_thread).rebuild();
}

bool is_kineto_communication(const KinetoTrace& trace, const KinetoKernel& kernel) {
  if (kernel.communication != kineto_none) return true;
  const std::string& name = trace.names[kernel.name];
  return name.starts_with("nccl") || name.starts_with("rccl");
}

}  // namespace weft

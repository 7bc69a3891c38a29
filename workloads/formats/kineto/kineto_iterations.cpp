// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto_iterations.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/text/plain_number.hpp"
#include "workloads/formats/kineto/kineto_communication.hpp"

namespace weft {

namespace {

/// Fewer kernels than this repeat inside an iteration as well.
constexpr std::size_t period_min = 16;

/// Keeps comparing linear for traces in which every iteration is different.
constexpr std::size_t kinds_max = 16;

/// Begin of the call that launched a kernel; without one, of the kernel itself.
std::vector<std::int64_t> launch_times(const KinetoTrace& trace) {
  std::vector<std::int64_t> times(trace.kernels.size());
  for (std::size_t k = 0; k < times.size(); ++k) {
    const KinetoKernel& kernel = trace.kernels[k];
    times[k] = kernel.launch == kineto_none ? kernel.begin_ns : trace.calls[kernel.launch].begin_ns;
  }
  return times;
}

bool same_kernel(const KinetoTrace& trace, std::uint32_t a, std::uint32_t b) {
  return trace.kernels[a].name == trace.kernels[b].name && trace.kernels[a].stream == trace.kernels[b].stream;
}

/// Length of the shortest period of the sequence's end that covers enough of it; 0 if there is
/// none.
std::size_t repetition(const KinetoTrace& trace, const std::vector<std::uint32_t>& order) {
  const std::size_t n = order.size();
  const auto equal = [&](std::size_t i, std::size_t j) { return same_kernel(trace, order[n - 1 - i], order[n - 1 - j]); };
  // z[i]: how far the reversed sequence from i on equals its beginning.
  std::vector<std::size_t> z(n, 0);
  for (std::size_t i = 1, left = 0, right = 0; i < n; ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < n && equal(z[i], i + z[i])) ++z[i];
    if (i + z[i] > right) {
      left = i;
      right = i + z[i];
    }
  }
  for (std::size_t period = period_min; 2 * period <= n; ++period) {
    const std::size_t covered = period + z[period];
    if (covered >= 2 * period && 5 * covered >= 4 * n) return period;
  }
  return 0;
}

/// Equal numbers for communication that moves the same.
std::vector<std::uint32_t> number_messages(const KinetoTrace& trace) {
  std::vector<std::uint32_t> messages(trace.kernels.size(), kineto_none);
  const KinetoCommunicationFinder finder(trace);
  std::map<std::tuple<std::string, std::int64_t, std::string>, std::uint32_t> numbers;
  for (std::uint32_t k = 0; k < messages.size(); ++k) {
    if (!is_kineto_communication(trace, trace.kernels[k])) continue;
    KinetoCommunication found = finder.find(k).value_or(KinetoCommunication());
    const bool is_routed = kineto_verb(found.collective) == KinetoVerb::all_to_all;
    const auto next = static_cast<std::uint32_t>(numbers.size());
    auto key = std::tuple(std::move(found.collective), is_routed ? 0 : found.elements_in, std::move(found.type));
    messages[k] = numbers.try_emplace(std::move(key), next).first->second;
  }
  return messages;
}

class IterationFinder {
 public:
  explicit IterationFinder(const KinetoTrace& trace) : trace_(trace), launched_(launch_times(trace)) {
    order_.resize(trace.kernels.size());
    for (std::uint32_t k = 0; k < order_.size(); ++k) order_[k] = k;
    std::sort(order_.begin(), order_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return std::pair(launched_[a], a) < std::pair(launched_[b], b); });
  }

  KinetoIterations find() {
    if (!by_profiler_steps() && !by_optimizer_steps()) by_repetition();
    if (found_.boundaries.size() < 2) return KinetoIterations();
    deal_kernels();
    found_.messages = number_messages(trace_);
    return std::move(found_);
  }

 private:
  bool by_profiler_steps() {
    std::vector<const KinetoCall*> steps = annotations("ProfilerStep#");
    if (steps.empty()) return false;
    for (const KinetoCall* step : steps) found_.boundaries.push_back(step->begin_ns);
    found_.boundaries.push_back(std::max(steps.back()->end_ns, steps.back()->begin_ns));
    if (!accept(KinetoIterations::Source::profiler_steps, steps.front()->thread)) return false;
    found_.steps = numbers_of(steps);
    return true;
  }

  /// Of the iterations within the boundaries; none unless every one has its number and they ascend.
  std::vector<std::uint64_t> numbers_of(const std::vector<const KinetoCall*>& steps) const {
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::int64_t end = i + 1 < steps.size() ? steps[i + 1]->begin_ns : steps[i]->end_ns;
      if (end <= steps[i]->begin_ns) continue;
      const std::string_view name = trace_.names[steps[i]->name];
      const auto number = plain_number<std::uint64_t>(name.substr(name.find('#') + 1));
      if (!number || (!numbers.empty() && *number <= numbers.back())) return {};
      numbers.push_back(*number);
    }
    return numbers;
  }

  bool by_optimizer_steps() {
    std::vector<const KinetoCall*> steps = annotations("Optimizer.step#");
    if (steps.empty()) return false;
    // A model may have several optimizers; the first one's steps count.
    const std::uint32_t name = steps.front()->name;
    for (const KinetoCall* step : steps) {
      if (step->name == name) found_.boundaries.push_back(step->end_ns);
    }
    if (found_.boundaries.size() < 3) {
      found_.boundaries.clear();
      return false;
    }
    return accept(KinetoIterations::Source::optimizer_steps, steps.front()->thread);
  }

  void by_repetition() {
    const std::size_t period = repetition(trace_, order_);
    if (period == 0) return;
    const std::size_t count = order_.size() / period;
    for (std::size_t i = order_.size() - count * period; i < order_.size(); i += period) {
      found_.boundaries.push_back(launched_[order_[i]]);
    }
    std::int64_t end = launched_[order_.back()];
    for (const KinetoCall& call : trace_.calls) end = std::max(end, call.end_ns);
    found_.boundaries.push_back(end + 1);
    accept(KinetoIterations::Source::repetition, kineto_none);
  }

  /// In order of begin, of the first thread that has them.
  std::vector<const KinetoCall*> annotations(std::string_view start) const {
    std::vector<const KinetoCall*> found;
    for (const KinetoCall& call : trace_.calls) {
      if (call.kind != KinetoCall::Kind::annotation || !trace_.names[call.name].starts_with(start)) continue;
      if (found.empty() || found.front()->thread == call.thread) found.push_back(&call);
    }
    return found;
  }

  /// Iterations without any length are none.
  bool accept(KinetoIterations::Source source, std::uint32_t main_thread) {
    auto& boundaries = found_.boundaries;
    boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
    if (boundaries.size() < 2 || !std::is_sorted(boundaries.begin(), boundaries.end())) {
      boundaries.clear();
      return false;
    }
    found_.source = source;
    found_.main_thread = main_thread;
    return true;
  }

  void deal_kernels() {
    found_.kernels.resize(found_.boundaries.size() - 1);
    for (const std::uint32_t kernel : order_) {
      const auto next = std::upper_bound(found_.boundaries.begin(), found_.boundaries.end(), launched_[kernel]);
      if (next == found_.boundaries.begin() || next == found_.boundaries.end()) continue;
      found_.kernels[static_cast<std::size_t>(next - found_.boundaries.begin()) - 1].push_back(kernel);
    }
  }

  const KinetoTrace& trace_;
  std::vector<std::int64_t> launched_;
  std::vector<std::uint32_t> order_;  ///< kernels by launch
  KinetoIterations found_;
};

}  // namespace

KinetoIterations find_kineto_iterations(const KinetoTrace& trace) { return IterationFinder(trace).find(); }

bool are_alike(const KinetoTrace& trace, const KinetoIterations& iterations, std::uint32_t a, std::uint32_t b) {
  const std::vector<std::uint32_t>& of_a = iterations.kernels[a];
  const std::vector<std::uint32_t>& of_b = iterations.kernels[b];
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), [&](std::uint32_t x, std::uint32_t y) {
    return same_kernel(trace, x, y) && iterations.messages[x] == iterations.messages[y];
  });
}

KinetoAlignment align_kineto_iterations(std::span<const KinetoSteps> ranks) {
  KinetoAlignment alignment;
  bool is_numbered = true;
  std::vector<const KinetoSteps*> voters;
  for (const KinetoSteps& rank : ranks) {
    if (rank.count == 0) continue;
    alignment.count = voters.empty() ? rank.count : std::min(alignment.count, rank.count);
    is_numbered = is_numbered && !rank.numbers.empty();
    voters.push_back(&rank);
  }
  std::vector<std::uint64_t> shared;
  if (is_numbered && !voters.empty()) {
    shared = voters.front()->numbers;
    for (const KinetoSteps* rank : voters) {
      std::vector<std::uint64_t> both;
      std::set_intersection(shared.begin(), shared.end(), rank->numbers.begin(), rank->numbers.end(), std::back_inserter(both));
      shared = std::move(both);
    }
    alignment.shares_no_number = shared.empty();
    if (!shared.empty()) alignment.count = static_cast<std::uint32_t>(shared.size());
  }
  for (const KinetoSteps& rank : ranks) {
    std::vector<std::uint32_t>& own = alignment.of_rank.emplace_back();
    if (rank.count == 0) continue;
    for (std::uint32_t i = 0; i < alignment.count; ++i) {
      const auto found =
          shared.empty() ? rank.numbers.end() : std::lower_bound(rank.numbers.begin(), rank.numbers.end(), shared[i]);
      own.push_back(shared.empty() ? i : static_cast<std::uint32_t>(found - rank.numbers.begin()));
    }
    alignment.is_plain = alignment.is_plain && rank.count == alignment.count;
  }
  return alignment;
}

std::uint32_t typical_kineto_iteration(std::span<const KinetoRecording> ranks, const KinetoAlignment& alignment) {
  std::vector<std::size_t> voters;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].iterations.count() > 0) voters.push_back(r);
  }
  if (voters.empty()) return 0;

  // Kinds in order of their first iteration; ties go to the kind with more kernels, then to the
  // earlier one.
  std::vector<std::vector<std::uint32_t>> kinds;
  for (std::uint32_t i = 0; i < alignment.count; ++i) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const std::vector<std::uint32_t>& kind) {
      return std::all_of(voters.begin(), voters.end(), [&](std::size_t r) {
        const std::vector<std::uint32_t>& own = alignment.of_rank[r];
        return are_alike(ranks[r].trace, ranks[r].iterations, own[kind.front()], own[i]);
      });
    });
    if (same == kinds.end()) {
      if (kinds.size() < kinds_max) kinds.push_back({i});
    } else {
      same->push_back(i);
    }
  }
  const auto weight = [&](const std::vector<std::uint32_t>& kind) {
    std::size_t kernels = 0;
    for (const std::size_t r : voters) kernels += ranks[r].iterations.kernels[alignment.of_rank[r][kind.front()]].size();
    return std::pair(kind.size(), kernels);
  };
  std::vector<std::uint32_t> by_length =
      *std::max_element(kinds.begin(), kinds.end(), [&](const auto& a, const auto& b) { return weight(a) < weight(b); });
  const auto length_ns = [&](std::uint32_t i) {
    std::int64_t longest_ns = 0;
    for (const std::size_t r : voters) {
      const KinetoBoundaries& boundaries = ranks[r].iterations.boundaries;
      const std::uint32_t own = alignment.of_rank[r][i];
      longest_ns = std::max(longest_ns, boundaries[own + 1] - boundaries[own]);
    }
    return longest_ns;
  };
  std::sort(by_length.begin(), by_length.end(),
            [&](std::uint32_t a, std::uint32_t b) { return std::pair(length_ns(a), a) < std::pair(length_ns(b), b); });
  return by_length[(by_length.size() - 1) / 2];
}

}  // namespace weft

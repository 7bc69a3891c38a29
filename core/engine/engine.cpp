// SPDX-License-Identifier: Apache-2.0
#include "core/engine/engine.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/engine/batch_process.hpp"
#include "core/engine/engine_state.hpp"
#include "core/engine/event_process.hpp"
#include "core/engine/window_barrier.hpp"
#include "core/engine/window_plan.hpp"
#include "core/text/diagnostics.hpp"

namespace weft {

// --- Engine ---

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

std::size_t Engine::entity_count() const { return state_->directory.size(); }
Entity& Engine::entity(EntityId id) const { return state_->directory.entity(id); }
const std::string& Engine::entity_name(EntityId id) const { return state_->directory.name(id); }
LpId Engine::lp_of(EntityId id) const { return state_->directory.place(id).lp; }

RunReport Engine::run(const RunControl& control) {
  State& state = *state_;
  WEFT_CHECK(!state.broken, "an engine whose entity failed does not run again");
  state.finished_alone = false;
  WindowBarrier barrier(static_cast<std::uint32_t>(state.workers.size()));
  {
    // Nobody starts before all threads exist: if one cannot be made, the others must not wait for
    // it at the barrier.
    enum Gate : int { closed, open, cancelled };
    std::atomic<int> gate = closed;
    std::vector<std::jthread> threads;
    try {
      for (std::size_t w = 1; w < state.workers.size(); ++w) {
        threads.emplace_back([&state, &control, &barrier, &gate, w] {
          gate.wait(closed, std::memory_order_acquire);
          if (gate.load(std::memory_order_acquire) == open) state.work(*state.workers[w], control, barrier);
        });
      }
    } catch (...) {
      gate.store(cancelled, std::memory_order_release);
      gate.notify_all();
      throw;
    }
    gate.store(open, std::memory_order_release);
    gate.notify_all();
    state.work(*state.workers[0], control, barrier);
  }

  const State::Failure* first = nullptr;
  for (const auto& worker : state.workers) {
    if (worker->failure && (first == nullptr || worker->failure->key < first->key)) first = &*worker->failure;
  }
  if (first != nullptr) {
    state.broken = true;
    std::rethrow_exception(first->error);
  }

  RunReport report;
  report.windows = state.windows;
  report.redeals = state.redeals;
  report.lp_count = static_cast<std::uint32_t>(state.slots.size());
  report.lookahead = state.lookahead;
  report.next_event = state.next_event;
  report.interrupted = state.interrupted;
  for (const auto& worker : state.workers) {
    worker->counters.messages = worker->outbox->message_count();
    report.workers.push_back(worker->counters);
    report.events += worker->counters.events;
    report.messages += worker->counters.messages;
    report.end_time = std::max(report.end_time, worker->last_event);
  }
  std::vector<std::uint64_t> chains(state.directory.size());
  for (const EntityTurns& turns : state.turns) chains[turns.id.index()] = turns.chain.value();
  for (const State::LpSlot& slot : state.slots) slot.process->add_to_fingerprints(chains);
  report.fingerprint.add(static_cast<std::uint64_t>(chains.size()));
  for (const std::uint64_t chain : chains) report.fingerprint.add(chain);
  return report;
}

// --- Builder ---

EngineBuilder::EngineBuilder() = default;
EngineBuilder::~EngineBuilder() = default;
EngineBuilder::EngineBuilder(EngineBuilder&&) noexcept = default;
EngineBuilder& EngineBuilder::operator=(EngineBuilder&&) noexcept = default;

EntityId EngineBuilder::declare(std::string name) {
  const EntityId id(static_cast<std::uint32_t>(registered_.size()));
  registered_.push_back({nullptr, std::move(name)});
  return id;
}

void EngineBuilder::define(EntityId declared, std::unique_ptr<Entity> entity) {
  WEFT_CHECK(entity != nullptr, "an entity is registered");
  WEFT_CHECK(declared.index() < registered_.size() && registered_[declared.index()].entity == nullptr,
             "an entity is declared, and then defined once");
  registered_[declared.index()].entity = std::move(entity);
}

EntityId EngineBuilder::add_entity(std::unique_ptr<Entity> entity, std::string name) {
  const EntityId id = declare(std::move(name));
  define(id, std::move(entity));
  return id;
}

void EngineBuilder::connect(EntityId from, EntityId to, Duration min_delay) {
  WEFT_CHECK(min_delay >= Duration::zero(), "a minimum delay is not negative");
  edges_.push_back({from.index(), to.index(), min_delay});
}

void EngineBuilder::connect_both(EntityId a, EntityId b, Duration min_delay) {
  connect(a, b, min_delay);
  connect(b, a, min_delay);
}

void EngineBuilder::connect_all(Duration min_delay) {
  WEFT_CHECK(min_delay >= Duration::zero(), "a minimum delay is not negative");
  min_delay_of_all_ = min_delay;
}

Event EngineBuilder::make_initial(EntityId target, Time at, EventClass event_class, std::uint16_t kind) {
  WEFT_CHECK(at >= Time::zero(), "an initial event happens at time 0 or later");
  Event event;
  event.key.time = at;
  event.key.event_class = event_class;
  event.target = target;
  event.kind = kind;
  return event;
}

std::size_t EngineBuilder::entity_count() const { return registered_.size(); }

Engine EngineBuilder::build(EngineOptions options) && {
  WEFT_CHECK(options.threads >= 1, "an engine runs on at least one thread");
  const std::size_t count = registered_.size();
  for (const PartitionEdge& edge : edges_) {
    WEFT_CHECK(edge.from < count && edge.to < count, "a connection joins entities that are registered");
  }
  for (const Event& event : initial_) WEFT_CHECK(event.target.index() < count, "an initial event is for a registered entity");

  auto state = std::make_unique<Engine::State>();
  EntityDirectory& directory = state->directory;
  for (Registered& registered : registered_) {
    WEFT_CHECK(registered.entity != nullptr,
               fmt::format("every entity that was declared is defined, but {} is not", registered.name));
    directory.entities_.push_back(std::move(registered.entity));
    directory.names_.push_back(std::move(registered.name));
  }

  std::sort(edges_.begin(), edges_.end(), [](const PartitionEdge& a, const PartitionEdge& b) {
    return std::tie(a.from, a.to, a.min_delay) < std::tie(b.from, b.to, b.min_delay);
  });
  edges_.erase(std::unique(edges_.begin(), edges_.end(),
                           [](const PartitionEdge& a, const PartitionEdge& b) { return a.from == b.from && a.to == b.to; }),
               edges_.end());
  directory.connections_begin_.assign(count + 1, 0);
  for (const PartitionEdge& edge : edges_) ++directory.connections_begin_[edge.from + 1];
  for (std::size_t i = 0; i < count; ++i) directory.connections_begin_[i + 1] += directory.connections_begin_[i];
  directory.connections_.reserve(edges_.size());
  for (const PartitionEdge& edge : edges_) directory.connections_.push_back({EntityId(edge.to), edge.min_delay});
  directory.min_delay_of_all_ = min_delay_of_all_;
  if (min_delay_of_all_) {
    // A chain joins the same sets of entities as all pairs would, and some link of it crosses every
    // cut.
    for (std::uint32_t i = 0; i + 1 < count; ++i) edges_.push_back({i, i + 1, *min_delay_of_all_});
  }

  Partition partition = make_partition(count, edges_, options);
  const bool has_batch_nodes = std::ranges::any_of(
      directory.entities_, [](const auto& entity) { return dynamic_cast<const BatchNode*>(entity.get()) != nullptr; });
  if (const auto* automatic = std::get_if<PartitionAutomatic>(&options.partition); automatic != nullptr && has_batch_nodes) {
    partition = partition_merged(partition, edges_, options.threads * automatic->lps_per_thread_min);
  }
  state->lookahead = partition.lookahead;
  std::vector<std::vector<EntityId>> members(partition.lp_count);
  directory.places_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const LpId lp = partition.lp_of_node[i];
    directory.places_.push_back({lp, static_cast<std::uint32_t>(members[lp.index()].size())});
    members[lp.index()].push_back(EntityId(i));
  }
  state->slots = std::vector<Engine::State::LpSlot>(partition.lp_count);
  const std::vector<std::optional<Duration>> batch_windows = longest_batch_windows(directory, partition, edges_);
  state->window_span = window_span_of(partition.lookahead, batch_windows);
  state->turns = std::vector<EntityTurns>(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    state->turns[i].entity = directory.entities_[i].get();
    state->turns[i].id = EntityId(i);
  }
  WEFT_CHECK(options.watcher == nullptr || options.threads == 1, "events are watched on one thread");
  for (std::uint32_t lp = 0; lp < partition.lp_count; ++lp) {
    state->slots[lp].weight = 0;
    for (const EntityId member : members[lp]) state->slots[lp].weight += weight_of(directory, member);
    std::unique_ptr<LogicalProcess>& process = state->slots[lp].process;
    if (batch_windows[lp]) {
      auto batches = std::make_unique<BatchProcess>(LpId(lp), directory, state->turns, members[lp], *batch_windows[lp]);
      if (options.watcher != nullptr) batches->watch(*options.watcher);
      process = std::move(batches);
    } else {
      auto events = partition.lp_count > 1 ? std::make_unique<EventProcess>(LpId(lp), directory, state->turns)
                                           : std::make_unique<EventProcess>(directory, state->turns);
      if (options.watcher != nullptr) events->watch(*options.watcher);
      process = std::move(events);
    }
  }
  if (!has_batch_nodes && partition.lp_count > 1) {
    state->joint.emplace(directory, state->turns);
    if (options.watcher != nullptr) state->joint->watch(*options.watcher);
  }
  for (const Event& event : initial_) state->slots[directory.place(event.target).lp.index()].process->post_initial(event);
  state->options = std::move(options);
  state->make_workers(std::clamp(partition.lp_count, 1U, state->options.threads));
  if (state->options.log.wants(LogLevel::info)) {
    state->options.log.info(
        fmt::format("{} entities in {} logical processes on {} threads, {}", count, partition.lp_count, state->workers.size(),
                    partition.lookahead == Duration::max() ? std::string("which never meet")
                                                           : fmt::format("lookahead {}", to_text(partition.lookahead))));
  }
  return Engine(std::move(state));
}

}  // namespace weft

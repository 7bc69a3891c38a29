// SPDX-License-Identifier: Apache-2.0
#include "core/engine/event_process.hpp"

#include <exception>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/engine/event_digest.hpp"

namespace weft {

EventProcess::EventProcess(LpId lp, const EntityDirectory& directory, std::span<EntityTurns> turns)
    : lp_(lp), directory_(&directory), turns_(turns) {}

EventProcess::EventProcess(const EntityDirectory& directory, std::span<EntityTurns> turns)
    : has_all_(true), directory_(&directory), turns_(turns) {}

void EventProcess::post_initial(Event event) {
  WEFT_CHECK(has_all_ || directory_->place(event.target).lp == lp_, "an initial event is for a member of this process");
  event.key.source = event.target;
  event.key.sequence = turns_[event.target.index()].next_sequence++;
  push(event);
}

void EventProcess::set_apart(EntityId member) {
  turns_[member.index()].apart = true;
  has_apart_ = true;
}

void EventProcess::receive(std::span<const PortMessageTo> port_messages) {
  WEFT_CHECK(port_messages.empty(), "a port message goes to a batch node");
}

std::uint64_t EventProcess::run_window(const Window& window, Outbox& outbox) {
  outbox_ = &outbox;
  return run(queue_, window.end, window.events_max);
}

std::uint64_t EventProcess::hand_over(Time end, Outbox& outbox) {
  outbox_ = &outbox;
  return run(apart_, end, UINT64_MAX);
}

std::uint64_t EventProcess::run(EventQueue& queue, Time end, std::uint64_t events_max) {
  std::uint64_t handled = 0;
  try {
    while (handled < events_max && queue.top_time() < end) {
      current_ = queue.pop();
      ++handled;
      current_turns_ = &turns_[current_.target.index()];
      current_turns_->chain.add(event_digest(current_));
      if (watcher_ != nullptr) watcher_->on_handled(current_);
      current_turns_->entity->handle(current_, *this);
    }
  } catch (...) {
    rethrow_with_place();
  }
  return handled;
}

EventContext& EventProcess::act_as(EntityId member, Time now) {
  current_turns_ = &turns_[member.index()];
  current_.target = member;
  current_.key.time = now;
  return *this;
}

Event EventProcess::make(EntityId target, Duration delay, EventClass event_class, std::uint16_t kind) {
  if (target == current_turns_->id) {
    WEFT_CHECK(delay >= Duration::zero(), fmt::format("an event is scheduled {} from now, not in the past", to_text(delay)));
  } else {
    WEFT_CHECK(target.index() < directory_->size(), "a message goes to an entity that exists");
    const Duration* min_delay = directory_->find_min_delay(current_turns_->id, target);
    WEFT_CHECK(min_delay != nullptr,
               fmt::format("a message goes to an entity that was connected; \"{}\" was not", directory_->name(target)));
    WEFT_CHECK(delay >= *min_delay, fmt::format("a message to \"{}\" travels at least the declared {}, but was sent with {}",
                                                directory_->name(target), to_text(*min_delay), to_text(delay)));
  }
  Event event;
  event.key.time = current_.key.time + delay;
  event.key.sequence = current_turns_->next_sequence++;
  event.key.source = current_turns_->id;
  event.key.event_class = event_class;
  event.target = target;
  event.kind = kind;
  return event;
}

void EventProcess::post(const Event& event) {
  if (watcher_ != nullptr) watcher_->on_posted(event);
  if (has_all_ || directory_->place(event.target).lp == lp_) {
    push(event);
  } else {
    outbox_->send(event);
  }
}

void EventProcess::rethrow_with_place() {
  const std::string place =
      fmt::format("at t={}, entity \"{}\": ", to_text(current_.key.time.since_start()), directory_->name(current_.target));
  try {
    throw;
  } catch (const OverflowFailure& failure) {
    throw OverflowFailure(place + failure.what());
  } catch (const CheckFailure& failure) {
    throw CheckFailure(place + failure.what());
  }
}

}  // namespace weft

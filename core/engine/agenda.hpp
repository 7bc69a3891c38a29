// SPDX-License-Identifier: Apache-2.0
// Agenda: a worker's logical processes, ordered by when each has its next event.
//
// Where it sits: the engine keeps one per worker, so that a window looks only at logical processes
// with something to do in it.
// Model: a binary heap of places in an array; each item knows its place, so that a message for it
// moves it in O(log n). Items of equal time come in no particular order: within a window the order
// of logical processes does not matter.
// Threads: belongs to one worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/values/units.hpp"

namespace weft {

class Agenda {
 public:
  struct Item {
    Time next = Time::max();
    std::uint32_t place = 0;
  };

  void clear() { heap_.clear(); }
  bool empty() const { return heap_.empty(); }
  Item* top() const { return heap_.front().item; }
  /// Time of the earliest item; Time::max() if there is none.
  Time earliest() const { return heap_.empty() ? Time::max() : heap_.front().next; }

  void add(Item* item) {
    heap_.push_back({item->next, item});
    lift(heap_.size() - 1);
  }
  /// `item` of this agenda is due at `next` now.
  void move(Item* item, Time next) {
    const bool earlier = next < item->next;
    item->next = next;
    heap_[item->place].next = next;
    if (earlier) {
      lift(item->place);
    } else {
      sink(item->place);
    }
  }

 private:
  struct Node {
    Time next;
    Item* item;
  };

  void put(std::size_t place, const Node& node) {
    heap_[place] = node;
    node.item->place = static_cast<std::uint32_t>(place);
  }
  void lift(std::size_t place) {
    const Node node = heap_[place];
    while (place > 0 && node.next < heap_[(place - 1) / 2].next) {
      put(place, heap_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    put(place, node);
  }
  void sink(std::size_t place) {
    const Node node = heap_[place];
    for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1].next < heap_[child].next) ++child;
      if (!(heap_[child].next < node.next)) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, node);
  }

  std::vector<Node> heap_;
};

}  // namespace weft

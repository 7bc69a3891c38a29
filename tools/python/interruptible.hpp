// SPDX-License-Identifier: Apache-2.0
// Interruptible work: long work of Weft that Python's users can watch and interrupt.
//
// Where it sits: every call of the Python module that simulates.
// Model: the work goes on in a thread of its own, without the interpreter's lock. The caller's
// thread looks after signals ten times a second: where Python's handler raises - KeyboardInterrupt
// after Ctrl-C, in the main thread - the work is told to stop, and once it has, the exception goes
// on. So it is with what a progress function raises.
// Threads: one per call; any number of calls at a time.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "tools/python/text.hpp"

namespace weft::python {

/// What the work is given: how it learns that it is to stop, and where it tells how far it is.
class Watch {
 public:
  struct State {
    std::string what;
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    bool operator==(const State&) const = default;
  };

  const std::atomic<bool>* interrupt() const { return &interrupt_; }
  void stop() { interrupt_ = true; }
  /// From any thread.
  void tell(const char* what, std::uint64_t done, std::uint64_t total) {
    const std::lock_guard lock(mutex_);
    state_ = {what, done, total};
  }
  State state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }

 private:
  std::atomic<bool> interrupt_{false};
  mutable std::mutex mutex_;
  State state_;
};

/// What `work(watch)` returns or throws. `progress`: None, or called with what is counted, how many
/// of it are done and how many there are, in the caller's thread. Requires: the lock is held.
template <class Work>
std::invoke_result_t<Work, Watch&> interruptible(const pybind11::object& progress, Work work) {
  using Result = std::invoke_result_t<Work, Watch&>;
  constexpr std::chrono::milliseconds pause(100);
  Watch watch;
  std::packaged_task<Result()> task([&] { return work(watch); });
  std::future<Result> result = task.get_future();
  bool has_raised = false;
  {
    const pybind11::gil_scoped_release released;
    std::thread thread(std::move(task));
    Watch::State told;
    while (result.wait_for(pause) != std::future_status::ready) {
      if (has_raised) continue;
      const pybind11::gil_scoped_acquire held;
      has_raised = PyErr_CheckSignals() != 0;
      const Watch::State state = watch.state();
      if (!has_raised && !progress.is_none() && state.total > 0 && state != told) {
        told = state;
        PyObject* const answer =
            PyObject_CallFunction(progress.ptr(), "sKK", state.what.c_str(), static_cast<unsigned long long>(state.done),
                                  static_cast<unsigned long long>(state.total));
        has_raised = answer == nullptr;
        Py_XDECREF(answer);
      }
      if (has_raised) watch.stop();
    }
    thread.join();
  }
  if (has_raised) throw pybind11::error_already_set();
  return result.get();
}

}  // namespace weft::python

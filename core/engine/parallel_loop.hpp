// SPDX-License-Identifier: Apache-2.0
// Parallel loop: independent pieces of work on several threads of oneTBB, each with a number for
// its scratch memory.
//
// Where it sits: MaxMinLayer solves segments with it.
//
// Which worker does which piece is left to chance, so a piece must be a function of its index alone
// and write nowhere that another does. ThreadSanitizer does not see into oneTBB; the source is
// compiled without it and tells it who waits for whom, so that it can check the pieces themselves.
// Threads: one caller at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace weft {

class ParallelLoop {
 public:
  /// 0 takes all cores that the process may use; no more than those are taken in any case.
  explicit ParallelLoop(std::uint32_t threads);
  ~ParallelLoop();

  std::size_t workers() const;
  /// Calls body(worker, i) once for every i < count, worker < workers(). A worker does one piece at
  /// a time. Returns when all are done.
  void run(std::size_t count, const std::function<void(std::size_t worker, std::size_t i)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft

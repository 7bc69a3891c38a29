// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel_loop.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <vector>

#ifdef WEFT_TSAN_HOOKS
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace weft {

namespace {

/// What happened before a release() happens before whatever follows a later acquire() of the same
/// token: for ThreadSanitizer only.
struct Token {
#ifdef WEFT_TSAN_HOOKS
  void release() { __tsan_release(this); }
  void acquire() { __tsan_acquire(this); }
#else
  void release() {}
  void acquire() {}
#endif
  char address = 0;
};

/// What an arena may have: TBB complains aloud about more than the process allows.
int arena_threads(std::uint32_t wanted) {
  const std::size_t allowed = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return static_cast<int>(wanted == 0 ? allowed : std::min<std::size_t>(wanted, allowed));
}

}  // namespace

struct ParallelLoop::State {
  explicit State(int threads) : arena(threads), worker_tokens(static_cast<std::size_t>(arena.max_concurrency())) {}

  tbb::task_arena arena;
  Token begun;
  Token ended;
  std::vector<Token> worker_tokens;  ///< one worker's pieces follow each other
};

ParallelLoop::ParallelLoop(std::uint32_t threads) : state_(std::make_unique<State>(arena_threads(threads))) {}

ParallelLoop::~ParallelLoop() = default;

std::size_t ParallelLoop::workers() const { return state_->worker_tokens.size(); }

void ParallelLoop::run(std::size_t count, const std::function<void(std::size_t worker, std::size_t i)>& body) {
  State& state = *state_;
  state.begun.release();
  state.arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
      const auto worker = static_cast<std::size_t>(tbb::this_task_arena::current_thread_index());
      state.begun.acquire();
      state.worker_tokens[worker].acquire();
      body(worker, i);
      state.worker_tokens[worker].release();
      state.ended.release();
    });
  });
  state.ended.acquire();
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "tools/results/file_moves.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <new>

namespace weft {

namespace {

struct CMove {
  const char* from;
  const char* to;
};

/// Shared with the child.
struct Outcome {
  std::size_t done = 0;
  int error = 0;
};

/// As rename(2), but never over another file, where the file system can tell.
int rename_to_free_name(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  return rename(from, to) == 0 ? 0 : errno;
}

/// System calls alone: it runs in a child that shares the memory of its parent.
void move_all(const CMove* moves, std::size_t count, Outcome& outcome) {
  for (; outcome.done < count; ++outcome.done) {
    const CMove& move = moves[outcome.done];
    outcome.error = move.to != nullptr ? rename_to_free_name(move.from, move.to) : unlink(move.from) == 0 ? 0 : errno;
    if (outcome.error == 0) continue;
    for (std::size_t back = outcome.done; back-- > 0;) {
      if (moves[back].to != nullptr) rename(moves[back].to, moves[back].from);
    }
    return;
  }
}

class SharedOutcome {
 public:
  SharedOutcome() : memory_(mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    outcome_ = new (memory_) Outcome;
  }
  ~SharedOutcome() { munmap(memory_, sizeof(Outcome)); }
  SharedOutcome(const SharedOutcome&) = delete;
  SharedOutcome& operator=(const SharedOutcome&) = delete;
  Outcome& operator*() { return *outcome_; }

 private:
  void* memory_;
  Outcome* outcome_;
};

}  // namespace

std::optional<FailedMove> carry_out(const std::vector<FileMove>& moves) {
  std::vector<CMove> plain;
  plain.reserve(moves.size());
  for (const FileMove& move : moves) plain.push_back({move.from.c_str(), move.to.empty() ? nullptr : move.to.c_str()});
  SharedOutcome outcome;

  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  // vfork: a copy of the page tables of a large simulation takes longer than the moves, and can be
  // refused. Memory that only this process has would be gone with it; shared it stays for as long
  // as the child needs it.
  const pid_t child = vfork();
  if (child == 0) {
    setsid();
    move_all(plain.data(), plain.size(), *outcome);
    _exit(0);
  }
  if (child > 0) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  } else {
    move_all(plain.data(), plain.size(), *outcome);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);

  if ((*outcome).error == 0) return std::nullopt;
  return FailedMove{(*outcome).done, std::error_code((*outcome).error, std::generic_category())};
}

}  // namespace weft

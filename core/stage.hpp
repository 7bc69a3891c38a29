// Stage: what the program is at, for the message when it runs out of memory.
//
// Where it sits: loading and running say it ("reading jobs.csv"); the command line asks for it once std::bad_alloc has come all the way up.
// Thread safety: stages of a thread are its own.
#pragma once

#include <string>

namespace weft {

class Stage {
 public:
  explicit Stage(std::string what);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// The innermost stage that the last exception of this thread left; empty if there was none.
  static const std::string& left_by_exception();

 private:
  std::string what_;
  int exceptions_before_;
};

}  // namespace weft

#include "core/check.hpp"

namespace weft {

void fail_check(const char* expression, const std::string& expectation, const char* file, int line) {
  throw CheckFailure(std::string(file) + ":" + std::to_string(line) + ": check failed: " + expectation + " (" + expression + ")");
}

}  // namespace weft

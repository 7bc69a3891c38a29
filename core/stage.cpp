#include "core/stage.hpp"

#include <exception>
#include <utility>

namespace weft {

namespace {

thread_local std::string left;

}  // namespace

Stage::Stage(std::string what) : what_(std::move(what)), exceptions_before_(std::uncaught_exceptions()) { left.clear(); }

Stage::~Stage() {
  if (std::uncaught_exceptions() > exceptions_before_ && left.empty()) left = std::move(what_);
}

const std::string& Stage::left_by_exception() { return left; }

}  // namespace weft

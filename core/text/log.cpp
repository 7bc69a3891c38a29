// SPDX-License-Identifier: Apache-2.0
#include "core/text/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <mutex>

namespace weft {

namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

LogLevel from_spdlog(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return LogLevel::debug;
  if (level == spdlog::level::info) return LogLevel::info;
  if (level == spdlog::level::warn) return LogLevel::warning;
  return LogLevel::error;
}

class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(std::function<void(LogLevel, std::string_view)> receive) : receive_(std::move(receive)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    receive_(from_spdlog(message.level), std::string_view(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  std::function<void(LogLevel, std::string_view)> receive_;
};

}  // namespace

struct Log::Target {
  Target(spdlog::sink_ptr sink, LogLevel least) : logger(std::make_shared<spdlog::logger>("weft", std::move(sink))) {
    logger->set_level(to_spdlog(least));
    logger->set_pattern("%H:%M:%S.%e %l %v");
    logger->flush_on(spdlog::level::warn);
  }
  std::shared_ptr<spdlog::logger> logger;
};

Log Log::to_standard_error(LogLevel least) {
  Log log;
  log.target_ = std::make_shared<Target>(std::make_shared<spdlog::sinks::stderr_sink_mt>(), least);
  return log;
}

Log Log::to_function(std::function<void(LogLevel, std::string_view)> receive, LogLevel least) {
  Log log;
  log.target_ = std::make_shared<Target>(std::make_shared<FunctionSink>(std::move(receive)), least);
  return log;
}

bool Log::wants(LogLevel level) const { return target_ && target_->logger->should_log(to_spdlog(level)); }

void Log::write(LogLevel level, std::string_view message) const {
  if (target_) target_->logger->log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace weft

#include "tools/weft/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace weft {

namespace {

std::string short_number(double value) {
  const char* suffix = "";
  if (value >= 1e6) {
    value /= 1e6;
    suffix = " M";
  } else if (value >= 1e3) {
    value /= 1e3;
    suffix = " k";
  }
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, value < 10 ? "%.1f%s" : "%.0f%s", value, suffix);
  return buffer;
}

std::string short_time(double seconds) {
  char buffer[48];
  if (seconds < 1) {
    std::snprintf(buffer, sizeof buffer, "%.3g ms", seconds * 1e3);
  } else if (seconds < 120) {
    std::snprintf(buffer, sizeof buffer, "%.3g s", seconds);
  } else if (seconds < 7200) {
    std::snprintf(buffer, sizeof buffer, "%.0f min", seconds / 60);
  } else {
    std::snprintf(buffer, sizeof buffer, "%.1f h", seconds / 3600);
  }
  return buffer;
}

}  // namespace

bool stderr_is_terminal() { return isatty(STDERR_FILENO) == 1; }

std::string progress_text(Time sim_time, std::uint64_t events, double share, double elapsed_wall_s) {
  std::string text;
  if (share >= 0) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "%3.0f %%  ", share * 100);
    text += buffer;
  }
  text += "sim " + short_time(sim_time.in_s());
  if (elapsed_wall_s > 0) text += "  " + short_number(static_cast<double>(events) / elapsed_wall_s) + " events/s";
  if (share > 0 && share <= 1) text += "  " + short_time(elapsed_wall_s * (1 - share) / share) + " left";
  return text;
}

ProgressLine::ProgressLine(bool enabled) : enabled_(enabled), started_(std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(Time sim_time, std::uint64_t events, double share) {
  if (!enabled_) return;
  const double elapsed_wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  const std::string text = progress_text(sim_time, events, share, elapsed_wall_s);
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/nightly_config.hpp"

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "tools/calibrate/calibrate.pb.h"
#include "tools/calibrate/case_entries.hpp"

namespace weft {

NightlyConfig NightlyConfig::read(const std::string& path) {
  const SourceText source = SourceText::read(path);
  calibration::Nightly message;
  Diagnostics diagnostics;
  const TextprotoDocument document(source, message, diagnostics);
  diagnostics.throw_if_errors();
  NightlyConfig config;
  config.file = path;
  config.cases = read_case_entries(message, document.places(), path, diagnostics);
  config.fit = {message.fit().begin(), message.fit().end()};
  const auto require = [&](bool is_there, const char* what, const char* help) {
    if (!is_there) diagnostics.error("missing-field", fmt::format("the configuration has no {}", what), source.whole_file(), help);
  };
  require(!config.fit.empty(), "parameter to find",
          "write fit: \"flow.wqe_latency\"; `weft modules` lists those that may be fitted");
  require(!message.profile().empty(), "profile", "write profile: \"profile.textproto\", the file that runs take");
  require(!message.history().empty(), "history", "write history: \"nights\", a folder");
  config.profile = beside(path, message.profile());
  config.history = beside(path, message.history());
  const auto take = [&](bool is_given, const char* name, double value, double& share) {
    if (!is_given) return;
    if (!(value >= 0 && value <= 1)) {
      diagnostics.error("out-of-range", fmt::format("{} is {}, and a share from 0 to 1", name, value),
                        document.places().of(message, name), "write 0.05 for 5 %");
    }
    share = value;
  };
  take(message.has_drift_max(), "drift_max", message.drift_max(), config.drift_max);
  take(message.has_unreadable_max(), "unreadable_max", message.unreadable_max(), config.unreadable_max);
  take(message.has_unmatched_max(), "unmatched_max", message.unmatched_max(), config.unmatched_max);
  take(message.has_far_off_max(), "far_off_max", message.far_off_max(), config.far_off_max);
  take(message.has_rows_min(), "rows_min", message.rows_min(), config.rows_min);
  if (message.has_drift_days()) config.drift_days = message.drift_days();
  constexpr std::uint32_t drift_days_max = 365;
  if (config.drift_days < 1 || config.drift_days > drift_days_max) {
    diagnostics.error("out-of-range",
                      fmt::format("drift_days is {}, and a number of days from 1 to {}", config.drift_days, drift_days_max),
                      document.places().of(message, "drift_days"), "write 1 for alarms that go by one night alone");
  }
  diagnostics.throw_if_errors();
  return config;
}

}  // namespace weft

// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/calibration_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "core/text/counted.hpp"
#include "core/values/compensated_sum.hpp"
#include "core/values/units.hpp"
#include "tools/calibrate/calibration_figures.hpp"
#include "tools/calibrate/markup.hpp"

namespace weft {

namespace {

/// Orange and blue are told apart by all eyes, in both schemes.
constexpr const char* style_sheet = R"css(
:root{color-scheme:light dark;--paper:#ffffff;--card:#f5f7f9;--ink:#1b2430;--soft:#5b6776;--rule:#d9dfe6;--before:#c2620a;--after:#1f66c9;--held-out:#0d8a6f;--reference:#8246a8;--bad:#b3261e;--warning:#8a6100;--good:#19733b}
@media (prefers-color-scheme:dark){:root{--paper:#12161c;--card:#1b2129;--ink:#e6ebf1;--soft:#9aa7b6;--rule:#323b47;--before:#f0954a;--after:#6ea8ff;--held-out:#42c9a8;--reference:#c493ea;--bad:#ff8a80;--warning:#e9c46a;--good:#6fd394}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:980px;margin:0 auto;padding:28px 24px 60px}
h1{font-size:26px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:18px;margin:0 0 6px}
p{margin:0 0 8px}
section{margin-top:36px}
.about,.note{color:var(--soft);font-size:13.5px}
.about{overflow-wrap:anywhere}
.status{border-left:5px solid var(--c);background:var(--card);padding:12px 16px;margin:18px 0 0;border-radius:0 6px 6px 0;overflow-wrap:anywhere}
.status strong{color:var(--c);font-size:17px}
.status ul{margin:6px 0 0;padding-left:20px}
.neutral{--c:var(--soft)}.good{--c:var(--good)}.warning{--c:var(--warning)}.bad{--c:var(--bad)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:12px;margin:20px 0 0}
.cards div{background:var(--card);border-radius:6px;padding:12px 14px}
.cards+.note{margin-top:8px}
.cards dt{font-size:13.5px;color:var(--soft)}
.cards dd{margin:0}
.cards .figure{font-size:26px;font-weight:600;line-height:1.3;font-variant-numeric:tabular-nums;white-space:nowrap}
.cards .more{font-size:13px;color:var(--soft);line-height:1.4}
.table{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums;margin:6px 0 14px}
caption{text-align:left;color:var(--soft);font-size:13px;padding:4px 0}
th,td{padding:5px 10px;border-bottom:1px solid var(--rule);text-align:right;vertical-align:top}
thead th{color:var(--soft);font-weight:600;vertical-align:bottom}
th[scope=row]{text-align:left;font-weight:500}
th.words,td.words{text-align:left}
th,td{white-space:nowrap}
tbody th,td.words{white-space:normal;overflow-wrap:break-word}
tbody th{min-width:9em}
.hash{overflow-wrap:anywhere}
.meaning{display:block;color:var(--soft);font-weight:400}
.tag{color:var(--c);font-weight:600}
.hash{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:12px}
details{margin-top:4px}
summary{cursor:pointer;color:var(--soft);font-size:13.5px}
.legend{font-size:13.5px;margin:4px 0 2px}
.legend span{margin-right:18px;white-space:nowrap}
.key{display:inline-block;width:16px;height:10px;border-radius:2px;background:var(--c);margin-right:6px}
.key.stroke{height:0;width:22px;background:none;border-radius:0;border-top:3px solid var(--c);vertical-align:middle}
.stroke.before,.stroke.uncalibrated,.stroke.threshold{border-top-style:dashed}
.stroke.reference{border-top-style:dotted}
.stroke.threshold{border-top-width:2px}
.key.gap{background:var(--rule)}
.key.alarm{width:0;height:0;border-radius:0;background:none;border:7px solid transparent;border-top:0;border-bottom:11px solid var(--bad)}
.pictures{display:grid;grid-template-columns:1fr;gap:10px}
.pair{grid-template-columns:repeat(auto-fit,minmax(min(400px,100%),1fr))}
.picture{overflow-x:auto}
svg{display:block;width:100%;height:auto}
.pictures:not(.pair) svg{min-width:600px}
svg text{font-size:12px;fill:var(--soft)}
svg .x,svg .title,svg .value{text-anchor:middle}
svg .y{text-anchor:end}
svg .title{font-size:12.5px}
svg .value{font-size:11px;fill:var(--ink)}
.grid,.zero,.frame{stroke:var(--rule);stroke-width:1;fill:none}
.zero,.frame{stroke:var(--soft)}
.before,.uncalibrated{--c:var(--before)}
.after,.published{--c:var(--after)}
.held-out{--c:var(--held-out)}
.reference{--c:var(--reference)}
.threshold,.alarm,.gap-mark{--c:var(--bad)}
.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}
.line.before,.line.uncalibrated{stroke-dasharray:7 3}
.line.reference{stroke-dasharray:2.5 2.5}
.line.threshold{stroke-width:1.5;stroke-dasharray:10 5}
.line.diagonal{stroke:var(--soft);stroke-width:1}
.dots{fill:none;stroke:var(--c);stroke-width:5;stroke-linecap:round}
#times .dots{stroke-width:3.6;stroke-opacity:.5}
.area.near{fill:var(--soft);fill-opacity:.22}
.area.gap{fill:var(--rule);fill-opacity:.7}
.bar{fill:var(--c)}
.box rect{fill:var(--c);fill-opacity:.3;stroke:var(--c);stroke-width:1}
.box path{fill:none;stroke:var(--c);stroke-width:1.3}
.box .median{stroke-width:2.6}
.mark.alarm{fill:var(--c);stroke:var(--paper);stroke-width:1.5}
.mark.gap-mark{fill:none;stroke:var(--c);stroke-width:2}
.strip{display:inline-block;width:150px;min-width:110px;height:22px}
.strip .range{stroke:var(--rule);stroke-width:4;stroke-linecap:round}
.strip .interval{stroke:var(--after);stroke-width:8;stroke-opacity:.4}
.strip .start{stroke:var(--before);stroke-width:2}
.strip circle{fill:var(--after)}
@media (max-width:640px){main{padding:18px 14px 40px}}
@media print{
@page{margin:14mm}
:root{color-scheme:light;--paper:#fff;--card:#f5f7f9;--ink:#000;--soft:#444;--rule:#ccc;--before:#c2620a;--after:#1f66c9;--held-out:#0d8a6f;--reference:#8246a8;--bad:#b3261e;--warning:#8a6100;--good:#19733b}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
main{max-width:none;padding:0}
body{font-size:10pt}
.cards{grid-template-columns:repeat(5,1fr);gap:8px}
.cards .figure{font-size:15pt}
.strip{width:110px}
section{margin-top:22px;break-inside:avoid}
table{font-size:9pt}
th,td{padding:4px 6px}
.picture,.cards div,tr,.status{break-inside:avoid}
.pair{grid-template-columns:1fr 1fr}
.pictures:not(.pair) svg{min-width:0}
details:not([open]){display:none}
summary{display:none}
}
)css";

const char* tone_class(CalibrationPage::Tone tone) {
  switch (tone) {
    case CalibrationPage::Tone::neutral:
      return "neutral";
    case CalibrationPage::Tone::good:
      return "good";
    case CalibrationPage::Tone::warning:
      return "warning";
    case CalibrationPage::Tone::bad:
      return "bad";
  }
  return "neutral";
}

std::string status_section(const CalibrationPage& page) {
  if (page.status.empty() && page.reasons.empty()) return {};
  std::string html = fmt::format("<div class=\"status {}\" role=\"status\">\n", tone_class(page.tone));
  if (!page.status.empty()) html += fmt::format("<strong>{}</strong>\n", escaped(page.status));
  if (!page.reasons.empty()) {
    html += "<ul>\n";
    for (const std::string& reason : page.reasons) html += fmt::format("<li>{}</li>\n", escaped(reason));
    html += "</ul>\n";
  }
  return html + "</div>\n";
}

// --- Headline figures ---

std::string card(const std::string& name, const std::string& figure, const std::string& more) {
  return fmt::format("<div><dt>{}</dt><dd><span class=\"figure\">{}</span><br/><span class=\"more\">{}</span></dd></div>\n",
                     escaped(name), escaped(figure), escaped(more));
}

/// Means over all times and over those held out.
struct HeadlineErrors {
  std::uint64_t count = 0;
  std::uint64_t near_before = 0;
  std::uint64_t near_after = 0;
  std::uint64_t held_out = 0;
  CompensatedSum held_out_before;
};

HeadlineErrors headline_errors(const std::vector<TimedError>& times) {
  constexpr double near = 0.05;
  HeadlineErrors errors;
  for (const TimedError& row : times) {
    if (!has_error(row)) continue;
    const double before = std::abs(relative_time_error(row.before_s, row.measured_s));
    const double after = std::abs(relative_time_error(row.after_s, row.measured_s));
    ++errors.count;
    errors.near_before += before <= near ? 1U : 0U;
    errors.near_after += after <= near ? 1U : 0U;
    if (!row.is_held_out) continue;
    ++errors.held_out;
    errors.held_out_before.add(before);
  }
  return errors;
}

std::string times_counted(std::uint64_t count) { return fmt::format("{} {}", count_figure(count), count == 1 ? "time" : "times"); }

std::string headline_section(const CalibrationPage& page) {
  const CalibrationProfile& profile = page.profile;
  const HeadlineErrors errors = headline_errors(page.times);
  std::string cards;
  if (profile.before.count > 0)
    cards += card("Error before", percent_figure(profile.before.mape),
                  fmt::format("{}, scenario as it stands", times_counted(profile.before.count)));
  if (profile.training.count > 0)
    cards += card("Error after", percent_figure(profile.training.mape),
                  fmt::format("{} that the search went by", times_counted(profile.training.count)));
  if (profile.hold_out.count > 0) {
    std::string more = fmt::format("{} that the search did not see", times_counted(profile.hold_out.count));
    if (errors.held_out > 0)
      more += fmt::format("; {} before", percent_figure(errors.held_out_before.value() / static_cast<double>(errors.held_out)));
    cards += card("Error held out", percent_figure(profile.hold_out.mape), more);
  }
  if (profile.training.count > 0) {
    std::string more = fmt::format("{} before", percent_figure(profile.before.ordering_accuracy));
    if (profile.hold_out.count > 0) more += fmt::format("; held out {}", percent_figure(profile.hold_out.ordering_accuracy));
    cards += card("Pairs in order", percent_figure(profile.training.ordering_accuracy), more);
  }
  if (errors.count > 0) {
    const auto count = static_cast<double>(errors.count);
    cards += card("Within 5 %", percent_figure(static_cast<double>(errors.near_after) / count),
                  fmt::format("of {}; {} before", times_counted(errors.count),
                              percent_figure(static_cast<double>(errors.near_before) / count)));
  }
  if (cards.empty()) return {};
  std::string note = "Errors are mean absolute percentage errors of simulated against measured times.";
  if (profile.training.count > 0) note += " Pairs in order: of two measured times, the longer is also simulated as the longer.";
  return fmt::format("<dl class=\"cards\">\n{}</dl>\n<p class=\"note\">{}</p>\n", cards, note);
}

// --- Parameters ---

/// In whatever unit it has, to be held against others of the same parameter; NaN if it is none.
double quantity_of(const std::string& text) {
  if (const auto time = parse_duration(text); time.value) return static_cast<double>(time.value->in_ticks());
  if (const auto size = parse_bytes(text); size.value) return static_cast<double>(size.value->count());
  if (const auto rate = parse_bandwidth(text); rate.value) return static_cast<double>(rate.value->in_bps());
  if (const auto length = parse_length(text); length.value) return static_cast<double>(length.value->in_millimetres());
  double number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? number : std::nan("");
}

/// The range that was looked at as a line, with the interval, the start and the value on it.
std::string strip(const CalibrationProfile::Parameter& p) {
  constexpr double width = 150;
  constexpr double margin = 8;
  const double low = quantity_of(p.minimum);
  const double high = quantity_of(p.maximum);
  if (!(low < high)) return {};
  constexpr double wide = 100;
  const bool is_logarithmic = low > 0 && high > wide * low;
  const auto place = [&](double value) {
    const double share = is_logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return margin + std::clamp(share, 0.0, 1.0) * (width - 2 * margin);
  };
  const auto line = [](const char* look, double from, double to) {
    return fmt::format("<path class=\"{}\" d=\"M{:.1f} 11H{:.1f}\"/>", look, from, to);
  };
  std::string svg = fmt::format("<svg class=\"strip\" viewBox=\"0 0 {:.0f} 22\" aria-hidden=\"true\">", width);
  svg += line("range", margin, width - margin);
  const double interval_low = quantity_of(p.low);
  const double interval_high = quantity_of(p.high);
  if (interval_low <= interval_high) svg += line("interval", place(interval_low), place(interval_high) + 0.1);
  if (const double start = quantity_of(p.start); std::isfinite(start))
    svg += fmt::format("<path class=\"start\" d=\"M{:.1f} 3V19\"/>", place(start));
  if (const double value = quantity_of(p.value); std::isfinite(value))
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"11\" r=\"4\"/>", place(value));
  return svg + "</svg>";
}

std::string knowledge_cell(const CalibrationProfile::Parameter& p) {
  const auto tagged = [](const char* tone, const char* word, const char* says) {
    return fmt::format("<span class=\"tag {}\">{}</span>: {}", tone, word, says);
  };
  std::string cell;
  switch (p.knowledge) {
    case CalibrationProfile::Knowledge::unknown:
      cell = tagged("neutral", "unknown", "the search ended before it found an interval");
      break;
    case CalibrationProfile::Knowledge::identified:
      cell = tagged("good", "identified", "the times tell it within 5 %");
      break;
    case CalibrationProfile::Knowledge::loose:
      cell = tagged("warning", "loose", "the times do not tell it within 5 %");
      break;
    case CalibrationProfile::Knowledge::free:
      cell = tagged("bad", "free", "nothing depends on it, or others make up for what it does");
      break;
  }
  if (p.stamp == CalibrationProfile::Stamp::transferred) cell += "; taken from a profile of another machine";
  return cell;
}

std::string parameters_section(const CalibrationPage& page) {
  if (page.profile.parameters.empty()) return {};
  HtmlTable table("Blue: the value and its interval within the range that was looked at; orange: the value before", "wfffww",
                  {"parameter", "before", "fitted", "95 % interval", "in its range", "how well it is known"});
  for (const CalibrationProfile::Parameter& p : page.profile.parameters) {
    std::string name = escaped(p.name);
    if (const auto meaning = page.parameter_meanings.find(p.name); meaning != page.parameter_meanings.end())
      name += fmt::format("<span class=\"meaning\">{}</span>", escaped(meaning->second));
    const std::string interval = p.low.empty() ? "-" : fmt::format("{} .. {}", p.low, p.high);
    table.add_markup_row({name, escaped(p.start), fmt::format("<strong>{}</strong>", escaped(p.value)), escaped(interval), strip(p),
                          knowledge_cell(p)});
  }
  return fmt::format("<section id=\"parameters\">\n<h2>Parameters</h2>\n{}</section>\n", table.to_html());
}

// --- What it was fitted to ---

std::string about_line(const CalibrationProfile& profile) {
  std::vector<std::string> parts;
  if (!profile.machine.empty()) parts.push_back(fmt::format("machine {}", profile.machine));
  if (!profile.date.empty()) parts.push_back(fmt::format("fitted {}", profile.date));
  if (profile.runs > 0) {
    parts.push_back(fmt::format("{} {}{}{}", count_figure(profile.runs), profile.runs == 1 ? "run" : "runs",
                                profile.search.empty() ? "" : " with ", profile.search));
  }
  if (!profile.weft_version.empty()) parts.push_back(fmt::format("weft {}", profile.weft_version));
  std::string line;
  for (const std::string& part : parts) line += (line.empty() ? "" : ", ") + part;
  return line.empty() ? line : fmt::format("<p class=\"about\">{}</p>\n", escaped(line));
}

std::string inputs_section(const CalibrationPage& page) {
  const CalibrationProfile& profile = page.profile;
  std::string html;
  if (profile.runs > 0 || profile.unmatched > 0 || profile.outliers > 0) {
    html += fmt::format("<p>{} of the measured times belong to nothing simulated, {} are far off in the end; lambda {:.4g}.</p>\n",
                        count_figure(profile.unmatched), count_figure(profile.outliers), profile.lambda);
  }
  if (!profile.weights.empty())
    html += fmt::format("<p>Weights of times in the fit and in mean errors: {}. Figures and tables show each time alike.</p>\n",
                        escaped(to_text(profile.weights)));
  if (!profile.inputs.empty()) {
    HtmlTable table("Files that the profile was fitted to", "www", {"what", "file", "SHA-256"});
    for (const CalibrationProfile::Input& input : profile.inputs)
      table.add_markup_row(
          {escaped(input.role), escaped(input.path), fmt::format("<span class=\"hash\">{}</span>", escaped(input.sha256))});
    html += table.to_html();
  }
  return html.empty() ? html : fmt::format("<section id=\"inputs\">\n<h2>Fitted to</h2>\n{}</section>\n", html);
}

}  // namespace

std::string CalibrationPage::to_html() const {
  const ErrorBreakdown breakdown = break_down_errors(times);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{0}</title>\n<style>{1}</style>\n</head>\n"
      "<body>\n<main>\n<h1>{0}</h1>\n",
      escaped(title), style_sheet);
  html += about_line(profile);
  html += status_section(*this);
  html += headline_section(*this);
  html += nights_figure(nights, drift_threshold);
  html += parameters_section(*this);
  html += times_figure(times);
  html += message_size_figure(breakdown);
  html += residuals_figure(breakdown);
  html += job_size_figure(breakdown);
  html += host_figure(breakdown);
  html += inputs_section(*this);
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace weft

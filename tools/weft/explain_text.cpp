// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/explain_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "tools/weft/aligned_rows.hpp"

namespace weft {

namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t jobs_shown = 5;
constexpr std::size_t pieces_shown = 8;
constexpr std::size_t links_shown = 3;
constexpr std::size_t blame_shown = 10;
constexpr std::size_t what_ifs_shown = 12;

/// A loss has its sign before it.
std::string gain_text(double gain_s, double of_s) {
  if (std::isnan(gain_s)) return "-";
  // Less than this is how times are rounded.
  constexpr double rounding = 1e-9;
  if (std::abs(gain_s) < rounding * of_s) return "none";
  return fmt::format("{}{} ({:.2f} %)", gain_s < 0 ? "-" : "", readable(std::abs(gain_s)), 100 * gain_s / of_s);
}

std::string path_text(const ExplainedTime& time) {
  const CriticalPath& path = *time.path;
  const double whole_s = (path.end - path.begin).in_s();
  std::string text = fmt::format("  critical path of iteration {}: {}, {}\n", path.iteration, readable(whole_s),
                                 counted(path.pieces.size(), "piece", "pieces"));
  Rows rows{{"of", "time", "share", "lost to others", "pieces"}};
  for (const PathShare& share : shares_of(path)) {
    rows.push_back({share.kind, readable(share.seconds), readable_share(share.seconds / whole_s),
                    share.contention_s > 0 ? readable(share.contention_s) : "-", std::to_string(share.pieces)});
  }
  text += aligned_rows(rows, "    ");
  std::vector<const PathPiece*> longest;
  for (const PathPiece& piece : path.pieces) longest.push_back(&piece);
  std::ranges::stable_sort(longest, {}, [](const PathPiece* piece) { return -piece->seconds(); });
  longest.resize(std::min(longest.size(), pieces_shown));
  Rows pieces{{"longest pieces", "op", "where", "begins", "takes"}};
  for (const PathPiece* piece : longest) {
    pieces.push_back({piece->kind, piece->what.empty() ? "-" : piece->what, piece->where.empty() ? "-" : piece->where,
                      "+" + readable((piece->begin - path.begin).in_s()), readable(piece->seconds())});
  }
  text += aligned_rows(pieces, "    ");
  const RankTimes& ranks = path.ranks;
  text += fmt::format(
      "  its ranks, on average: computing {}, exposed collectives {}, exposed sends and receives (bubble) {}, idle {}\n",
      readable_share(ranks.computing_s / whole_s), readable_share(ranks.exposed_collectives_s / whole_s),
      readable_share(ranks.exposed_sends_s / whole_s), readable_share(ranks.idle_s / whole_s));
  return text;
}

std::string links_text(const ExplainedTime& time, double raise) {
  if (!time.knows_links) return "";
  if (time.links.empty() && time.tiers.empty()) return "  links: none of them would shorten it\n";
  const std::string by = fmt::format("{:.0f} % faster", 100 * (raise - 1));
  std::string text = "  raise these links first\n";
  Rows rows{{"link", "tier", by + ", by its derivative", "run so"}};
  for (std::size_t i = 0; i < std::min(time.links.size(), links_shown); ++i) {
    const FasterLinks& link = time.links[i];
    rows.push_back(
        {link.what, link.tier, gain_text(link.gain_s, time.seconds), link.tried_s ? gain_text(*link.tried_s, time.seconds) : "-"});
  }
  if (time.together_tried_s)
    rows.push_back({"together", "", gain_text(time.together_s, time.seconds), gain_text(*time.together_tried_s, time.seconds)});
  if (!time.links.empty()) text += aligned_rows(rows, "    ");
  Rows tiers{{"tier", "links", by + ", by its derivative", "run so"}};
  for (std::size_t i = 0; i < std::min(time.tiers.size(), links_shown); ++i) {
    const FasterLinks& tier = time.tiers[i];
    tiers.push_back({tier.what, std::to_string(tier.links), gain_text(tier.gain_s, time.seconds),
                     tier.tried_s ? gain_text(*tier.tried_s, time.seconds) : "-"});
  }
  if (!time.tiers.empty()) text += aligned_rows(tiers, "    ");
  if (time.links_beyond > 0) {
    text += fmt::format(
        "    left out: {}, whose derivatives are more than links can give: many messages end together there, and\n"
        "    the least change tips their order; go by what was run\n",
        counted(time.links_beyond, "set of links", "sets of links"));
  }
  // A derivative that a run does not bear out is that of one of several links that limit alike.
  const auto is_tied = [&](const FasterLinks& one) { return one.tried_s && *one.tried_s < one.gain_s / 2; };
  if (std::any_of(time.links.begin(), time.links.end(), is_tied) || std::any_of(time.tiers.begin(), time.tiers.end(), is_tied)) {
    text += "    where a run gains less than the derivative says, other links limit as much: raise them together\n";
  }
  return text;
}

std::string blame_text(const Explanation& explanation) {
  if (explanation.blame.empty()) return "";
  std::string text = explanation.moving_s > 0
                         ? fmt::format("waiting: transfers take {} alone, all together, and {} more\n",
                                       readable(explanation.moving_s), readable(explanation.lost_s))
                         : fmt::format("waiting: data packets wait {} in switches, all together\n", readable(explanation.lost_s));
  Rows rows{{"job", "waits at", "for", "lost", "share"}};
  for (std::size_t i = 0; i < std::min(explanation.blame.size(), blame_shown); ++i) {
    const NamedBlame& blame = explanation.blame[i];
    rows.push_back({blame.waits, blame.link.empty() ? "its own connection" : blame.link,
                    blame.pause.empty() ? blame.blamed : "pauses by " + blame.pause, readable(blame.lost_s),
                    readable_share(blame.lost_s / explanation.lost_s)});
  }
  text += aligned_rows(rows, "  ");
  if (explanation.blame.size() > blame_shown)
    text += fmt::format("  and {}: --out writes blame.csv\n", counted(explanation.blame.size() - blame_shown, "other", "others"));
  return text;
}

std::string what_if_text(const Explanation& explanation) {
  if (explanation.what_ifs.empty()) return "";
  std::string text = "what if: one thing ideal, and how much faster\n";
  const std::size_t jobs = std::min(explanation.times.size(), jobs_shown);
  Rows rows{{"", ""}};
  for (std::size_t i = 0; i < jobs; ++i) rows.front().push_back(explanation.times[i].job);
  for (std::size_t i = 0; i < std::min(explanation.what_ifs.size(), what_ifs_shown); ++i) {
    const WhatIfRow& row = explanation.what_ifs[i];
    rows.push_back({row.kind, row.what});
    if (!row.error.empty()) rows.back().push_back("failed");
    for (std::size_t k = 0; k < jobs && row.error.empty(); ++k)
      rows.back().push_back(gain_text(row.gains_s[k], explanation.times[k].seconds));
  }
  text += aligned_rows(rows, "  ");
  for (std::size_t i = 0; i < std::min(explanation.what_ifs.size(), what_ifs_shown); ++i) {
    const WhatIfRow& row = explanation.what_ifs[i];
    if (!row.error.empty()) text += fmt::format("  {} failed: {}\n", row.what, row.error);
  }
  if (explanation.what_ifs.size() > what_ifs_shown)
    text += fmt::format("  and {}: --json and --out have them\n",
                        counted(explanation.what_ifs.size() - what_ifs_shown, "other", "others"));
  if (explanation.what_ifs_left_out > 0)
    text += fmt::format("  {} not run: --what-if says how many may be\n",
                        counted(explanation.what_ifs_left_out, "other was", "others were"));
  return text;
}

nlohmann::ordered_json number(double value) { return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value); }

nlohmann::ordered_json gains_json(const std::vector<FasterLinks>& all) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const FasterLinks& one : all) {
    nlohmann::ordered_json row{{"what", one.what}};
    if (!one.tier.empty()) row["tier"] = one.tier;
    row["links"] = one.links;
    row["gain_s"] = number(one.gain_s);
    row["tried_gain_s"] = one.tried_s ? nlohmann::ordered_json(*one.tried_s) : nlohmann::ordered_json();
    json.push_back(std::move(row));
  }
  return json;
}

nlohmann::ordered_json path_json(const CriticalPath& path) {
  nlohmann::ordered_json json{
      {"iteration", path.iteration}, {"seconds", (path.end - path.begin).in_s()}, {"pieces", path.pieces.size()}};
  for (const PathShare& share : shares_of(path))
    json["by_kind"].push_back(
        {{"kind", share.kind}, {"seconds", share.seconds}, {"contention_s", share.contention_s}, {"pieces", share.pieces}});
  json["ranks_mean_s"] = {{"computing", path.ranks.computing_s},
                          {"exposed_collectives", path.ranks.exposed_collectives_s},
                          {"exposed_sends", path.ranks.exposed_sends_s},
                          {"idle", path.ranks.idle_s}};
  return json;
}

}  // namespace

std::string explanation_page(const Explanation& explanation) {
  std::string text;
  for (std::size_t i = 0; i < std::min(explanation.times.size(), jobs_shown); ++i) {
    const ExplainedTime& time = explanation.times[i];
    text += fmt::format("{}: {}\n", time.job, readable(time.seconds));
    if (time.path) text += path_text(time);
    if (time.path || !time.links.empty()) text += links_text(time, explanation.raise);
    text += '\n';
  }
  if (explanation.times.size() > jobs_shown)
    text +=
        fmt::format("{} more: --job=NAME shows one, --json all\n\n", counted(explanation.times.size() - jobs_shown, "job", "jobs"));
  for (const std::string& part : {blame_text(explanation), what_if_text(explanation)}) {
    if (!part.empty()) text += part + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

nlohmann::ordered_json explanation_json(const Explanation& explanation) {
  nlohmann::ordered_json json{{"name", explanation.name}, {"raise", explanation.raise}};
  json["jobs"] = nlohmann::ordered_json::array();
  for (const ExplainedTime& time : explanation.times) {
    nlohmann::ordered_json job{{"job", time.job}, {"seconds", time.seconds}};
    if (time.path) job["critical_path"] = path_json(*time.path);
    job["links"] = gains_json(time.links);
    if (time.together_tried_s) job["three_links_together_gain_s"] = number(time.together_s);
    if (time.together_tried_s) job["three_links_together_tried_gain_s"] = *time.together_tried_s;
    job["tiers"] = gains_json(time.tiers);
    json["jobs"].push_back(std::move(job));
  }
  json["waiting"] = {{"alone_s", explanation.moving_s}, {"lost_s", explanation.lost_s}, {"blame", nlohmann::ordered_json::array()}};
  for (const NamedBlame& blame : explanation.blame) {
    json["waiting"]["blame"].push_back(
        {{"job", blame.waits},
         {"link", blame.link.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(blame.link)},
         {"blamed_job", blame.blamed},
         {"lost_s", blame.lost_s}});
  }
  json["what_if"] = nlohmann::ordered_json::array();
  for (const WhatIfRow& row : explanation.what_ifs) {
    nlohmann::ordered_json entry{{"kind", row.kind}, {"what", row.what}, {"gain_s", nlohmann::ordered_json::object()}};
    for (std::size_t i = 0; i < explanation.times.size() && row.error.empty(); ++i)
      entry["gain_s"][explanation.times[i].job] = number(row.gains_s[i]);
    if (!row.error.empty()) entry["error"] = row.error;
    json["what_if"].push_back(std::move(entry));
  }
  json["what_if_left_out"] = explanation.what_ifs_left_out;
  json["notes"] = explanation.notes;
  return json;
}

nlohmann::ordered_json explanation_json_of_run(const Explanation& explanation, const std::string& fingerprint) {
  nlohmann::ordered_json json = explanation_json(explanation);
  json["run_fingerprint"] = fingerprint;
  for (std::size_t i = 0; i < explanation.times.size(); ++i) {
    if (!explanation.times[i].path) continue;
    nlohmann::ordered_json pieces = nlohmann::ordered_json::array();
    for (const PathPiece& piece : explanation.times[i].path->pieces) {
      pieces.push_back({{"kind", piece.kind},
                        {"op", piece.what},
                        {"where", piece.where},
                        {"begin_s", piece.begin.since_start().in_s()},
                        {"end_s", piece.end.since_start().in_s()},
                        {"contention_s", piece.contention_s}});
    }
    json["jobs"][i]["critical_path"]["path"] = std::move(pieces);
  }
  return json;
}

}  // namespace weft

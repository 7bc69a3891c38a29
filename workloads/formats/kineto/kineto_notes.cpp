// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/kineto/kineto_notes.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/text_pieces.hpp"

namespace weft {

namespace {

/// Adds a note if the count is not zero: the number and the text, in which "[one|many]" stands for
/// what is said of one or of many, such as "wait[|s] of [a rank|ranks]".
void add_note(std::vector<std::string>& notes, std::uint64_t count, std::string_view text) {
  if (count == 0) return;
  std::string out = fmt::format("{} ", count);
  while (!text.empty()) {
    out += next_part(text, "[");
    const std::string_view one = next_part(text, "|");
    const std::string_view many = next_part(text, "]");
    out += count == 1 ? one : many;
  }
  notes.push_back(std::move(out));
}

}  // namespace

void add_kineto_notes(const KinetoFindings& findings, const KinetoImportKind& kind, std::vector<std::string>& notes) {
  const auto note = [&notes](std::uint64_t count, std::string_view text) { add_note(notes, count, text); };
  notes.insert(notes.end(), findings.told.begin(), findings.told.end());
  if (kind.replayed) {
    const std::uint32_t distance = kind.partner_distance;
    notes.push_back(fmt::format("one trace is replayed on {}{}", counted(kind.rank_count, "rank", "ranks"),
                                distance == 0 ? ", all alike" : ""));
    note(findings.repeated_groups.size(),
         "process group[|s] of the trace [is|are] repeated over all ranks with the recorded size and stride");
    note(findings.sized_groups,
         "communication[|s] say[s|] how many ranks the process group has, but not which: taken are so many neighbours in order "
         "of ranks");
    note(findings.cut_groups,
         "communication[|s] list[s|] only the first ranks of the process group, which do not tell the others: taken are so many "
         "neighbours in order of ranks");
    note(findings.widened_groups,
         "communication[|s] of [another process group is|other process groups are] taken to be among all ranks");
    if (distance == 0) {
      note(findings.messages, "[send or receive goes|sends and receives go] to the same offset from every rank");
    } else {
      note(findings.messages,
           fmt::format("[send or receive has|sends and receives have] one peer: ranks that are {} apart are taken as pairs, of "
                       "which one sends what the other receives",
                       distance));
    }
  }
  note(findings.continued_groups.size(),
       "process group[|s] of the trace, of which only the first ranks are listed, go[es|] on at the distance of these");
  if (kind.as_recorded) {
    note(findings.communications, "communication kernel[|s] take[s|] the time that the trace recorded, without a network");
  }
  note(findings.undescribed,
       "communication kernel[|s], which do[es|] not say what [it moves|they move], take[s|] the recorded time");
  note(findings.unnamed_groups, "communication[|s] name[s|] no process group; taken: all ranks");
  note(findings.broadcasts, "broadcast[|s] start[s|] at position 0 of the group; the trace does not name the root");
  note(findings.rooted,
       "[reduce, gather or scatter has|reduces, gathers and scatters have] position 0 of the group as root; the trace does not "
       "name it");
  note(findings.misfits,
       "collective[|s] that gather[s|] or scatter[s has| have] an \"Out msg nelems\" that contradicts \"In msg nelems\" and the "
       "size of the group; taken: \"In msg nelems\"");
  note(findings.repeated_splits,
       "all-to-all[|s] of uneven sizes divide[s|] the input of every rank as that of the recorded one: equal positions get equal "
       "sizes");
  note(findings.split_misfits,
       "all-to-all[|s] [has|have] an \"Out split size\" that contradicts the \"In split size\" of another rank; taken: \"In "
       "split size\"");
  note(findings.unused_splits,
       "all-to-all[ runs as an even one|s run as even ones]: its \"In split size\" does not divide its elements among all ranks "
       "of its group");
  note(findings.uneven,
       "all-to-all[|s] of uneven sizes [runs as an even one|run as even ones] of the mean size: not every rank lists how it "
       "divides");
  note(findings.handovers, "wait[|s] between CPU threads of the file, read off their idle times");
  note(findings.guessed_syncs,
       "synchronisation call[|s] of the file do[es|] not say what was waited for; taken: the GPU op that ended last before the "
       "call returned");
  note(findings.guessed_waits, "wait[|s] between GPU streams of the file, inferred from the order of calls and from times");
  note(findings.unlaunched, "GPU op[|s] of the file [has|have] no launching call in it; nothing but the stream decides when");
  note(findings.overlapping, "GPU op[|s] of the file overlap[s|] others of [its|their] stream and run[s|] beside them");
  note(findings.unexplained,
       fmt::format("GPU op[|s] started more than 1ms later than launch, stream and known waits explain; these delays ({} in "
                   "total) stay as they are",
                   to_text(Duration::ms(findings.unexplained_time.in_ticks() / Duration::ticks_per_ms))));
  note(findings.watchers.size(), "CPU thread[|s] [is|are] left out that launch[es|] nothing and that nobody waits for");
  for (const auto& [category, count] : findings.unknown_categories) {
    notes.push_back(
        fmt::format("{}: unknown category {}", counted(count, "event is ignored", "events are ignored"), in_quotes(category)));
  }
}

}  // namespace weft

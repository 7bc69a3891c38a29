#include "workloads/formats/kineto/kineto_notes.hpp"

#include <string_view>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "workloads/formats/counted_note.hpp"

namespace weft {

void add_kineto_notes(const KinetoFindings& findings, const KinetoImportKind& kind, std::vector<std::string>& notes) {
  const auto note = [&notes](std::uint64_t count, std::string_view one, std::string_view many, std::string_view rest) {
    add_counted_note(notes, count, one, many, rest);
  };
  notes.insert(notes.end(), findings.told.begin(), findings.told.end());
  if (kind.replayed) {
    const std::uint32_t distance = kind.partner_distance;
    notes.push_back("one trace is replayed on " + counted(kind.rank_count, "rank", "ranks") + (distance == 0 ? ", all alike" : ""));
    note(findings.repeated_groups.size(), "process group of the trace is", "process groups of the trace are",
         " repeated over all ranks with the recorded size and stride");
    note(findings.sized_groups, "communication says", "communications say",
         " how many ranks the process group has, but not which: taken are so many neighbours in order of ranks");
    note(findings.cut_groups, "communication lists", "communications list",
         " only the first ranks of the process group, which do not tell the others: taken are so many neighbours in order of "
         "ranks");
    note(findings.widened_groups, "communication of another process group is", "communications of other process groups are",
         " taken to be among all ranks");
    if (distance == 0) {
      note(findings.messages, "send or receive goes", "sends and receives go", " to the same offset from every rank");
    } else {
      note(findings.messages, "send or receive has", "sends and receives have",
           " one peer: ranks that are " + std::to_string(distance) +
               " apart are taken as pairs, of which one sends what the other receives");
    }
  }
  note(findings.continued_groups.size(), "process group of the trace, of which only the first ranks are listed, goes on",
       "process groups of the trace, of which only the first ranks are listed, go on", " at the distance of these");
  if (kind.as_recorded) {
    note(findings.communications, "communication kernel takes", "communication kernels take",
         " the time that the trace recorded, without a network");
  }
  note(findings.undescribed, "communication kernel, which does not say what it moves, takes",
       "communication kernels, which do not say what they move, take", " the recorded time");
  note(findings.unnamed_groups, "communication names", "communications name", " no process group; taken: all ranks");
  note(findings.broadcasts, "broadcast starts", "broadcasts start",
       " at position 0 of the group; the trace does not name the root");
  note(findings.rooted, "reduce, gather or scatter has", "reduces, gathers and scatters have",
       " position 0 of the group as root; the trace does not name it");
  note(findings.misfits, "collective that gathers or scatters has", "collectives that gather or scatter have",
       " an \"Out msg nelems\" that contradicts \"In msg nelems\" and the size of the group; taken: \"In msg nelems\"");
  note(findings.repeated_splits, "all-to-all of uneven sizes divides", "all-to-alls of uneven sizes divide",
       " the input of every rank as that of the recorded one: equal positions get equal sizes");
  note(findings.split_misfits, "all-to-all has", "all-to-alls have",
       " an \"Out split size\" that contradicts the \"In split size\" of another rank; taken: \"In split size\"");
  note(findings.unused_splits, "all-to-all runs as an even one", "all-to-alls run as even ones",
       ": its \"In split size\" does not divide its elements among all ranks of its group");
  note(findings.uneven, "all-to-all of uneven sizes runs as an even one", "all-to-alls of uneven sizes run as even ones",
       " of the mean size: not every rank lists how it divides");
  note(findings.handovers, "wait", "waits", " between CPU threads of the file, read off their idle times");
  note(findings.guessed_syncs, "synchronisation call of the file does", "synchronisation calls of the file do",
       " not say what was waited for; taken: the GPU op that ended last before the call returned");
  note(findings.guessed_waits, "wait", "waits",
       " between GPU streams of the file, inferred from the order of calls and from times");
  note(findings.unlaunched, "GPU op of the file has", "GPU ops of the file have",
       " no launching call in it; nothing but the stream decides when");
  note(findings.overlapping, "GPU op of the file overlaps others of its stream and runs",
       "GPU ops of the file overlap others of their stream and run", " beside them");
  note(findings.unexplained, "GPU op", "GPU ops",
       " started more than 1ms later than launch, stream and known waits explain; these delays (" +
           to_text(Duration::ms(findings.unexplained_time.in_ticks() / Duration::ticks_per_ms)) + " in total) stay as they are");
  note(findings.watchers.size(), "CPU thread is left out that launches nothing and that nobody waits for",
       "CPU threads are left out that launch nothing and that nobody waits for", "");
  for (const auto& [category, count] : findings.unknown_categories) {
    note(count, "event is ignored", "events are ignored", ": unknown category " + in_quotes(category));
  }
}

}  // namespace weft

// Words for the labels and numbers of a dump; what comes from the target is escaped here.
#include "cli/dump/wording.h"

#include <algorithm>
#include <vector>

#include "cli/format/common/row_labels.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// Quotes values that could be taken for the end of a value, for its source or for a remark of ours.
std::string shown(std::string_view bytes) {
  const bool plain = !needs_quotes(bytes) && bytes.find_first_of("'=@,()") == std::string::npos;
  return plain ? escape_terminal(bytes) : quote_terminal(bytes);
}

LabelWord remark(std::string text, bool warns = false) {
  return {"", "(" + std::move(text) + ")", warns};
}

LabelWord absence(const ProcessDump& dump, const ThreadSnapshot& thread) {
  if (!thread.problem.empty())
    return remark("unreadable: " + escape_terminal(thread.problem), true);
  if (is_unreadable(thread.seen.outcome)) {
    return remark("unreadable: " + std::string(outcome_text(thread.seen.outcome)), true);
  }
  if ((thread.seen.flags & LS_NO_GOROUTINE) != 0) return remark("no goroutine");
  const bool never_touched = (thread.seen.flags & LS_NEVER_TOUCHED) != 0;
  if (never_touched && !dump.snapshot.plan.publishers.empty()) {
    return remark("no labels: it never touched the variable");
  }
  return remark("no labels");
}

// Equal values of one key become one word, with all their sources.
std::vector<LabelWord> sourced(const ProcessDump& dump, const LabelSet& labels) {
  struct Seen {
    const Label* label;
    LabelWord word;
  };
  std::vector<Seen> words;
  for (const Label& label : labels) {
    const std::string source = escape_terminal(publisher_name(dump, label.publisher));
    auto same = std::find_if(words.begin(), words.end(), [&](const Seen& seen) {
      return seen.label->key == label.key && seen.label->value == label.value;
    });
    if (same != words.end()) {
      same->word.text += "," + source;
    } else {
      words.push_back({&label, {shown(label.key), shown(label.value) + "@" + source}});
    }
  }
  std::vector<LabelWord> result;
  result.reserve(words.size());
  for (Seen& seen : words) result.push_back(std::move(seen.word));
  return result;
}

std::string conflicting_keys(const LabelSet& labels) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (labels[i].key != labels[j].key || labels[i].value == labels[j].value) continue;
      const std::string key = shown(labels[i].key);
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "" : ", ") + key;
  return text;
}

void append_flags(const ThreadSnapshot& thread, std::vector<LabelWord>& words) {
  const unsigned flags = thread.seen.flags;
  if (flags & LS_KEY_CONFLICT) {
    words.push_back(remark("publishers disagree on " + conflicting_keys(thread.seen.labels), true));
  }
  if (flags & LS_TRUNCATED) {
    words.push_back(remark("more labels than are read: too many " + truncated_words(flags), true));
  }
  if (flags & LS_NULL_VALUE) {
    words.push_back(remark("a label without a value was left out", true));
  }
  if (flags & LS_UNKNOWN_KEY) {
    words.push_back(remark("a label whose key has no name was left out", true));
  }
  if (flags & LS_INCOMPLETE_LABEL) {
    words.push_back(remark("a label that is not whole was left out", true));
  }
  if (flags & LS_PARTLY_UNREADABLE) {
    words.push_back(remark("another publisher was unreadable", true));
  }
}

std::string microseconds(std::chrono::nanoseconds time) {
  return with_thousands(static_cast<std::uint64_t>(
             std::chrono::ceil<std::chrono::microseconds>(time).count())) +
         " us";
}

std::string unreadable_text(const DumpTotals& totals) {
  std::size_t unreadable = 0;
  std::string reasons;
  for (unsigned outcome = 0; outcome < totals.outcomes.size(); ++outcome) {
    const std::size_t count = totals.outcomes[outcome];
    if (!is_unreadable(outcome) || count == 0) continue;
    unreadable += count;
    reasons += (reasons.empty() ? "" : ", ") + std::string(outcome_name(outcome)) + ": " +
               with_thousands(count);
  }
  return with_thousands(unreadable) + " unreadable" + (reasons.empty() ? "" : " (" + reasons + ")");
}

std::string stops_text(const ProcessSnapshot& snapshot, const DumpTotals& totals) {
  if (snapshot.source == SnapshotSource::kCore) return {};
  const bool by_bpf = snapshot.source == SnapshotSource::kBpf;
  if (totals.longest_stop.count() == 0) return by_bpf ? "; read by BPF, none was stopped" : "";
  const std::string which =
      by_bpf ? "; read by BPF, and " + with_thousands(totals.stopped) + " that ran " : "; ";
  if (totals.stopped == 0) return "; stopped for " + microseconds(totals.longest_stop) + " at most";
  return which + "stopped for " + microseconds(totals.median_stop) + " (median), " +
         microseconds(totals.longest_stop) + " at most";
}

}  // namespace

std::string publisher_name(const ProcessDump& dump, std::size_t publisher) {
  Process process;
  for (const Publisher& each : dump.snapshot.plan.publishers)
    process.publishers.push_back(publisher_title(each));
  return RowLabels::publisher_name(&process, static_cast<std::uint8_t>(publisher));
}

std::vector<LabelWord> label_words(const ProcessDump& dump, const ThreadSnapshot& thread) {
  std::vector<LabelWord> words;
  if (thread.seen.outcome != LS_LABELLED) {
    words.push_back(absence(dump, thread));
  } else if (dump.snapshot.plan.publishers.size() > 1) {
    words = sourced(dump, thread.seen.labels);
  } else {
    for (const Label& label : thread.seen.labels) {
      words.push_back({shown(label.key), shown(label.value)});
    }
  }
  append_flags(thread, words);
  return words;
}

std::vector<std::pair<std::string, std::string>> process_label_words(const ProcessDump& dump) {
  std::vector<std::pair<std::string, std::string>> words;
  for (const ProcessLabel& label : dump.process_labels) {
    words.emplace_back(shown(label.key),
                       shown(label.value) + "@" + std::string(source_path(label.source)));
  }
  return words;
}

DumpTotals add_up(const ProcessSnapshot& snapshot) {
  DumpTotals totals;
  totals.threads = snapshot.threads.size();
  std::vector<std::chrono::nanoseconds> stops;
  for (const ThreadSnapshot& thread : snapshot.threads) {
    if (thread.seen.outcome < totals.outcomes.size()) ++totals.outcomes[thread.seen.outcome];
    if (thread.held.count() > 0) stops.push_back(thread.held);
  }
  totals.stopped = stops.size();
  // A thread that stopped too late was stopped all the same. If it was read later, it is counted
  // above.
  totals.longest_stop = snapshot.longest_late_stop;
  if (stops.empty()) return totals;
  std::sort(stops.begin(), stops.end());
  totals.longest_stop = std::max(totals.longest_stop, stops.back());
  totals.median_stop = stops[(stops.size() - 1) / 2];
  return totals;
}

std::string totals_line(const ProcessSnapshot& snapshot) {
  const DumpTotals totals = add_up(snapshot);
  std::string line = with_thousands(totals.threads) +
                     (totals.threads == 1 ? " thread = " : " threads = ") +
                     with_thousands(totals.outcomes[LS_LABELLED]) + " labelled + " +
                     with_thousands(totals.outcomes[LS_UNLABELLED]) + " unlabelled + " +
                     unreadable_text(totals) + stops_text(snapshot, totals);
  if (snapshot.vanished > 0) {
    line += "; " + with_thousands(snapshot.vanished) + " more ended before they were read";
  }
  return line;
}

}  // namespace labelscope::cli

// Sentences about targets and numbers. Paths and names are escaped: they come from the target.
#include "cli/record/messages.h"

#include "cli/format/escape.h"
#include "cli/record/progress.h"

namespace labelscope::cli {

std::string describe_labels(const TrackedProcess& process) {
  std::string text =
      std::to_string(raw(process.pid())) + " (" + escape_terminal(process.comm()) + "): ";
  const ProcessPlan& plan = process.plan();
  if (plan.publishers.empty()) return text + "no labels: " + escape_terminal(plan.absence());
  for (std::size_t i = 0; i < plan.publishers.size(); ++i) {
    const Publisher& publisher = plan.publishers[i];
    text += (i == 0 ? "labels from " : ", and from ") + escape_terminal(publisher.path) + " (" +
            std::string(access_model_name(publisher.model)) + ")";
    for (const std::string& note : publisher.notes) text += "; " + escape_terminal(note);
  }
  for (const Refusal& refusal : plan.refusals) {
    text += "; not from " + escape_terminal(refusal.path) + ": " + escape_terminal(refusal.reason);
  }
  return text;
}

bool adds_up(const Ledger& ledger) {
  std::uint64_t sum = 0;
  for (std::uint64_t count : ledger.outcomes) sum += count;
  return ledger.taken == sum && ledger.written + ledger.dropped == ledger.taken;
}

std::vector<std::string> ledger_problems(const Ledger& ledger) {
  std::vector<std::string> lines;
  if (ledger.dropped > 0) {
    lines.push_back(
        percent(ledger.dropped, ledger.taken) +
        " of the samples were dropped because the ring buffer was full: a larger --ring-size or "
        "a lower -F helps");
  }
  if (ledger.truncated > 0) {
    lines.push_back(with_thousands(ledger.truncated) + " samples hold more labels than are kept (" +
                    std::to_string(LS_MAX_LABELS) + " labels, " +
                    with_thousands(LS_MAX_LABEL_BYTES) +
                    " bytes); they are marked labelscope.truncated");
  }
  for (const auto& [name, count] : ledger.counters)
    lines.push_back(name + ": " + with_thousands(count));
  if (!adds_up(ledger))
    lines.emplace_back("the ledger does not add up: this is a defect of labelscope");
  return lines;
}

std::string ledger_line(const Ledger& ledger) {
  std::uint64_t unreadable = 0;
  std::string reasons;
  for (unsigned outcome = 0; outcome < LS_OUTCOME_COUNT; ++outcome) {
    if (!is_unreadable(outcome) || ledger.outcomes[outcome] == 0) continue;
    unreadable += ledger.outcomes[outcome];
    reasons += (reasons.empty() ? " (" : ", ") + std::string(outcome_text(outcome)) + ": " +
               with_thousands(ledger.outcomes[outcome]);
  }
  if (!reasons.empty()) reasons += ")";
  return with_thousands(ledger.taken) +
         " samples = " + with_thousands(ledger.outcomes[LS_LABELLED]) + " labelled + " +
         with_thousands(ledger.outcomes[LS_UNLABELLED]) + " unlabelled + " +
         with_thousands(unreadable) + " unreadable" + reasons + "; " +
         with_thousands(ledger.written) + " written, " + with_thousands(ledger.dropped) +
         " dropped";
}

}  // namespace labelscope::cli

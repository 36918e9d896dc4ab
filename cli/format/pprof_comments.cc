// Each comment is one fact: "name: value".
#include "cli/format/pprof_comments.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "labelscope/label.h"

namespace labelscope::cli {
namespace {

class CommentList {
 public:
  void add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    std::string text(name);
    text += ": ";
    text += value;
    comments_.push_back(std::move(text));
  }
  std::vector<std::string> take() { return std::move(comments_); }

 private:
  std::vector<std::string> comments_;
};

std::string ledger_text(const Ledger& ledger) {
  std::string text = "taken " + std::to_string(ledger.taken);
  for (unsigned outcome = 0; outcome < LS_OUTCOME_COUNT; ++outcome) {
    // Labelled and unlabelled are always told, a reason of unreadable samples only if it occurs.
    if (outcome > LS_UNLABELLED && ledger.outcomes[outcome] == 0) continue;
    text += outcome == 0 ? " = " : " + ";
    text += outcome_name(outcome);
    text += ' ' + std::to_string(ledger.outcomes[outcome]);
  }
  text += "; written " + std::to_string(ledger.written) + " = taken - dropped " +
          std::to_string(ledger.dropped);
  text += "; truncated " + std::to_string(ledger.truncated);
  for (const auto& [name, count] : ledger.counters) {
    text += "; " + name + ' ' + std::to_string(count);
  }
  return text;
}

}  // namespace

std::vector<std::string> pprof_comments(const Profile& profile) {
  CommentList comments;
  comments.add("labelscope", profile.tool_version);
  comments.add("command", profile.command_line);
  comments.add("event", profile.event);
  comments.add("mode", profile.mode);
  comments.add("backend", profile.backend);
  comments.add("call graph", profile.call_graph);
  comments.add("kernel", profile.kernel_release);
  comments.add("ledger", ledger_text(profile.ledger));
  for (const Process& process : profile.processes) {
    for (const std::string& publisher : process.publishers) {
      comments.add("publisher in process " + std::to_string(raw(process.pid)), publisher);
    }
  }
  for (const ProfileModule& module : profile.modules) {
    if (!module.symbol_problem.empty()) {
      comments.add("no names in " + module.path, module.symbol_problem);
    }
  }
  return comments.take();
}

}  // namespace labelscope::cli

// Columns are as wide as this dump needs them, so that the labels of all threads start in the same
// column. No line is cut.
#include "cli/text/text.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <ostream>
#include <string_view>
#include <tuple>
#include <utility>

#include "cli/dump/formats.h"
#include "cli/dump/wording.h"
#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

std::string_view state_word(char state) {
  constexpr std::pair<char, std::string_view> kWords[] = {
      {'R', "running"}, {'S', "sleeping"}, {'D', "uninterruptible"},
      {'T', "stopped"}, {'t', "traced"},   {'Z', "ended"},
      {'X', "ended"},   {'I', "idle"},     {'P', "parked"}};
  for (const auto& [known, word] : kWords) {
    if (known == state) return word;
  }
  return "";
}

// In a core the state is the signal that the core was written for.
std::string state_text(const ThreadSnapshot& thread) {
  if (thread.signal == 0) return std::string(state_word(thread.state));
  const char* name = ::sigabbrev_np(thread.signal);
  return name == nullptr ? "signal " + std::to_string(thread.signal) : "SIG" + std::string(name);
}

std::string name_text(const ThreadSnapshot& thread) {
  return thread.name.empty() ? "" : quote_terminal(thread.name);
}

std::string in_threads(std::size_t count) {
  return " (" + std::to_string(count) + (count == 1 ? " thread)" : " threads)");
}

class Renderer {
 public:
  Renderer(const ProcessDump& dump, const DumpStyle& style, std::ostream& out)
      : dump_(dump), style_(style), out_(out) {}

  void render() {
    render_head();
    if (dump_.explanation) {
      out_ << '\n' << paint(kBold, "How its labels are found") << '\n';
      render_steps(*dump_.explanation, "  ");
    }
    out_ << '\n';
    measure_columns();
    for (std::size_t i = 0; i < dump_.snapshot.threads.size(); ++i) render_thread(i);
    render_findings();
  }

 private:
  struct Column {
    std::size_t tid = 0, state = 0, name = 0;
  };
  // Equal findings are printed once, with the number of threads that have them.
  struct CountedFinding {
    Finding finding;
    std::size_t threads = 0;
  };

  std::string paint(std::string_view color, const std::string& text) const {
    return cli::paint(style_.color, color, text);
  }
  // Cuts the text to what fits beside `used` characters on a terminal: a command line may be pages
  // long.
  std::string one_line(const std::string& text, std::size_t used) const {
    constexpr std::string_view kDots = "...";
    if (style_.width < used + kDots.size() || used + count_columns(text) <= style_.width) {
      return text;
    }
    return std::string(first_columns(text, style_.width - used - kDots.size())) +
           std::string(kDots);
  }
  void note(std::string_view text) const { render_sentence(text, "  ", kYellow); }

  void render_sentence(std::string_view text, std::string_view indent,
                       std::string_view color) const {
    for (const std::string& line :
         wrap(std::string(indent) + escape_terminal(text), style_.width)) {
      out_ << paint(color, line) << '\n';
    }
  }

  void render_head() const {
    const ProcessSnapshot& snapshot = dump_.snapshot;
    const std::string what = dump_.command_line.empty() ? snapshot.comm : dump_.command_line;
    const std::string start = "Process " + std::to_string(raw(snapshot.pid)) + ":";
    out_ << paint(kBold, start) << ' ' << one_line(escape_terminal(what), start.size() + 1) << '\n';
    render_publishers();
    render_process_labels();
    if (dump_.snapshot.plan.publishers.size() > 1 || !dump_.process_labels.empty()) {
      out_ << paint(kDim, "  (what follows @ is where a label comes from)") << '\n';
    }
    render_running();
    if (dump_.late_by_bpf != 0) {
      note(with_thousands(dump_.late_by_bpf) +
           " of the threads did not stop in time and were read by BPF, without stopping them");
    }
    if (snapshot.incomplete) {
      note("threads were started faster than they could be read: some are missing");
    }
    if (!dump_.core) return;
    out_ << "  from the core file " << escape_terminal(dump_.core->path) << '\n';
    if (dump_.core->truncated) note("the core file is cut short: some memory is missing");
    const std::vector<Refusal>& refusals = snapshot.plan.refusals;
    for (const CoreFileProblem& problem : dump_.core->problems) {
      // A file that was missing while planning is already among the refusals.
      if (std::any_of(refusals.begin(), refusals.end(), [&](const Refusal& refusal) {
            return refusal.path == problem.path && refusal.finding.text == problem.reason;
          })) {
        continue;
      }
      note((problem.path.empty() ? "" : problem.path + ": ") + problem.reason);
    }
  }

  // Threads that were stopped as well did not run when they were read.
  void render_running() const {
    const auto running = static_cast<std::size_t>(std::ranges::count_if(
        dump_.snapshot.threads, [](const ThreadSnapshot& thread) { return thread.ran; }));
    if (running == 0) return;
    note(with_thousands(running) + (running == 1 ? " thread" : " threads") +
         " ran while BPF read them without a stop, and may have been in the middle of an update");
  }

  void render_publishers() const {
    const ProcessPlan& plan = dump_.snapshot.plan;
    for (std::size_t i = 0; i < plan.publishers.size(); ++i) {
      const Publisher& publisher = plan.publishers[i];
      out_ << "  labels from " << escape_terminal(publisher.path) << " (" << access_text(publisher)
           << ')';
      if (plan.publishers.size() > 1) out_ << " @" << escape_terminal(publisher_name(dump_, i));
      out_ << '\n';
      for (const Finding& finding : publisher.findings) note("  " + finding_clause(finding));
    }
    if (plan.facts) {
      for (const auto& [key, value] : plan.facts->attributes) {
        out_ << "  " << escape_terminal(key) << '=' << escape_terminal(value) << '\n';
      }
      for (const Finding& finding : plan.facts->findings) note(finding_clause(finding));
    }
    if (plan.publishers.empty()) note("no labels: " + plan.absence());
    for (const Refusal& refusal : plan.refusals) {
      // The reason of the absence has covered it already.
      if (plan.publishers.empty() && plan.modules != 0) break;
      note("not from " + refusal.path + ": " + finding_clause(refusal.finding));
    }
  }

  void render_process_labels() const {
    for (const auto& [key, word] : process_label_words(dump_)) {
      out_ << "  of the process: " << paint(kCyan, key) << '=' << word << '\n';
    }
  }

  void measure_columns() {
    for (const ThreadSnapshot& thread : dump_.snapshot.threads) {
      column_.tid = std::max(column_.tid, std::to_string(raw(thread.tid)).size());
      column_.state = std::max(column_.state, state_text(thread).size());
      column_.name = std::max(column_.name, count_columns(name_text(thread)));
    }
  }

  void render_thread(std::size_t index) const {
    const ThreadSnapshot& thread = dump_.snapshot.threads[index];
    std::string line = "Thread";
    auto append = [&](const std::string& text, std::size_t width) {
      if (width == 0) return;
      line += (line.size() > 6 ? "  " : " ") + text;
      line.append(width - count_columns(text), ' ');
    };
    append(std::to_string(raw(thread.tid)), column_.tid);
    append(state_text(thread), column_.state);
    append(name_text(thread), column_.name);
    out_ << paint(kBold, line);
    render_labels(thread, count_columns(line));
    out_ << '\n';
    auto explained = dump_.of_threads.find(thread.tid);
    if (explained != dump_.of_threads.end()) render_steps(explained->second, "    ");
    if (dump_.stacks && dump_.stacks->of_thread[index] != kNoIndex) {
      render_stack(thread, dump_.stacks->of_thread[index]);
    }
  }

  void render_labels(const ThreadSnapshot& thread, std::size_t used) const {
    constexpr std::string_view kIndent = "        ";
    bool first = true;
    for (const LabelWord& word : label_words(dump_, thread)) {
      const std::size_t length =
          count_columns(word.key) + (word.key.empty() ? 0 : 1) + count_columns(word.text);
      const std::size_t gap = first ? 2 : 1;
      if (style_.width > 0 && used + gap + length > style_.width) {
        out_ << '\n' << kIndent;
        used = kIndent.size() + length;
      } else {
        out_ << std::string(gap, ' ');
        used += gap + length;
      }
      first = false;
      if (word.key.empty()) {
        out_ << paint(word.warns ? kYellow : kDim, word.text);
      } else {
        out_ << paint(kCyan, word.key) << '=' << word.text;
      }
    }
  }

  void render_steps(const Explanation& explanation, const char* indent) const {
    for (const std::string& step : explanation.steps) {
      render_sentence(step, indent, kDim);
    }
  }

  void render_stack(const ThreadSnapshot& thread, Index stack) const {
    for (Index index : dump_.stacks->profile.stacks[stack].frames) {
      render_location(dump_.stacks->profile.locations[index]);
    }
    if (!thread.stack->cut.empty()) {
      out_ << "    "
           << paint(kYellow, "(the stack ends here: " + escape_terminal(thread.stack->cut) + ")")
           << '\n';
    }
  }

  void render_location(const Location& location) const {
    const auto& modules = dump_.stacks->profile.modules;
    const ProfileModule* module =
        location.module < modules.size() ? &modules[location.module] : nullptr;
    const std::string file = module == nullptr ? "" : escape_terminal(base_name(module->path));
    if (location.lines.empty()) {
      out_ << "    " << hex(location.address);
      if (module != nullptr) {
        out_ << paint(kDim, " (" + file + "+" + hex(location.address - module->load_bias) + ")");
      }
      out_ << '\n';
      return;
    }
    for (std::size_t i = 0; i < location.lines.size(); ++i) {
      const SourceLine& line = location.lines[i];
      const std::string& name = line.function.empty() ? line.system_name : line.function;
      std::string place = line.file.empty() ? file : escape_terminal(base_name(line.file));
      if (line.line > 0) place += ":" + std::to_string(line.line);
      if (i + 1 < location.lines.size()) place += ", inlined";
      out_ << "    " << escape_terminal(name) << paint(kDim, " (" + place + ")") << '\n';
    }
  }

  void render_findings() const {
    if (!dump_.explanation) return;
    const std::vector<CountedFinding> findings = counted_findings();
    const std::map<std::string, std::size_t> unexplained = unexplained_threads();
    out_ << '\n' << paint(kBold, "Findings") << '\n';
    if (findings.empty() && unexplained.empty()) out_ << "  nothing is wrong\n";
    for (const auto& [reason, count] : unexplained) {
      render_sentence("not read: " + reason + in_threads(count), "  ", kYellow);
    }
    for (const CountedFinding& each : findings) {
      std::string text = finding_title(each.finding) + ": " + each.finding.text;
      if (each.threads > 0) text += in_threads(each.threads);
      render_sentence(text, "  ", kYellow);
      if (!each.finding.fix.empty()) render_sentence("fix: " + each.finding.fix, "    ", "");
    }
  }

  std::vector<CountedFinding> counted_findings() const {
    std::vector<CountedFinding> counted;
    std::map<std::tuple<FindingCode, std::string, std::string>, std::size_t> known;
    auto add = [&](const Finding& finding, std::size_t threads) {
      auto [at, fresh] =
          known.try_emplace({finding.code, finding.text, finding.fix}, counted.size());
      if (fresh) counted.push_back({finding, 0});
      counted[at->second].threads += threads;
    };
    for (const Finding& finding : dump_.explanation->findings) add(finding, 0);
    for (const auto& [tid, explanation] : dump_.of_threads) {
      for (const Finding& finding : explanation.findings) add(finding, 1);
    }
    return counted;
  }

  // Threads that could not be read and that no finding explains: how many for each reason.
  std::map<std::string, std::size_t> unexplained_threads() const {
    std::map<std::string, std::size_t> threads;
    for (const ThreadSnapshot& thread : dump_.snapshot.threads) {
      if (!is_unreadable(thread.seen.outcome)) continue;
      auto explained = dump_.of_threads.find(thread.tid);
      if (explained != dump_.of_threads.end() && !explained->second.findings.empty()) continue;
      ++threads[thread.problem.empty() ? std::string(outcome_text(thread.seen.outcome))
                                       : thread.problem];
    }
    return threads;
  }

  const ProcessDump& dump_;
  const DumpStyle& style_;
  std::ostream& out_;
  Column column_;
};

}  // namespace

Status render_dump_text(const ProcessDump& dump, const DumpStyle& style, std::ostream& out) {
  Renderer(dump, style, out).render();
  return flush_output(out);
}

}  // namespace labelscope::cli

#include "cli/record/found_processes.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "cli/record/command_target.h"
#include "cli/record/privileges.h"
#include "cli/record/recorder.h"
#include "cli/text/escape.h"
#include "cli/text/text.h"
#include "labelscope/target.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

std::string file_name_of(const TargetName& name) {
  switch (name.by) {
    case NamedBy::kPort:
      return "port-" + name.word;
    case NamedBy::kCgroup:
      return escape_file_name(base_name(name.word));
    default:
      return escape_file_name(name.word);
  }
}

bool is_over(Pid pid) {
  // Any other error does not mean that it has ended: its first thread may have ended alone, and
  // labelscope may be out of files.
  const auto process = LiveProcess::open(pid);
  return !process && is_gone(process.error());
}

class FoundProcesses final : public Targets {
 public:
  FoundProcesses(const SessionOptions& options, std::string base_name, Signals& signals, Say say)
      : Targets({}, options.follow_children, std::move(base_name)),
        named_by_id_(options.wanted.processes.pids),
        signals_(signals),
        say_(std::move(say)) {
    for (const Pid pid : named_by_id_) pins_.pin(pid);
    const std::vector<TargetName> names = options.wanted.names();
    if (!names.empty()) finder_.emplace(names);
    say_waiting(names, say_);
  }

  // Finds the processes of all words, and waits for those that --wait-for names.
  Status find() {
    matches_.clear();
    if (finder_) {
      auto found = finder_->find([this] {
        signals_.poll();
        return signals_.stop_requested();
      });
      if (!found) return std::move(found).error();
      matches_ = *std::move(found);
    }
    std::vector<Pid> pids = named_by_id_;
    for (const Match& match : matches_) {
      for (const Pid pid : match.pids) {
        if (std::ranges::find(pids, pid) == pids.end()) pids.push_back(pid);
      }
    }
    comms_.clear();
    for (const Pid pid : pids) comms_.push_back(read_proc_line(proc_path(Tid{raw(pid)}, "comm")));
    set_first(std::move(pids));
    return {};
  }

  std::string names() const override;
  Status add_to(Recorder& recorder, Backend backend) override;

  void join(Recorder& recorder) override {
    if (!finder_ || (Clock::now() < next_look_ && !awaited_)) return;
    next_look_ = Clock::now() + kLookInterval;
    for (Pid pid : finder_->find_new()) {
      joined_.push_back(pid);
      // As a child of a recorded process it is recorded already.
      const bool added =
          recorder.has(pid) || recorder.add_counted(pid, &finder_->pins());
      finder_->pins().unpin(pid);
      if (!added) continue;
      if (admits_children()) recorder.add_children(pid);
    }
  }

  // A recording of what was waited for cannot end before it was seen.
  bool ended() override {
    std::erase_if(joined_, is_over);
    const bool none_left = joined_.empty() && std::ranges::all_of(first(), is_over);
    if (!none_left || !waits()) seen_ = true;
    if (const Match* early = seen_ || awaited_ ? nullptr : missed()) say_ended_early(*early);
    awaited_ = !seen_;
    return none_left && seen_;
  }
  bool awaited() const override { return awaited_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostListed = 8;
  static constexpr std::chrono::milliseconds kLookInterval{200};

  struct LeftOut {
    std::size_t index;  // in first()
    Error why;
  };

  bool waits() const {
    return std::ranges::any_of(
        matches_, [](const Match& match) { return match.name.by == NamedBy::kWaitFor; });
  }
  Status add_found(Recorder& recorder, Backend backend);
  // Returns a name of --wait-for whose processes have all ended.
  const Match* missed() const {
    const auto match = std::ranges::find_if(matches_, [](const Match& each) {
      return each.name.by == NamedBy::kWaitFor && std::ranges::all_of(each.pids, is_over);
    });
    return match == matches_.end() ? nullptr : &*match;
  }
  void say_ended_early(const Match& match) const {
    say_(match.name.typed() + ": process " + std::to_string(raw(match.pids.front())) +
         " ended before it could be recorded; waiting for the next one");
  }
  // "-p nginx (3 processes)"; empty if all are named by ID.
  std::string asked() const {
    std::string text;
    for (const Match& match : matches_) {
      text += (text.empty() ? "" : ", ") + match.name.typed() + " (" +
              counted(match.pids.size(), "process", "processes") + ")";
    }
    return text;
  }
  std::string name_of(std::size_t index) const {
    const std::string number = std::to_string(raw(first()[index]));
    return comms_[index].empty() ? number : number + " (" + escape_terminal(comms_[index]) + ")";
  }
  bool is_left_out(std::size_t index) const {
    return std::ranges::find(left_out_, index, &LeftOut::index) != left_out_.end();
  }

  std::vector<Pid> named_by_id_;
  PinnedProcesses pins_;  // of these
  Signals& signals_;
  Say say_;
  std::optional<ProcessFinder> finder_;  // there is none if all are named by ID
  std::vector<Match> matches_;
  std::vector<std::string> comms_;  // parallel to first()
  std::vector<LeftOut> left_out_;
  std::size_t children_ = 0;  // number of children that existed already
  Clock::time_point next_look_{};
  std::vector<Pid> joined_;  // those that have not ended
  bool seen_ = false;        // one was there while samples were taken
  bool awaited_ = false;
};

std::string FoundProcesses::names() const {
  const bool by_word = !matches_.empty();
  const std::size_t count = first().size() - left_out_.size();
  const std::size_t most = by_word ? std::min(count, kMostListed) : count;
  std::string text = by_word ? asked() + ": " : "";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < first().size() && shown < most; ++i) {
    if (is_left_out(i)) continue;
    text += (shown == 0 ? "" : ", ") + name_of(i);
    ++shown;
  }
  if (shown < count) text += " and " + std::to_string(count - shown) + " more";
  if (!left_out_.empty()) {
    text += " (without ";
    const std::size_t named = std::min(left_out_.size(), kMostListed);
    for (std::size_t i = 0; i < named; ++i) {
      text += (i == 0 ? "" : "; ") + name_of(left_out_[i].index) + ": " + left_out_[i].why.context;
    }
    if (named < left_out_.size()) {
      text += "; and " + std::to_string(left_out_.size() - named) + " more";
    }
    const bool refuses = std::ranges::any_of(
        left_out_, [](const LeftOut& one) { return one.why.code == ErrorCode::kPermission; });
    if (refuses) text += "; " + doctor_text(*this);
    text += ")";
  }
  if (children_ == 0) return text;
  return text + (count > 1 ? " and their " : " and its ") +
         counted(children_, "child process", "child processes");
}

Status FoundProcesses::add_to(Recorder& recorder, Backend backend) {
  while (true) {
    if (Status added = add_found(recorder, backend); !added) return added;
    const Match* early = missed();
    if (early == nullptr) break;
    say_ended_early(*early);
    if (Status found = find(); !found) return found;
  }
  if (left_out_.size() == first().size()) {
    const Error& why = left_out_.front().why;
    return Error{why.code, (asked().empty() ? "" : asked() + ": ") + why.context};
  }
  if (!admits_children()) return {};
  for (Pid pid : first()) children_ += recorder.add_children(pid);
  recorder.note_children_followed();
  return {};
}

// Fails if one that is named by its ID cannot be added.
Status FoundProcesses::add_found(Recorder& recorder, Backend backend) {
  left_out_.clear();
  for (std::size_t i = 0; i < first().size(); ++i) {
    const Pid pid = first()[i];
    if (recorder.has(pid)) continue;
    const bool by_id = std::ranges::find(named_by_id_, pid) != named_by_id_.end();
    Status added = recorder.add(pid, by_id ? &pins_ : &finder_->pins());
    if (added) continue;
    Error why = why_not_added(pid, std::move(added).error(), backend);
    if (why.code == ErrorCode::kPermission) note_refused(pid);
    // One that does not answer has been reported, and the others are recorded.
    if (by_id && !recorder.is_left_out(pid)) return why;
    left_out_.push_back({i, std::move(why)});
  }
  return {};
}

Result<std::unique_ptr<Targets>> open_found_processes(const SessionOptions& options,
                                                      Signals& signals, const Say& say) {
  std::string base_name;
  for (Pid pid : options.wanted.processes.pids) {
    auto process = LiveProcess::open(pid);
    if (!process) return std::move(process).error();
    if (base_name.empty()) base_name = base_name_of((*process)->comm(), pid);
  }
  if (const std::vector<TargetName> names = options.wanted.names();
      !names.empty() && base_name.empty()) {
    base_name = file_name_of(names.front());
    if (names.size() > 1) base_name += "-and-" + std::to_string(names.size() - 1) + "-more";
  }
  auto processes = std::make_unique<FoundProcesses>(options, std::move(base_name), signals, say);
  if (Status found = processes->find(); !found) return std::move(found).error();
  return std::unique_ptr<Targets>(std::move(processes));
}

}  // namespace

Result<std::unique_ptr<Targets>> find_targets(const SessionOptions& options, Signals& signals,
                                              const Say& say) {
  return options.command.empty() ? open_found_processes(options, signals, say)
                                 : start_command(options, signals);
}

}  // namespace labelscope::cli

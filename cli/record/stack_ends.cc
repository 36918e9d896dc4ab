// A chain of frame pointers does not show why it ended: code that keeps something else in that
// register ends it as the outermost caller does. So the function in which it ended decides.
#include "cli/record/stack_ends.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "base/text.h"
#include "cli/format/common/ledger_text.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"
#include "unwind_table/thread_starts.h"

namespace labelscope::cli {
namespace {

struct EndWords {
  ls_stack_end end;
  const char* name;
  const char* does;
};
#define LS_STACK_END_WORDS(end, name, does) {end, name, does},
constexpr EndWords kEnds[] = {LS_STACK_ENDS(LS_STACK_END_WORDS)};

bool starts_thread(const Location& location) {
  if (location.lines.empty()) return false;
  const SourceLine& outermost = location.lines.back();
  const std::string_view name =
      outermost.system_name.empty() ? outermost.function : outermost.system_name;
  return is_thread_start(name);
}

// Whether the stack is a chain of frame pointers that ended, or one of exactly as many frames as
// are kept.
bool may_be_whole(const Stack& stack) {
  return !stack.frames.empty() &&
         (stack.end == LS_STACK_CHAIN_ENDED || stack.end == LS_STACK_TOO_DEEP);
}

std::array<std::uint64_t, LS_STACK_END_COUNT> samples_by_end(const Profile& profile) {
  std::array<std::uint64_t, LS_STACK_END_COUNT> samples{};
  for (const SampleRow& row : profile.rows) {
    if (row.stack != kNoIndex) samples[profile.stacks[row.stack].end] += row.count;
  }
  return samples;
}

// These make code that uses the frame pointer's register for something else, unless an option
// forbids that.
struct CodeMaker {
  std::string_view file;  // how the names of its files begin, or those of its libraries with "lib"
  const char* help;
};
constexpr CodeMaker kCodeMakers[] = {
    {"jvm.so", "Java's code keeps frame pointers with java -XX:+PreserveFramePointer alone"},
    {"php", "what PHP's JIT makes keeps no frame pointers: without it, by php -d opcache.jit=off, "
            "stacks are whole"},
};

const CodeMaker* code_maker_of(const Profile& profile) {
  for (const CodeMaker& maker : kCodeMakers) {
    if (std::ranges::any_of(profile.modules, [&](const ProfileModule& module) {
          std::string_view name = base_name(module.path);
          if (name.starts_with("lib")) name.remove_prefix(3);
          return name.starts_with(maker.file);
        }))
      return &maker;
  }
  return nullptr;
}

// Whether most stacks that are not whole end in code that their process has made.
bool end_in_made_code(const Profile& profile) {
  std::uint64_t all = 0;
  std::uint64_t in_generated = 0;
  for (const SampleRow& row : profile.rows) {
    if (row.stack == kNoIndex) continue;
    const Stack& stack = profile.stacks[row.stack];
    if (stack.end == LS_STACK_ROOT || stack.end == LS_STACK_ENTRY || stack.frames.empty()) continue;
    const Index module = profile.locations[stack.frames.back()].module;
    all += row.count;
    if (module != kNoIndex && profile.modules[module].kind == ProfileModule::Kind::kUnknown) {
      in_generated += row.count;
    }
  }
  return in_generated * 2 > all;
}

}  // namespace

void count_stack_ends(Profile& profile) {
  for (Stack& stack : profile.stacks) {
    if (may_be_whole(stack) && starts_thread(profile.locations[stack.frames.back()])) {
      stack.end = LS_STACK_ROOT;
    }
  }
  const auto samples = samples_by_end(profile);
  for (const auto& [end, name, does] : kEnds) {
    profile.ledger.counters[stack_counter(end)] = samples[end];
  }
}

std::string stack_ends_text(const Profile& profile) {
  const auto samples = samples_by_end(profile);
  const std::uint64_t all = std::accumulate(samples.begin(), samples.end(), std::uint64_t{0}) -
                            samples[LS_STACK_NOT_WANTED];
  if ((all - samples[LS_STACK_ROOT] - samples[LS_STACK_ENTRY]) * 10 <= all) return {};
  std::string text;
  for (const auto& [end, name, does] : kEnds) {
    if (end == LS_STACK_ROOT) {
      text = percent(samples[end], all) + " of the stacks " + does;
    } else if (samples[end] != 0) {
      text += (text.find(':') == std::string::npos ? ": " : ", ") + percent(samples[end], all) +
              " " + does;
    }
  }
  const CodeMaker* maker = code_maker_of(profile);
  if (maker != nullptr && end_in_made_code(profile)) return text + " (" + maker->help + ")";
  const bool dwarf_helps = samples[LS_STACK_CHAIN_ENDED] != 0 && profile.call_graph == "fp";
  return dwarf_helps ? text + " (--call-graph dwarf needs none)" : text;
}

void TableTimes::note(std::uint64_t time_ns, ls_stack_end end) {
  if (end == LS_STACK_NO_TABLE) {
    ++without_;
    // Samples may come out of order.
    if (time_ns <= last_without_ns_) return;
    last_without_ns_ = time_ns;
    since_ = whole_since_ = 0;
  } else if (time_ns > last_without_ns_) {
    ++since_;
    whole_since_ += end == LS_STACK_ROOT || end == LS_STACK_ENTRY;
  }
}

std::string TableTimes::text() const {
  constexpr std::uint64_t kTenth = 100'000'000;
  // It is over only if a tenth of all samples, at least, have come without it.
  if (without_ == 0 || since_ * 9 < without_) return {};
  const std::uint64_t tenths = (last_without_ns_ - std::min(start_ns_, last_without_ns_)) / kTenth;
  if (tenths < 10) return {};
  const std::string when =
      " from second " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " on: ";
  return (whole_since_ * 10 >= since_ * 9 ? "stacks are whole" : "no stack lacks a table") + when +
         "before, " + counted(without_, "sample", "samples") +
         " came while the unwind tables of files were still being made";
}

}  // namespace labelscope::cli

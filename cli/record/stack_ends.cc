// A chain of frame pointers does not tell why it ended: code that keeps something else in that
// register ends it as the last caller does. So the function in which it ended tells.
#include "cli/record/stack_ends.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/format/shares.h"

namespace labelscope::cli {
namespace {

constexpr const char* kComplete = "stacks-complete";
constexpr const char* kWithoutStart = "stacks-without-start";
constexpr const char* kTooDeep = "stacks-too-deep";
constexpr const char* kMissing = "stacks-missing";

// kernel.perf_event_max_stack's default: as many user frames a stack by frame pointers has at most.
constexpr std::size_t kMostFrames = 127;

// Where threads begin: programs; glibc, before and in the function that calls main; its threads;
// musl and its threads; Go's threads and goroutines.
constexpr std::array<std::string_view, 16> kStarts{"_start",
                                                   "__libc_start_main",
                                                   "__libc_start_main_impl",
                                                   "__libc_start_call_main",
                                                   "clone",
                                                   "__clone",
                                                   "clone3",
                                                   "__clone3",
                                                   "start_thread",
                                                   "_start_c",
                                                   "libc_start_main_stage2",
                                                   "start",
                                                   "runtime.goexit",
                                                   "runtime.mstart",
                                                   "runtime.rt0_go",
                                                   "runtime.goexit.abi0"};

bool starts_thread(const Location& location) {
  if (location.lines.empty()) return false;
  const SourceLine& outermost = location.lines.back();
  const std::string_view name =
      outermost.system_name.empty() ? outermost.function : outermost.system_name;
  // Symbols may have a version: clone@@GLIBC_2.2.5.
  return std::find(kStarts.begin(), kStarts.end(), name.substr(0, name.find('@'))) != kStarts.end();
}

const char* end_of(const Profile& profile, const Stack& stack) {
  const auto is_user = [&](Index location) {
    const Index module = profile.locations[location].module;
    return module == kNoIndex || profile.modules[module].kind != ProfileModule::Kind::kKernel;
  };
  const auto user_frames = std::count_if(stack.begin(), stack.end(), is_user);
  if (user_frames == 0) return kMissing;  // kernel frames come first: the last one is the user's
  if (starts_thread(profile.locations[stack.back()])) return kComplete;
  return static_cast<std::size_t>(user_frames) >= kMostFrames ? kTooDeep : kWithoutStart;
}

std::uint64_t counter(const Ledger& ledger, const char* name) {
  const auto found = ledger.counters.find(name);
  return found == ledger.counters.end() ? 0 : found->second;
}

}  // namespace

void count_stack_ends(Profile& profile) {
  if (profile.call_graph != "fp") return;
  std::vector<const char*> ends;
  ends.reserve(profile.stacks.size());
  for (const Stack& stack : profile.stacks) ends.push_back(end_of(profile, stack));
  for (const SampleRow& row : profile.rows) {
    profile.ledger.counters[row.stack == kNoIndex ? kMissing : ends[row.stack]] += row.count;
  }
}

std::string stack_ends_text(const Profile& profile) {
  const std::uint64_t all = profile.ledger.written;
  const std::uint64_t complete = counter(profile.ledger, kComplete);
  if (profile.call_graph == "none" || (all - std::min(complete, all)) * 10 <= all) return {};
  std::string text = percent(complete, all) + " of the stacks reach the start of their thread";
  if (profile.call_graph != "fp") return text;
  const char* separator = ": ";
  for (const auto& [name, what] : {std::pair(kWithoutStart, " end at code without frame pointers"),
                                   std::pair(kTooDeep, " have more frames than the kernel follows"),
                                   std::pair(kMissing, " have no user part")}) {
    const std::uint64_t count = counter(profile.ledger, name);
    if (count == 0) continue;
    text += separator + percent(count, all) + what;
    separator = ", ";
  }
  return counter(profile.ledger, kWithoutStart) == 0 ? text
                                                     : text + " (--backend ptrace needs none)";
}

}  // namespace labelscope::cli

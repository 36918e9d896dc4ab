// Tests which stacks reached the start of their thread: those whose last function starts it.
#include "cli/record/stack_ends.h"

#include <string>
#include <vector>

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// A recording by frame pointers: module 0 is a program, 1 is the kernel.
struct Stacks {
  Stacks() {
    profile.modules.resize(2);
    profile.modules[1].kind = ProfileModule::Kind::kKernel;
  }
  void add(const std::vector<std::string>& leaf_first, Index module, std::uint32_t count,
           ls_stack_end end = LS_STACK_CHAIN_ENDED) {
    Stack stack;
    stack.end = end;
    for (const std::string& name : leaf_first) {
      stack.frames.push_back(static_cast<Index>(profile.locations.size()));
      Location location;
      location.module = module;
      if (!name.empty()) location.lines = {{name, name, "", 0}};
      profile.locations.push_back(location);
    }
    profile.stacks.push_back(stack);
    SampleRow row;
    row.stack = static_cast<Index>(profile.stacks.size() - 1);
    row.count = count;
    profile.rows.push_back(row);
    profile.ledger.written += count;
  }
  std::uint64_t operator[](const char* name) { return profile.ledger.named()[name]; }
  Profile profile;
};

}  // namespace

TEST_CASE("stack_ends: complete is what ends in the function that starts the thread") {
  Stacks stacks;
  stacks.add({"work", "main", "_start"}, 0, 10);
  stacks.add({"work", "run", "clone@@GLIBC_2.2.5"}, 0, 20);
  stacks.add({"work", "main"}, 0, 30);
  stacks.add({""}, 0, 40);
  stacks.add({"do_syscall_64"}, 1, 5, LS_STACK_MISSING);
  stacks.add(std::vector<std::string>(127, "again"), 0, 7, LS_STACK_TOO_DEEP);
  count_stack_ends(stacks.profile);
  CHECK(stacks["stacks-complete"] == 30);
  CHECK(stacks["stacks-without-start"] == 70);
  CHECK(stacks["stacks-missing"] == 5);
  CHECK(stacks["stacks-too-deep"] == 7);
  const std::string text = stack_ends_text(stacks.profile);
  for (const char* part : {"26.8% of the stacks reach the start", "62.5% end at code without",
                           "6.3% have more frames", "4.5% have no user part"}) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("stack_ends: every sample is counted once, by whatever its stack ended") {
  Stacks stacks;
  for (int end = LS_STACK_NOT_WANTED + 1; end < LS_STACK_END_COUNT; ++end) {
    stacks.add({"main", end == LS_STACK_TOO_DEEP ? "_start" : "serve"}, 0, 1U << end,
               static_cast<ls_stack_end>(end));
  }
  // Names decide only where the end itself does not show whether the stack is whole.
  stacks.add({"main", "_start"}, 0, 100, LS_STACK_NO_WAY_ON);
  count_stack_ends(stacks.profile);
  std::uint64_t sum = 0;
  for (const auto& [end, count] : stacks.profile.ledger.counters.stacks_by_end()) sum += count;
  // All ends are counted but that of the deep stack, which has reached its start.
  CHECK(stacks.profile.ledger.named().size() == LS_STACK_END_COUNT - LS_STACK_ROOT - 1);
  CHECK(sum == stacks.profile.ledger.written);
  CHECK(stacks["stacks-complete"] == (1U << LS_STACK_ROOT) + (1U << LS_STACK_TOO_DEEP));
  CHECK(stacks["stacks-incomplete"] == (1U << LS_STACK_NO_WAY_ON) + 100);
  CHECK(stacks["stacks-cut-by-max-stop"] == 1U << LS_STACK_OUT_OF_TIME);
}

TEST_CASE("stack_ends: a start in the middle is a function like any other") {
  Stacks stacks;
  stacks.add({"work", "start_thread", "odd"}, 0, 1);
  count_stack_ends(stacks.profile);
  CHECK(stacks["stacks-complete"] == 0);
}

TEST_CASE(
    "stack_ends: nothing is said where nine of ten stacks are complete, or none were asked for") {
  Stacks stacks;
  stacks.add({"main", "_start"}, 0, 9);
  stacks.add({"main"}, 0, 1);
  count_stack_ends(stacks.profile);
  CHECK(stack_ends_text(stacks.profile).empty());
  stacks.add({"main"}, 0, 1);
  CHECK_FALSE(stack_ends_text(stacks.profile).empty());
  Stacks none;
  none.add({}, 0, 9, LS_STACK_NOT_WANTED);
  count_stack_ends(none.profile);
  CHECK(none.profile.ledger.named().empty());
  CHECK(stack_ends_text(none.profile).empty());
}

TEST_CASE("stack_ends: where stacks end in what Java or PHP has made, its option is named") {
  Stacks stacks;
  stacks.profile.modules[0].kind = ProfileModule::Kind::kUnknown;
  stacks.add({"leafWork", "midWork"}, 0, 10, LS_STACK_NOT_GROWING);
  const std::string other = stack_ends_text(stacks.profile);
  CHECK(other.find("PreserveFramePointer") == std::string::npos);
  stacks.profile.modules.emplace_back().path = "/usr/lib/jvm/lib/server/libjvm.so";
  CHECK(stack_ends_text(stacks.profile).find("java -XX:+PreserveFramePointer") !=
        std::string::npos);
  stacks.profile.modules.back().path = "/usr/bin/php8.2";
  CHECK(stack_ends_text(stacks.profile).find("php -d opcache.jit=off") != std::string::npos);
  // Not where they end in the program's own files.
  stacks.profile.modules[0].kind = ProfileModule::Kind::kFile;
  CHECK(stack_ends_text(stacks.profile) == other);
}

TEST_CASE("stack_ends: it is said from which second on stacks are whole, if that took long") {
  constexpr std::uint64_t kStart = 5'000'000'000;
  constexpr std::uint64_t kTenth = 100'000'000;
  const auto text_of = [](std::uint64_t last_without, std::uint64_t end, ls_stack_end later) {
    TableTimes times;
    times.start(kStart);
    for (std::uint64_t at = 0; at < end; ++at) {
      const bool without = at <= last_without && at % 2 == 0;
      times.note(kStart + at * kTenth, without ? LS_STACK_NO_TABLE : later);
    }
    return times.text();
  };
  CHECK(text_of(126, 200, LS_STACK_ROOT) ==
        "stacks are whole from second 12.6 on: before, 64 samples came while the unwind tables of "
        "files were still being made");
  CHECK(
      text_of(126, 200, LS_STACK_NO_WAY_ON).starts_with("no stack lacks a table from second 12.6"));
  CHECK(text_of(8, 200, LS_STACK_ROOT).empty());    // it was quick
  CHECK(text_of(198, 200, LS_STACK_ROOT).empty());  // some file never gets its table
  CHECK(TableTimes().text().empty());
}

TEST_CASE("stack_ends: samples that come late do not put off the second") {
  TableTimes times;
  times.start(0);
  times.note(2'000'000'000, LS_STACK_NO_TABLE);
  for (std::uint64_t at = 0; at < 9; ++at) times.note(2'100'000'000 + at, LS_STACK_ROOT);
  times.note(1'500'000'000, LS_STACK_NO_TABLE);
  CHECK(times.text().starts_with("stacks are whole from second 2.0 on: before, 2 samples"));
}

// Tests stacks of live threads, compared with the return addresses that the target noted itself.
#include "unwind/frame.h"
#include "unwind/unwind.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "labelscope/stopped_thread.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/target_process.h"

namespace labelscope::test {
namespace {

using std::chrono::seconds;

Result<TargetProcess> spawn_chain(std::vector<std::string> arguments,
                                  const char* program = paths::kChainProgram) {
  TargetOptions options;
  options.program = program;
  options.arguments = std::move(arguments);
  return TargetProcess::spawn(options);
}

std::vector<Address> chain_of(const TargetProcess& target) {
  return target.lines().at(0).at("chain").get<std::vector<Address>>();
}

// Returns whether the stack passes through all addresses of the chain, in order.
bool passes_through(const UnwoundStack& stack, const std::vector<Address>& chain) {
  auto next = chain.begin();
  for (const std::uint64_t word : stack.frames) {
    const Address frame = frame_of(word).value;
    if (next == chain.end()) break;
    // A handler returns to an address that follows no call, so the stack has it plus one.
    if (frame == *next || frame == *next + 1) ++next;
  }
  return next == chain.end();
}

std::string text_of(const UnwoundStack& stack) {
  std::string text;
  for (Address frame : stack.frames) text += (text.empty() ? "" : " ") + std::to_string(frame);
  return text + "; cut: " + stack.cut;
}

// Unwinds, and builds all tables that this needs.
UnwoundStack unwind_whole(Unwinder& unwinder, const StoppedThread& stopped,
                          const LiveProcess& process) {
  auto registers = stopped.registers();
  REQUIRE(registers);
  for (;;) {
    UnwoundStack stack = unwinder.unwind(*registers, process.memory(), std::nullopt);
    if (!unwinder.lacks_tables()) return stack;
    CHECK(stack.end == LS_STACK_NO_TABLE);
    unwinder.make_tables(process);
  }
}

struct Unwound {
  UnwoundStack stack;
  std::vector<Address> chain;
};

Unwound unwind_chain(const std::vector<std::string>& arguments,
                     const char* program = paths::kChainProgram) {
  auto target = spawn_chain(arguments, program);
  REQUIRE(target);
  auto process = LiveProcess::open(target->pid());
  REQUIRE(process);
  auto unwinder = Unwinder::open(**process);
  REQUIRE(unwinder);
  // A target that computes may still be on its way there after it has said "ready".
  const bool computes = std::count(arguments.begin(), arguments.end(), "spin") > 0;
  const auto deadline = Unwinder::Clock::now() + seconds(computes ? 20 : 0);
  for (;;) {
    auto stopped = StoppedThread::stop(static_cast<Tid>(raw(target->pid())));
    REQUIRE(stopped);
    Unwound seen{unwind_whole(**unwinder, *stopped, **process), chain_of(*target)};
    if (passes_through(seen.stack, seen.chain) || Unwinder::Clock::now() > deadline) return seen;
  }
}

void expect_chain(const Unwound& seen) {
  INFO(text_of(seen.stack));
  REQUIRE_FALSE(seen.chain.empty());
  CHECK(passes_through(seen.stack, seen.chain));
  CHECK(seen.stack.end != LS_STACK_OUT_OF_TIME);
}

}  // namespace

TEST_CASE("unwind: a stack through program and library, without frame pointers, is whole") {
  const Unwound seen = unwind_chain({"sort"});
  expect_chain(seen);
  CHECK(seen.stack.cut.empty());
  CHECK(seen.stack.end == LS_STACK_ROOT);
  // The leaf is in libc's read(), which is not in the chain.
  CHECK(seen.stack.frames.front() != seen.chain.front());
}

TEST_CASE("unwind: a stack goes on below a signal handler") {
  for (const char* how : {"raise", "fault", "null"}) {
    INFO(how);
    const Unwound seen = unwind_chain({"sort", how});
    expect_chain(seen);
    CHECK(seen.stack.cut.empty());
  }
}

TEST_CASE("unwind: a static program of musl, whose signal return is described nowhere") {
  if (::access(paths::kChainProgramMusl, X_OK) != 0) skip_test("musl-gcc is not installed");
  for (const char* how : {"", "fault", "null"}) {
    INFO(how);
    expect_chain(unwind_chain({how, "spin"}, paths::kChainProgramMusl));
  }
}

TEST_CASE("unwind: a deep stack is cut at the bound, and says so") {
  const Unwound seen = unwind_chain({"deep"});
  CHECK(seen.stack.frames.size() == Unwinder::kMaxFrames);
  CHECK(seen.stack.cut.find("512") != std::string::npos);
  CHECK(seen.stack.end == LS_STACK_TOO_DEEP);
}

TEST_CASE("unwind: past the deadline the stack is cut and flagged") {
  auto target = spawn_chain({"sort"});
  REQUIRE(target);
  auto process = LiveProcess::open(target->pid());
  REQUIRE(process);
  auto unwinder = Unwinder::open(**process);
  REQUIRE(unwinder);
  auto stopped = StoppedThread::stop(static_cast<Tid>(raw(target->pid())));
  REQUIRE(stopped);
  auto registers = stopped->registers();
  REQUIRE(registers);
  unwind_whole(**unwinder, *stopped, **process);
  const MemorySource& memory = (*process)->memory();
  const auto late = (*unwinder)->unwind(*registers, memory, Unwinder::Clock::now());
  CHECK(late.end == LS_STACK_OUT_OF_TIME);
  CHECK_FALSE(late.cut.empty());
  CHECK(late.frames.size() <= 1);
  // The next stack is not affected.
  const auto whole = (*unwinder)->unwind(*registers, memory, Unwinder::Clock::now() + seconds(60));
  CHECK(whole.end == LS_STACK_ROOT);
  CHECK(passes_through(whole, chain_of(*target)));
}

TEST_CASE("unwind: an unwinder serves a child of its process, and files are read once") {
  auto first = spawn_chain({"sort"});
  auto second = spawn_chain({"sort"});
  REQUIRE(first);
  REQUIRE(second);
  auto one = LiveProcess::open(first->pid());
  auto other = LiveProcess::open(second->pid());
  REQUIRE(one);
  REQUIRE(other);
  int built = 0;
  const BuildUnwindTable build = [&](UniqueFd file) {
    ++built;
    return build_unwind_table(std::move(file));
  };
  const auto expect_whole = [&](Unwinder& unwinder, const TargetProcess& target,
                                const LiveProcess& process) {
    auto stopped = StoppedThread::stop(static_cast<Tid>(raw(target.pid())));
    REQUIRE(stopped);
    const auto stack = unwind_whole(unwinder, *stopped, process);
    INFO(text_of(stack));
    CHECK(passes_through(stack, chain_of(target)));
  };
  auto unwinder = Unwinder::open(**one, nullptr, build);
  REQUIRE(unwinder);
  CHECK(built == 0);
  expect_whole(**unwinder, *first, **one);
  // The tables are of the program, its library and libc; no function of ld.so is on the stack.
  CHECK(built == 3);
  auto sibling = Unwinder::open(**other, unwinder->get(), build);
  REQUIRE(sibling);
  unwinder->reset();  // shared tables live on
  REQUIRE((*sibling)->refresh(**other));
  expect_whole(**sibling, *second, **other);
  CHECK(built == 3);
}

TEST_CASE("unwind: where no table can be had, the stack ends and nothing is asked for again") {
  auto target = spawn_chain({"sort"});
  REQUIRE(target);
  auto process = LiveProcess::open(target->pid());
  REQUIRE(process);
  int asked = 0;
  auto unwinder = Unwinder::open(**process, nullptr, [&](UniqueFd) -> Result<UnwindTable> {
    ++asked;
    return Error{ErrorCode::kMalformed, "no"};
  });
  REQUIRE(unwinder);
  auto stopped = StoppedThread::stop(static_cast<Tid>(raw(target->pid())));
  REQUIRE(stopped);
  const auto stack = unwind_whole(**unwinder, *stopped, **process);
  CHECK(stack.frames.size() == 1);
  CHECK(stack.end == LS_STACK_NO_TABLE);
  CHECK(asked == 2);  // libc's file, then libc's memory
}

}  // namespace labelscope::test

// Compares states that are computed from instructions alone with what compilers and people wrote
// down: functions of aarch64 that have call frame information are followed as if they had none.
#include "unwind_table/frame_states.h"

#include <fcntl.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "support/catch.h"
#include "unwind_table/build_unwind_table.h"
#include "unwind_table/call_frames.h"

using namespace labelscope;

namespace {

constexpr const char* kFolder = "/usr/aarch64-linux-gnu/lib";
constexpr const char* kFiles[] = {"libc.so.6",      "ld-linux-aarch64.so.1", "libm.so.6",
                                  "libgcc_s.so.1",  "libstdc++.so.6",        "libgomp.so.1",
                                  "libresolv.so.2", "libatomic.so.1",        "libitm.so.1"};

bool has_done_nothing(const ls_unwind_rule& rule) {
  return rule.cfa == LS_CFA_SP && rule.cfa_offset == 0 && rule.ra == LS_RA_REGISTER &&
         rule.ra_offset == 30 && rule.fp == LS_FP_SAME;
}

// Returns whether x29 leads to the caller's x29 and, behind it, the return address. Where the CFA
// is found by sp, the rule does not say where x29 points.
bool has_frame_record(const ls_unwind_rule& rule) {
  const bool pair =
      rule.ra == LS_RA_AT_CFA && rule.fp == LS_FP_AT_CFA && rule.ra_offset == rule.fp_offset + 8;
  return pair && (rule.cfa != LS_CFA_FP || rule.cfa_offset == -rule.fp_offset);
}

struct Counts {
  std::map<FrameState, std::size_t> states;
  std::size_t functions = 0;
  std::size_t hidden = 0;  // by jumps through registers
};

void compare_function(const ElfImage& file, const UnwindTable& table, DescribedFunction function,
                      Counts& counts) {
  const ls_unwind_rule* first = table.rule_at(function.start);
  // This is a part of another function, which jumps here.
  if (first == nullptr || !has_done_nothing(*first)) return;
  std::vector<std::uint32_t> words((function.end - function.start) / 4);
  REQUIRE(file.read(function.start, std::as_writable_bytes(std::span(words))));
  const auto states = frame_states(words, std::array<std::size_t, 1>{});
  ++counts.functions;
  counts.hidden += states.empty();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const ls_unwind_rule* rule = table.rule_at(function.start + 4 * i);
    REQUIRE(rule != nullptr);
    if (rule->cfa == LS_CFA_UNSUPPORTED) continue;
    ++counts.states[states[i]];
    INFO(std::hex << function.start + 4 * i << " in the function at " << function.start);
    if (states[i] == FrameState::kNothingDone || states[i] == FrameState::kReturning) {
      REQUIRE(has_done_nothing(*rule));
    } else if (states[i] == FrameState::kFramePointer || states[i] == FrameState::kSettingFrame) {
      REQUIRE(has_frame_record(*rule));
    }
  }
}

std::vector<FrameState> follow(const std::vector<std::uint32_t>& words) {
  return frame_states(words, std::array<std::size_t, 1>{});
}

}  // namespace

TEST_CASE("frame states: what is claimed of a function is what its call frame information says") {
  std::size_t files = 0;
  Counts counts;
  for (const char* name : kFiles) {
    const auto open_file = [&] {
      return UniqueFd(::open((std::string(kFolder) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    };
    if (!open_file().valid()) continue;
    INFO(name);
    ++files;
    auto table = build_unwind_table(open_file());
    auto file = ElfImage::open(open_file());
    auto image = CallFrameImage::from_file(open_file());
    REQUIRE(table);
    REQUIRE(file);
    REQUIRE(image);
    auto frames = CallFrames::open(*std::move(image));
    REQUIRE(frames);
    for (const DescribedFunction& function : frames->functions()) {
      compare_function(*file, *table, function, counts);
    }
  }
  if (files == 0) skip_test("the libraries of libc6-arm64-cross are not on this machine");
  std::printf("FACT: frame_states/functions %zu, %zu of them hidden\n", counts.functions,
              counts.hidden);
  // A table without rules is never wrong, so this counts how many states are found.
  std::size_t all = 0;
  for (const auto& [state, count] : counts.states) all += count;
  CHECK(counts.functions > 5000);
  CHECK(counts.hidden * 20 < counts.functions);
  CHECK(counts.states[FrameState::kNothingDone] * 20 > all);
  CHECK(counts.states[FrameState::kFramePointer] * 2 > all);
  CHECK(counts.states[FrameState::kUnknown] * 20 < all);
}

TEST_CASE("frame states: a leaf has done nothing, up to its return") {
  // Code: cbz x0, +8; add x1, x0, #1; ret
  const auto states = follow({0xb4000040, 0x91000401, 0xd65f03c0});
  CHECK(states == std::vector(3, FrameState::kNothingDone));
}

TEST_CASE("frame states: from the setting of the frame pointer up to its loss it is believed") {
  // Code: stp x29, x30, [sp, #-16]!; mov x29, sp; bl +0x1000; sub sp, sp, #32; ldp x29, x30, [sp],
  // #16; autiasp; ret
  const auto states = follow({0xa9bf7bfd, 0x910003fd, 0x94000400, 0xd10083ff, 0xa8c17bfd,  //
                              0xd50323bf, 0xd65f03c0});
  using enum FrameState;
  CHECK(states == std::vector{kNothingDone, kSettingFrame, kFramePointer, kFramePointer,
                              kFramePointer, kReturning, kReturning});
}

TEST_CASE("frame states: behind a call of its own, x30 is not the way back") {
  // Code: bl +0x1000; nop; b +0x1000 (to another function)
  const auto states = follow({0x94000400, 0xd503201f, 0x14000400});
  using enum FrameState;
  CHECK(states == std::vector{kNothingDone, kUnknown, kUnknown});
}

TEST_CASE("frame states: where two ways meet with different frames nothing is claimed") {
  // Code: cbz x0, +12; sub sp, sp, #16; b +8; nop; nop; ret
  const auto states =
      follow({0xb4000060, 0xd10043ff, 0x14000002, 0xd503201f, 0xd503201f, 0xd65f03c0});
  using enum FrameState;
  CHECK(states ==
        std::vector{kNothingDone, kNothingDone, kUnknown, kNothingDone, kUnknown, kReturning});
}

TEST_CASE("frame states: what no start leads to is not judged, and a call makes a start") {
  // Code: bl +12 (its last instruction); ret; udf; ret
  const std::vector<std::uint32_t> code{0x94000003, 0xd65f03c0, 0x00000000, 0xd65f03c0};
  using enum FrameState;
  CHECK(frame_states(code, std::array<std::size_t, 2>{0, 1}) ==
        std::vector{kNothingDone, kNothingDone, kNotReached, kNothingDone});
}

TEST_CASE("frame states: a jump through a register hides where code with a frame goes on") {
  CHECK(follow({0xd10043ff, 0xd61f0200}).empty());  // sub sp, sp, #16; br x16
  CHECK(follow({0xd61f0200}) == std::vector{FrameState::kNothingDone});
}

TEST_CASE("frame states: starts and jumps outside of the code are harmless") {
  CHECK(frame_states({}, std::array<std::size_t, 1>{7}).empty());
  // Code: b -4; b.al to the far end of its reach
  CHECK(follow({0x17ffffff, 0x547fffee}).size() == 2);
}

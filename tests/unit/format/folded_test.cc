#include <map>
#include <sstream>

#include "cli/format/format.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

std::string folded(const Profile& profile, const RenderOptions& options = {}) {
  std::ostringstream out;
  REQUIRE(render_folded(weighed(profile, 1), options, out).has_value());
  return out.str();
}

// Parses as flame graph tools do: the number stands behind the last space, frames between ';'.
std::map<std::vector<std::string>, std::uint64_t> parse_folded(const std::string& text) {
  std::map<std::vector<std::string>, std::uint64_t> stacks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.rfind(' ');
    REQUIRE(space != std::string::npos);
    std::vector<std::string> frames;
    std::istringstream parts(line.substr(0, space));
    for (std::string frame; std::getline(parts, frame, ';');) frames.push_back(frame);
    REQUIRE(stacks.emplace(frames, std::stoull(line.substr(space + 1))).second);
  }
  return stacks;
}

}  // namespace

TEST_CASE("folded: root first behind the process, equal stacks added up") {
  SmallProfile small;
  small.labelled({{"a", "1"}}).count = 2;
  small.labelled({{"a", "2"}}).count = 3;
  // This is another address of the same function, on another thread.
  const Index elsewhere = small.location(small.main_module, 0x401010, {"work"});
  small.sample(small.thread(100, 102, "other"), small.stack({elsewhere, 1}), small.no_labels,
               LS_UNLABELLED);
  CHECK(folded(small.profile) == "shop;main;work 6\n");
}

TEST_CASE("folded: a stack that is the beginning of another keeps its own count") {
  SmallProfile small;
  small.labelled({});
  small.sample(small.shop_thread, small.stack({1}), small.no_labels, LS_UNLABELLED).count = 4;
  CHECK(folded(small.profile) == "shop;main 4\nshop;main;work 1\n");
}

TEST_CASE("folded: groups come before the process, the first key outermost") {
  SmallProfile small;
  small.labelled({{"route", "/a"}, {"tenant", "t 1;"}});
  small.labelled({{"route", ""}});
  small.labelled({});
  CHECK(folded(small.profile, {.group_by = {"tenant", "route"}}) ==
        "tenant=<none>;route=<empty>;shop;main;work 1\n"
        "tenant=<none>;route=<none>;shop;main;work 1\n"
        "tenant=t 1\\x3b;route=/a;shop;main;work 1\n");
}

TEST_CASE("folded: unreadable samples stand under a frame that says so") {
  SmallProfile small;
  small.labelled({});
  small.sample(small.shop_thread, small.work_stack, small.no_labels, LS_UNREADABLE_BAD_DTV);
  CHECK(folded(small.profile) ==
        "[labels unreadable: bad-dtv];shop;main;work 1\n"
        "shop;main;work 1\n");
  CHECK(folded(small.profile, {.group_by = {"a"}}) ==
        "a=<none>;shop;main;work 1\n"
        "a=<unreadable>;[labels unreadable: bad-dtv];shop;main;work 1\n");
}

TEST_CASE(
    "folded: kernel frames are marked, inlined ones follow their caller, unnamed ones have an "
    "address") {
  SmallProfile small;
  const Index kernel =
      small.module(ProfileModule::Kind::kKernel, "[kernel]", 0xffffffff80000000, UINT64_MAX);
  const Index library =
      small.module(ProfileModule::Kind::kFile, "/lib/libfoo.so", 0x7f0000001000, 0x7f0000009000);
  small.profile.modules[library].load_bias = 0x7f0000000000;
  small.sample(small.shop_thread,
               small.stack({small.location(kernel, 0xffffffff80000010, {}),
                            small.location(kernel, 0xffffffff80000020, {"vfs_read"}),
                            small.location(library, 0x7f0000001234, {}),
                            small.location(small.main_module, 0x403000, {"inner", "outer"}),
                            small.location(kNoIndex, 0x10, {})}),
               small.no_labels, LS_UNLABELLED);
  CHECK(folded(small.profile) ==
        "shop;[unknown+0x10];outer;inner;[libfoo.so+0x1234];vfs_read_[k];"
        "[kernel+0xffffffff80000010]_[k] 1\n");
}

TEST_CASE("folded: without a stack or a known process a line still says what it is") {
  ProfileMaker maker;
  maker.sample(kNoIndex, kNoIndex, kNoIndex, LS_UNLABELLED);
  maker.sample(maker.thread(7, 8, "lone"), maker.stack({}), kNoIndex, LS_UNLABELLED);
  maker.sample(maker.thread(7, 9, ""), kNoIndex, kNoIndex, LS_UNLABELLED);
  CHECK(folded(maker.profile) ==
        "[unknown process];[no stack] 1\nlone;[no stack] 1\npid 7;[no stack] 1\n");
}

TEST_CASE("folded: hostile names come back as frames, one line a stack") {
  SmallProfile small;
  const std::vector<std::string> hostile = {"a;b",      "a\nb 99",   " edge ", "12",
                                            "\xff\xfe", "\x1b[2J",   "x y 7",  ";",
                                            "\r\n\t;",  "operator()"};
  for (const std::string& name : hostile) {
    small.profile.processes[0].comm = "sh;op\n1";
    const Index location = small.location(small.main_module, 0x405000, {name});
    small
        .sample(small.shop_thread, small.stack({location, 1}), small.labels({{"k", name}}),
                LS_LABELLED)
        .count = 5;
  }
  const auto stacks = parse_folded(folded(small.profile, {.group_by = {"k"}}));
  CHECK(stacks.size() == hostile.size());
  for (const auto& [frames, count] : stacks) {
    CHECK(count == 5);
    REQUIRE(frames.size() == 4);
    CHECK(frames[0].starts_with("k="));
    CHECK(frames[1] == "sh\\x3bop\\x0a1");
    CHECK(frames[2] == "main");
    for (const std::string& frame : frames) {
      for (char c : frame) CHECK(static_cast<unsigned char>(c) >= 0x20);
    }
  }
}

TEST_CASE("folded: the sum of all lines is the number of samples") {
  SmallProfile small;
  std::uint64_t samples = 0;
  for (unsigned i = 0; i < 300; ++i) {
    SampleRow& row = small.labelled({{"k", std::to_string(i % 7)}});
    row.outcome = static_cast<std::uint8_t>(i % LS_OUTCOME_COUNT);
    row.count = i + 1;
    samples += row.count;
  }
  for (const RenderOptions& options : {RenderOptions{}, RenderOptions{.group_by = {"k"}}}) {
    std::uint64_t sum = 0;
    for (const auto& [frames, count] : parse_folded(folded(small.profile, options))) sum += count;
    CHECK(sum == samples);
  }
}

TEST_CASE("folded: a stack of a million frames does not end the program") {
  SmallProfile small;
  small.sample(small.shop_thread, small.stack(std::vector<Index>(1'000'000, 0)), small.no_labels,
               LS_UNLABELLED);
  CHECK(folded(small.profile).size() > 5'000'000);
}

TEST_CASE("folded: a group whose publishers disagree shows each value with its source") {
  SmallProfile small;
  small.profile.processes[0].publishers.push_back("/opt/shop/plugins/other.so");
  small.sample(small.shop_thread, small.work_stack,
               small.label_set(LabelSet{{"tenant", "a", 0}, {"tenant", "b", 1}}), LS_LABELLED,
               LS_KEY_CONFLICT);
  CHECK(folded(small.profile, {.group_by = {"tenant"}})
            .starts_with("tenant=a@libshop.so|b@other.so;shop;"));
}

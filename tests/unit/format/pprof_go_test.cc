// Tests pprof files as `go tool pprof` shows them.
#include <sstream>

#include "cli/format/format.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"
#include "unit/format/run_program.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

SmallProfile three_samples() {
  SmallProfile small;
  small.labelled({{"route", "/a"}, {"user", ""}}).count = 3;
  small.labelled({{"route", "/b,c"}}).count = 1;
  small.sample(small.shop_thread, small.work_stack, small.no_labels, LS_UNREADABLE_NOT_RESIDENT);
  small.profile.command_line = "labelscope record -p 100";
  return small;
}

// Returns what `go tool pprof OPTIONS FILE` prints. Skips the test without go or its pprof.
std::string go_pprof(const Profile& profile, const RenderOptions& render,
                     const std::vector<std::string>& options) {
  const std::string go = require_program("go");
  std::ostringstream rendered;
  REQUIRE(render_pprof(weighed(profile, profile.period_ns), render, rendered).has_value());
  const TempDir folder;
  // Symbolization is off, because the mappings name files that do not exist.
  std::vector<std::string> command = {
      "env",   "HOME=" + folder.path(), "PPROF_TMPDIR=" + folder.path(), go, "tool",
      "pprof", "-symbolize=none"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(folder.write("profile.pb.gz", rendered.str()));
  const ProgramResult result = run_program(command, "");
  if (result.err.find("no such tool") != std::string::npos) skip_test("go has no pprof");
  INFO(result.err);
  REQUIRE(result.exit_status == 0);
  return result.out;
}

void check_has(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    CAPTURE(part, text);
    CHECK(text.find(part) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("pprof_go: -raw shows values, labels, locations and mappings") {
  const SmallProfile small = three_samples();
  const std::string raw = go_pprof(small.profile, {}, {"-raw"});
  check_has(raw,
            {"PeriodType: cpu nanoseconds", "Period: 10000000", "samples/count cpu/nanoseconds",
             "3   30000000: 1 2", "route:[/a]", "user:[<empty>]", "route:[/b,c]", "pid:[100]",
             "thread_id:[101]", "labelscope.outcome:[not-resident]", "work", "0x401000 M=1",
             "1: 0x400000/0x500000/0x0 /opt/shop/shop"});
}

TEST_CASE("pprof_go: the default sample type is the time") {
  const SmallProfile small = three_samples();
  const std::string top = go_pprof(small.profile, {}, {"-top"});
  check_has(top, {"Type: cpu", "50ms", "work"});
}

TEST_CASE("pprof_go: -tags counts the samples of each value") {
  const SmallProfile small = three_samples();
  const std::string tags = go_pprof(small.profile, {}, {"-sample_index=samples", "-tags"});
  check_has(tags, {"route: Total 4", "/a", "/b,c", "<empty>", "labelscope.outcome: Total 1"});
}

TEST_CASE("pprof_go: -tagroot splits the stacks by value") {
  const SmallProfile small = three_samples();
  const std::string traces =
      go_pprof(small.profile, {}, {"-sample_index=samples", "-tagroot=route", "-traces"});
  check_has(traces, {"/a", "/b,c"});
}

TEST_CASE("pprof_go: groups are frames that -top can rank") {
  const SmallProfile small = three_samples();
  const std::string top =
      go_pprof(small.profile, {.group_by = {"route"}}, {"-sample_index=samples", "-cum", "-top"});
  check_has(top, {"route=/a", "route=/b,c", "route=<unreadable>"});
}

TEST_CASE("pprof_go: comments are shown") {
  const SmallProfile small = three_samples();
  check_has(go_pprof(small.profile, {}, {"-comments"}),
            {"labelscope: 1.2.3", "command: labelscope record -p 100", "ledger: taken"});
}

TEST_CASE("pprof_go: bytes that are not text, process 0 and addresses of the kernel are accepted") {
  ProfileMaker maker;
  maker.process(0, "\xff");
  const Index kernel =
      maker.module(ProfileModule::Kind::kKernel, "[kernel]", 0xffffffff80000000, UINT64_MAX);
  const Index stack = maker.stack({maker.location(kernel, 0xffffffff81234567, {})});
  maker.sample(maker.thread(0, 0, "x"), stack, maker.labels({{"\xfe", "\xfd"}}), LS_LABELLED);
  check_has(go_pprof(maker.profile, {}, {"-raw"}),
            {"0xffffffff81234567 M=1", "[kernel]", "\\xfe:[\\xfd]", "pid:[0"});
}

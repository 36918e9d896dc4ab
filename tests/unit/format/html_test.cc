// Tests the page, read again by a program that knows only the format that page_columns.cc
// describes.
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "cli/format/format.h"
#include "support/catch.h"
#include "support/paths.h"
#include "unit/format/profile_maker.h"
#include "unit/format/run_program.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;
using namespace std::string_literals;
using nlohmann::json;

namespace {

std::string page_of(const Profile& profile, const RenderOptions& options = {}) {
  std::ostringstream out;
  REQUIRE(render_html(profile, options, out).has_value());
  return out.str();
}

json read_again(const std::string& page) {
  const std::string node = require_program("node");
  const TempDir folder;
  const ProgramResult result = run_program(
      {node, std::string(paths::kPageTests) + "/read_page.mjs", folder.write("page.html", page)},
      "");
  INFO(result.err);
  REQUIRE(result.exit_status == 0);
  return json::parse(result.out);
}

std::vector<std::string> names_of(const json& sample) {
  std::vector<std::string> names;
  for (const json& frame : sample.at("stack")) names.push_back(frame.at("name"));
  return names;
}

}  // namespace

TEST_CASE("html: every sample is in the page, with stack, labels, thread, time and weight") {
  SmallProfile small;
  small.labelled({{"tenant", "acme"}, {"empty", ""}}).weight_ns = (1ULL << 53) - 1;
  small.labelled({}).weight_ns = 5;
  small.profile.rows.back().time_ns = small.profile.start_monotonic_ns + 1'234'000'000;
  SampleRow& unreadable =
      small.sample(small.shop_thread, small.work_stack, small.no_labels, LS_UNREADABLE_TORN);
  unreadable.weight_ns = 7;
  unreadable.count = 3;
  unreadable.time_ns = 0;
  SampleRow& bare = small.sample(kNoIndex, kNoIndex, kNoIndex, LS_UNLABELLED);
  bare.weight_ns = 9;
  bare.time_ns = 0;
  const json page = read_again(page_of(small.profile));

  REQUIRE(page.at("samples").size() == 4);
  const json& first = page.at("samples")[0];
  CHECK(names_of(first) == std::vector<std::string>{"main", "work"});
  CHECK(first.at("stack")[0].at("module") == "/opt/shop/shop");
  CHECK(first.at("labels") == json{{"tenant", "acme"}, {"empty", ""}});
  CHECK(first.at("outcome") == "labelled");
  CHECK(first.at("weight").get<std::uint64_t>() == (1ULL << 53) - 1);
  CHECK(first.at("tick") == 0);
  CHECK(first.at("pid") == 100);
  CHECK(first.at("tid") == 101);
  CHECK(first.at("thread_name") == "worker");
  CHECK(first.at("comm") == "shop");
  CHECK(page.at("samples")[1].at("tick") == 1234);
  CHECK(page.at("samples")[1].at("labels") == json::object());
  const auto with_weight = [&](int weight) {
    for (const json& sample : page.at("samples")) {
      if (sample.at("weight") == weight) return sample;
    }
    return json();
  };
  CHECK(with_weight(7).at("outcome") == "torn");
  CHECK(with_weight(7).at("count") == 3);
  CHECK(with_weight(7).at("tick") == nullptr);
  CHECK(names_of(with_weight(9)) == std::vector<std::string>{"[no stack]"});
  CHECK(with_weight(9).at("pid") == 0);
}

TEST_CASE("html: the script is the modules of the tree, and the policy allows it alone") {
  SmallProfile small;
  small.labelled({{"a", "</script><script>alert(1)</script>"}});
  small.profile.command_line = "</script><script>alert(1)</script><!--";
  const json page = read_again(page_of(small.profile));
  CHECK(page.at("allowed") == true);
  CHECK(page.at("same_script") == true);
  CHECK(page.at("elements") == 3);  // facts, profile, script
  CHECK(page.at("facts").at("command") == small.profile.command_line);
  CHECK(page.at("samples")[0].at("labels").at("a") == "</script><script>alert(1)</script>");
}

TEST_CASE("html: bytes that are no text and marks that turn it become visible escapes") {
  SmallProfile small;
  small.labelled({{"k\xff",
                   "a\x00"
                   "b\x1b[31m"s},
                  {"turned", "\xe2\x80\xaegnp.exe"}});
  const json page = read_again(page_of(small.profile));
  CHECK(page.at("samples")[0].at("labels") ==
        json{{"k\\xff", "a\\x00b\\x1b[31m"}, {"turned", "\\u{202e}gnp.exe"}});
}

TEST_CASE("html: kernel frames, inlined ones and those without a name") {
  SmallProfile small;
  const Index kernel = small.module(ProfileModule::Kind::kKernel, "[kernel]", 0xffff000, 0xfffffff);
  const Index inlined = small.location(small.main_module, 0x403000, {"inner", "outer"});
  const Index nameless = small.location(small.main_module, 0x404000, {});
  small.sample(small.shop_thread,
               small.stack({small.location(kernel, 0xffff100, {"sys_read"}), nameless, inlined}),
               small.no_labels, LS_UNLABELLED);
  const json page = read_again(page_of(weighed(small.profile, 1)));
  const json& sample = page.at("samples")[0];
  CHECK(names_of(sample) ==
        std::vector<std::string>{"outer", "inner", "[shop+0x404000]", "sys_read"});
  CHECK(sample.at("stack")[0].at("kind") == 0);
  CHECK(sample.at("stack")[2].at("kind") == 2);
  CHECK(sample.at("stack")[3].at("kind") == 1);
}

TEST_CASE("html: where publishers disagree, the value names both") {
  SmallProfile small;
  small.profile.processes[0].publishers = {"/a/shop", "/b/libplugin.so"};
  small.sample(small.shop_thread, small.work_stack, small.label_set({{"k", "x", 0}, {"k", "y", 1}}),
               LS_LABELLED, LS_KEY_CONFLICT);
  const json page = read_again(page_of(weighed(small.profile, 1)));
  CHECK(page.at("samples")[0].at("labels") == json{{"k", "x@shop|y@libplugin.so"}});
}

TEST_CASE("html: the head has the ledger, the groups and the stacks") {
  SmallProfile small;
  small.labelled({{"tenant", "acme"}});
  small.profile.ledger.taken = small.profile.ledger.written = 1;
  small.profile.ledger.outcomes[LS_LABELLED] = 1;
  small.profile.ledger.counters[stack_counter(LS_STACK_ROOT)] = 3;
  small.profile.ledger.counters.set("stacks-of-a-later-version", 1);
  small.profile.ledger.counters.set("other", 2);
  const json facts = read_again(page_of(small.profile, {.group_by = {"tenant"}})).at("facts");
  CHECK(facts.at("ledger_line").get<std::string>().find("1 labelled") != std::string::npos);
  CHECK(facts.at("stacks").at("all") == 4);
  CHECK(facts.at("stacks").at("complete") == 3);
  CHECK(facts.at("group_by") == json{"tenant"});
  CHECK(facts.at("has_stacks") == true);
  // Of another tool's file only the name is known.
  const RenderOptions from_file{.group_by = {}, .source = "a.pprof"};
  CHECK(read_again(page_of(small.profile, from_file)).at("facts").at("source") == "");
  Profile of_another_tool = small.profile;
  of_another_tool.tool_version.clear();
  CHECK(read_again(page_of(of_another_tool, from_file)).at("facts").at("source") == "a.pprof");
}

TEST_CASE("html: a profile without samples, and one whose tables contradict each other") {
  CHECK(read_again(page_of(SmallProfile().profile)).at("samples").empty());
  SmallProfile broken;
  broken.labelled({}).stack = 77;
  std::ostringstream out;
  CHECK(render_html(broken.profile, {}, out).error().code == ErrorCode::kMalformed);
}

// The profile has 1,000,000 samples, 100,000 stacks of 30 frames, and 10,000 label sets of five of
// eight keys. Repetitions happen only by chance.
TEST_CASE("html: a million samples are a page of less than 15 MB, in seconds") {
  constexpr unsigned kFunctions = 20'000;
  constexpr unsigned kStacks = 100'000;
  constexpr unsigned kSets = 10'000;
  constexpr unsigned kSamples = 1'000'000;
  std::mt19937_64 random(1);
  const auto below = [&](double most) {  // small numbers more often than large ones
    const double share = std::uniform_real_distribution<double>(0, 1)(random);
    return static_cast<unsigned>(std::min(most - 1, std::exp(share * std::log(most + 1)) - 1));
  };
  ProfileMaker maker;
  maker.process(100, "shop");
  for (int i = 0; i < 64; ++i) maker.thread(100, 101 + i, "worker-" + std::to_string(i));
  const Index module = maker.module(ProfileModule::Kind::kFile, "/opt/shop/shop", 0, 1UL << 30);
  for (unsigned i = 0; i < kFunctions; ++i) {
    maker.location(module, i,
                   {"ns" + std::to_string(i % 97) + "::Class" + std::to_string(i % 1234) +
                    "::method_" + std::to_string(i) + "(char const*, unsigned long)"});
  }
  for (unsigned i = 0; i < kStacks; ++i) {
    std::vector<Index> leaf_first(30);
    for (unsigned depth = 0; depth < 30; ++depth) {
      leaf_first[29 - depth] = depth < 22
                                   ? (depth * 131 + below(depth % 4 == 1 ? 3 : 1) * 17) % kFunctions
                                   : below(kFunctions);
    }
    maker.stack(std::move(leaf_first));
  }
  constexpr unsigned kValues[] = {3, 12, 40, 200, 1000, 6200, 10000, 5};
  for (unsigned i = 0; i < kSets; ++i) {
    LabelSet set;
    for (unsigned key = 0; key < 8; ++key) {
      if (key != 6 && below(100) % 8 >= 5) continue;
      const unsigned value = key == 6 ? i : below(kValues[key]);
      set.push_back({"key-" + std::to_string(key), "value-" + std::to_string(value), 0});
    }
    maker.label_set(std::move(set));
  }
  for (unsigned i = 0; i < kSamples; ++i) {
    SampleRow& row = maker.sample(below(64), below(kStacks), below(kSets), LS_LABELLED);
    row.time_ns = maker.profile.start_monotonic_ns + i * 155'000ULL;
    row.weight_ns =
        1 + static_cast<std::uint64_t>(std::exponential_distribution<double>(1e-7)(random));
  }
  maker.profile.duration_ns = kSamples * 155'000ULL;

  rusage before{};
  getrusage(RUSAGE_THREAD, &before);
  const std::string page = page_of(maker.profile);
  rusage after{};
  getrusage(RUSAGE_THREAD, &after);
  const double seconds =
      static_cast<double>(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
      1e-6 * static_cast<double>(after.ru_utime.tv_usec - before.ru_utime.tv_usec);
  INFO("seconds " << seconds << ", KiB at most " << after.ru_maxrss << ", bytes " << page.size());
  CHECK(page.size() < 15'000'000);
  CHECK(seconds < 5);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(after.ru_maxrss < 1'000'000);
#endif
  WARN("a million samples: " << seconds << " s, " << after.ru_maxrss / 1024 << " MiB, "
                             << page.size() / 1000 << " kB");
}

// Tests pprof files as protoc decodes them.
#include <algorithm>
#include <sstream>

#include "support/catch.h"
#include "unit/format/pprof_decoded.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

TEST_CASE("pprof: sample types, period and times are those of the recording") {
  SmallProfile small;
  small.labelled({}).count = 7;
  const std::string mode = GENERATE("cpu", "wall");
  small.profile.values = {*parse_value_type(mode)};
  const DecodedPprof pprof = decode_rendered(small.profile);
  const auto types = pprof.root.all("sample_type");
  REQUIRE(types.size() == 2);
  CHECK(pprof.string_of(*types[0], "type") == "samples");
  CHECK(pprof.string_of(*types[0], "unit") == "count");
  CHECK(pprof.string_of(*types[1], "type") == mode);
  CHECK(pprof.string_of(*types[1], "unit") == "nanoseconds");
  CHECK(pprof.string_of(pprof.root, "default_sample_type") == mode);
  const auto period_type = pprof.root.all("period_type");
  REQUIRE(period_type.size() == 1);
  CHECK(pprof.string_of(*period_type[0], "type") == mode);
  CHECK(pprof.string_of(*period_type[0], "unit") == "nanoseconds");
  CHECK(pprof.root.number("period") == small.profile.period_ns);
  CHECK(pprof.root.number("time_nanos") == small.profile.start_unix_ns);
  CHECK(pprof.root.number("duration_nanos") == small.profile.duration_ns);
  const std::int64_t time = 7 * static_cast<std::int64_t>(small.profile.period_ns);
  CHECK(pprof.only().values == std::vector<std::int64_t>{7, time});
}

TEST_CASE("pprof: numbers beyond a signed 64-bit integer are cut, not negative") {
  SmallProfile small;
  small.labelled({}).weight_ns = UINT64_MAX;
  small.profile.duration_ns = UINT64_MAX;
  const DecodedPprof pprof = decode_rendered(small.profile);
  CHECK(pprof.only().values[1] == INT64_MAX);
  CHECK(pprof.root.number("duration_nanos") == INT64_MAX);
}

TEST_CASE("pprof: frames are leaf first, inlined functions are lines of one location") {
  SmallProfile small;
  const Index inlined = small.location(small.main_module, 0x403000, {"inner", "middle", "outer"});
  const Index bare = small.location(small.main_module, 0x404ab0, {});
  Location& first = small.profile.locations[0];
  first.lines[0].file = "work.cc";
  first.lines[0].line = 42;
  first.lines[0].system_name = "_Z4workv";
  small.sample(small.shop_thread, small.stack({0, inlined, bare, 1}), small.no_labels,
               LS_UNLABELLED);
  const DecodedPprof pprof = decode_rendered(small.profile);
  CHECK(pprof.only().stack() == "work|inner|middle|outer|0x404ab0|main");
  const TextNode& line = *pprof.root.all("location")[0]->all("line")[0];
  CHECK(line.number("line") == 42);
  bool found = false;
  for (const TextNode* function : pprof.root.all("function")) {
    if (pprof.string_of(*function, "name") != "work") continue;
    found = true;
    CHECK(pprof.string_of(*function, "system_name") == "_Z4workv");
    CHECK(pprof.string_of(*function, "filename") == "work.cc");
    CHECK(function->number("id") == line.number("function_id"));
  }
  CHECK(found);
}

TEST_CASE("pprof: the program that was recorded is the first mapping, whatever was mapped before") {
  ProfileMaker maker;
  maker.module(ProfileModule::Kind::kFile, "/bin/starter", 0x1000, 0x2000);
  maker.profile.program = maker.module(ProfileModule::Kind::kFile, "/bin/program", 0x3000, 0x4000);
  maker.sample(kNoIndex, maker.stack({}), kNoIndex, LS_UNLABELLED);
  const DecodedPprof pprof = decode_rendered(maker.profile);
  const auto mappings = pprof.root.all("mapping");
  REQUIRE(mappings.size() == 2);
  CHECK(pprof.string_of(*mappings[0], "filename") == "/bin/program");
  CHECK(pprof.string_of(*mappings[1], "filename") == "/bin/starter");
}

TEST_CASE("pprof: mappings show where code came from and what is known of it, files come first") {
  ProfileMaker maker;
  const Index kernel =
      maker.module(ProfileModule::Kind::kKernel, "[kernel]", 0xffffffff80000000, 0);
  const Index library =
      maker.module(ProfileModule::Kind::kFile, "/lib/libfoo.so", 0x7f0000001000, 0x7f0000009000);
  maker.profile.modules[library].build_id = "abcdef0123";
  maker.profile.modules[library].file_offset = 0x1000;
  maker.profile.modules[kernel].end = UINT64_MAX;
  const Index named = maker.location(library, 0x7f0000002000, {"foo"});
  maker.profile.locations[named].lines[0].file = "foo.c";
  const Index bare = maker.location(kernel, 0xffffffff80001000, {});
  maker.sample(kNoIndex, maker.stack({bare, named}), kNoIndex, LS_UNLABELLED);
  const DecodedPprof pprof = decode_rendered(maker.profile);
  const auto mappings = pprof.root.all("mapping");
  REQUIRE(mappings.size() == 2);
  const TextNode& file = *mappings[0];
  CHECK(pprof.string_of(file, "filename") == "/lib/libfoo.so");
  CHECK(pprof.string_of(file, "build_id") == "abcdef0123");
  CHECK(file.number("memory_start") == 0x7f0000001000);
  CHECK(file.number("memory_limit") == 0x7f0000009000);
  CHECK(file.number("file_offset") == 0x1000);
  auto is_set = [](const TextNode& node, const std::string& field) {
    return !node.all(field).empty() && node.all(field)[0]->value == "true";
  };
  CHECK(is_set(file, "has_functions"));
  CHECK(is_set(file, "has_filenames"));
  CHECK_FALSE(is_set(file, "has_line_numbers"));
  CHECK_FALSE(is_set(file, "has_inline_frames"));
  CHECK(pprof.string_of(*mappings[1], "filename") == "[kernel]");
  CHECK_FALSE(is_set(*mappings[1], "has_functions"));
  // IDs still lead each location to its own mapping.
  const auto locations = pprof.root.all("location");
  REQUIRE(locations.size() == 2);
  CHECK(locations[named]->number("mapping_id") == file.number("id"));
  CHECK(locations[bare]->number("mapping_id") == mappings[1]->number("id"));
}

TEST_CASE(
    "pprof: equal samples are one sample, and a flag that says nothing about labels is no part") {
  SmallProfile small;
  const Index set = small.labels({{"a", "1"}});
  for (unsigned flags : {0U, unsigned{LS_RETRIED}, unsigned{LS_NEVER_TOUCHED}, 0U}) {
    small.sample(small.shop_thread, small.work_stack, set, LS_LABELLED, flags);
  }
  CHECK(decode_rendered(small.profile).only().values[0] == 4);
}

TEST_CASE("pprof: a sample without frames still has a place") {
  SmallProfile small;
  small.sample(small.shop_thread, kNoIndex, small.no_labels, LS_UNLABELLED);
  small.sample(small.shop_thread, small.stack({}), small.no_labels, LS_UNLABELLED);
  const DecodedPprof pprof = decode_rendered(small.profile);
  REQUIRE(pprof.samples.size() == 2);
  CHECK(pprof.samples[0].stack() == "[no stack]");
  CHECK(pprof.samples[1].stack() == "[no stack]");
}

TEST_CASE("pprof: samples of one stack follow each other, so that they take little room") {
  SmallProfile small;
  const Index other_thread = small.thread(4242, 4243, "other");
  const Index other = small.stack({1});
  for (const Index thread : {small.shop_thread, other_thread}) {
    for (const Index stack : {small.work_stack, other}) {
      small.sample(thread, stack, small.no_labels, LS_UNLABELLED);
    }
  }
  const DecodedPprof pprof = decode_rendered(small.profile);
  REQUIRE(pprof.samples.size() == 4);
  CHECK(pprof.samples[0].stack() == pprof.samples[1].stack());
  CHECK(pprof.samples[2].stack() == pprof.samples[3].stack());
  CHECK(pprof.samples[0].stack() != pprof.samples[2].stack());
}

TEST_CASE("pprof: groups become root frames, the first key outermost") {
  SmallProfile small;
  small.labelled({{"tenant", "t1"}, {"route", "/a,b"}});
  small.labelled({{"route", ""}});
  small.sample(small.shop_thread, small.work_stack, small.no_labels, LS_UNREADABLE_BAD_DTV);
  const DecodedPprof pprof = decode_rendered(small.profile, {.group_by = {"tenant", "route"}});
  std::vector<std::string> stacks;
  for (const DecodedSample& sample : pprof.samples) stacks.push_back(sample.stack());
  std::sort(stacks.begin(), stacks.end());
  CHECK(stacks == std::vector<std::string>{
                      "work|main|route=/a,b|tenant=t1",
                      "work|main|route=<empty>|tenant=<none>",
                      "work|main|route=<unreadable>|tenant=<unreadable>",
                  });
}

TEST_CASE("pprof: comments say how it was recorded, where the samples went and what has no names") {
  SmallProfile small;
  small.profile.ledger.taken = 12;
  small.profile.ledger.outcomes[LS_LABELLED] = 7;
  small.profile.ledger.outcomes[LS_UNREADABLE_VANISHED] = 5;
  small.profile.ledger.dropped = 2;
  small.profile.ledger.written = 10;
  small.profile.ledger.counters.set("plan-again", 3);
  small.profile.modules[0].symbol_problem = "stripped";
  small.profile.command_line = "labelscope \xff";
  const DecodedPprof pprof = decode_rendered(small.profile);
  std::string comments;
  for (const TextNode* comment : pprof.root.all("comment")) {
    comments += pprof.strings.at(std::stoull(comment->value)) + "\n";
  }
  for (const char* expected :
       {"labelscope: 1.2.3\n", "command: labelscope \\xff\n", "event: cpu-clock\n",
        "backend: bpf\n", "kernel: 6.1.0\n", "call graph: fp\n", "mode: cpu\n",
        "ledger: taken 12 = labelled 7 + unlabelled 0 + vanished 5; ",
        "; written 10 = taken - dropped 2; truncated 0; plan-again 3\n",
        "publisher in process 100: /opt/shop/libshop.so\n",
        "names in /opt/shop/shop: stripped\n"}) {
    CAPTURE(expected, comments);
    CHECK(comments.find(expected) != std::string::npos);
  }
}

TEST_CASE("pprof: a profile without samples is a valid file") {
  CHECK(decode_rendered(Profile{}).samples.empty());
}

TEST_CASE("pprof: output larger than one piece of the compressor decodes whole") {
  SmallProfile small;
  // The values do not compress well, so there are several pieces before and after gzip.
  std::uint32_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    std::string value;
    for (int k = 0; k < 40; ++k) {
      state = state * 1664525 + 1013904223;
      value += static_cast<char>('!' + (state >> 24) % 90);
    }
    small.labelled({{"request", std::to_string(i) + value}});
  }
  const DecodedPprof pprof = decode_rendered(small.profile);
  REQUIRE(pprof.samples.size() == 20000);
  std::vector<std::string> expected;
  std::vector<std::string> found;
  for (const LabelSet& set : small.profile.label_sets) {
    if (!set.empty()) expected.push_back(set[0].value);
  }
  for (const DecodedSample& sample : pprof.samples) found.push_back(sample.text("request"));
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  CHECK((expected == found));
}

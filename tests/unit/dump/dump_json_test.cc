// A dump as JSON keeps every byte, and distinguishes every kind of absence.
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/dump/formats.h"
#include "dump_maker.h"
#include "support/catch.h"

namespace labelscope::test {
namespace {

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): what is tested
using nlohmann::json;

json json_of(const ProcessDump& dump) {
  std::ostringstream out;
  REQUIRE(render_dump_json(dump, "1.2.3", out));
  const std::string text = out.str();
  CHECK(text.find('\n') == text.size() - 1);
  return json::parse(text);
}

}  // namespace

TEST_CASE("dump_json: one line, with format, version and where it comes from") {
  ProcessDump dump = make_dump();
  const json seen = json_of(dump);
  CHECK(seen["format"] == "labelscope-dump");
  CHECK(seen["version"] == 1);
  CHECK(seen["tool_version"] == "1.2.3");
  CHECK(seen["source"] == "ptrace");
  CHECK(seen["pid"] == 100);
  CHECK(seen["command_line"] == "/opt/shop --port 80");
  CHECK(seen["core"].is_null());
  CHECK(seen["modules_searched"] == 7);
  CHECK(seen["absence"] == "");
  CHECK(seen["publishers"][0]["name"] == "libshop.so");
  CHECK(seen["publishers"][0]["recipe"] == json{{"kind", "tp-offset"}, {"offset", -64}});
  CHECK_FALSE(seen.contains("explanation"));
  CHECK_FALSE(seen.contains("modules"));
}

TEST_CASE("dump_json: labels keep every byte") {
  ProcessDump dump = make_dump();
  add_thread(dump, 7, std::string("\xff", 1),
             {{"plain", "caf\xc3\xa9"}, {std::string("a\0b", 3), "\xff"}, {"", ""}});
  const json thread = json_of(dump)["threads"][0];
  CHECK(thread["name"] == json{{"base64", "/w=="}});
  CHECK(thread["labels"][0] == json{{"key", "plain"}, {"value", "caf\xc3\xa9"}, {"publisher", 0}});
  CHECK(thread["labels"][1]["key"] == json{{"base64", "YQBi"}});
  CHECK(thread["labels"][1]["value"] == json{{"base64", "/w=="}});
  CHECK(thread["labels"][2]["key"] == "");
  CHECK(thread["outcome"] == "labelled");
  CHECK(thread["held_ns"] == 40000);
  CHECK(thread["thread_pointer"] == "0x7f0000001000");
  CHECK(thread["state"] == "S");
}

TEST_CASE("dump_json: what is not known is null, and why it could not be read is a word") {
  ProcessDump dump = make_dump();
  ThreadSnapshot& thread = add_thread(dump, 7, "w", {});
  thread.state = '?';
  thread.thread_pointer.reset();
  thread.seen.outcome = LS_UNREADABLE_NO_THREAD_POINTER;
  thread.seen.flags = LS_NULL_VALUE | LS_PARTLY_UNREADABLE;
  thread.problem = "it waits";
  thread.stack.reset();
  dump.stacks.emplace();
  dump.stacks->of_thread = {kNoIndex};
  const json seen = json_of(dump);
  const json& one = seen["threads"][0];
  CHECK(one["state"].is_null());
  CHECK(one["thread_pointer"].is_null());
  CHECK(one["stack"].is_null());
  CHECK(one["outcome"] == "no-thread-pointer");
  CHECK(one["flags"] == json{"null-value", "partly-unreadable"});
  CHECK(one["labels"] == json::array());
  CHECK(one["problem"] == "it waits");
  CHECK(seen["totals"]["outcomes"]["no-thread-pointer"] == 1);
}

TEST_CASE("dump_json: stacks refer to modules, and say why they end") {
  ProcessDump dump = make_dump();
  add_thread(dump, 7, "w", {}).stack =
      UnwoundStack{{0x401000, 0x9000}, LS_STACK_OUT_OF_TIME, "the time was over"};
  dump.stacks.emplace();
  Profile& profile = dump.stacks->profile;
  profile.modules.resize(1);
  profile.modules[0].kind = ProfileModule::Kind::kFile;
  profile.modules[0].path = "/opt/shop";
  profile.locations = {{0, 0x401000, {{"pay(int)", "_Z3payi", "pay.cc", 42}}},
                       {kNoIndex, 0x9000, {}}};
  profile.stacks = {{{0, 1}, LS_STACK_OUT_OF_TIME}};
  dump.stacks->of_thread = {0};
  const json seen = json_of(dump);
  CHECK(seen["modules"][0]["path"] == "/opt/shop");
  CHECK(seen["modules"][0]["kind"] == "file");
  const json& stack = seen["threads"][0]["stack"];
  CHECK(stack["cut"] == "the time was over");
  CHECK(stack["out_of_time"] == true);
  CHECK(stack["frames"][0] == json{{"address", "0x401000"},
                                   {"module", 0},
                                   {"lines",
                                    {{{"function", "pay(int)"},
                                      {"system_name", "_Z3payi"},
                                      {"file", "pay.cc"},
                                      {"line", 42}}}}});
  CHECK(stack["frames"][1] ==
        json{{"address", "0x9000"}, {"module", nullptr}, {"lines", json::array()}});
}

TEST_CASE("dump_json: explanations, refusals and cores") {
  ProcessDump dump = make_dump();
  dump.snapshot.source = SnapshotSource::kCore;
  dump.core = CoreOrigin{"core.1", {{"/lib/x", "ab", "it is another file", true}}, false};
  dump.snapshot.plan.refusals = {
      {"/opt/other.so", {FindingCode::kNotExported, "only in .symtab", "export it"}}};
  add_thread(dump, 7, "w", {}).signal = 11;
  dump.explanation = Explanation{{"a step"}, {}};
  dump.of_threads[Tid{7}] = {{"its step"}, {{FindingCode::kNeverTouched, "never", ""}}};
  const json seen = json_of(dump);
  CHECK(seen["source"] == "core");
  CHECK(seen["core"] == json{{"path", "core.1"},
                             {"truncated", false},
                             {"files",
                              {{{"path", "/lib/x"},
                                {"build_id", "ab"},
                                {"reason", "it is another file"},
                                {"used", true}}}}});
  const json refused = seen["refused"][0];
  CHECK(refused["path"] == "/opt/other.so");
  CHECK(refused["finding"]["code"] == "not-exported");
  CHECK(refused["finding"]["fix"] == "export it");
  CHECK(seen["explanation"]["steps"] == json{"a step"});
  CHECK(seen["threads"][0]["signal"] == 11);
  CHECK(seen["threads"][0]["explanation"]["findings"][0]["code"] == "never-touched");
}

}  // namespace labelscope::test

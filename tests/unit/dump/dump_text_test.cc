// Tests a dump as text for people: columns, quotes, sources, remarks, and nothing that a terminal
// obeys.
#include <sstream>

#include "cli/dump/formats.h"
#include "cli/dump/wording.h"
#include "dump_maker.h"
#include "support/catch.h"

namespace labelscope::test {
namespace {

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): what is tested

std::string text_of(const ProcessDump& dump, DumpStyle style = {}) {
  std::ostringstream out;
  REQUIRE(render_dump_text(dump, style, out));
  return out.str();
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
// Returns the line of one thread, and all that follows up to the next thread.
std::string thread_text(const std::string& text, const std::string& tid) {
  const std::size_t start = text.find("Thread " + tid);
  REQUIRE(start != std::string::npos);
  return text.substr(start, text.find("\nThread", start) - start);
}

}  // namespace

TEST_CASE("dump_text: a line for each thread, in columns") {
  ProcessDump dump = make_dump();
  add_thread(dump, 100, "shop", {});
  add_thread(dump, 4251, "worker-3", {{"http.route", "/pay"}, {"tenant", "42"}}).state = 'R';
  CHECK(text_of(dump) ==
        "Process 100: /opt/shop --port 80\n"
        "  labels from /opt/libshop.so (" +
            std::string(access_model_name(AccessModel::kTlsDescStatic)) +
            ")\n"
            "\n"
            "Thread 100   sleeping  \"shop\"      (no labels)\n"
            "Thread 4251  running   \"worker-3\"  http.route=/pay tenant=42\n");
  dump.process_labels = {{"user", "root", ProcessSource::kProcess}};
  CHECK(has(text_of(dump),
            "  of the process: user=root@[process]\n"
            "  (what follows @ is where a label comes from)\n"));
}

TEST_CASE("dump_text: what could be misread is in quotes, and what a terminal obeys is escaped") {
  ProcessDump dump = make_dump();
  dump.command_line = "a\x1b[2J";
  dump.snapshot.plan.publishers.front().path = "/opt/\x1b]0;x\x07.so";
  add_thread(dump, 1, "\x1b[31m",
             {{"a b", "c d"},
              {"", ""},
              {"quote", "say \"hi\""},
              {"user", "me@home"},
              {"esc", "\x1b[31m"},
              {"raw", std::string("\0\xff", 2)},
              {"equals", "x=y"},
              {"remark", "(no labels)"},
              {"path", "C:\\x"},
              {"end", "x\" tenant=\"evil\\"},
              {"wide", "a\xc2\xa0tenant=b"}});
  const std::string text = text_of(dump);
  CHECK_FALSE(has(text, "\x1b"));
  CHECK_FALSE(has(text, "\x07"));
  CHECK(has(text, R"( "a b"="c d" ""="" quote="say \"hi\"" user="me@home" esc=\x1b[31m )"));
  CHECK(has(text, R"d(raw=\x00\xff equals="x=y" remark="(no labels)" path="C:\\x")d"));
  CHECK(has(text, R"d(end="x\" tenant=\"evil\\" wide=")d"));
}

TEST_CASE("dump_text: a thread's name ends where its quotes do") {
  ProcessDump dump = make_dump();
  add_thread(dump, 1, "w\"  tenant=a\\", {});
  CHECK(has(text_of(dump), R"("w\"  tenant=a\\"  (no labels))"));
}

TEST_CASE("dump_text: an explanation does not pass over threads that could not be read") {
  ProcessDump dump = make_dump();
  dump.explanation.emplace();
  CHECK(has(text_of(dump), "nothing is wrong"));
  ThreadSnapshot& stuck = add_thread(dump, 13, "c", {});
  stuck.seen.outcome = LS_UNREADABLE_NO_THREAD_POINTER;
  stuck.problem = "thread 13 does not stop";
  add_thread(dump, 14, "d", {}).seen.outcome = LS_UNREADABLE_BAD_DTV;
  const std::string text = text_of(dump);
  CHECK_FALSE(has(text, "nothing is wrong"));
  CHECK(has(text, "not read: thread 13 does not stop (1 thread)"));
  CHECK(has(text, "not read: " + std::string(outcome_text(LS_UNREADABLE_BAD_DTV)) + " (1 thread)"));
}

TEST_CASE("dump_text: why there are no labels") {
  ProcessDump dump = make_dump();
  add_thread(dump, 11, "a", {}).seen.flags = LS_NEVER_TOUCHED;
  add_thread(dump, 12, "b", {}).seen.outcome = LS_UNREADABLE_BAD_DTV;
  ThreadSnapshot& stuck = add_thread(dump, 13, "c", {});
  stuck.seen.outcome = LS_UNREADABLE_NO_THREAD_POINTER;
  stuck.problem = "it \x1b waits";
  const std::string text = text_of(dump);
  CHECK(has(thread_text(text, "11"), "(no labels: it never touched the variable)"));
  CHECK(has(thread_text(text, "12"),
            "(unreadable: " + std::string(outcome_text(LS_UNREADABLE_BAD_DTV)) + ")"));
  CHECK(has(thread_text(text, "13"), "(unreadable: it \\x1b waits)"));
}

TEST_CASE("dump_text: a process without publishers says why") {
  ProcessDump dump = make_dump();
  dump.snapshot.plan.publishers.clear();
  add_thread(dump, 11, "a", {}).seen.flags = LS_NEVER_TOUCHED;
  const std::string text = text_of(dump);
  CHECK(has(text, "  no labels: " + dump.snapshot.plan.absence() + "\n"));
  // The process has no variable that the thread could have touched.
  CHECK(has(thread_text(text, "11"), "(no labels)"));
}

TEST_CASE("dump_text: of several publishers each value has its source, and conflicts are named") {
  ProcessDump dump = make_dump();
  add_publisher(dump, "/usr/lib/libshop.so");
  ThreadSnapshot& thread = add_thread(
      dump, 7, "w", {{"tenant", "1", 0}, {"same", "x", 0}, {"tenant", "2", 1}, {"same", "x", 1}});
  thread.seen.flags = LS_KEY_CONFLICT;
  const std::string text = text_of(dump);
  CHECK(has(text, "  labels from /opt/libshop.so ("));
  CHECK(has(text, ") @libshop.so\n"));
  CHECK(has(text, ") @libshop.so#2\n"));
  CHECK(has(text, "  (what follows @ is where a label comes from)\n"));
  CHECK(has(thread_text(text, "7"),
            "tenant=1@libshop.so same=x@libshop.so,libshop.so#2 tenant=2@libshop.so#2 "
            "(publishers disagree on tenant)"));
}

TEST_CASE("dump_text: facts about labels that are there") {
  ProcessDump dump = make_dump();
  add_thread(dump, 7, "w", {{"a", "b"}}).seen.flags =
      LS_TRUNCATED_LABELS | LS_NULL_VALUE | LS_PARTLY_UNREADABLE;
  const std::string line = thread_text(text_of(dump), "7");
  CHECK(has(line, "a=b (more labels than are read: too many labels)"));
  CHECK(has(line, "(a label without a value was left out)"));
  CHECK(has(line, "(another publisher was unreadable)"));
}

TEST_CASE("dump_text: on a terminal, labels that do not fit go to a line of their own") {
  ProcessDump dump = make_dump();
  add_thread(dump, 7, "w", {{"first", std::string(30, 'x')}, {"second", std::string(30, 'y')}});
  DumpStyle style;
  style.width = 62;
  CHECK(thread_text(text_of(dump, style), "7") ==
        "Thread 7  sleeping  \"w\"  first=" + std::string(30, 'x') +
            "\n        second=" + std::string(30, 'y') + "\n");
  CHECK(thread_text(text_of(dump), "7") ==
        "Thread 7  sleeping  \"w\"  first=" + std::string(30, 'x') +
            " second=" + std::string(30, 'y') + "\n");
}

TEST_CASE("dump_text: stacks with and without names, inlined functions, and where they end") {
  ProcessDump dump = make_dump();
  ThreadSnapshot& thread = add_thread(dump, 7, "w", {});
  thread.stack =
      UnwoundStack{{0x401000, 0x402000, 0x9000}, LS_STACK_NO_WAY_ON, "no call frame information"};
  dump.stacks.emplace();
  Profile& profile = dump.stacks->profile;
  profile.modules.resize(1);
  profile.modules[0].path = "/opt/sh\x1bop";
  profile.modules[0].load_bias = 0x400000;
  SourceLine inner{"pay(int)", "_Z3payi", "/src/pay.cc", 42};
  SourceLine outer{"", "serve", "", 0};
  profile.locations = {{0, 0x401000, {inner, outer}}, {0, 0x402000, {}}, {kNoIndex, 0x9000, {}}};
  profile.stacks = {{{0, 1, 2}, LS_STACK_NO_WAY_ON}};
  dump.stacks->of_thread = {0};
  CHECK(has(text_of(dump),
            "\n    pay(int) (pay.cc:42, inlined)\n"
            "    serve (sh\\x1bop)\n"
            "    0x402000 (sh\\x1bop+0x2000)\n"
            "    0x9000\n"
            "    (the stack ends here: no call frame information)\n"));
}

TEST_CASE("dump_text: steps follow what they explain, and findings are counted at the end") {
  ProcessDump dump = make_dump();
  add_thread(dump, 7, "w", {});
  add_thread(dump, 8, "w", {});
  dump.explanation = Explanation{{"two files", "  one is it"}, {}};
  const Finding never{FindingCode::kNeverTouched, "this thread never touched it", "call it"};
  dump.explanation->findings = {{FindingCode::kFileName, "odd name", "rename it"}};
  dump.of_threads[Tid{7}] = {{"its DTV is at 0x1\x1b"}, {never}};
  dump.of_threads[Tid{8}] = {{"its DTV is at 0x2"}, {never}};
  const std::string text = text_of(dump);
  CHECK(has(text, "\nHow its labels are found\n  two files\n    one is it\n\nThread 7"));
  CHECK(has(thread_text(text, "7"), "\n    its DTV is at 0x1\\x1b"));
  CHECK(has(text,
            "\nFindings\n  file-name: odd name\n    fix: rename it\n"
            "  never-touched: this thread never touched it (2 threads)\n    fix: call it\n"));
}

TEST_CASE("dump_text: on a terminal, a long command line is cut to what fits") {
  ProcessDump dump = make_dump();
  dump.command_line = "/opt/shop " + std::string(100, 'x');
  DumpStyle style;
  style.width = 40;
  CHECK(text_of(dump, style).substr(0, 41) == "Process 100: /opt/shop xxxxxxxxxxxxxx...\n");
  CHECK(has(text_of(dump), std::string(100, 'x') + "\n"));
}

TEST_CASE("dump_text: on a terminal, sentences are broken between words and indented") {
  ProcessDump dump = make_dump();
  add_thread(dump, 7, "w", {});
  dump.of_threads[Tid{7}] = {{"  it holds a pointer to a set, and the set has many elements in it"},
                             {}};
  DumpStyle style;
  style.width = 44;
  CHECK(has(text_of(dump, style),
            "\n      it holds a pointer to a set, and the\n"
            "          set has many elements in it\n"));
  CHECK(has(text_of(dump),
            "\n      it holds a pointer to a set, and the set has many elements in it\n"));
}

TEST_CASE("dump_text: a core names the signal and the files that are missing") {
  ProcessDump dump = make_dump();
  dump.snapshot.source = SnapshotSource::kCore;
  dump.core = CoreOrigin{"core.1", {{"/lib/libc.so.6", "ab", "it is another file", false}}, true};
  ThreadSnapshot& thread = add_thread(dump, 7, "", {{"a", "b"}});
  thread.state = '?';
  thread.signal = 11;
  const std::string text = text_of(dump);
  CHECK(has(text, "  from the core file core.1\n  the core file is cut short"));
  CHECK(has(text, "  /lib/libc.so.6: it is another file\n"));
  CHECK(has(text, "Thread 7  SIGSEGV  a=b\n"));
}

TEST_CASE("dump_text: a file that is missing is reported once") {
  const std::string reason = "build ID ab: not found (looked below /)";
  for (const std::size_t missing : {1, 3}) {
    ProcessDump dump = make_dump();
    dump.snapshot.source = SnapshotSource::kCore;
    dump.core = CoreOrigin{"core.1", {}, false};
    dump.snapshot.plan.publishers.clear();
    dump.snapshot.plan.modules = 1;
    for (std::size_t i = 0; i < missing; ++i) {
      const std::string path = "/lib/lib" + std::to_string(i) + ".so";
      dump.core->problems.push_back({path, "ab", reason, false});
      dump.snapshot.plan.refusals.push_back({path, {FindingCode::kUnreadableFile, reason, {}}});
    }
    dump.core->problems.push_back({"/lib/other.so", "", "not verified", true});
    const std::string text = text_of(dump);
    INFO(text);
    for (std::size_t i = 0; i < missing; ++i) {
      const std::string path = "/lib/lib" + std::to_string(i) + ".so";
      const std::size_t first = text.find(path);
      REQUIRE(first != std::string::npos);
      CHECK(text.find(path, first + 1) == std::string::npos);
    }
    CHECK(has(text, "  /lib/other.so: not verified\n"));
  }
}

TEST_CASE("dump_text: threads that ran while BPF read them are counted, unless they were stopped") {
  ProcessDump dump = make_dump();
  dump.snapshot.source = SnapshotSource::kBpf;
  add_thread(dump, 1, "w", {{"a", "b"}}).held = {};
  CHECK_FALSE(has(text_of(dump), "middle of an update"));
  CHECK(has(totals_line(dump.snapshot), "; read by BPF, none was stopped"));
  ThreadSnapshot& ran = add_thread(dump, 2, "w", {{"a", "b"}});
  ran.held = {};
  ran.ran = true;
  CHECK(
      has(text_of(dump), "  1 thread ran while BPF read them without a stop, and may have been "));
  ran.ran = false;
  ran.held = std::chrono::microseconds(40);
  CHECK(has(totals_line(dump.snapshot),
            "; read by BPF, and 1 that ran stopped for 40 us (median), 40 us at most"));
}

TEST_CASE("dump_totals: outcomes add up, and stops have a median and a longest") {
  ProcessDump dump = make_dump();
  for (int i = 1; i <= 4; ++i) {
    add_thread(dump, i, "w", {{"a", "b"}}).held = std::chrono::microseconds(10 * i);
  }
  ThreadSnapshot& stuck = add_thread(dump, 9, "w", {});
  stuck.seen.outcome = LS_UNREADABLE_NO_THREAD_POINTER;
  stuck.held = {};
  dump.snapshot.vanished = 3;
  const DumpTotals totals = add_up(dump.snapshot);
  CHECK(totals.threads == 5);
  CHECK(totals.stopped == 4);
  CHECK(totals.longest_stop == std::chrono::microseconds(40));
  CHECK(totals.median_stop == std::chrono::microseconds(20));
  CHECK(totals_line(dump.snapshot) ==
        "5 threads = 4 labelled + 0 unlabelled + 1 unreadable (no-thread-pointer: 1); stopped for "
        "20 us (median), 40 us at most; 3 more ended before they were read");
}

TEST_CASE("dump_totals: a stop that came too late is no thread more, and can be the longest") {
  ProcessDump dump = make_dump();
  add_thread(dump, 1, "w", {{"a", "b"}}).held = std::chrono::microseconds(10);
  dump.snapshot.longest_late_stop = std::chrono::microseconds(70);
  const DumpTotals totals = add_up(dump.snapshot);
  CHECK(totals.stopped == 1);
  CHECK(totals.median_stop == std::chrono::microseconds(10));
  CHECK(totals.longest_stop == std::chrono::microseconds(70));
  dump.snapshot.threads[0].held = {};
  CHECK(totals_line(dump.snapshot).find("; stopped for 70 us at most") != std::string::npos);
}

}  // namespace labelscope::test

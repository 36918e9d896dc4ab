// The command line: what is understood. Everything else gives status 2 and one plain sentence.
#include <algorithm>

#include "cli/options/command_line.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

std::variant<Options, ParseEnd> parse(std::vector<const char*> words) {
  words.insert(words.begin(), {"labelscope", "record"});
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

RecordOptions accepted(std::vector<const char*> words) {
  auto parsed = parse(std::move(words));
  if (const auto* end = std::get_if<ParseEnd>(&parsed)) FAIL(end->error);
  return std::get<RecordOptions>(std::get<Options>(parsed));
}

std::string refused(std::vector<const char*> words) {
  auto parsed = parse(std::move(words));
  const auto* end = std::get_if<ParseEnd>(&parsed);
  REQUIRE(end != nullptr);
  CHECK(end->status == 2);
  CHECK(end->output.empty());
  return end->error;
}

}  // namespace

TEST_CASE("options: pids come in lists and repeated, each once") {
  CHECK(accepted({"-p", "1,2", "-p", "2", "-p", "3"}).wanted.processes.pids ==
        std::vector<Pid>{Pid{1}, Pid{2}, Pid{3}});
}

TEST_CASE("options: pids may be lines, as pgrep prints them") {
  CHECK(accepted({"-p", "1\n2\n"}).wanted.processes.pids == std::vector<Pid>{Pid{1}, Pid{2}});
  CHECK(accepted({"-p", " 1, 2\t3"}).wanted.processes.pids ==
        std::vector<Pid>{Pid{1}, Pid{2}, Pid{3}});
}

TEST_CASE("options: what is no number is a name, and = makes a name of a number") {
  const ProcessWords words =
      accepted({"-p", "nginx, Web Content ,4242,=4242", "-p", "nginx"}).wanted.processes;
  CHECK(words.pids == std::vector<Pid>{Pid{4242}});
  CHECK(words.names == std::vector<std::string>{"nginx", "Web Content", "4242"});
}

TEST_CASE("options: each takes one word, and what follows is no option's value") {
  CHECK(refused({"-p", "1", "2"}).find("labelscope record -p 1,2") != std::string::npos);
  CHECK(refused({"-p", "1", "-p", "2,3", "4", "5"}).find("labelscope record -p 1,2,3,4,5") !=
        std::string::npos);
  CHECK(refused({"-o", "a.html", "./b.html", "-p", "1"}).find("./b.html") != std::string::npos);
  CHECK(refused({"--env-label", "HOME", "true", "-p", "1"}).find("not expected: true") !=
        std::string::npos);
  // This works in brackets, too, which the option library otherwise takes for a list.
  CHECK(accepted({"-p", "1", "--summary", "[a]"}).summary == std::vector<std::string>{"[a]"});
}

TEST_CASE("options: durations have units") {
  using namespace std::chrono_literals;
  CHECK(accepted({"-p", "1", "-d", "10"}).duration == 10s);
  CHECK(accepted({"-p", "1", "-d", "1.5s"}).duration == 1500ms);
  CHECK(accepted({"-p", "1", "-d", "250ms"}).duration == 250ms);
  CHECK(accepted({"-p", "1", "-d", "2m"}).duration == 120s);
  CHECK(!accepted({"-p", "1"}).duration);
}

TEST_CASE("options: what follows -- is a command with its own options") {
  RecordOptions options = accepted({"-d", "1", "--", "ls", "-l", "--", "-p"});
  CHECK(options.command == std::vector<std::string>{"ls", "-l", "--", "-p"});
  CHECK(options.command_line == "labelscope record -d 1 -- ls -l -- -p");
}

TEST_CASE("options: --call-graph none turns off both kinds of stacks") {
  RecordOptions options = accepted({"-p", "1", "--call-graph", "none"});
  for (Backend backend : {Backend::kBpf, Backend::kPtrace}) {
    CHECK(find_call_graph(backend, options.call_graph)->value == LS_CALL_GRAPH_NONE);
  }
  CHECK(!options.kernel_stacks);
  options = accepted({"-p", "1", "--no-kernel"});
  CHECK(find_call_graph(Backend::kBpf, options.call_graph)->value == LS_CALL_GRAPH_DWARF);
  CHECK(find_call_graph(Backend::kPtrace, options.call_graph)->value == LS_CALL_GRAPH_DWARF);
  CHECK(!accepted({"-p", "1", "--no-kernel"}).kernel_stacks);
}

TEST_CASE("options: an event is chosen for BPF alone, and for threads that run") {
  CHECK(accepted({"-p", "1"}).event == SampledEvent::kAny);
  CHECK(accepted({"-p", "1"}).backend == Backend::kAuto);
  const RecordOptions options = accepted({"-p", "1", "--event", "clock", "--mode", "wall"});
  CHECK(options.event == SampledEvent::kClock);
  CHECK(options.backend == Backend::kBpf);
}

TEST_CASE("options: names come from debug information unless it is not wanted") {
  CHECK(accepted({"-p", "1"}).function_names.debug_information);
  CHECK_FALSE(accepted({"-p", "1", "--no-debug-info"}).function_names.debug_information);
}

TEST_CASE("options: keys are lists, formats follow -f or the extension") {
  RecordOptions options =
      accepted({"-p", "1", "--summary", "a,b", "--group-by", "c", "-f", "folded", "-o", "x"});
  CHECK(options.summary == std::vector<std::string>{"a", "b"});
  CHECK(accepted({"-p", "1", "--summary", "a, b c ,d"}).summary ==
        std::vector<std::string>{"a", "b c", "d"});
  CHECK(options.group_by == std::vector<std::string>{"c"});
  CHECK(options.format->name == "folded");
  for (const Format& format : kFormats) {
    const std::string name(format.name);
    CHECK(accepted({"-p", "1", "-f", name.c_str()}).format == format);
  }
  CHECK(accepted({"-p", "1", "-o", "a.pb.gz", "-o", "b.jsonl"}).outputs.size() == 2);
}

TEST_CASE("options: nonsense is refused in one sentence that names it") {
  struct Case {
    std::vector<const char*> words;
    const char* says;
  };
  const std::vector<Case> cases = {
      {{}, "nothing to record"},
      {{"-p", "0"}, "--pid 0"},
      {{"-p", "-1"}, "-1"},
      {{"-p", "nginx,-x"}, "--pid -x"},
      {{"-p", "nginx,="}, "the name is empty"},
      {{"--unit", ""}, "--unit: the name is empty"},
      {{"--port", "0"}, "--port 0"},
      {{"--port", "65536"}, "--port 65536"},
      {{"--port", "http"}, "--port http"},
      {{"--unit", "nginx", "--", "ls"}, "exclude"},
      {{"-p", "1,,2"}, "1,,2"},
      {{"-p", "99999999999"}, "99999999999"},
      {{"-p", "1", "--", "ls"}, "exclude"},
      {{"-p", "1", "-d", "0"}, "--duration 0"},
      {{"-p", "1", "-d", "-1"}, "-1"},
      {{"-p", "1", "-d", "nan"}, "nan"},
      {{"-p", "1", "-d", "1y"}, "1y"},
      {{"-p", "1", "-F", "0"}, "--frequency 0"},
      {{"-p", "1", "-F", "1e3"}, "1e3"},
      {{"-p", "1", "-f", "jpeg"}, "jpeg"},
      {{"-p", "1", "-f", "PPROF"}, "PPROF"},
      {{"-p", "1", "-f", ""}, "--format"},
      {{"-p", "1", "-o", "x.txt"}, "x.txt"},
      {{"-p", "1", "-o", "-", "-o", "-"}, "stdout"},
      {{"-p", "1", "--call-graph", "lbr"}, "lbr"},
      {{"-p", "1", "--summary", "a,,b"}, "a,,b"},
      {{"-p", "1", "--color", "pink"}, "pink"},
      {{"-p", "1", "-q", "-v"}, "exclude"},
      {{"-p", "1", "--max-processes", "0"}, "--max-processes 0"},
      {{"-p", "1", "--no-such-option"}, "--no-such-option"},
  };
  for (const Case& one : cases) {
    INFO(one.says);
    CHECK(refused(one.words).find(one.says) != std::string::npos);
  }
}

TEST_CASE("options: escape sequences of the command line do not reach the terminal") {
  CHECK(refused({"-p", "1", "-f", "\033[31mred"}).find('\033') == std::string::npos);
}

TEST_CASE("options: help and version go to stdout with status 0") {
  for (std::vector<const char*> words :
       {std::vector<const char*>{"labelscope", "--help"},
        std::vector<const char*>{"labelscope", "--version"},
        std::vector<const char*>{"labelscope", "record", "--help"}}) {
    auto parsed = parse_command_line(static_cast<int>(words.size()), words.data());
    const auto* end = std::get_if<ParseEnd>(&parsed);
    REQUIRE(end != nullptr);
    CHECK(end->status == 0);
    CHECK(!end->output.empty());
    CHECK(end->error.empty());
  }
}

TEST_CASE("options: what is named fits into what may be followed") {
  CHECK(accepted({"-p", "1,2", "--max-processes", "2"}).max_processes == 2);
  CHECK(refused({"-p", "1,2", "--max-processes", "1"}).find("--max-processes 1") !=
        std::string::npos);
}

TEST_CASE("options: labels of the process are names, or names and keys") {
  const LabelOptions labels = accepted({"-p", "1", "--env-label", "A,B=b", "--env-label", "C",
                                        "--process-label", "pod=k8s.pod,unit", "--env-labels"})
                                  .unpublished;
  const auto& [variables, properties, list] = labels.of_process;
  CHECK(list);
  REQUIRE(variables.size() == 3);
  CHECK(variables[0].key == "A");
  CHECK(variables[1].name == "B");
  CHECK(variables[1].key == "b");
  REQUIRE(properties.size() == 2);
  CHECK(properties[0].property == ProcessProperty::kPod);
  CHECK(properties[0].key == "k8s.pod");
  CHECK(properties[1].key == "unit");
  CHECK_FALSE(accepted({"-p", "1"}).unpublished.of_process.any());
}

TEST_CASE("options: a label of the process that means nothing says what there is") {
  const auto says = [](std::vector<const char*> words, const std::string& part) {
    words.insert(words.begin(), {"-p", "1"});
    const std::string error = refused(std::move(words));
    INFO(error);
    CHECK(error.find(part) != std::string::npos);
  };
  says({"--process-label", "node"},
       "container, pod, unit, cgroup, user, uid and command are known");
  says({"--env-label", "=x"}, "the name of a variable is wanted");
  says({"--env-label", "A="}, "the label key behind = is empty");
  says({"--tls", "x"}, "SYMBOL:TYPE is wanted");
  says({"--tls", "x:int"}, "there is no such type; the types are u8, u16");
  says({"--tls", "x:u8", "--tls", "libx.so:x:u16"}, "another variable has the label key x already");
  says({"--tls", "a:u8", "--tls", "b:u8", "--tls", "c:u8", "--tls", "d:u8", "--tls", "e:u8",
        "--tls", "f:u8", "--tls", "g:u8"},
       "more than 6 variables");
}

TEST_CASE("options: blame by a name of a preset keeps the number that it names") {
  RecordOptions options = accepted({"-p", "1", "--mode", "offcpu", "--blame", "db,tenant"});
  options.unpublished.named_ids = {{"db_oid", "db"}, {"user_oid", "user"}};
  CHECK(options.kept_for_blame({options.labels, options.blame}) == std::vector<std::string>{"db", "tenant", "db_oid"});
}

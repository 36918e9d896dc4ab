// Tests labels of a process: their text forms, and those of a child with a known environment.
#include "cli/process/process_labels.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// A program that waits, with only this environment.
class Child {
 public:
  explicit Child(std::vector<std::string> environment) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    std::vector<char*> words;
    for (std::string& word : environment) words.push_back(word.data());
    words.push_back(nullptr);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      char name[] = "sleep", time[] = "1000";
      char* arguments[] = {name, time, nullptr};
      ::execve("/bin/sleep", arguments, words.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    char byte = 0;
    CHECK(::read(ends[0], &byte, 1) == 0);  // the exec has closed the other end
    ::close(ends[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::unique_ptr<LiveProcess> open() const {
    auto process = LiveProcess::open(Pid{pid_});
    REQUIRE(process);
    return *std::move(process);
  }

 private:
  pid_t pid_;
};

ProcessLabels read(ProcessLabelReader& reader, std::vector<std::string> environment) {
  const Child child(std::move(environment));
  return reader.read(*child.open());
}

// Returns whether the reader's message is this text, in which `%` stands for a process ID.
bool says(const ProcessLabelReader& reader, const std::string& what) {
  const std::size_t gap = std::min(what.find('%'), what.size());
  return std::ranges::any_of(reader.problems(), [&](const std::string& line) {
    return line.starts_with(what.substr(0, gap)) &&
           (gap == what.size() ? line == what : line.ends_with(what.substr(gap + 1)));
  });
}

constexpr auto kEnvironment = ProcessSource::kEnvironment;

}  // namespace

TEST_CASE("process_labels: a list of pairs") {
  CHECK(parse_pair_list("a=1,b=2").pairs == Pairs{{"a", "1"}, {"b", "2"}});
  CHECK(parse_pair_list(" a = 1 x , b=").pairs == Pairs{{"a", "1 x"}, {"b", ""}});
  CHECK(parse_pair_list("a=b=c").pairs == Pairs{{"a", "b=c"}});
  CHECK(parse_pair_list("a=x%2Cy%25%0a").pairs == Pairs{{"a", "x,y%\n"}});
  CHECK(parse_pair_list("a=%,b=%2,c=%zz").pairs == Pairs{{"a", "%"}, {"b", "%2"}, {"c", "%zz"}});
  CHECK(parse_pair_list("").pairs.empty());
  const PairList odd = parse_pair_list(",x,=y, ,a=1,");
  CHECK(odd.pairs == Pairs{{"a", "1"}});
  CHECK(odd.malformed == std::vector<std::string>{"x", "=y"});
  std::string many;
  for (unsigned i = 0; i < 1000; ++i) many += "k" + std::to_string(i) + "=,";
  const PairList cut = parse_pair_list(many);
  CHECK(cut.pairs.size() == LS_MAX_LABELS);
  CHECK(cut.left_out == 1000 - LS_MAX_LABELS);
}

TEST_CASE("process_labels: variables of the environment, exactly these") {
  ProcessLabelReader reader({.variables = {{"JOB", "job"}, {"NONE", "none"}, {"EMPTY", "e"}}});
  const ProcessLabels labels = read(reader, {"JOBS=no", "XJOB=no", "JOB=42", "JOB=43", "EMPTY="});
  CHECK(labels == ProcessLabels{{"job", "42", kEnvironment}, {"e", "", kEnvironment}});
  CHECK(says(reader, "--env-label: NONE is not in the environment (process %, sleep)"));
  read(reader, {"JOB=1", "NONE=2", "EMPTY="});
  CHECK(
      says(reader,
           "--env-label: NONE is not in the environment (in 1 of 2 processes, process %, sleep)"));
  read(reader, {"JOB=1", "EMPTY="});
  CHECK(says(reader,
             "--env-label: NONE is not in the environment (in 2 of 3 processes, one is process %, "
             "sleep)"));
}

TEST_CASE("process_labels: programs that were over are counted in good English") {
  ProcessLabelReader reader({.variables = {{"A", "a"}}});
  reader.note_gone();
  CHECK(says(reader, "1 program was over before labelscope could look at it: its samples%"));
  reader.note_gone();
  CHECK(says(reader, "2 programs were over before labelscope could look at them: their samples%"));
}

TEST_CASE("process_labels: the first of equal keys counts, options before the list") {
  ProcessLabelReader reader(
      {.variables = {{"A", "k"}, {"B", "k"}}, .properties = {}, .list = true});
  CHECK(read(reader, {"LABELSCOPE_LABELS=k=list,m=1,m=2", "B=b"}) ==
        ProcessLabels{{"k", "b", kEnvironment}, {"m", "1", kEnvironment}});
}

TEST_CASE("process_labels: what is long is cut or left out, and counted") {
  ProcessLabelReader reader({.variables = {{"LONG", "long"}}, .properties = {}, .list = true});
  std::string list = "LABELSCOPE_LABELS=odd";
  for (int i = 0; i < 100; ++i) list += ",k" + std::to_string(i) + "=v";
  const ProcessLabels labels = read(reader, {"LONG=" + std::string(100'000, 'x'), list});
  CHECK(labels.size() == LS_MAX_LABELS);
  CHECK(labels.front().value.size() == 1024);
  CHECK(says(reader, "LABELSCOPE_LABELS: no key=value, and left out: \"odd\""));
  CHECK(says(reader, "1 labels of processes were cut after 1024 bytes"));
  CHECK(reader.problems().size() == 3);
}

TEST_CASE("process_labels: hostile bytes stay bytes") {
  ProcessLabelReader reader({.variables = {{"A", "a"}}});
  CHECK(read(reader, {"A=\x1b[31m\xff\n"}) == ProcessLabels{{"a", "\x1b[31m\xff\n", kEnvironment}});
}

TEST_CASE("process_labels: user and command of this very process") {
  ProcessLabelReader reader({.variables = {},
                             .properties = {{ProcessProperty::kUid, "uid"},
                                            {ProcessProperty::kUser, "user"},
                                            {ProcessProperty::kCommand, "command"}}});
  const ProcessLabels labels = read(reader, {});
  REQUIRE(labels.size() == 3);
  CHECK(labels[0] == ProcessLabel{"uid", std::to_string(::geteuid()), ProcessSource::kProcess});
  const passwd* self = ::getpwuid(::geteuid());
  CHECK(labels[1].value == (self != nullptr ? self->pw_name : labels[0].value));
  CHECK(labels[2].value == "sleep 1000");
}

TEST_CASE("process_labels: without an option nothing is read") {
  ProcessLabelReader reader({});
  CHECK(read(reader, {"LABELSCOPE_LABELS=a=1"}).empty());
  CHECK(reader.problems().empty());
}

TEST_CASE("process_labels: the thread's own label wins") {
  LabelSet labels{{"a", "thread", 1}};
  add_process_labels({{"a", "process", kEnvironment}, {"b", "process", ProcessSource::kCgroup}}, 6,
                     labels);
  CHECK(labels == LabelSet{{"a", "thread", 1}, {"b", "process", 7}});
  CHECK(is_process_source("[cgroup]"));
  CHECK_FALSE(is_process_source("/usr/lib/libc.so.6"));
}

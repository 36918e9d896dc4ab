// The worker's tables equal those that are built here. A worker that dies, hangs or lies loses only
// the table of one file.
#include "cli/unwind/table_worker.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "cli/host/signals.h"
#include "cli/unwind/table_messages.h"
#include "support/catch.h"
#include "support/forked_worker.h"
#include "support/paths.h"
#include "unwind_table/copied_module.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace std::chrono_literals;

namespace {

UniqueFd open_self() { return UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)); }

Launcher sealed_worker() {
  return [](std::uint64_t most_memory) { return launch_worker(paths::kLabelscope, most_memory); };
}

void expect_same(const UnwindTable& left, const UnwindTable& right) {
  CHECK(left.machine == right.machine);
  CHECK(left.text == right.text);
  CHECK(left.rows == right.rows);
  CHECK(left.pages.size() == right.pages.size());
  REQUIRE(left.rules.size() == right.rules.size());
  CHECK(std::memcmp(left.rules.data(), right.rules.data(),
                    left.rules.size() * sizeof(ls_unwind_rule)) == 0);
  CHECK(left.segments.size() == right.segments.size());
  CHECK(left.counts.functions == right.counts.functions);
}

// Launches a worker that calls `act` when a table is asked for; the next worker is honest.
Launcher bad_once(std::function<void(Channel&)> act) {
  auto first = std::make_shared<bool>(true);
  const Launcher bad = forked_worker([act = std::move(act)](Channel& channel) {
    say_ready(channel);
    (void)channel.receive(std::chrono::milliseconds(-1));
    act(channel);
  });
  return [first, bad, honest = honest_worker()](std::uint64_t memory) {
    return std::exchange(*first, false) ? bad(memory) : honest(memory);
  };
}

void say(Channel& channel, Message::Kind kind, std::string body = {}) {
  (void)channel.send({kind, std::move(body), {}}, 10s);
}

}  // namespace

TEST_CASE("table_worker: a sealed worker builds the table that is built here, again and again") {
  skip_in_user_mode_emulation();
  const auto here = build_unwind_table(open_self());
  REQUIRE(here);
  TableWorker tables(sealed_worker());
  for (int i = 0; i < 3; ++i) {
    const auto there = tables.build(open_self());
    const TableWorker::Failures failures = tables.failures();
    if (!there && failures.files.at(0).find("cannot be used") != std::string::npos) {
      skip_test(failures.files[0]);
    }
    INFO((there ? "" : there.error().context));
    REQUIRE(there);
    expect_same(*there, *here);
  }
}

TEST_CASE("table_worker: a module that was copied out of memory is named as what is mapped there") {
  struct Image {
    Elf64_Ehdr header;
    Elf64_Phdr load;
  };
  alignas(4096) static Image image{};
  std::memcpy(image.header.e_ident, ELFMAG, SELFMAG);
  image.header.e_phoff = offsetof(Image, load);
  image.header.e_phentsize = sizeof image.load;
  image.header.e_phnum = 1;
  image.load.p_type = PT_LOAD;
  image.load.p_filesz = sizeof image;
  const auto memory = open_process_memory(Pid{::getpid()});
  const auto start = reinterpret_cast<Address>(&image);
  for (const std::string& path : {std::string("[vdso]"), "/opt/" + std::string(500, 'a') + ".so"}) {
    auto copy = copy_module(*memory, start, path);
    if (!copy) FAIL(copy.error().context);
    TableWorker tables(honest_worker());
    CHECK_FALSE(tables.build(*std::move(copy)));
    REQUIRE(tables.failures().files.size() == 1);
    const std::string told = tables.failures().files[0];
    INFO(told);
    CHECK(told.starts_with(path.substr(path.size() - std::min<std::size_t>(path.size(), 200)) +
                           ": "));
  }
}

TEST_CASE("table_worker: a file that is none costs its own table, and is named with the reason") {
  TableWorker tables(honest_worker());
  const UniqueFd none(memfd_create("no program", MFD_CLOEXEC));
  CHECK_FALSE(tables.build(UniqueFd(::dup(none.get()))));
  REQUIRE(tables.failures().files.size() == 1);
  CHECK(tables.failures().files[0].starts_with("/memfd:no program (deleted): "));
  CHECK(tables.build(open_self()));
  for (int i = 0; i < 20; ++i) CHECK_FALSE(tables.build(UniqueFd(::dup(none.get()))));
  CHECK(tables.failures().files.size() == 8);
  CHECK(tables.failures().more == 13);
}

TEST_CASE("table_worker: a worker that dies, hangs or lies costs one table") {
  const std::function<void(Channel&)> wrongs[] = {
      [](Channel&) { ::raise(SIGKILL); },
      [](Channel&) { _exit(kWorkerOutOfMemory); },
      [](Channel&) { ::pause(); },
      [](Channel& channel) {
        for (;;) say(channel, Message::Kind::kReply);
      },
      [](Channel& channel) { say(channel, Message::Kind::kReply, "\xff\xff"); },
      [](Channel& channel) { say(channel, Message::Kind::kAsk, "a debug file"); },
      [](Channel& channel) { say(channel, Message::Kind::kDone); },
      [](Channel& channel) {
        UnwindTable table;
        table.pages = {{0, 1}};
        table.rows = {LS_UNWIND_ROW(0U, 7U)};
        table.rules.resize(1);
        send_table(table,
                   [&](std::string body) { say(channel, Message::Kind::kReply, std::move(body)); });
        say(channel, Message::Kind::kDone);
      }};
  for (const auto& wrong : wrongs) {
    TableWorker tables(bad_once([&](Channel& channel) {
                         wrong(channel);
                         for (;;) ::pause();
                       }),
                       2s);
    const auto start = Worker::Clock::now();
    CHECK_FALSE(tables.build(open_self()));
    CHECK(Worker::Clock::now() - start < 20s);
    REQUIRE(tables.failures().files.size() == 1);
    CHECK(tables.failures().files[0].find(": it") != std::string::npos);
    TableWorker::Failures before = tables.failures();
    const auto next = tables.build(open_self());
    INFO((next ? "" : next.error().context));
    CHECK(next);
    CHECK(tables.failures().files.size() == before.files.size());
  }
}

TEST_CASE("table_worker: stopping ends what goes on, and is no failure") {
  TableWorker tables(forked_worker([](Channel& channel) {
    say_ready(channel);
    for (;;) ::pause();
  }));
  std::jthread stopper([&] { tables.stop(); });
  const auto start = Worker::Clock::now();
  CHECK_FALSE(tables.build(open_self()));
  CHECK(Worker::Clock::now() - start < 20s);
  CHECK(tables.failures().files.empty());
}

TEST_CASE("table_worker: a signal that waits to be taken ends what goes on") {
  sigset_t interrupt{};
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigset_t before{};
  REQUIRE(::pthread_sigmask(SIG_BLOCK, &interrupt, &before) == 0);
  TableWorker tables(forked_worker([](Channel& channel) {
    say_ready(channel);
    ::kill(::getppid(), SIGINT);
    for (;;) ::pause();
  }));
  tables.set_unwanted(Signals::stop_is_pending);
  const auto start = Worker::Clock::now();
  CHECK_FALSE(tables.build(open_self()));
  CHECK(Worker::Clock::now() - start < 20s);
  CHECK(tables.failures().files.empty());
  const timespec at_once{};
  CHECK(::sigtimedwait(&interrupt, nullptr, &at_once) == SIGINT);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK_FALSE(Signals::stop_is_pending());
}

// Processes inherit a thread's nice value, and the worker takes no precedence over others.
TEST_CASE("table_worker: the worker is as patient as the thread that asks") {
  skip_in_user_mode_emulation();
  int nice_value = -1;
  bool built = false;
  std::thread([&] {
    if (::setpriority(PRIO_PROCESS, 0, 5) != 0) return;
    pid_t pid = 0;
    TableWorker tables([&](std::uint64_t most_memory) {
      auto launched = launch_worker(paths::kLabelscope, most_memory);
      if (launched) pid = launched->pid;
      return launched;
    });
    built = tables.build(open_self()).has_value();
    nice_value = ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid));
  }).join();
  if (!built) skip_test("there is no worker here");
  CHECK(nice_value == 5);
}

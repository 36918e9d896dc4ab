// Tests FirstLooks: what a thread has read of processes beforehand, and when that still holds.
#include "process/first_looks.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "process/proc_fs.h"
#include "support/catch.h"

namespace labelscope::test {
namespace {

// A child that executes another program when it is asked to, and sleeps until then: what runs in
// it, such as a sanitizer's own code, maps nothing more.
class Child {
 public:
  Child() {
    std::array<int, 2> ready{};
    REQUIRE(::pipe(pipe_.data()) == 0);
    REQUIRE(::pipe(ready.data()) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    char byte = 0;
    if (pid_ != 0) {
      const bool began = ::read(ready[0], &byte, 1) == 1;
      for (const int end : ready) ::close(end);
      REQUIRE(began);
      for (int i = 0; i < 60'000 && !sleeps(); ++i) ::usleep(1000);
      REQUIRE(sleeps());
      return;
    }
    [[maybe_unused]] const ssize_t written = ::write(ready[1], &byte, 1);
    if (::read(pipe_[0], &byte, 1) == 1) ::execl("/bin/sleep", "sleep", "1000", nullptr);
    ::_exit(1);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    end();
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  Pid pid() const { return Pid{pid_}; }
  bool sleeps() const {
    const auto stat = read_thread_stat(proc_path(Tid{pid_}, "stat"));
    return stat && stat->state == 'S';
  }
  void execute() const { REQUIRE(::write(pipe_[1], "x", 1) == 1); }
  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
  std::array<int, 2> pipe_{};
};

}  // namespace

TEST_CASE("first looks: the mappings of a process that goes on with its program") {
  const Child child;
  FirstLooks looks({child.pid()});
  looks.begin();
  looks.settle();
  const OneLook* look = looks.of(child.pid());
  REQUIRE(look != nullptr);
  const auto then = look->mappings();
  const auto now = named_mappings(**LiveProcess::open(child.pid()));
  REQUIRE(then);
  REQUIRE(now);
  REQUIRE(then->size() == now->size());
  for (std::size_t i = 0; i < now->size(); ++i) CHECK((*then)[i].start == (*now)[i].start);
  SECTION("nobody has one any more when sampling has begun") {
    looks.forget();
    CHECK(looks.of(child.pid()) == nullptr);
  }
  SECTION("one that is known to have changed is forgotten") {
    looks.forget(child.pid());
    CHECK(looks.of(child.pid()) == nullptr);
  }
  SECTION("they can be looked at again") {
    looks.forget();
    looks.begin();
    looks.settle();
    CHECK(looks.of(child.pid()) != nullptr);
  }
}

TEST_CASE("first looks: a process that has executed another program, or has ended, has none") {
  Child child;
  FirstLooks looks({child.pid(), Pid{1 << 30}});
  looks.begin();
  looks.settle();
  CHECK(looks.of(Pid{1 << 30}) == nullptr);
  CHECK(looks.of(Pid{static_cast<std::int32_t>(::getpid())}) == nullptr);
  SECTION("another program") {
    child.execute();
    for (int i = 0; i < 60'000 && looks.of(child.pid()) != nullptr; ++i) ::usleep(1000);
    CHECK(looks.of(child.pid()) == nullptr);
  }
  SECTION("its end") {
    REQUIRE(looks.of(child.pid()) != nullptr);
    child.end();
    CHECK(looks.of(child.pid()) == nullptr);
  }
}

TEST_CASE("first looks: where there is no room for a look, everybody looks for himself") {
  const Child first;
  const Child second;
  const Child third;
  FirstLooks::Bounds bounds;
  SECTION("so many processes") { bounds.processes = 1; }
  SECTION("so much memory") { bounds.bytes = 1; }
  FirstLooks looks({first.pid(), second.pid(), third.pid()}, bounds);
  looks.begin();
  looks.settle();
  CHECK(looks.of(first.pid()) != nullptr);
  CHECK(looks.of(second.pid()) == nullptr);
  CHECK(looks.of(third.pid()) == nullptr);
}

}  // namespace labelscope::test

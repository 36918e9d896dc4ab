#include "kernel/sampled_child.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support/catch.h"

namespace labelscope::test {

SampledChild::SampledChild(const std::function<void(ChildSide&)>& body) {
  int down[2];
  int up[2];
  REQUIRE(pipe(down) == 0);
  REQUIRE(pipe(up) == 0);
  pid_ = fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(down[1]);
    close(up[0]);
    ChildSide side(down[0], up[1]);
    side.say(label_offset());
    body(side);
    _exit(0);
  }
  close(down[0]);
  close(up[1]);
  to_child_.reset(down[1]);
  from_child_.reset(up[0]);
  recipe_.kind = LS_TP_OFFSET;
  recipe_.offset = static_cast<std::int64_t>(hear());
}

SampledChild::~SampledChild() {
  if (reaped_) return;
  kill();
  wait();
}

std::uint64_t SampledChild::hear() {
  std::uint64_t number = 0;
  REQUIRE(read(from_child_.get(), &number, sizeof(number)) == sizeof(number));
  return number;
}

void SampledChild::tell() { REQUIRE(write(to_child_.get(), "x", 1) == 1); }

int SampledChild::wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) == pid_) reaped_ = true;
  return status;
}

void SampledChild::kill() { ::kill(pid_, SIGKILL); }

}  // namespace labelscope::test

// The recorder and what becomes of its processes, with a sampler that does as it is told.
#include "cli/record/recorder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

// Refuses recipes until it has told of an exec, as samplers do for a process that has replaced its
// program.
class SamplerOfAnExec final : public Sampler {
 public:
  Status set_process(Pid, std::span<const ls_tls_recipe> recipes) override {
    const bool planned = recipes.empty() || recipes[0].kind != LS_RECIPE_NOT_RELOCATED;
    if (planned && !told_)
      return Error{ErrorCode::kVanished, "it has executed another program meanwhile"};
    if (planned) ++plans_;
    return {};
  }
  Status remove_process(Pid pid) override {
    removed_ = pid;
    return {};
  }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds) override {
    if (!told_) handler.on_exec(Pid{getpid()});
    told_ = true;
    return {};
  }
  Status stop(EventHandler&) override { return {}; }
  Counters counters() const override { return {}; }
  std::string_view event_name() const override { return "none"; }

  int plans() const { return plans_; }
  Pid removed() const { return removed_; }

 private:
  bool told_ = false;
  int plans_ = 0;
  Pid removed_{};
};

}  // namespace

TEST_CASE("recorder: a process that executes another program while it is added is planned then") {
  auto owned = std::make_unique<SamplerOfAnExec>();
  const SamplerOfAnExec& sampler = *owned;
  Recorder recorder(std::move(owned), false);
  const Status added = recorder.add(Pid{getpid()});
  INFO((added ? "" : added.error().context));
  REQUIRE(added);
  CHECK(sampler.plans() == 0);
  REQUIRE(recorder.step(std::chrono::milliseconds(0)));
  CHECK(sampler.plans() == 1);
}

TEST_CASE("recorder: a process that has ended is not added") {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  auto owned = std::make_unique<SamplerOfAnExec>();
  const SamplerOfAnExec& sampler = *owned;
  Recorder recorder(std::move(owned), false);
  const Status added = recorder.add(Pid{child});
  REQUIRE_FALSE(added);
  CHECK(added.error().code == ErrorCode::kVanished);
  CHECK(raw(sampler.removed()) == child);
  CHECK(recorder.processes().empty());
}

// Tests what the C API has of a process's own words about itself (OpenTelemetry's process context),
// of processes that publish it rightly, wrongly, or through their parent.
#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <thread>

#include "process/c_api_objects.h"
#include "support/paths.h"

namespace labelscope::test {
namespace {

std::map<std::string, std::string> attributes_of(const ls_plan* plan) {
  std::map<std::string, std::string> attributes;
  for (std::size_t i = 0; i < ls_attribute_count(plan); ++i) {
    attributes[text_of(ls_attribute_key(plan, i))] = text_of(ls_attribute_value(plan, i));
  }
  return attributes;
}

// Waits for the first child of a process.
Pid child_of(Pid pid) {
  const std::string number = std::to_string(raw(pid));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    std::ifstream children("/proc/" + number + "/task/" + number + "/children");
    int child = 0;
    if (children >> child) return Pid{child};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FAIL("no child");
  return {};
}

}  // namespace

TEST_CASE("c_api_facts: attributes, keys and schema are those that the process publishes") {
  const TargetProcess process = start_target(paths::kOtelContexts, {}, true);
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  CHECK(attributes_of(plan.get()) ==
        std::map<std::string, std::string>{{"service.name", "shop"},
                                           {"service.version", "1.2\x1b[31m"}});
  CHECK(text_of(ls_context_schema(plan.get())) == "tlsdesc_v1_dev");
  REQUIRE(ls_context_key_count(plan.get()) == 9);
  CHECK(text_of(ls_context_key(plan.get(), 1)) == "http.route");
  CHECK(text_of(ls_context_key(plan.get(), 8)) == "k8");
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const std::uint64_t now_ns =
      std::uint64_t(now.tv_sec) * 1'000'000'000 + std::uint64_t(now.tv_nsec);
  CHECK(ls_context_time(plan.get()) > 0);
  CHECK(ls_context_time(plan.get()) <= now_ns);
  CHECK(ls_context_is_of_parent(plan.get()) == 0);
  CHECK(ls_attribute_key(plan.get(), 2).size == 0);
  CHECK(ls_attribute_value(plan.get(), SIZE_MAX).size == 0);
  CHECK(ls_context_key(plan.get(), 9).size == 0);
}

TEST_CASE("c_api_facts: a forked child has what its parent has published") {
  TargetProcess process = start_target(paths::kOtelContexts, {}, true);
  REQUIRE(process.send("fork"));
  const OwnedTarget target = open_process(child_of(process.pid()));
  // The child sets its record after the fork, and then runs on.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  OwnedPlan plan = make_plan(target.get());
  while (ls_attribute_count(plan.get()) == 0 && std::chrono::steady_clock::now() < deadline) {
    plan = make_plan(target.get());
  }
  CHECK(attributes_of(plan.get())["service.name"] == "shop");
  CHECK(ls_context_is_of_parent(plan.get()) == 1);
  ls_plan_state state = LS_PLAN_NEW_FACTS;
  CHECK(ls_check_plan(target.get(), plan.get(), &state, nullptr) == LS_OK);
  CHECK(state == LS_PLAN_GOOD);
}

TEST_CASE("c_api_facts: a context that is wrong is a finding, and gives no facts") {
  const std::pair<std::string, std::string> faults[] = {{"version", "context-version"},
                                                        {"size", "context-size"},
                                                        {"garbage", "context-malformed"},
                                                        {"changing", "context-changing"}};
  for (const auto& [fault, name] : faults) {
    INFO(fault);
    const TargetProcess process = start_target(paths::kOtelContexts, {fault}, true);
    const OwnedTarget target = open_process(process.pid());
    const OwnedPlan plan = make_plan(target.get());
    CHECK(ls_attribute_count(plan.get()) == 0);
    CHECK(ls_context_key_count(plan.get()) == 0);
    CHECK(ls_context_schema(plan.get()).size == 0);
    std::size_t found = 0;
    for (std::size_t i = 0; i < ls_finding_count(plan.get()); ++i) {
      if (text_of(ls_finding_name(plan.get(), i)) != name) continue;
      ++found;
      CHECK(ls_finding_path(plan.get(), i).size == 0);
      CHECK(ls_finding_wanted(plan.get(), i) == LS_NOT_WANTED);
    }
    CHECK(found == 1);
  }
}

}  // namespace labelscope::test

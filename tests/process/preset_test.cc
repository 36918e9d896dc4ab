// The labels of a server's sessions by a preset, read without BPF: of threads that are stopped, of
// processes that run on meanwhile, and explained.
#include <fstream>

#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "labelscope/preset_plan.h"
#include "sampling/snapshot.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/rights.h"
#include "support/status_preset.h"

namespace labelscope::test {
namespace {

constexpr int kSessions = 40;

// Returns the process that runs a session now, if there is one.
std::optional<Pid> session_of(const TargetProcess& server) {
  const std::string pid = std::to_string(raw(server.pid()));
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  int child = 0;
  if (!(children >> child)) return std::nullopt;
  return Pid{child};
}

ProcessPlan plan_server(const TargetProcess& server, ModulePresets presets = status_presets()) {
  auto process = LiveProcess::open(server.pid());
  REQUIRE(process);
  Planner planner({.only = {LS_SOURCE_THREAD_CONTEXT}, .presets = std::move(presets)});
  auto plan = planner.plan(**process);
  if (!plan) FAIL(plan.error().context);
  return *std::move(plan);
}

// What was read of one session.
struct Reading {
  Pid pid{};
  Observation seen;
};

// Checks that all labels are those of their sessions, and returns how many have a query.
std::size_t check(const std::vector<Reading>& readings, const TargetProcess& server) {
  const auto sessions = sessions_of(server);
  std::size_t with_query = 0;
  std::size_t stale = 0;
  for (const auto& [pid, seen] : readings) {
    if (seen.outcome == LS_UNREADABLE_STALE) ++stale;
    if (seen.outcome != LS_LABELLED) continue;
    const auto session = sessions.find(pid);
    REQUIRE(session != sessions.end());
    INFO("session " << session->second.number);
    for (const Label& label : seen.labels) UNSCOPED_INFO(label.key << '=' << label.value);
    REQUIRE(are_of_session(seen.labels, session->second));
    with_query += has_query(seen.labels) ? 1 : 0;
  }
  CHECK(stale > 0);
  return with_query;
}

}  // namespace

TEST_CASE("preset: a process that is read while it runs never has another's labels") {
  TargetProcess server = start_status_server(paths::kStatusServer, kSessions);
  const ProcessPlan plan = plan_server(server);
  const std::vector<ls_tls_recipe> recipes = plan.recipes();
  REQUIRE(recipes.size() == 1);
  start_sessions(server);
  std::vector<Reading> readings;
  while (!have_ended(server)) {
    const auto pid = session_of(server);
    if (!pid) continue;
    const auto memory = open_process_memory(*pid);
    ThreadState thread;
    thread.first = true;
    thread.presets = &plan.presets;
    for (int i = 0; i < 50; ++i) readings.push_back({*pid, observe(recipes, thread, *memory)});
  }
  CHECK(check(readings, server) > 100);
}

TEST_CASE("preset: labels of a thread that is stopped") {
  skip_without_ptrace();
  TargetProcess server = start_status_server(paths::kStatusServer, kSessions);
  const ProcessPlan plan = plan_server(server);
  start_sessions(server);
  std::vector<Reading> readings;
  while (!have_ended(server)) {
    const auto pid = session_of(server);
    if (!pid) continue;
    const auto process = LiveProcess::open(*pid);
    if (!process) continue;
    const auto snapshot = snapshot_process(**process, plan, {});
    if (!snapshot) continue;  // it has ended
    for (const ThreadSnapshot& thread : snapshot->threads) readings.push_back({*pid, thread.seen});
  }
  CHECK(check(readings, server) > 20);
}

TEST_CASE("preset: its plan and its reading are explained") {
  TargetProcess server = start_status_server(paths::kStatusServer, 1);
  auto process = LiveProcess::open(server.pid());
  REQUIRE(process);
  Planner planner({.only = {LS_SOURCE_THREAD_CONTEXT}, .presets = status_presets()});
  PlanTrace trace;
  auto plan = planner.plan(**process, &trace);
  REQUIRE(plan);
  REQUIRE(plan->publishers.size() == 1);
  CHECK(plan->publishers[0].named == "preset status 1");
  const auto all = [](const Explanation& told) {
    std::string text;
    for (const std::string& step : told.steps) text += step + '\n';
    for (const Finding& finding : told.findings) text += finding_clause(finding) + '\n';
    return text;
  };
  const std::string of_plan = all(explain_plan(*plan, trace));
  INFO(of_plan);
  CHECK(of_plan.find("  preset: status\n") != std::string::npos);
  CHECK(of_plan.find("recipe (preset): status 1, a program of ") != std::string::npos);
  ThreadState thread;
  thread.first = true;
  // The parent has no entry.
  const std::string of_thread = all(explain_thread(*plan, thread, (*process)->memory()));
  INFO(of_thread);
  CHECK(of_thread.find("  preset status 1:\n") != std::string::npos);
  CHECK(of_thread.find("the process has an entry: 0 equals 0, so ") != std::string::npos);
  CHECK(of_thread.find("outcome: unlabelled") != std::string::npos);
}

TEST_CASE("preset: a process that none fits has no publisher, and the reason") {
  class Strange final : public ModulePreset {
   public:
    explicit Strange(bool matches) : matches_(matches) {}
    std::string_view name() const override { return "strange"; }
    bool matches(const ElfImage& image) const override {
      return matches_ && StatusPreset().matches(image);
    }
    std::variant<PresetPlan, Finding> compile(const Reachable&) const override {
      return Finding{FindingCode::kNoPreset, "no variant fits", "add one"};
    }
    Finding missing() const override { return {FindingCode::kNoPreset, "no file fits", ""}; }

   private:
    bool matches_;
  };
  const bool matches = GENERATE(true, false);
  TargetProcess server = start_status_server(paths::kStatusServer, 1);
  const ProcessPlan plan =
      plan_server(server, {std::make_shared<StatusPreset>(), std::make_shared<Strange>(matches)});
  CHECK(plan.publishers.size() == 1);
  REQUIRE(plan.missing_presets.size() == 1);
  CHECK(plan.missing_presets[0].index == 1);
  CHECK(plan.missing_presets[0].finding.text == (matches ? "no variant fits" : "no file fits"));
  CHECK(plan.refusals.empty());
}

}  // namespace labelscope::test

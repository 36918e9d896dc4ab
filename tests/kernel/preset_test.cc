// A server with an entry for each process, as PostgreSQL has it, is sampled by a preset: what
// each sample says is compared with what the sessions say of themselves.
#include <bpf/bpf.h>

#include <cmath>
#include <csignal>
#include <string>

#include "bpf/load/preset_programs.h"
#include "bpf/snapshot/task_snapshot.h"
#include "kernel/sampling.h"
#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "labelscope/preset_plan.h"
#include "labelscope/unique_fd.h"
#include "process/child_processes.h"
#include "process/proc_fs.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/rights.h"
#include "support/status_preset.h"

using namespace labelscope;
using namespace labelscope::test;

namespace {

constexpr int kSessions = 100;

ProcessPlan plan_server(const TargetProcess& server, unsigned checks = kAllChecks) {
  auto process = LiveProcess::open(server.pid());
  REQUIRE(process);
  Planner planner({.only = {LS_SOURCE_THREAD_CONTEXT}, .presets = status_presets(checks)});
  auto plan = planner.plan(**process);
  if (!plan) FAIL(plan.error().context);
  REQUIRE(plan->missing_presets.empty());
  REQUIRE(plan->publishers.size() == 1);
  return *std::move(plan);
}

// All samples of the sessions, and the sessions.
struct Run {
  Taken taken;
  std::map<Pid, StatusSession> sessions;
};

void sample_sessions(Run& run, unsigned checks) {
  TargetProcess server = start_status_server(paths::kStatusServer, kSessions);
  auto sampler = open_sampler({.frequency_hz = 999});
  const ProcessPlan plan = plan_server(server, checks);
  run.taken.presets = plan.presets;
  Status status = sampler->set_process(server.pid(), plan.recipes(), plan.presets);
  if (!status) FAIL(status.error().context);
  REQUIRE(sampler->start());
  start_sessions(server);
  drain_until(*sampler, run.taken, [&] { return run.taken.exits.size() >= kSessions; });
  run.sessions = finish_sessions(server);
  stop_and_balance(*sampler, run.taken);
  REQUIRE(run.sessions.size() == kSessions);
}

// Seen samples by what is right about them.
struct Seen {
  double with_query = 0;
  double with_database = 0;  // and no query
  double stale = 0;
  double none = 0;
  double unreadable = 0;  // for another reason
  double wrong = 0;
};

Seen count(const Run& run) {
  Seen counts;
  for (const TakenSample& sample : run.taken.samples) {
    const auto session = run.sessions.find(sample.pid);
    if (session == run.sessions.end()) continue;  // the parent
    if (sample.seen.outcome == LS_UNREADABLE_STALE) {
      ++counts.stale;
    } else if (sample.seen.outcome == LS_UNLABELLED) {
      ++counts.none;
    } else if (sample.seen.outcome != LS_LABELLED) {
      UNSCOPED_INFO(outcome_name(sample.seen.outcome));
      ++counts.unreadable;
    } else if (!are_of_session(sample.seen.labels, session->second)) {
      ++counts.wrong;
    } else {
      ++(has_query(sample.seen.labels) ? counts.with_query : counts.with_database);
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("preset: samples of forked sessions have their own labels, from the first sample on") {
  Run run;
  sample_sessions(run, kAllChecks);
  const Seen counts = count(run);
  CAPTURE(counts.with_query, counts.with_database, counts.stale, counts.none, counts.unreadable);
  CHECK(counts.wrong == 0);
  // The children have the recipe and its program from the fork on.
  CHECK(counts.unreadable == 0);
  double running = 0;
  double stale = 0;
  double idle = 0;
  for (const auto& [pid, session] : run.sessions) {
    running += session.running_ns;
    idle += session.idle_ns;
    stale += session.starting_ns + session.writing_ns;
  }
  // Four standard errors, so that one run of ten thousand fails.
  const double counted = counts.with_query + counts.with_database + counts.stale;
  REQUIRE(counted > 500);
  const auto check_share = [&](double samples, double ns) {
    const double share = ns / (running + idle + stale);
    CHECK(std::abs(samples / counted - share) < 4 * std::sqrt(share * (1 - share) / counted));
  };
  check_share(counts.with_query, running);
  check_share(counts.stale, stale);
}

TEST_CASE("preset: a program does not take the place of another one with its number") {
  skip_without_bpf();
  const TargetProcess server = start_status_server(paths::kStatusServer, 1);
  const ProcessPlan plan = plan_server(server);
  const std::vector<ls_tls_recipe> recipes = plan.recipes();
  const std::uint32_t number = preset_number(recipes.at(0));
  const UniqueFd map(bpf_map_create(BPF_MAP_TYPE_HASH, "presets", sizeof number,
                                    sizeof(ls_preset_program), 1, nullptr));
  REQUIRE(map.valid());
  REQUIRE(put_preset_programs(map.get(), recipes, plan.presets));
  REQUIRE(put_preset_programs(map.get(), recipes, plan.presets));
  ls_preset_program program{};
  REQUIRE(bpf_map_lookup_elem(map.get(), &number, &program) == 0);
  program.step[0].value ^= 1;
  REQUIRE(bpf_map_update_elem(map.get(), &number, &program, BPF_ANY) == 0);
  const Status refused = put_preset_programs(map.get(), recipes, plan.presets);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().context == "the preset status 1 has the number of another one");
  // What is there needs no plan.
  CHECK(put_preset_programs(map.get(), recipes, {}));
  REQUIRE(bpf_map_delete_elem(map.get(), &number) == 0);
  const Status unknown = put_preset_programs(map.get(), recipes, {});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == ErrorCode::kNotFound);
}

namespace {

// Stops the session that runs now, and returns which it is.
Pid stop_a_session(const TargetProcess& server) {
  for (;;) {
    auto process = LiveProcess::open(server.pid());
    REQUIRE(process);
    for (const Pid session : child_processes(**process)) {
      if (::kill(raw(session), SIGSTOP) != 0) continue;
      for (;;) {
        const auto stat = read_thread_stat("/proc/" + std::to_string(raw(session)) + "/stat");
        if (!stat || has_ended(stat->state)) break;
        if (stat->state == 'T') return session;
      }
    }
  }
}

}  // namespace

TEST_CASE("preset: a wait that has not ended has the labels of its thread") {
  skip_before_linux(6018, "lets no thread sample itself");
  TargetProcess server = start_status_server(paths::kStatusServer, kSessions / 4);
  auto sampler = open_sampler({.mode = SampleMode::kOffCpu, .frequency_hz = 999});
  const ProcessPlan plan = plan_server(server);
  Taken taken;
  taken.presets = plan.presets;
  Status status = sampler->set_process(server.pid(), plan.recipes(), plan.presets);
  if (!status) FAIL(status.error().context);
  REQUIRE(sampler->start());
  start_sessions(server);
  drain_until(*sampler, taken, [&] { return !taken.exits.empty(); });
  const Pid stopped = stop_a_session(server);
  REQUIRE(sampler->stop(taken));
  REQUIRE(::kill(raw(stopped), SIGCONT) == 0);
  const auto sessions = finish_sessions(server);
  int open = 0;
  for (const TakenSample& sample : taken.samples) {
    if ((sample.seen.flags & LS_STILL_WAITING) == 0 || sample.pid != stopped) continue;
    ++open;
    CAPTURE(outcome_name(sample.seen.outcome));
    // It may have stopped where it changes its entry.
    CHECK((sample.seen.outcome == LS_LABELLED || sample.seen.outcome == LS_UNREADABLE_STALE ||
           sample.seen.outcome == LS_UNLABELLED));
    if (sample.seen.outcome == LS_LABELLED)
      CHECK(are_of_session(sample.seen.labels, sessions.at(stopped)));
  }
  CHECK(open == 1);
}

TEST_CASE("preset: without one of its checks, labels are wrong") {
  const unsigned left_out = GENERATE(kPidCheck, kChangesCheck, kStateCheck);
  Run run;
  sample_sessions(run, kAllChecks & ~left_out);
  const Seen counts = count(run);
  CAPTURE(left_out, counts.with_query, counts.with_database, counts.stale, counts.wrong);
  if (left_out == kStateCheck) {
    // An idle session has the query that ran last.
    CHECK(counts.with_database == 0);
  } else {
    CHECK(counts.wrong > 20);
  }
}

// The shipped presets, held against programs that have a server's symbols and can be put into each
// state that leads a careless reader to a wrong label (tests/targets/servers). Each check of each
// preset is left out once: in some state a label is then wrong, or the check is not needed.
#include "support/preset_servers.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "labelscope/core_file.h"
#include "labelscope/explain.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "labelscope/target.h"
#include "sampling/snapshot.h"
#include "support/catch.h"
#include "support/rights.h"
#include "unit/symbol/temp_folder.h"

namespace labelscope::test {
namespace {

// A preset and what it makes of one process.
struct Reader {
  std::shared_ptr<const FilePreset> preset;
  ProcessPlan plan;

  bool refused() const { return plan.publishers.empty(); }
};

Reader reader_of(const PresetText& text, const PresetServer& server) {
  auto preset = text.parse();
  ProcessPlan plan = plan_with(preset, server.pid());
  REQUIRE(plan.publishers.size() + plan.missing_presets.size() == 1);
  return {std::move(preset), std::move(plan)};
}

// Returns which need does not hold, in the words of the preset.
std::string why_stale(const Reader& reader, const ThreadState& thread, const LiveProcess& process) {
  const Explanation explained = explain_thread(reader.plan, thread, process.memory());
  for (const PresetNeed& need : reader.preset->preset().needs) {
    for (const Finding& finding : explained.findings) {
      if (finding.text.find(": " + need.why + ": ") != std::string::npos) return need.why;
    }
  }
  return "it is not said why";
}

std::string told_of(const Reader& reader, const Observation& seen, const ThreadState& thread,
                    const LiveProcess& process) {
  if (seen.outcome != LS_UNREADABLE_STALE) return told(seen);
  return "stale: " + why_stale(reader, thread, process);
}

// A process in a state, with its threads as a snapshot has found them.
struct Seen {
  std::unique_ptr<LiveProcess> process;
  ProcessSnapshot snapshot;
};

Seen look_at(Pid pid, const ProcessPlan& plan) {
  auto process = LiveProcess::open(pid);
  if (!process) FAIL(process.error().context);
  auto snapshot = snapshot_process(**process, plan, {});
  if (!snapshot) FAIL(snapshot.error().context);
  return {*std::move(process), *std::move(snapshot)};
}

void check_threads(const Reader& reader, Pid pid, const std::string& first,
                   const std::string& other) {
  const Seen seen = look_at(pid, reader.plan);
  REQUIRE_FALSE(seen.snapshot.threads.empty());
  for (const ThreadSnapshot& thread : seen.snapshot.threads) {
    CHECK(told_of(reader, thread.seen, thread.state_read(reader.plan.meanings()), *seen.process) ==
          (thread.first ? first : other));
  }
}

// Whether it is tried on programs that are not of its preset: one for any program always fits.
bool is_for_any(const PresetText& preset) { return preset.parse()->preset().match.empty(); }

// All programs, and those checks that nothing has needed yet.
class Checks {
 public:
  explicit Checks(const PresetText& preset)
      : shipped_(preset), changed_(without_each_check(preset)) {
    for (const PresetText& each : changed_) unneeded_.insert(each.without);
    // Two checks in the same words would hide each other.
    REQUIRE(unneeded_.size() == changed_.size());
  }

  void try_on(PresetServer& server) {
    INFO(server.name());
    const Reader shipped = reader_of(shipped_, server);
    std::vector<std::pair<std::string, Reader>> readers;
    for (const PresetText& each : changed_) {
      if (!unneeded_.contains(each.without)) continue;
      Reader reader = reader_of(each, server);
      INFO("without " << each.without);
      if (shipped.refused()) {
        if (!reader.refused()) unneeded_.erase(each.without);
      } else {
        // Another reason than a label that is wrong would not show that the check is needed.
        REQUIRE_FALSE(reader.refused());
        readers.emplace_back(each.without, std::move(reader));
      }
    }
    if (shipped.refused()) return;
    for (const std::string& name : server.states())
      compare(server.enter(name), shipped, readers, server.pid());
  }

  const std::set<std::string>& unneeded() const { return unneeded_; }

 private:
  void compare(const ServerState& state, const Reader& shipped,
               const std::vector<std::pair<std::string, Reader>>& readers, Pid pid) {
    const Seen seen = look_at(pid, shipped.plan);
    for (const ThreadSnapshot& thread : seen.snapshot.threads) {
      const std::string truth = thread.first ? state.first : state.other;
      for (const auto& [without, reader] : readers) {
        const ThreadState of = thread.state_read(reader.plan.meanings());
        const Observation now = observe(reader.plan.recipes(), of, seen.process->memory());
        if (told_of(reader, now, of, *seen.process) != truth) unneeded_.erase(without);
      }
    }
  }

  PresetText shipped_;
  std::vector<PresetText> changed_;
  std::set<std::string> unneeded_;
};

}  // namespace

TEST_CASE("preset servers: in each state the labels are those that the server says") {
  skip_without_ptrace();
  for (const std::string& program : preset_server_programs()) {
    PresetServer server(program);
    if (server.preset().empty()) continue;
    INFO(server.name());
    const Reader reader = reader_of(shipped_preset(server.preset()), server);
    REQUIRE_FALSE(reader.refused());
    for (const std::string& name : server.states()) {
      INFO(name);
      const ServerState state = server.enter(name);
      check_threads(reader, server.pid(), state.first, state.other);
      // A child is read with its parent's plan, as a sampler does at first, and with its own.
      if (!state.child) continue;
      check_threads(reader, state.child->pid, state.child->first, "");
      check_threads({reader.preset, plan_with(reader.preset, state.child->pid)}, state.child->pid,
                    state.child->first, "");
    }
  }
}

TEST_CASE("preset servers: a core file has the labels of the process, but for its title") {
  if (std::system("command -v gcore >/dev/null") != 0) {
    skip_test("gcore is not installed (Debian package gdb)");
  }
  const TempFolder folder;
  for (const char* program :
       {"postgres-15", "redis-7.0", "php-fpm", "mod-php", "mariadb", "haproxy"}) {
    INFO(program);
    PresetServer server(preset_server_program(program));
    const ServerState state = server.enter(server.states().at(0));
    const std::string file = folder.path() + "/" + program;
    const std::string pid = std::to_string(raw(server.pid()));
    if (std::system(("timeout 60 gcore -o '" + file + "' " + pid + " >/dev/null 2>&1").c_str()) !=
        0) {
      skip_test("gcore may not look at processes here");
    }
    const auto core = CoreFile::open(file + "." + pid, {});
    REQUIRE(core);
    Planner planner(
        {.only = {LS_SOURCE_THREAD_CONTEXT}, .presets = {shipped_preset(server.preset()).parse()}});
    auto plan = planner.plan(**core);
    REQUIRE(plan);
    const auto seen = snapshot_core(**core, *std::move(plan), {});
    REQUIRE(seen);
    CHECK(seen->threads.size() == 2);
    for (const ThreadSnapshot& thread : seen->threads) {
      const std::string truth = thread.first ? state.first : state.other;
      CHECK(told(thread.seen) ==
            truth.substr(0, std::min(truth.find(", title="), truth.find(", pool="))));
    }
  }
}

TEST_CASE("preset servers: a preset is refused for each program that is not its server") {
  for (const std::string& program : preset_server_programs()) {
    const PresetServer server(program);
    INFO(server.name());
    for (const PresetText& preset : shipped_presets()) {
      if (preset.name == server.preset() || is_for_any(preset)) continue;
      INFO(preset.name);
      const Reader reader = reader_of(preset, server);
      REQUIRE(reader.refused());
      CHECK_FALSE(reader.plan.missing_presets[0].finding.text.empty());
    }
  }
}

TEST_CASE("preset servers: values of two owners that take turns are never paired") {
  skip_without_ptrace();
  PresetServer server(preset_server_program("postgres-15"));
  const Reader reader = reader_of(shipped_preset("postgres"), server);
  server.enter("running");
  server.flip();
  const std::string first =
      "query_id=1, db=one, user=one, application=one, db_oid=1, user_oid=1, role_oid=1, query=one, "
      "title=postgres: ada shop";
  const std::string second =
      "query_id=2, db=two, user=two, application=two, db_oid=2, user_oid=2, role_oid=2, query=two, "
      "title=postgres: ada shop";
  std::map<std::string, unsigned> seen;
  // Stopped threads.
  for (int i = 0; i < 200; ++i) {
    for (const ThreadSnapshot& thread : look_at(server.pid(), reader.plan).snapshot.threads) {
      if (thread.first) ++seen[told(thread.seen)];
    }
  }
  CHECK(seen[first] + seen[second] + seen["stale"] == 200);
  // A thread that runs meanwhile: all is read twice.
  auto process = LiveProcess::open(server.pid());
  REQUIRE(process);
  ThreadState thread;
  thread.first = true;
  thread.presets = &reader.plan.presets;
  for (int i = 0; i < 20'000; ++i) {
    ++seen[told(observe(reader.plan.recipes(), thread, (*process)->memory()))];
  }
  CHECK(seen[first] > 100);
  CHECK(seen[second] > 100);
  for (const char* outcome : {"stale", "torn"}) seen.erase(outcome);
  seen.erase(first);
  seen.erase(second);
  for (const auto& [labels, count] : seen) UNSCOPED_INFO(count << " times " << labels);
  CHECK(seen.empty());
}

TEST_CASE("preset servers: without any one of a preset's checks, a label is wrong in some state") {
  skip_without_ptrace();
  std::vector<std::unique_ptr<PresetServer>> servers;
  for (const std::string& program : preset_server_programs()) {
    servers.push_back(std::make_unique<PresetServer>(program));
  }
  for (const PresetText& preset : shipped_presets()) {
    INFO(preset.name);
    // A preset without a program has no tests.
    CHECK(std::ranges::any_of(servers,
                              [&](const auto& one) { return one->preset() == preset.name; }));
    Checks checks(preset);
    for (const auto& server : servers) {
      if (server->preset() == preset.name || !is_for_any(preset)) checks.try_on(*server);
    }
    for (const std::string& check : checks.unneeded()) {
      UNSCOPED_INFO("nothing is wrong without: " << check);
    }
    CHECK(checks.unneeded().empty());
  }
}

}  // namespace labelscope::test

#include "support/status_preset.h"

#include <algorithm>

#include "elf/elf_image.h"
#include "sources/label_source.h"
#include "support/catch.h"

namespace labelscope::test {
namespace {

constexpr const char* kEntry = "status_entry";
constexpr const char* kPid = "status_pid";
// Offsets in struct status_entry.
constexpr std::int32_t kChangesAt = 0, kPidAt = 4, kStateAt = 232, kDatabaseAt = 240,
                       kQueryAt = 424;
constexpr std::uint64_t kBytes = 432, kRunning = 2;

class Steps {
 public:
  explicit Steps(PresetPlan& plan) : plan_(plan) {}
  void add(const ls_preset_step& step, const char* words = nullptr) {
    ls_preset_program& program = plan_.program;
    if (words != nullptr) plan_.words.emplace_back(program.count, words);
    program.step[program.count++] = step;
  }
  std::uint32_t count() const { return plan_.program.count; }
  // Lets an UNLESS skip all that follow.
  void skip_rest(std::uint32_t from) {
    plan_.program.step[from].offset = static_cast<std::int32_t>(count() - from - 1);
  }

 private:
  PresetPlan& plan_;
};

std::optional<Address> address_of(const Reachable& module, const char* name) {
  const auto symbol = module.module.image->find_dynamic_symbol(name);
  if (!symbol || !*symbol || !(*symbol)->defined) return std::nullopt;
  return module.module.load_bias + (*symbol)->value;
}

}  // namespace

bool StatusPreset::matches(const ElfImage& image) const {
  const auto symbol = image.find_dynamic_symbol(kEntry);
  return symbol && *symbol && (*symbol)->defined;
}

std::variant<PresetPlan, Finding> StatusPreset::compile(const Reachable& module) const {
  const auto entry = address_of(module, kEntry);
  const auto pid = address_of(module, kPid);
  if (!entry || !pid) {
    return Finding{FindingCode::kNoPreset, std::string("it has no variable ") + kPid,
                   "take another server"};
  }
  PresetPlan plan;
  plan.name = "status 1";
  plan.labels = {{"database", {}, {}}, {"query", {}, {}}};
  Steps steps(plan);
  steps.add({LS_PRESET_SET, 0, 0, 0, 0, *entry}, kEntry);
  steps.add({LS_PRESET_READ, 0, 0, 8, 0, 0});
  const std::uint32_t no_entry = steps.count();
  steps.add({LS_PRESET_UNLESS, 0, 0, LS_PRESET_NOT_EQUAL, 0, 0}, "the process has an entry");
  steps.add({LS_PRESET_BLOCK, 0, 0, 0, 0, kBytes}, "the entry");
  if ((checks_ & kPidCheck) != 0) {
    steps.add({LS_PRESET_FIELD, 1, 0, 4, kPidAt, 0});
    steps.add({LS_PRESET_SET, 2, 0, 0, 0, *pid}, kPid);
    steps.add({LS_PRESET_READ, 2, 2, 4, 0, 0});
    steps.add({LS_PRESET_NEED, 2, 1, LS_PRESET_EQUAL | LS_PRESET_WITH_SLOT, 0, 0},
              "the entry is this process's");
  }
  if ((checks_ & kChangesCheck) != 0) {
    steps.add({LS_PRESET_FIELD, 3, 0, 4, kChangesAt, 0});
    steps.add({LS_PRESET_NEED, 0, 3, LS_PRESET_NO_BIT, 0, 1}, "the entry is not being written");
  }
  steps.add({LS_PRESET_FIELD, 4, 0, 8, kDatabaseAt, 0});
  steps.add({LS_PRESET_UNLESS, 0, 4, LS_PRESET_NOT_EQUAL, 1, 0});
  steps.add({LS_PRESET_EMIT_TEXT, 0, 4, LS_VARIABLE_TEXT, 0, 0});
  if ((checks_ & kStateCheck) != 0) {
    steps.add({LS_PRESET_FIELD, 5, 0, 4, kStateAt, 0});
    steps.add({LS_PRESET_UNLESS, 0, 5, LS_PRESET_EQUAL, 2, kRunning}, "a query runs");
  }
  steps.add({LS_PRESET_FIELD, 6, 0, 8, kQueryAt, 0});
  steps.add({LS_PRESET_EMIT, 1, 6, LS_VARIABLE_SIGNED, 8, 0});
  steps.skip_rest(no_entry);
  return plan;
}

Finding StatusPreset::missing() const {
  return {FindingCode::kNoPreset, std::string("no file has the variable ") + kEntry,
          "take the server"};
}

ModulePresets status_presets(unsigned checks) {
  return {std::make_shared<const StatusPreset>(checks)};
}

TargetProcess start_status_server(const std::string& program, int sessions) {
  TargetOptions options;
  options.program = program;
  options.arguments = {std::to_string(sessions)};
  auto server = TargetProcess::spawn(options);
  if (!server) FAIL(server.error().context);
  return *std::move(server);
}

void start_sessions(TargetProcess& server) { REQUIRE(server.send("go")); }

bool have_ended(TargetProcess& server) {
  const Status ready = server.wait_ready(std::chrono::milliseconds(0));
  if (!ready && ready.error().code != ErrorCode::kLimit) FAIL(ready.error().context);
  return ready.has_value();
}

std::map<Pid, StatusSession> finish_sessions(TargetProcess& server) {
  const Status ready = server.wait_ready(std::chrono::minutes(1));
  if (!ready) FAIL(ready.error().context);
  return sessions_of(server);
}

std::map<Pid, StatusSession> sessions_of(const TargetProcess& server) {
  std::map<Pid, StatusSession> sessions;
  for (const nlohmann::json& line : server.lines()) {
    if (!line.contains("session")) continue;
    sessions[Pid{line.at("pid").get<int>()}] = {line.at("session"), line.at("starting_ns"),
                                                line.at("writing_ns"), line.at("running_ns"),
                                                line.at("idle_ns")};
  }
  return sessions;
}

bool has_query(const LabelSet& labels) {
  return std::ranges::find(labels, "query", &Label::key) != labels.end();
}

bool are_of_session(const LabelSet& labels, const StatusSession& session) {
  return !labels.empty() && std::ranges::all_of(labels, [&](const Label& label) {
    if (label.key == "database") return label.value == "db" + std::to_string(session.number);
    const int query = std::stoi(label.value) - 1000 * session.number;
    return label.key == "query" && query >= 0 && query < 3;
  });
}

}  // namespace labelscope::test

#include "support/preset_servers.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "labelscope/target.h"
#include "support/catch.h"
#include "support/paths.h"

namespace labelscope::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

TargetProcess start(const std::string& program, bool burns) {
  TargetOptions options;
  options.program = program;
  if (burns) options.arguments = {"--burn"};
  auto target = TargetProcess::spawn(options);
  if (!target) FAIL(target.error().context);
  return *std::move(target);
}

std::vector<std::string> files_of(const char* folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// Splits at blanks outside of quotation marks, up to a comment.
Words split(const std::string& line) {
  Words words;
  bool is_new = true;
  bool quoted = false;
  for (const char c : line) {
    if (c == '#' && is_new) break;
    if (c == '"') quoted = !quoted;
    const bool is_blank = !quoted && (c == ' ' || c == '\t');
    if (!is_blank && is_new) words.emplace_back();
    if (!is_blank) words.back() += c;
    is_new = is_blank;
  }
  return words;
}

std::string join(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// How many words at `at` are one check of a label; 0: it is none.
std::size_t check_of_label(const Words& words, std::size_t at) {
  const std::string& word = words[at];
  if (word == "if") return at + 2 < words.size() && words[at + 2] == "even" ? 3 : 4;
  if (word == "unless" || word == "word" || word == "after") return 2;
  if (word == "path") return 1;
  if (word == "fingerprint") return at + 1 < words.size() && words[at + 1] == "mysql" ? 2 : 1;
  if (word != "map") return 0;
  std::size_t end = at + 1;
  while (end < words.size() && words[end].find('=') != std::string::npos &&
         !words[end].starts_with("class=")) {
    ++end;
  }
  return end - at;
}

// Each way to leave one check out of a line: what is left out, and what remains.
std::vector<std::pair<std::string, Words>> without_each_check(const Words& words) {
  std::vector<std::pair<std::string, Words>> all;
  if (words.empty()) return all;
  if (words[0] == "need" || words[0] == "only") return {{join(words), {}}};
  const bool is_label = words[0] == "label" || words[0] == "private" || words[0] == "let";
  const bool is_file = words[0] == "match" || words[0] == "variant";
  for (std::size_t at = 1; at < words.size(); ++at) {
    Words rest = words;
    std::size_t left_out = 1;
    const auto from = rest.begin() + static_cast<std::ptrdiff_t>(at);
    if (is_file && words[at].starts_with('!')) {
      rest.erase(from);
    } else if (is_file && words[at].ends_with(".size")) {
      // The symbol without its size.
      left_out = 3;
      from->resize(from->size() - std::string(".size").size());
      rest.erase(from + 1, from + 3);
    } else if (const std::size_t count = is_label ? check_of_label(words, at) : 0; count != 0) {
      left_out = count;
      rest.erase(from, from + static_cast<std::ptrdiff_t>(count));
      // Of several lines for one label each must have a condition: this one always holds.
      const Words always{"if", "0", "==", "0"};
      if (words[at] == "if") {
        rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(at), always.begin(), always.end());
      }
    } else {
      continue;
    }
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at);
    const Words check(begin, begin + static_cast<std::ptrdiff_t>(left_out));
    all.emplace_back(words[0] + " " + words[1] + ": " + join(check), std::move(rest));
  }
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

}  // namespace

PresetServer::PresetServer(const std::string& program, bool burns)
    : target_(start(program, burns)), name_(fs::path(program).filename()) {
  const nlohmann::json& said = target_.lines().at(0);
  preset_ = said.at("preset");
  states_ = said.at("states").get<std::vector<std::string>>();
  fills_ = said.at("fills").get<std::vector<std::string>>();
}

void PresetServer::say(const std::string& line) {
  REQUIRE(target_.send(line));
  if (const Status ready = target_.wait_ready(std::chrono::seconds(20)); !ready) {
    FAIL(name_ << ", " << line << ": " << ready.error().context);
  }
}

void PresetServer::fill(const std::string& kind, unsigned seed) {
  say("fill " + kind + " " + std::to_string(seed));
}

ServerState PresetServer::enter(const std::string& state) {
  const std::size_t before = target_.lines().size();
  say(state);
  ServerState made;
  for (std::size_t i = before; i < target_.lines().size(); ++i) {
    const nlohmann::json& line = target_.lines()[i];
    if (line.contains("child")) {
      made.child = {Pid{line.at("child").get<int>()}, line.at("first")};
    } else {
      made.name = line.at("state");
      made.first = line.at("first");
      made.other = line.at("other");
    }
  }
  REQUIRE(made.name == state);
  return made;
}

std::vector<std::string> preset_server_programs() {
  std::vector<std::string> programs = files_of(paths::kPresetServers);
  REQUIRE_FALSE(programs.empty());
  return programs;
}

std::string preset_server_program(const std::string& name) {
  return std::string(paths::kPresetServers) + "/" + name;
}

std::shared_ptr<const FilePreset> PresetText::parse() const {
  auto parsed = parse_preset(text);
  if (!parsed) FAIL(name << " without " << without << ": " << parsed.error().context);
  return std::make_shared<const FilePreset>(*std::move(parsed));
}

std::vector<PresetText> shipped_presets() {
  std::vector<PresetText> presets;
  for (const std::string& path : files_of(paths::kPresets)) {
    std::ifstream file(path, std::ios::binary);
    presets.push_back({fs::path(path).stem(), {std::istreambuf_iterator<char>(file), {}}});
  }
  REQUIRE_FALSE(presets.empty());
  return presets;
}

PresetText shipped_preset(const std::string& name) {
  for (PresetText& preset : shipped_presets()) {
    if (preset.name == name) return std::move(preset);
  }
  FAIL("there is no preset " << name);
  return {};
}

std::vector<PresetText> without_each_check(const PresetText& preset) {
  std::vector<PresetText> all;
  const std::vector<std::string> lines = lines_of(preset.text);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    for (const auto& [left_out, rest] : without_each_check(split(lines[at]))) {
      PresetText changed{preset.name, {}, left_out + ", line " + std::to_string(at + 1)};
      for (std::size_t i = 0; i < lines.size(); ++i) {
        changed.text += (i == at ? join(rest) : lines[i]) + '\n';
      }
      all.push_back(std::move(changed));
    }
  }
  return all;
}

ProcessPlan plan_with(const std::shared_ptr<const FilePreset>& preset, Pid pid) {
  auto process = LiveProcess::open(pid);
  if (!process) FAIL(process.error().context);
  Planner planner({.only = {LS_SOURCE_THREAD_CONTEXT}, .presets = {preset}});
  auto plan = planner.plan(**process);
  if (!plan) FAIL(plan.error().context);
  return *std::move(plan);
}

std::string told(const Observation& seen) {
  if (seen.outcome != LS_LABELLED) return std::string(outcome_name(seen.outcome));
  // The kernel's outcome is older than what the reader makes of the values: each may be no label.
  if (seen.labels.empty()) return std::string(outcome_name(LS_UNLABELLED));
  std::string text;
  for (const Label& label : seen.labels) {
    text += (text.empty() ? "" : ", ") + label.key + "=" + label.value;
  }
  return text;
}

}  // namespace labelscope::test

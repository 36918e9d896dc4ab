#include "cli/options/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "cli/format/common/row_labels.h"
#include "cli/text/escape.h"
#include "elf/regular_file.h"
#include "sources/preset/preset_files.h"
#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

// A candidate and what it is.
using Candidates = std::vector<std::pair<std::string, std::string>>;

// So much of a recording is read for its keys.
constexpr std::size_t kMostRead = std::size_t{64} << 20;
constexpr std::size_t kLongestAbout = 80;

// Names of processes and keys of labels come from programs. A word that a terminal or a shell could
// take for something else is left out.
bool is_plain(std::string_view word) {
  return !word.empty() && escape_terminal(word) == word && !needs_quotes(word) &&
         word.find_first_of("$`|&;<>()*?[]#~!{}\t\n") == std::string_view::npos;
}

std::string in_one_line(const std::string& description) {
  std::string text = description.substr(0, description.find('\n'));
  if (text.size() <= kLongestAbout) return text;
  return text.substr(0, text.rfind(' ', kLongestAbout)) + " ...";
}

// Processes by number and by name. Kernel threads and zombies cannot be looked at.
Candidates processes() {
  std::map<std::string, std::size_t> names;
  Candidates found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string number = entry.path().filename().string();
    if (number.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto stat = read_thread_stat("/proc/" + number + "/stat");
    if (!stat || stat->of_kernel() || has_ended(stat->state)) continue;
    found.emplace_back(number, escape_terminal(stat->name));
    if (is_plain(stat->name)) ++names[stat->name];
  }
  for (const auto& [name, count] : names) {
    found.emplace_back(name, count == 1 ? "1 process" : std::to_string(count) + " processes");
  }
  return found;
}

Candidates presets() {
  Candidates found{{"auto", "whichever fit"}};
  for (const PresetDescription& preset : load_known_presets().presets) {
    found.emplace_back(preset.name, in_one_line(preset.about));
  }
  return found;
}

void add_keys_of(const std::string& recording, std::set<std::string>& keys) {
  // A completion must not wait for the writer of a FIFO.
  const auto file = open_regular_file(recording);
  const auto text = file ? read_up_to(*file, kMostRead) : Result<std::string>(file.error());
  if (!text) return;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("{\"type\":\"labels\"")) continue;
    const auto row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto labels = row.is_object() ? row.find("labels") : row.end();
    if (labels == row.end() || !labels->is_array()) continue;
    for (const auto& label : *labels) {
      const auto key = label.is_object() ? label.find("key") : label.end();
      if (key != label.end() && key->is_string() && is_plain(key->get<std::string>())) {
        keys.insert(key->get<std::string>());
      }
    }
  }
}

// The keys that always exist, and those of the recordings that have been typed already.
Candidates label_keys(std::span<const std::string> words) {
  std::set<std::string> keys;
  for (const std::string& word : words) {
    if (word.ends_with(".jsonl")) add_keys_of(word, keys);
  }
  Candidates found;
  for (const std::string& key : keys) found.emplace_back(key, "label of the recording");
  for (const std::string& key : own_keys()) {
    if (!keys.contains(key)) found.emplace_back(key, "of each sample");
  }
  return found;
}

// Puts what stands before the last comma in front of each candidate.
Candidates behind_commas(const Candidates& all, const std::string& typed) {
  const std::string before = typed.substr(0, typed.rfind(',') + 1);
  Candidates found;
  for (const auto& [word, about] : all) found.emplace_back(before + word, about);
  return found;
}

std::string first_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
}

Candidates values_of(const CLI::Option& option, const ChoicesOf& choices,
                     std::span<const std::string> words) {
  const std::string name = first_name(option);
  const std::string& typed = words.back();
  if (name == "--pid") return behind_commas(processes(), typed);
  if (name == "--preset") return behind_commas(presets(), typed);
  for (const char* takes_keys :
       {"--summary", "--blame", "--where", "--label-deny", "--label-allow", "--label-hash"}) {
    if (name == takes_keys) return behind_commas(label_keys(words), typed);
  }
  Candidates found;
  for (const std::string& choice : choices(name)) found.emplace_back(choice, "");
  return found;
}

Candidates options_of(const CLI::App& app) {
  Candidates found;
  for (const CLI::Option* option : app.get_options()) {
    const std::string about = in_one_line(option->get_description());
    for (const std::string& name : option->get_lnames()) found.emplace_back("--" + name, about);
    for (const std::string& name : option->get_snames()) found.emplace_back("-" + name, about);
  }
  return found;
}

Candidates commands_of(const CLI::App& app) {
  Candidates found;
  for (const CLI::App* each : app.get_subcommands({})) {
    found.emplace_back(each->get_name(), in_one_line(each->get_description()));
  }
  found.emplace_back("help", "How a command is used");
  found.emplace_back("version", "Which labelscope this is");
  return found;
}

Candidates candidates(const CLI::App& app, const ChoicesOf& choices,
                      std::span<const std::string> words) {
  if (words.empty()) return commands_of(app);
  if (words.size() == 1 || (words.size() == 2 && words[0] == "help")) {
    return words.back().starts_with('-') ? options_of(app) : commands_of(app);
  }
  const auto named =
      app.get_subcommands([&](const CLI::App* each) { return each->get_name() == words.front(); });
  const CLI::App* command = named.empty() ? nullptr : named.front();
  // What follows "--" is another program's.
  if (command == nullptr ||
      std::ranges::find(words.first(words.size() - 1), "--") != words.end() - 1) {
    return {};
  }
  const CLI::Option* before = command->get_option_no_throw(words[words.size() - 2]);
  if (before != nullptr && before->get_items_expected_max() > 0 &&
      words[words.size() - 2].starts_with('-')) {
    return values_of(*before, choices, words);
  }
  return words.back().starts_with('-') ? options_of(*command) : Candidates();
}

}  // namespace

std::string complete_words(const CLI::App& app, const ChoicesOf& choices,
                           std::span<const std::string> words) {
  std::string text;
  for (const auto& [word, about] : candidates(app, choices, words)) {
    if (!words.empty() && !word.starts_with(words.back())) continue;
    text += word;
    text += '\t';
    text += about;
    text += '\n';
  }
  return text;
}

}  // namespace labelscope::cli

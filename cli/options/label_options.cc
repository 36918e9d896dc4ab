// These options as they are typed. Names are NAME or NAME=KEY, with commas in between; a variable
// has an option of its own.
#include "cli/options/label_options.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/format/common/row_labels.h"
#include "cli/options/values.h"
#include "sources/preset/preset_files.h"

namespace labelscope::cli {
namespace {

struct NameAndKey {
  std::string name;
  std::string key;  // the name if none is typed
};

NameAndKey split_key(const std::string& option, const std::string& word, const std::string& what) {
  const std::size_t equals = word.find('=');
  NameAndKey made{word.substr(0, equals),
                  word.substr(equals == std::string::npos ? 0 : equals + 1)};
  if (made.name.empty()) refuse(option, word, what + " is wanted, or " + what + " and =KEY");
  if (made.key.empty()) refuse(option, word, "the label key behind = is empty");
  return made;
}

// A label wins over labelscope's own key of that name, which would then be called labelscope.pid
// and the like: a label `pid` would hide which process a thread belongs to.
void refuse_own_key(const std::string& option, const std::string& word, const std::string& key) {
  const std::vector<std::string> own = own_keys();
  if (std::find(own.begin(), own.end(), key) == own.end()) return;
  refuse(option, word,
         "every sample has a key " + key + " already, which is labelscope's own: put another =KEY");
}

using Variables = std::vector<ProcessLabelOptions::Variable>;
Variables parse_variables(const std::string& option, const std::vector<std::string>& typed) {
  Variables variables;
  for (const std::string& word : parse_keys(option, typed)) {
    auto [name, key] = split_key(option, word, "the name of a variable");
    refuse_own_key(option, word, key);
    variables.push_back({std::move(name), std::move(key)});
  }
  return variables;
}

using Properties = std::vector<ProcessLabelOptions::Property>;
Properties parse_properties(const std::string& option, const std::vector<std::string>& typed) {
  Properties properties;
  for (const std::string& word : parse_keys(option, typed)) {
    auto [name, key] = split_key(option, word, "a property");
    refuse_own_key(option, word, key);
    properties.push_back({find_named(kProcessProperties, option, name).value, std::move(key)});
  }
  return properties;
}

std::vector<VariableSpec> parse_variables_of_threads(const std::string& option,
                                                     const std::vector<std::string>& typed) {
  std::vector<VariableSpec> variables;
  for (const std::string& word : typed) {
    auto parsed = parse_variable_spec(word);
    if (!parsed) refuse(option, word, parsed.error().context);
    refuse_own_key(option, word, parsed->key);
    for (const VariableSpec& other : variables) {
      if (other.key != parsed->key) continue;
      refuse(option, word,
             "another variable has the label key " + parsed->key + " already: put another =KEY");
    }
    variables.push_back(*std::move(parsed));
  }
  if (variables.size() > LS_MAX_PUBLISHERS) {
    refuse(option + ": more than " + std::to_string(LS_MAX_PUBLISHERS) +
           " variables; each is a publisher, of which a process can have so many");
  }
  return variables;
}

// Leaves out the private labels that the user has not named.
void keep_named(PresetDescription& preset, const std::vector<std::string>& named) {
  std::erase_if(preset.labels, [&](const DescribedLabel& label) {
    return label.is_private && std::ranges::find(named, label.key) == named.end();
  });
}

// How many values a label of each class may have in a recording: a hundred databases or pools,
// a thousand routes; and as many statements as pg_stat_statements keeps by default, half of the
// label sets that viewers bear (key_use.h).
std::size_t cap_of(PresetClass of) {
  switch (of) {
    case PresetClass::kLow:
      return 100;
    case PresetClass::kMiddle:
      return 1'000;
    case PresetClass::kHigh:
      break;
  }
  return 5'000;
}

void refuse_unknown_label(const std::vector<PresetDescription>& presets, const std::string& name) {
  std::vector<std::string> there;
  for (const PresetDescription& preset : presets) {
    for (const DescribedLabel& label : preset.labels) {
      if (label.key == name) return;
      if (label.is_private) there.push_back(label.key);
    }
  }
  refuse("--preset-label", name,
         "no preset has this label" + (there.empty()
                                           ? std::string(", nor any private one")
                                           : "; private ones are " + in_words(there, " and ")));
}

}  // namespace

void LabelOptions::declare(OptionList& list) {
  list.group("Labels that no program publishes");
  list.words(
      "--preset", "NAME|FILE|auto",
      "Labels of a stock server, read from outside (repeatable, or with commas); auto: of each "
      "server that is known",
      preset_names_, parse_keys);
  list.words("--preset-label", "NAME[,NAME]",
             "Read these labels of a preset, too, which are private, such as the text of a query",
             private_labels_, parse_keys);
  list.words("--variable,--tls", "[MODULE:]SYMBOL[+N][->[+]N...]:TYPE[=KEY]",
             "A variable as a label, thread-local or of the process, or @title (repeatable, each "
             "counts as one of the " +
                 std::to_string(LS_MAX_PUBLISHERS) +
                 " publishers that are read; with -> in quotes, or the shell takes the >). TYPE: " +
                 variable_types(),
             variables, parse_variables_of_threads);
  list.words("--env-label", "VAR[=KEY]",
             "A variable of the process's environment (repeatable, or with commas)",
             of_process.variables, parse_variables);
  list.flag("--env-labels", "The labels that its LABELSCOPE_LABELS=KEY=VALUE,... names",
            of_process.list);
  list.words("--process-label", "PROPERTY[=KEY]",
             names_in(kProcessProperties, " or ") + " of the process (repeatable, or with commas)",
             of_process.properties, parse_properties);
}

void LabelOptions::check() {
  if (preset_names_.empty() && !private_labels_.empty()) {
    refuse("--preset-label has a meaning with --preset only");
  }
  std::vector<PresetDescription> loaded;
  const auto is_named = [&](const std::string& name) {
    return std::ranges::find(preset_names_, name) != preset_names_.end();
  };
  for (const std::string& name : preset_names_) {
    if (name == "auto") {
      any_preset = true;
      KnownPresets known = load_known_presets();
      if (!known.problems.empty()) refuse("--preset", name, known.problems.front());
      if (known.presets.empty()) refuse("--preset", name, "no preset is installed");
      std::ranges::move(known.presets, std::back_inserter(loaded));
      continue;
    }
    auto preset = load_preset(name);
    if (!preset) refuse("--preset", name, preset.error().context);
    loaded.push_back(*std::move(preset));
  }
  // `auto` has those that are named, too, and a file may be a copy: the first of a name counts.
  for (auto preset = loaded.begin(); preset != loaded.end(); ++preset) {
    loaded.erase(
        std::remove_if(preset + 1, loaded.end(),
                       [&](const PresetDescription& later) { return later.name == preset->name; }),
        loaded.end());
  }
  for (const std::string& name : private_labels_) refuse_unknown_label(loaded, name);
  for (PresetDescription& preset : loaded) {
    keep_named(preset, private_labels_);
    for (const DescribedLabel& label : preset.labels) {
      refuse_own_key("--preset", preset.name, label.key);
      std::size_t& cap = preset_caps[label.key];
      cap = std::max(cap, cap_of(label.cardinality));
      if (!label.names.empty()) named_ids.push_back({label.names, label.key});
    }
    // What fits any program is the last resort of `auto`.
    const bool gives_way = !fits_by_symbols(preset) && !is_named(preset.name);
    presets.push_back(std::make_shared<FilePreset>(std::move(preset), gives_way));
  }
}

std::string LabelOptions::no_preset_text() const {
  std::vector<std::string> names;
  for (const auto& preset : presets) names.emplace_back(preset->name());
  return "no file of a process is a server that is known: " + in_words(names, " or ") +
         "; docs/presets.md says how a preset is written";
}

std::string LabelOptions::missing_text(const MissingPreset& missing) const {
  return "--preset " + std::string(presets[missing.index]->name()) + ": " +
         finding_clause(missing.finding);
}

std::string LabelOptions::missing_text(const MissingVariable& missing) const {
  return "--variable " + variables[missing.index].text + ": " + finding_clause(missing.finding);
}

}  // namespace labelscope::cli

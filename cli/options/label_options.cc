// These options as they are typed. Names are NAME or NAME=KEY, with commas in between; a variable
// has an option of its own.
#include "cli/options/label_options.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/format/common/row_labels.h"
#include "cli/options/values.h"

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

}  // namespace

void LabelOptions::declare(OptionList& list) {
  list.group("Labels that no program publishes");
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

std::string LabelOptions::missing_text(const MissingVariable& missing) const {
  return "--variable " + variables[missing.index].text + ": " + finding_clause(missing.finding);
}

}  // namespace labelscope::cli

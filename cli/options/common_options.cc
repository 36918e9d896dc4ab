#include "cli/options/common_options.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "cli/answer/blame.h"
#include "cli/format/common/row_labels.h"
#include "cli/options/values.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"

namespace labelscope::cli {
namespace {

constexpr Named<ColorMode> kColors[] = {
    {"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}};

Format parse_format(const std::string& option, const std::string& text) {
  return find_named(kFormats, option, text);
}

// This is checked before recording: without the label that it is made for, a recording is of no
// use.
void refuse_left_out(const LabelRules& rules, const std::string& option, const std::string& key) {
  const auto has = [&](const std::vector<std::string>& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  // Every sample has these values without any label.
  const std::vector<std::string> ours = own_keys();
  if (std::find(ours.begin(), ours.end(), key) != ours.end()) return;
  if (has(rules.deny)) refuse(option, key, "--label-deny leaves this label out");
  if (!rules.allow.empty() && !has(rules.allow) && !has(rules.hash)) {
    refuse(option, key, "--label-allow leaves this label out; name it there, too");
  }
}

std::vector<Condition> parse_conditions(const std::string& option,
                                        const std::vector<std::string>& texts) {
  std::vector<Condition> conditions;
  for (const std::string& text : texts) {
    Result<Condition> condition = Condition::parse(text);
    if (!condition) refuse(option, text, condition.error().context);
    conditions.push_back(*std::move(condition));
  }
  return conditions;
}

NamesOfKeys read_names(const std::string& option, const std::vector<std::string>& texts) {
  NamesOfKeys all;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      refuse(option, text, "KEY=FILE is wanted: the key of a label, and the file of names");
    }
    const std::string key = text.substr(0, equals);
    if (all.contains(key)) refuse(option, text, "the label " + key + " has a file already");
    auto names = read_value_names(text.substr(equals + 1));
    if (!names) refuse(option, text, names.error().context);
    all.emplace(key, std::make_shared<const ValueNames>(*std::move(names)));
  }
  return all;
}

ValueCaps read_caps(const std::string& option, const std::vector<std::string>& texts) {
  ValueCaps caps;
  for (const std::string& text : parse_keys(option, texts)) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      refuse(option, text, "KEY=N is wanted: the key of a label, and how many values are kept");
    }
    const std::string most = text.substr(equals + 1);
    constexpr Count kNumber{.least = 1, .most = 1'000'000};
    const std::size_t cap = most == "all" ? kAllValues : kNumber(option, most);
    if (!caps.emplace(text.substr(0, equals), cap).second) {
      refuse(option, text, "the label has a number already");
    }
  }
  return caps;
}

}  // namespace

void MessageOptions::declare(OptionList& list) {
  list.group("Messages");
  list.flag("-q,--quiet", "Errors and warnings only");
  list.flag("-v,--verbose", "Say more");
  list.flag("--no-progress", "No status line on a terminal", progress, false);
  list.word("--color", "WHEN", names_in(kColors, " or "), color, choice(kColors), "auto");
}

void MessageOptions::check(const OptionList& list) {
  const bool quiet = list.given("--quiet");
  const bool verbose = list.given("--verbose");
  if (quiet && verbose) refuse("--quiet and --verbose exclude each other");
  if (quiet) {
    log_level = log::Level::kQuiet;
    progress = false;
  } else if (verbose) {
    log_level = log::Level::kVerbose;
  }
}

void OutputOptions::declare(OptionList& list, const std::string& otherwise) {
  list.group("Output");
  list.words("-o,--output", "FILE",
             "File to write, - for stdout (repeatable); default: " + otherwise, outputs,
             NotEmpty{"the file name"});
  list.word("-f,--format", "FORMAT",
            names_in(kFormats, " or ") + "; default: by the file's extension", format,
            parse_format);
  list.flag("--overwrite", "Replace files that exist", overwrite);
  list.words("--group-by", "KEY[,KEY]",
             "Labels whose values become the root frames of stacks (repeatable)", group_by,
             parse_keys);
  list.words("--label-deny", "KEY[,KEY]", "Leave out these labels (repeatable)", labels.deny,
             parse_keys);
  list.words("--label-allow", "KEY[,KEY]", "Leave out all labels but these (repeatable)",
             labels.allow, parse_keys);
  list.words("--label-hash", "KEY[,KEY]",
             "Put the values of these labels into 256 groups by a hash (repeatable)", labels.hash,
             parse_keys);
  list.words("--label-values", "KEY=N|all",
             "Keep so many values of this label, those with most time, and make (other) of the "
             "others (repeatable, or with commas); default: all, or what a preset says of its "
             "label",
             caps, read_caps);
  list.words("--names", "KEY=FILE",
             "Show values of this label by the names that a file has: on each line a value, a tab "
             "or a comma, and its name (repeatable)",
             labels.names, read_names);
  list.word("--idle", "HOW",
            "Waits without a label in calls that wait for work: " + names_in(kIdleModes, ", or ") +
                " them (one line; not in a .jsonl recording)",
            idle, choice(kIdleModes), "fold");
  list.words("--summary", "KEY[,KEY]",
             "Print shares of time by value of these labels (repeatable); there are always " +
                 in_words(keys_of_every_sample(), " and ") + ", and with stacks " +
                 std::string(kFunctionKey),
             summary, parse_keys);
  list.words("--blame", "KEY[,KEY]",
             "Print who made whom wait, by value of these labels (repeatable): each row is of "
             "threads that waited, each column of those because of which; with --mode offcpu or "
             "wall by BPF",
             blame, parse_keys);
  list.flag("--json", "With --summary or --blame: a line of JSON for each label", json);
}

void OutputOptions::check() const {
  check_outputs();
  check_labels();
  if (json && summary.empty() && blame.empty()) {
    refuse("--json has a meaning with --summary or --blame only");
  }
}

void OutputOptions::check_outputs() const {
  std::vector<std::string> extensions;
  for (const Format& one : kFormats) extensions.emplace_back(one.extension);
  for (const std::string& path : outputs) {
    if (path == "-") continue;
    const auto by_name = format_from_path(path);
    if (!format && path.ends_with(".pb")) {
      refuse(
          "--output", path,
          "pprof is written compressed: name it " + escape_terminal(path) + ".gz, or say -f pprof");
    }
    std::error_code none;
    if (!format && !by_name && std::filesystem::is_directory(path, none)) {
      refuse("--output", path, "it is a directory; name a file in it");
    }
    if (!format && !by_name) {
      refuse(
          "--output", path,
          "its extension names no format (" + in_words(extensions, ", ") + "); give one with -f");
    }
    if (format && by_name && *by_name != *format) {
      refuse("--output", path,
             "its extension names the format " + std::string(by_name->name) + ", and -f says " +
                 std::string(format->name) + "; leave one of them out");
    }
  }
  if (std::count(outputs.begin(), outputs.end(), "-") > 1) {
    refuse("--output -: stdout can take one file only");
  }
}

// Refuses to show labels that are left out.
void OutputOptions::check_labels() const {
  for (const auto* kept : {&labels.allow, &labels.hash}) {
    for (const std::string& key : *kept) {
      if (std::find(labels.deny.begin(), labels.deny.end(), key) == labels.deny.end()) continue;
      refuse("--label-deny", key,
             std::string(kept == &labels.allow ? "--label-allow" : "--label-hash") +
                 " wants to keep it");
    }
  }
  for (const auto& [key, names] : labels.names) {
    if (std::find(labels.hash.begin(), labels.hash.end(), key) != labels.hash.end()) {
      refuse("--names", key, "--label-hash makes groups of its values, which have no names");
    }
    refuse_left_out(labels, "--names", key);
  }
  for (const auto& [key, most] : caps) refuse_left_out(labels, "--label-values", key);
  for (const auto* shown : {&summary, &group_by, &blame}) {
    const std::string option = shown == &summary    ? "--summary"
                               : shown == &group_by ? "--group-by"
                                                    : "--blame";
    for (const std::string& key : *shown) {
      refuse_left_out(labels, option, key);
    }
  }
  for (const std::string& key : blame) {
    if (is_key_of_blame(key)) continue;
    refuse("--blame", key,
           "waits are added up by labels, and by " +
               in_words({std::string(kPidKey), std::string(kCommKey)}, " and ") + ", not by " +
               key);
  }
}

void FunctionNameOptions::declare(OptionList& list, const std::string& of_what) {
  list.words("--debug-dir", "DIR",
             "Folder with debug files, beside /usr/lib/debug (repeatable)" + of_what, debug_folders,
             read_folders);
  list.flag("--no-debug-info",
            "Names from symbol tables alone, without lines and inlined calls (sooner, where there "
            "is much debug information)" +
                of_what,
            debug_information, false);
}

void declare_drop_to(OptionList& list, std::optional<User>& user) {
  list.group("Rights");
  list.word("--drop-to", "USER",
            "Become this user before memory or files of a target are read; most rights are given "
            "up in any case",
            user, parse_user);
}

void declare_where(OptionList& list, std::vector<Condition>& conditions) {
  list.words(
      "--where", "CONDITION",
      "With this label: KEY=VALUE, KEY!=VALUE, KEY~REGEX, KEY!~REGEX (repeatable: all hold); "
      "the value <none> is no such label, which tables call (unset)",
      conditions, parse_conditions);
}

void SelectionOptions::declare(OptionList& list) {
  list.group("Which samples");
  declare_where(list, selection.conditions);
  list.word("--since", "TIME", "Not before this time from the start (10, 500ms, 2m)",
            selection.since, parse_moment);
  list.word(
      "--value", "NAME",
      "Which value of a pprof file that has several (inuse_space, delay); default: CPU or wall "
      "time, else the file's own default",
      value, NotEmpty{"the name of the value"});
  list.word("--until", "TIME", "Before this time from the start", selection.until, parse_duration);
}

void SelectionOptions::check() const {
  if (selection.since && selection.until && *selection.until <= *selection.since) {
    const auto text = [](const auto& time) {
      return time_text(static_cast<std::uint64_t>(time->count()));
    };
    refuse("--until (" + text(selection.until) + ") must be later than --since (" +
           text(selection.since) + ")");
  }
}

}  // namespace labelscope::cli

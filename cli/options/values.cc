// Parses words, and writes the sentences about those that are wrong.
#include "cli/options/values.h"

#include "cli/host/static_program.h"

#include <CLI/Error.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "cli/host/exit_status.h"
#include "cli/options/target_options.h"
#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (;;) {
    std::size_t comma = text.find(',', start);
    parts.push_back(text.substr(start, comma - start));
    if (comma == std::string::npos) return parts;
    start = comma + 1;
  }
}

constexpr const char* kBlanks = " \t\r\n";

std::vector<std::string> blank_separated(const std::string& text) {
  std::vector<std::string> words;
  std::size_t end = 0;
  for (;;) {
    const std::size_t start = text.find_first_not_of(kBlanks, end);
    if (start == std::string::npos) return words;
    end = std::min(text.find_first_of(kBlanks, start), text.size());
    words.push_back(text.substr(start, end - start));
  }
}

// The whole of `text` as a number of type T, or nullopt.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool all_digits(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos;
}

// It is also true for a path that may not be read. The code that opens it reports the error.
bool may_exist(const std::string& path, bool folder) {
  std::error_code error;
  const auto found = std::filesystem::status(path, error);
  if (found.type() == std::filesystem::file_type::not_found) return false;
  return error || !folder || std::filesystem::is_directory(found);
}

}  // namespace

void refuse(const std::string& message) { throw CLI::ValidationError(message, kExitUsage); }

void refuse(const std::string& option, const std::string& word, const std::string& why) {
  refuse(option + " " + (word.empty() ? "''" : escape_terminal(word)) + ": " + why);
}

std::chrono::nanoseconds parse_duration(const std::string& option, const std::string& text) {
  std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  auto value = number<double>(std::string_view(text).substr(0, digits));
  std::string unit = text.substr(digits);
  double seconds = unit.empty() || unit == "s"    ? 1
                   : unit == "ms"                 ? 0.001
                   : unit == "us"                 ? 0.000001
                   : unit == "m" || unit == "min" ? 60
                   : unit == "h"                  ? 3600
                                                  : 0;
  constexpr double kYear = 365.0 * 24 * 3600;
  if (!value || seconds == 0 || !std::isfinite(*value) || *value * seconds <= 0 ||
      *value * seconds > kYear) {
    refuse(option, text, "a time above 0 is wanted, like 10, 10s, 500ms, 2m or 1h");
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(*value * seconds * 1e9));
}

std::chrono::nanoseconds parse_moment(const std::string& option, const std::string& text) {
  return text.starts_with("0") && number<double>(text) == 0 ? std::chrono::nanoseconds(0)
                                                            : parse_duration(option, text);
}

ProcessWords parse_processes(const std::string& option, const std::vector<std::string>& texts) {
  ProcessWords found;
  const auto add_once = [](auto& to, auto value) {
    if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(std::move(value));
  };
  for (const std::string& text : texts) {
    if (text.find_first_not_of(kBlanks) == std::string::npos) {
      refuse(option + ": there is no process ID in it; a search like pgrep has found none");
    }
    for (const std::string& part : split(text)) {
      // pgrep prints each ID in a line of its own. A name may have blanks in it.
      std::vector<std::string> words = blank_separated(part);
      if (words.empty()) {
        refuse(option, text, "process IDs or names are wanted, like 4242, 4242,4243 or nginx");
      }
      if (!std::ranges::all_of(words, all_digits)) {
        const std::string name = part.substr(part.find(words.front()));
        add_once(found.names, name.substr(0, name.find_last_not_of(kBlanks) + 1));
        continue;
      }
      for (const std::string& word : words) {
        auto value = number<std::int32_t>(word);
        if (!value || *value <= 0) {
          refuse(option, text, "process IDs are wanted, like 4242 or 4242,4243");
        }
        add_once(found.pids, Pid{*value});
      }
    }
  }
  for (std::string& name : found.names) {
    if (name.starts_with('-')) refuse(option, name, "a process ID or a name is wanted");
    if (name.starts_with('=')) name.erase(0, 1);
    if (name.empty()) refuse(option + ": the name is empty");
  }
  return found;
}

std::string read_file_name(const std::string& option, const std::string& path) {
  NotEmpty{"the file name"}(option, path);
  if (!may_exist(path, false)) refuse(option, path, "there is no such file");
  return path;
}

std::vector<std::string> read_folders(const std::string& option,
                                      const std::vector<std::string>& paths) {
  NotEmpty{"the folder's name"}(option, paths);
  for (const std::string& path : paths) {
    if (!may_exist(path, true)) refuse(option, path, "there is no such folder");
  }
  return paths;
}

User parse_user(const std::string& option, const std::string& text) {
  auto user = find_user(text);
  if (!user) refuse(option, text, std::string("there is no such user") + where_users_are());
  return *std::move(user);
}

const CallGraph* find_call_graph(Backend backend, std::optional<ls_call_graph> wanted) {
  const auto* found =
      std::find_if(std::begin(kCallGraphs), std::end(kCallGraphs), [&](const CallGraph& each) {
        return (!wanted || each.value == *wanted) &&
               (each.backend == backend || each.backend == Backend::kAuto);
      });
  return found == std::end(kCallGraphs) ? nullptr : found;
}

std::uint32_t Count::operator()(const std::string& option, const std::string& text) const {
  auto value = number<std::uint32_t>(text);
  if (!value || *value < least || *value > most) {
    refuse(option, text,
           "a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
               " is wanted");
  }
  return *value;
}

std::string NotEmpty::operator()(const std::string& option, const std::string& text) const {
  if (text.empty()) refuse(option + ": " + what + " is empty");
  return text;
}

std::vector<std::string> NotEmpty::operator()(const std::string& option,
                                              const std::vector<std::string>& texts) const {
  for (const std::string& text : texts) (*this)(option, text);
  return texts;
}

std::string in_words(const std::vector<std::string>& words, const char* last_separator) {
  std::string text = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) {
    text.append(i + 1 == words.size() ? last_separator : ", ").append(words[i]);
  }
  return text;
}

// Keys may hold any character but a comma, which separates them; an empty key is a typing error.
std::vector<std::string> parse_keys(const std::string& option,
                                    const std::vector<std::string>& texts) {
  std::vector<std::string> keys;
  for (const std::string& text : texts) {
    if (text.starts_with('-')) refuse(option, text, "a label key is wanted, and this is an option");
    for (std::string& key : split(text)) {
      // "tenant, comm" means two keys, none of which begins with a blank.
      const std::size_t first = std::min(key.find_first_not_of(' '), key.size());
      key = key.substr(first, key.find_last_not_of(' ') + 1 - first);
      if (key.empty()) {
        refuse(option, text, "a label key between commas is empty");
      }
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
    }
  }
  return keys;
}

}  // namespace labelscope::cli

// CLI11 does the parsing. Its exit codes (105 and up) and its messages for numbers are replaced: a
// usage error is status 2 and one plain sentence.
#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "cli/exit_status.h"
#include "cli/format/escape.h"

namespace labelscope::cli {
namespace {

constexpr const char* kRecordUsage =
    "labelscope record [OPTIONS] -p PID[,PID]\n       labelscope record [OPTIONS] -- CMD [ARG...]";

constexpr const char* kRecordFooter = R"(
Examples:
  labelscope record -p 4242 -d 10 --summary tenant
  labelscope record -p 4242 -o profile.pb.gz -o stacks.folded
  labelscope record -o run.jsonl -- ./server --port 8080

Exit status: 0 ok, 1 runtime error, 2 usage, 3 no such process, 4 permission, 5 no sample taken;
with -- CMD the command's own status. The manual: man labelscope-record)";

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

// The whole of `text` as a number of type T, or nullopt.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void refuse(const std::string& message) {
  throw CLI::ValidationError(message, kExitUsage);
}

std::chrono::nanoseconds parse_duration(const std::string& text) {
  std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  auto value = number<double>(std::string_view(text).substr(0, digits));
  std::string unit = text.substr(digits);
  double seconds = unit.empty() || unit == "s"    ? 1
                   : unit == "ms"                 ? 0.001
                   : unit == "m" || unit == "min" ? 60
                   : unit == "h"                  ? 3600
                                                  : 0;
  constexpr double kYear = 365.0 * 24 * 3600;
  if (!value || seconds == 0 || !std::isfinite(*value) || *value * seconds <= 0 ||
      *value * seconds > kYear) {
    refuse("--duration " + escape_terminal(text) +
           ": a time above 0 is wanted, like 10, 10s, 500ms, 2m or 1h");
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(*value * seconds * 1e9));
}

std::vector<Pid> parse_pids(const std::vector<std::string>& texts) {
  std::vector<Pid> pids;
  for (const std::string& text : texts) {
    for (const std::string& part : split(text)) {
      auto value = number<std::int32_t>(part);
      if (!value || *value <= 0) {
        refuse("--pid " + escape_terminal(text) +
               ": process IDs are wanted, like 4242 or 4242,4243");
      }
      if (std::find(pids.begin(), pids.end(), Pid{*value}) == pids.end())
        pids.push_back(Pid{*value});
    }
  }
  return pids;
}

std::uint32_t parse_count(const std::string& option, const std::string& text, std::uint32_t least,
                          std::uint32_t most) {
  auto value = number<std::uint32_t>(text);
  if (!value || *value < least || *value > most) {
    refuse(option + " " + escape_terminal(text) + ": a whole number from " + std::to_string(least) +
           " to " + std::to_string(most) + " is wanted");
  }
  return *value;
}

// Keys may hold anything but a comma, which separates them; empty ones are a slip of the hand.
std::vector<std::string> parse_keys(const std::string& option, const std::string& text) {
  std::vector<std::string> keys = split(text);
  for (const std::string& key : keys) {
    if (key.empty())
      refuse(option + " " + escape_terminal(text) + ": a label key between commas is empty");
  }
  return keys;
}

// What the options are typed as, before they are checked.
struct Typed {
  std::vector<std::string> pids;
  std::string duration, frequency = "99", format, call_graph = "fp", group_by, summary,
                        color = "auto";
  std::string max_processes = "4096", ring_mib = "8";
  std::function<bool(const char*)> given;  // an empty argument is an argument too
  bool no_kernel = false, no_children = false, no_progress = false, quiet = false, verbose = false;
};

void add_options(CLI::App& record, Typed& typed, RecordOptions& options) {
  const char* target = "Target (one of)";
  record.add_option("-p,--pid", typed.pids, "Processes to record, by ID")
      ->type_name("PID[,PID]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(target);
  const char* sampling = "Sampling";
  record
      .add_option("-d,--duration", typed.duration,
                  "How long (10, 500ms, 2m); default: until Ctrl-C or the end")
      ->type_name("TIME")
      ->group(sampling);
  record.add_option("-F,--frequency", typed.frequency, "Samples per second on each CPU")
      ->type_name("HZ")
      ->capture_default_str()
      ->group(sampling);
  record.add_option("--call-graph", typed.call_graph, "Stacks: fp (frame pointers) or none")
      ->type_name("fp|none")
      ->capture_default_str()
      ->group(sampling);
  record.add_flag("--no-kernel", typed.no_kernel, "Leave kernel frames out")->group(sampling);
  record.add_flag("--no-children", typed.no_children, "Leave out processes that the target forks")
      ->group(sampling);
  record.add_option("--max-processes", typed.max_processes, "Processes followed at once")
      ->type_name("N")
      ->capture_default_str()
      ->group(sampling);
  record.add_option("--ring-size", typed.ring_mib, "Buffer between kernel and labelscope")
      ->type_name("MIB")
      ->capture_default_str()
      ->group(sampling);
  const char* output = "Output";
  record
      .add_option(
          "-o,--output", options.outputs,
          "File to write, - for stdout (repeatable); default: labelscope-NAME-PID-TIME.pb.gz")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(output);
  record
      .add_option("-f,--format", typed.format,
                  "pprof, folded or jsonl; default: by the file's extension")
      ->type_name("FORMAT")
      ->group(output);
  record.add_flag("--overwrite", options.overwrite, "Replace files that exist")->group(output);
  record
      .add_option("--group-by", typed.group_by,
                  "Labels whose values become the root frames of stacks")
      ->type_name("KEY[,KEY]")
      ->group(output);
  record.add_option("--summary", typed.summary, "Print time by value of these labels")
      ->type_name("KEY[,KEY]")
      ->group(output);
  const char* messages = "Messages";
  record.add_flag("-q,--quiet", typed.quiet, "Errors and warnings only")->group(messages);
  record.add_flag("-v,--verbose", typed.verbose, "Say more")->group(messages);
  record.add_flag("--no-progress", typed.no_progress, "No status line on a terminal")
      ->group(messages);
  record.add_option("--color", typed.color, "auto, always or never")
      ->type_name("WHEN")
      ->capture_default_str()
      ->group(messages);
}

void check(const Typed& typed, RecordOptions& options) {
  options.pids = parse_pids(typed.pids);
  if (options.pids.empty() && options.command.empty()) {
    refuse("nothing to record: name a process with -p PID, or a program after --");
  }
  if (!options.pids.empty() && !options.command.empty()) {
    refuse("-p and a program after -- exclude each other");
  }
  if (typed.given("--duration")) options.duration = parse_duration(typed.duration);
  options.frequency_hz = parse_count("--frequency", typed.frequency, 1, 1'000'000);
  options.max_processes = parse_count("--max-processes", typed.max_processes, 1, 1 << 20);
  if (options.pids.size() > options.max_processes) {
    refuse("--max-processes " + typed.max_processes + ": fewer than the " +
           std::to_string(options.pids.size()) + " processes named with -p");
  }
  options.ring_mib = parse_count("--ring-size", typed.ring_mib, 1, 1024);
  if (typed.given("--format")) {
    options.format = format_from_name(typed.format);
    if (!options.format) {
      refuse("--format " + escape_terminal(typed.format) +
             ": unknown; pprof, folded and jsonl are known");
    }
  }
  for (const std::string& path : options.outputs) {
    if (path.empty()) refuse("--output: the file name is empty");
    if (!options.format && path != "-" && !format_from_path(path)) {
      refuse("--output " + escape_terminal(path) +
             ": its extension names no format (.pb.gz, .folded, .jsonl); give one with -f");
    }
  }
  if (std::count(options.outputs.begin(), options.outputs.end(), "-") > 1) {
    refuse("--output -: stdout can take one file only");
  }
  if (typed.call_graph != "fp" && typed.call_graph != "none") {
    refuse("--call-graph " + escape_terminal(typed.call_graph) +
           ": unknown; fp and none are known");
  }
  options.stacks = typed.call_graph == "fp";
  options.kernel_stacks = options.stacks && !typed.no_kernel;
  options.follow_children = !typed.no_children;
  options.progress = !typed.no_progress && !typed.quiet;
  if (typed.given("--group-by")) options.group_by = parse_keys("--group-by", typed.group_by);
  if (typed.given("--summary")) options.summary = parse_keys("--summary", typed.summary);
  if (typed.quiet && typed.verbose) refuse("--quiet and --verbose exclude each other");
  options.log_level = typed.quiet     ? log::Level::kQuiet
                      : typed.verbose ? log::Level::kVerbose
                                      : log::Level::kNormal;
  if (typed.color != "auto" && typed.color != "always" && typed.color != "never") {
    refuse("--color " + escape_terminal(typed.color) +
           ": unknown; auto, always and never are known");
  }
  options.color = typed.color == "always"  ? ColorMode::kAlways
                  : typed.color == "never" ? ColorMode::kNever
                                           : ColorMode::kAuto;
}

// Words that are no option and no option's value: mostly a program without the -- in front of it.
std::string extras_text(const CLI::App& record) {
  std::string words;
  bool option = false;
  for (const std::string& word : record.remaining()) {
    option |= word.starts_with('-');
    words += " " + escape_terminal(word);
  }
  return "labelscope: not expected:" + words +
         (option ? "" : "; a program to start goes after --, a process ID after -p") + "\n";
}

// CLI11's usage line cannot show that there are two forms.
std::string help_text(const CLI::App& app, const CLI::App& record) {
  if (!record.parsed()) return app.help();
  std::string text = record.help();
  std::size_t start = text.find("Usage: ");
  std::size_t end = start == std::string::npos ? start : text.find('\n', start);
  if (end != std::string::npos)
    text.replace(start, end - start, std::string("Usage: ") + kRecordUsage);
  return text;
}

// The command line as one would type it again.
std::string quoted(int argc, const char* const* argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    std::string_view word = argv[i];
    if (i > 0) line += ' ';
    bool plain = !word.empty() &&
                 word.find_first_not_of(
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%") ==
                     std::string_view::npos;
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace

std::variant<RecordOptions, ParseEnd> parse_command_line(int argc, const char* const* argv) {
  CLI::App app{"Where the time of a running process goes, by label.", "labelscope"};
  app.set_version_flag("--version", "labelscope " LABELSCOPE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  CLI::App* record =
      app.add_subcommand("record", "Sample processes and write a profile with their labels");
  record->footer(kRecordFooter);
  RecordOptions options;
  Typed typed;
  add_options(*record, typed, options);
  // What follows the first "--" belongs to the command, whatever it looks like.
  const char* const* end = argv + argc;
  const char* const* dashes = std::find(argv, end, std::string_view("--"));
  if (dashes != end) options.command.assign(dashes + 1, end);
  try {
    if (dashes != end && options.command.empty()) refuse("a program is wanted after --");
    if (argc > 1 && argv[1][0] != '-' && std::string_view(argv[1]) != "record") {
      refuse("unknown command " + escape_terminal(argv[1]) + "; record is known");
    }
    app.parse(static_cast<int>(dashes - argv), argv);
    typed.given = [record](const char* option) { return record->get_option(option)->count() > 0; };
    check(typed, options);
  } catch (const CLI::CallForHelp&) {
    return ParseEnd{help_text(app, *record), "", kExitOk};
  } catch (const CLI::CallForVersion& version) {
    return ParseEnd{std::string(version.what()) + "\n", "", kExitOk};
  } catch (const CLI::ExtrasError&) {
    return ParseEnd{"", extras_text(*record) + "Try: labelscope record --help\n", kExitUsage};
  } catch (const CLI::ParseError& error) {
    const char* help = argc > 1 && std::string_view(argv[1]) == "record"
                           ? "labelscope record --help"
                           : "labelscope --help";
    return ParseEnd{"", "labelscope: " + escape_terminal(error.what()) + "\nTry: " + help + "\n",
                    kExitUsage};
  }
  options.command_line = quoted(argc, argv);
  return options;
}

}  // namespace labelscope::cli

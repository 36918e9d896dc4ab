// Makes option values of the words that were typed. An impossible value throws CLI::ValidationError
// with one plain sentence that names the option, what was typed (escaped), and what is expected.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/host/rights.h"
#include "labelscope/ids.h"
#include "sampling/sampler.h"
#include "unwind/stack.h"

namespace labelscope::cli {

struct ProcessWords;  // cli/options/target_options.h

[[noreturn]] void refuse(const std::string& message);
[[noreturn]] void refuse(const std::string& option, const std::string& word,
                         const std::string& why);

// Takes "10", "10s", "500ms", "200us", "2m", "1h"; above 0 and at most a year.
std::chrono::nanoseconds parse_duration(const std::string& option, const std::string& text);
// Takes the same as a time since a start; "0", the start itself, is allowed, too.
std::chrono::nanoseconds parse_moment(const std::string& option, const std::string& text);
// Takes lists of IDs, with commas, blanks or line ends in between, and of names with commas in
// between. Returns each once, in their order. A word of digits is an ID; "=" in front makes a name
// of it.
ProcessWords parse_processes(const std::string& option, const std::vector<std::string>& texts);
// Takes lists of label keys between commas. Returns each once, in their order.
std::vector<std::string> parse_keys(const std::string& option,
                                    const std::vector<std::string>& texts);

// Reads whole numbers within these bounds.
struct Count {
  std::uint32_t least = 1;
  std::uint32_t most = 1;
  std::uint32_t operator()(const std::string& option, const std::string& text) const;
};

// Takes words as they are, except empty ones. `what` describes the word: "the file name".
struct NotEmpty {
  const char* what;
  std::string operator()(const std::string& option, const std::string& text) const;
  std::vector<std::string> operator()(const std::string& option,
                                      const std::vector<std::string>& texts) const;
};

// Names of a file, and of folders, that exist as far as labelscope may see.
std::string read_file_name(const std::string& option, const std::string& path);
std::vector<std::string> read_folders(const std::string& option,
                                      const std::vector<std::string>& paths);

// Joins words: "auto, bpf and ptrace".
std::string in_words(const std::vector<std::string>& words, const char* last_separator);
// Returns the names of the rows of a table.
template <class Table>
std::string names_in(const Table& table, const char* last_separator) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return in_words(names, last_separator);
}

// Finds the row of this name.
template <class Table>
const auto& find_named(const Table& table, const std::string& option, const std::string& text) {
  for (const auto& row : table) {
    if (row.name == text) return row;
  }
  refuse(option, text, "unknown; " + names_in(table, " and ") + " are known");
}

template <class T>
struct Named {
  std::string_view name;
  T value;
};

// Returns the name of a value in the table; empty if it has none.
template <class Row, std::size_t N, class T>
std::string name_of(const Row (&table)[N], const T& value) {
  for (const Row& row : table) {
    if (row.value == value) return std::string(row.name);
  }
  return {};
}

// Reads names of a table, which must outlive it.
template <class Row, std::size_t N>
struct Choice {
  const Row (&table)[N];
  auto operator()(const std::string& option, const std::string& text) const {
    return find_named(table, option, text).value;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Row& row : table) all.emplace_back(row.name);
    return all;
  }
};
template <class Row, std::size_t N>
Choice<Row, N> choice(const Row (&table)[N]) {
  return {table};
}

// How threads are read. kAuto is the one that stops threads least, or that the command needs; if it
// is not available, it is the other.
enum class Backend { kAuto, kBpf, kPtrace };
inline constexpr Named<Backend> kBackends[] = {
    {"auto", Backend::kAuto}, {"bpf", Backend::kBpf}, {"ptrace", Backend::kPtrace}};

inline constexpr Named<SampledEvent> kSampledEvents[] = {{"any", SampledEvent::kAny},
                                                         {"clock", SampledEvent::kClock},
                                                         {"cycles", SampledEvent::kCycles}};

// Reads the value of --drop-to.
User parse_user(const std::string& option, const std::string& text);

// A way of taking stacks and the backend that has it. A backend uses its first one by default.
struct CallGraph {
  ls_call_graph value;
  std::string_view name;  // value of --call-graph
  Backend backend;        // kAuto: both have it
  // True if user space makes BPF maps for it while it records, which needs rights.
  bool makes_maps = false;
};
inline constexpr CallGraph kCallGraphs[] = {{LS_CALL_GRAPH_DWARF, "dwarf", Backend::kAuto, true},
                                            {LS_CALL_GRAPH_FP, "fp", Backend::kBpf},
                                            {LS_CALL_GRAPH_NONE, "none", Backend::kAuto}};
// Returns the wanted one, or the backend's first one if none is wanted. Null: the backend does not
// have it.
const CallGraph* find_call_graph(Backend backend, std::optional<ls_call_graph> wanted);

}  // namespace labelscope::cli

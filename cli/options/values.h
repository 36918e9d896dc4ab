// Option values from the words that were typed. What cannot be meant is a CLI::ValidationError: one
// plain sentence that names the option, what was typed (escaped), and what is wanted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/stack.h"

namespace labelscope::cli {

// How threads are read. Auto: what stops least, or what the command needs; where that cannot be
// had, the other.
enum class Backend { kAuto, kBpf, kPtrace };

[[noreturn]] void refuse(const std::string& message);

// "10", "10s", "500ms", "200us", "2m", "1h"; above 0 and at most a year.
std::chrono::nanoseconds parse_duration(const std::string& option, const std::string& text);
// Lists of IDs between commas; each once, in their order.
std::vector<Pid> parse_pids(const std::vector<std::string>& texts);
// The value of --backend.
Backend parse_backend(const std::string& text);

// Who takes stacks how. The first that a backend has is what it does unless told otherwise.
struct CallGraph {
  ls_call_graph how;
  std::string_view name;  // of --call-graph
  Backend backend;        // auto: each
};
inline constexpr CallGraph kCallGraphs[] = {{LS_CALL_GRAPH_FP, "fp", Backend::kBpf},
                                            {LS_CALL_GRAPH_DWARF, "dwarf", Backend::kPtrace},
                                            {LS_CALL_GRAPH_NONE, "none", Backend::kAuto}};
// The one of this name, or the first if that is empty. Null: the backend has none of this name.
const CallGraph* find_call_graph(Backend backend, std::string_view name);
std::uint32_t parse_count(const std::string& option, const std::string& text, std::uint32_t least,
                          std::uint32_t most);
// Lists of label keys between commas; each once, in their order.
std::vector<std::string> parse_keys(const std::string& option,
                                    const std::vector<std::string>& texts);

}  // namespace labelscope::cli

// Option values from the words that were typed. What cannot be meant is a CLI::ValidationError: one
// plain sentence that names the option, what was typed (escaped), and what is wanted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "labelscope/ids.h"

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
std::uint32_t parse_count(const std::string& option, const std::string& text, std::uint32_t least,
                          std::uint32_t most);
// Lists of label keys between commas; each once, in their order.
std::vector<std::string> parse_keys(const std::string& option,
                                    const std::vector<std::string>& texts);

}  // namespace labelscope::cli

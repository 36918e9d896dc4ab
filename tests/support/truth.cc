// Reads the truth lines of a target.
#include "support/truth.h"

#include <utility>

namespace labelscope::test {
namespace {

using nlohmann::json;

std::optional<std::string> from_hex(const std::string& text) {
  if (text.size() % 2 != 0) return std::nullopt;
  if (text.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::optional<TruthVariable> parse_variable(const json& entry) {
  TruthVariable variable;
  variable.module = entry.at("module").get<std::string>();
  if (!entry.at("address").is_null()) variable.address = entry.at("address").get<Address>();
  for (const json& label : entry.at("labels")) {
    auto key = from_hex(label.at("key").get<std::string>());
    auto value = from_hex(label.at("value").get<std::string>());
    if (!key || !value) return std::nullopt;
    variable.labels.push_back({*std::move(key), *std::move(value)});
  }
  return variable;
}

std::optional<TruthThread> parse_thread(const json& line) {
  TruthThread thread;
  thread.tid = Tid{line.at("tid").get<std::int32_t>()};
  thread.thread_pointer = line.at("tp").get<Address>();
  thread.kind = line.value("kind", "");
  for (const json& entry : line.at("variables")) {
    auto variable = parse_variable(entry);
    if (!variable) return std::nullopt;
    thread.variables.push_back(*std::move(variable));
  }
  return thread;
}

}  // namespace

Result<TruthThread> parse_truth_thread(const json& line) {
  const Error malformed{ErrorCode::kMalformed, "not the truth of a thread: " + line.dump()};
  try {
    auto thread = parse_thread(line);
    if (!thread) return malformed;
    return *std::move(thread);
  } catch (const json::exception&) {
    return malformed;
  }
}

}  // namespace labelscope::test

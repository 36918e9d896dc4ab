#include "cli/check/fingerprint.h"

#include <algorithm>
#include <cstdint>

#include "cli/check/source_path.h"
#include "cli/format/text.h"

namespace labelscope::cli {
namespace {

// What report.h calls processes.
constexpr std::string_view kProcess = "process ";

std::uint64_t hash(std::string_view bytes) {
  std::uint64_t state = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    state ^= static_cast<unsigned char>(byte);
    state *= 0x100000001b3;
  }
  return state;
}

}  // namespace

bool is_process_name(std::string_view name) { return name.starts_with(kProcess); }

std::string subject_key(std::string_view name) {
  if (!is_process_name(name)) return source_path(name);
  std::string_view rest = name.substr(kProcess.size());
  const std::size_t end = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (end != 0 && rest.substr(end).starts_with(" (") && rest.ends_with(')')) {
    rest = rest.substr(end + 2, rest.size() - end - 3);
  }
  return std::string(kProcess).append(rest);
}

std::string lasting_name(std::string_view name) {
  return is_process_name(name) ? subject_key(name) : std::string(name);
}

std::string fingerprint(const CheckedSubject& subject, const Diagnostic& diagnostic) {
  std::string identity;
  auto add = [&](std::string_view part) { identity.append(part).push_back('\0'); };
  add(rule_of(diagnostic.rule).code);
  add(subject_key(subject.name));
  if (!diagnostic.places.empty()) {
    const CodePlace& place = diagnostic.places[diagnostic.author_place];
    add(base_name(place.module));
    add(place.function);
    // A function may be wrong in several ways; its words name keys and no values.
    if (diagnostic.rule == RuleId::kTornUpdate) add(diagnostic.found);
  }
  return hex_digits(hash(identity));
}

}  // namespace labelscope::cli

// A baseline may come from anywhere: its size is bounded, and what a parser would make of it, and
// only strings are taken from it.
#include "cli/check/baseline.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/malformed.h"
#include "cli/check/formats.h"
#include "cli/check/wording.h"
#include "cli/format/common/json_values.h"
#include "cli/text/text.h"
#include "elf/regular_file.h"
#include "findings/check_rule.h"

namespace labelscope::cli {
namespace {

// report.h begins the name of a process with this.
constexpr std::string_view kProcess = "process ";

std::uint64_t hash(std::string_view bytes) {
  std::uint64_t state = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    state ^= static_cast<unsigned char>(byte);
    state *= 0x100000001b3;
  }
  return state;
}

using Value = nlohmann::json;

// A hundred thousand findings fit.
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
// With some twenty values for each finding. The parser takes up to a hundred bytes for a value.
constexpr std::size_t kMostValues = 4'000'000;
constexpr std::size_t kDeepest = 32;

// Empty if it is no string. (A name that is not UTF-8 is a JSON object, and is only shown to
// people.)
std::string string_in(const Value& object, const char* name) {
  const auto field = object.find(name);
  return field != object.end() && field->is_string() ? field->get<std::string>() : std::string();
}

const Value* array_in(const Value& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto field = object.find(name);
  return field != object.end() && field->is_array() ? &*field : nullptr;
}

bool add_entries(const Value& subject, Baseline& baseline) {
  const Value* diagnostics = array_in(subject, "diagnostics");
  if (diagnostics == nullptr) return false;
  const std::string key = subject_key(string_in(subject, "name"));
  for (const Value& one : *diagnostics) {
    if (!one.is_object()) return false;
    BaselineEntry entry{string_in(one, "fingerprint"), string_in(one, "rule"), key,
                        string_in(one, "found")};
    if (entry.fingerprint.empty() || entry.rule.empty()) return false;
    baseline.push_back(std::move(entry));
  }
  return true;
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
    // A function may be wrong in several ways. The text of the finding distinguishes them; it holds
    // keys and no values.
    if (rule_of(diagnostic.rule).depth == CheckDepth::kStep) add(diagnostic.text);
  }
  return hex_digits(hash(identity));
}

Result<Baseline> parse_baseline(std::string_view text) {
  const JsonShape shape = json_shape(text);
  if (shape.depth > kDeepest) return malformed("is nested more than 32 times");
  if (shape.values > kMostValues) return malformed("has more than 4,000,000 values");
  const Value root = Value::parse(text, nullptr, false);
  if (root.is_discarded()) return malformed("is no JSON");
  if (!root.is_object() || string_in(root, "format") != kCheckJsonFormat) {
    return malformed("was not written by labelscope check --format json");
  }
  const auto version = root.find("version");
  if (version == root.end() || *version != kCheckJsonVersion) {
    return malformed("is of a version that this labelscope does not know");
  }
  const Value* subjects = array_in(root, "subjects");
  if (subjects == nullptr) return malformed("has no list of subjects");
  Baseline baseline;
  for (const Value& subject : *subjects) {
    if (!add_entries(subject, baseline)) return malformed("has a subject without findings in form");
  }
  return baseline;
}

Result<Baseline> read_baseline(const std::string& path) {
  auto file = open_regular_file(path);
  if (!file) return std::move(file).error();
  // One byte more than a baseline may have shows that there is more.
  auto text = read_up_to(*file, kMaxBytes + 1);
  if (!text) return std::move(text).error();
  if (text->size() > kMaxBytes) return Error{ErrorCode::kLimit, "has more than 64 MiB"};
  return parse_baseline(*text);
}

}  // namespace labelscope::cli

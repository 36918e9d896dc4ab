// Finds a combination of the resolver matrix in the files that the build left.
#include "process/resolver_matrix.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "support/catch.h"
#include "support/paths.h"

namespace labelscope::test {
namespace {

constexpr const char* kExpectedFile = paths::kMatrixExpected;
#ifdef __aarch64__
constexpr const char* kProcessor = "aarch64";
#else
constexpr const char* kProcessor = "x86_64";
#endif

std::string path_of(const std::string& file) {
  std::string path = paths::kMatrixDir;
  path += '/';
  path += file;
  return path;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> fields;
  std::size_t start = 0;
  for (std::size_t end = text.find(separator); end != std::string::npos;
       end = text.find(separator, start)) {
    fields.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  fields.push_back(text.substr(start));
  return fields;
}

// Returns the first line of a table whose first field is `name`.
std::optional<std::vector<std::string>> find_line(const std::string& path, char separator,
                                                  const std::string& name) {
  std::ifstream file(path);
  if (!file) FAIL("cannot read " << path << ": build the target labelscope_matrix first");
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields = split(line, separator);
    if (fields.front() == name) return fields;
  }
  return std::nullopt;
}

// Returns whether it is known that this combination does not exist, for a reason of this class.
bool is_expected(const std::string& name, const std::string& reason_class) {
  std::ifstream file(kExpectedFile);
  if (!file) FAIL("cannot read " << kExpectedFile);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string pattern;
    std::string processor;
    std::string known_class;
    words >> pattern >> processor >> known_class;
    if (pattern.empty() || pattern.front() == '#') continue;
    if (processor != "any" && processor != kProcessor) continue;
    if (known_class == reason_class && ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0)
      return true;
  }
  return false;
}

void require_existing(const std::string& name) {
  const auto line = find_line(path_of("unbuildable.txt"), '\t', name);
  if (!line) return;
  REQUIRE(line->size() == 3);
  const std::string& reason_class = (*line)[1];
  const std::string& reason = (*line)[2];
  if (reason_class == "missing" || is_expected(name, reason_class)) {
    skip_test(name + " cannot exist here (" + reason_class + "): " + reason);
  }
  FAIL(name << " cannot be built or loaded (" << reason_class << "): " << reason
            << ". It could once: mend it, or add it to tests/targets/matrix_expected.txt");
}

}  // namespace

MatrixCase require_matrix_case() {
  const char* asked = std::getenv("LABELSCOPE_MATRIX_CASE");
  if (asked == nullptr)
    skip_test("LABELSCOPE_MATRIX_CASE does not name a combination; ctest sets it");
  const std::vector<std::string> parts = split(asked, '/');
  REQUIRE(parts.size() == 2);
  MatrixCase result{parts[0], parts[1], {}};

  const auto fields = find_line(path_of("cases.txt"), '|', result.name);
  if (!fields) FAIL("no such combination: " << result.name);
  REQUIRE(fields->size() == 7);
  require_existing(result.name);
  const std::string& module = (*fields)[2];
  const std::string& option = (*fields)[3];
  const std::string& libraries = (*fields)[4];
  const std::string& setting = (*fields)[5];
  result.options.program = path_of((*fields)[1]);
  result.options.arguments = {"--threads", result.thread_kinds};
  if (!module.empty()) {
    result.options.arguments.insert(result.options.arguments.end(), {"--module", module});
  }
  if (!option.empty()) {
    const std::vector<std::string> words = split(option, '=');
    REQUIRE(words.size() == 2);
    result.options.arguments.insert(result.options.arguments.end(), {words[0], path_of(words[1])});
  }
  if (!libraries.empty()) {
    for (const std::string& library : split(libraries, ',')) {
      result.options.arguments.insert(result.options.arguments.end(),
                                      {"--dlopen", path_of(library)});
    }
  }
  if (!setting.empty()) result.options.environment.push_back(setting);
  return result;
}

TargetProcess start_target(const MatrixCase& matrix_case, const std::string& stay) {
  TargetOptions options = matrix_case.options;
  options.arguments.insert(options.arguments.end(), {"--stay", stay});
  Result<TargetProcess> target = TargetProcess::spawn(options);
  if (!target) FAIL(target.error().context);
  REQUIRE_FALSE(target->threads().empty());
  return std::move(*target);
}

LabelPairs sorted_pairs(const LabelSet& labels) {
  LabelPairs pairs;
  pairs.reserve(labels.size());
  for (const Label& label : labels) pairs.emplace_back(label.key, label.value);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

LabelPairs true_labels(const TruthThread& thread) {
  LabelSet all;
  for (const TruthVariable& variable : thread.variables) {
    all.insert(all.end(), variable.labels.begin(), variable.labels.end());
  }
  LabelPairs pairs = sorted_pairs(all);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

std::string printable(const LabelPairs& labels) {
  std::string text;
  const auto append = [&text](const std::string& bytes) {
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      char escaped[5];
      if (byte >= 0x20 && byte < 0x7f) {
        text.push_back(c);
      } else {
        std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
        text += escaped;
      }
    }
  };
  for (const auto& [key, value] : labels) {
    append(key);
    text += "=";
    append(value);
    text += "; ";
  }
  return text.empty() ? "none" : text;
}

bool allocates_on_touch(const MatrixCase& matrix_case) {
  // glibc allocates a late library's block at the first touch unless it fits into the static
  // surplus, which legacy general dynamic code never uses. musl allocates it for every thread
  // within dlopen.
  const std::string& name = matrix_case.name;
  if (name.rfind("glibc-", 0) != 0 || name.find("-ie-") != std::string::npos) return false;
  const auto ends_with = [&name](const std::string& end) {
    return name.size() >= end.size() &&
           name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  return ends_with("-dlopen64k") || ends_with("-nosurplus") || ends_with("-gnu-dlopen") ||
         ends_with("-crowded") || ends_with("-reloaded");
}

}  // namespace labelscope::test

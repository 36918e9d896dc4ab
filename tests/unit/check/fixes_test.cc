// Tests the code that check advises, compiled as the reader of the advice would do it: in C, in C++
// within extern "C" { } and without, and in Rust. The result is checked again.
#include <fcntl.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "findings/check_rule.h"
#include "labelscope/inspect.h"
#include "sources/custom_labels/rules.h"
#include "support/catch.h"
#include "support/paths.h"
#include "unit/symbol/temp_folder.h"

namespace labelscope::test {
namespace {

const std::string kCc = C_COMPILER;
const std::string kCxx = CXX_COMPILER;
constexpr const char* kExports =
    "-Wl,--export-dynamic-symbol=custom_labels_abi_version "
    "-Wl,--export-dynamic-symbol=custom_labels_current_set";
constexpr const char* kIncludes =
    "#include <stdint.h>\n#include \"customlabels/label_abi.h\"\n"
    "int main(void) { return 0; }\n";
constexpr const char* kGoodVersion =
    "extern const uint32_t custom_labels_abi_version;\n"
    "const uint32_t custom_labels_abi_version = 1;\n";
constexpr const char* kGoodVariable =
    "__thread custom_labels_labelset_t* custom_labels_current_set;\n";

// Returns the text from `start` up to and with `end`, or nothing if it is not there.
std::string code_in(const char* text, const std::string& start, const std::string& end) {
  const std::string whole = text == nullptr ? "" : text;
  const std::size_t from = whole.find(start);
  if (from == std::string::npos) return {};
  const std::size_t to = whole.find(end, from);
  return to == std::string::npos ? std::string() : whole.substr(from, to + end.size() - from);
}
std::string statement(const char* text, const std::string& start) {
  return code_in(text, start, ";");
}

std::string in_braces(const std::string& code) { return "extern \"C\" {\n" + code + "}\n"; }

class Builder {
 public:
  // Returns the path of what was built.
  std::string build(const std::string& name, const std::string& source, const std::string& tool) {
    const std::string file = folder_.path() + "/" + name;
    std::ofstream(file) << source;
    std::string program = file + ".program";
    const std::string command = tool + " -o '" + program + "' '" + file + "' 2>'" + file + ".log'";
    INFO(command << '\n' << source);
    if (std::system(command.c_str()) != 0) {
      std::ifstream log(file + ".log");
      FAIL(std::string(std::istreambuf_iterator<char>(log), {}));
    }
    return program;
  }

 private:
  TempFolder folder_;
};

FileInspection check_of(const std::string& path) {
  auto check = inspect_file(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path);
  if (!check) FAIL(check.error().context);
  return *std::move(check);
}

void expect_clean(const std::string& path) {
  const FileInspection check = check_of(path);
  CHECK(check.rules.size() >= 9);
  for (const Finding& finding : check.findings) {
    FAIL_CHECK(finding_title(finding) << ": " << finding.text);
  }
}

// `c` and `cxx` are the same definition in both languages; `rest` is the other, correct one.
void expect_works(const std::string& c, const std::string& cxx, const std::string& rest) {
  const std::string include = std::string(" -I '") + paths::kWriterInclude + "' " + kExports;
  Builder builder;
  INFO(c << '\n' << cxx);
  REQUIRE_FALSE(c.empty());
  REQUIRE_FALSE(cxx.empty());
  expect_clean(builder.build("fix.c", kIncludes + rest + c + "\n", kCc + include));
  expect_clean(builder.build("fix.cc", kIncludes + in_braces(rest) + cxx + "\n", kCxx + include));
  expect_clean(
      builder.build("braces.cc", kIncludes + in_braces(rest + cxx + "\n"), kCxx + include));
}

void skip_without_rust() {
  if (std::system("rustc --version >/dev/null 2>&1") != 0) skip_test("rustc is not installed");
}

}  // namespace

TEST_CASE("fixes: a definition of the version works in C and in C++, in braces and without") {
  int found = 0;
  for (const Rule& rule : all_rules()) {
    if (rule.fix_gcc == nullptr ||
        std::string(rule.fix_gcc).find("custom_labels_abi_version = ") == std::string::npos) {
      continue;
    }
    INFO(rule.code);
    ++found;
    expect_works(statement(rule.fix_gcc, "const uint32_t"),
                 statement(rule.fix_gcc, "extern \"C\" const"), kGoodVariable);
  }
  CHECK(found == 4);
}

TEST_CASE("fixes: a definition of the variable works in C and in C++, in braces and without") {
  int found = 0;
  for (const Rule& rule : all_rules()) {
    const std::string code = statement(rule.fix_gcc, "__thread custom");
    if (code.empty()) continue;
    INFO(rule.code);
    ++found;
    expect_works(code, code, kGoodVersion);
  }
  CHECK(found == 2);
}

TEST_CASE("fixes: what is said of a file is a fix of that file") {
  Builder builder;
  const std::string include = std::string(" -I '") + paths::kWriterInclude + "' ";
  const std::string writable = "uint32_t custom_labels_abi_version = 1;\n";
  const FileInspection constant = check_of(builder.build(
      "writable.cc", kIncludes + in_braces(writable + kGoodVariable), kCxx + include + kExports));
  REQUIRE(constant.findings.size() == 1);
  CHECK(constant.findings[0].rule == abi_v1::kVersionConstant);
  const char* fix = constant.findings[0].fix.c_str();
  expect_works(statement(fix, "const uint32_t"), statement(fix, "extern \"C\" const"),
               kGoodVariable);

  // In a file without dynamic symbols neither linker option has an effect.
  const std::string good = std::string(kIncludes) + kGoodVersion + kGoodVariable;
  const FileInspection fixed =
      check_of(builder.build("static.c", good, kCc + (" -static" + include) + kExports));
  REQUIRE(fixed.findings.size() == 1);
  CHECK(fixed.findings[0].rule == abi_v1::kVersionExported);
  const char* otherwise = fixed.findings[0].fix.c_str();
  CHECK(std::string(otherwise).find("instead of -static") != std::string::npos);
  const std::string options =
      std::string(code_in(otherwise, "-Wl,", "_version")) + " " +
      code_in(otherwise, "-Wl,--export-dynamic-symbol=custom_labels_c", "_set");
  for (const std::string link : {" ", " -static-pie "}) {
    expect_clean(builder.build("otherwise.c", good,
                               std::string(kCc).append(include).append(link) + options));
  }
}

TEST_CASE("fixes: conditions and fences are valid C and C++") {
  Builder builder;
  const std::string condition =
      code_in(rule_of(abi_v1::kPlatform).fix_gcc, "#if ", "(__aarch64__))");
  REQUIRE_FALSE(condition.empty());
  const std::string text =
      condition + "\nint main(void) { return 0; }\n#else\n#error not here\n#endif\n";
  builder.build("platform.c", text, kCc);
  builder.build("platform.cc", text, kCxx);
  for (const char* fix :
       {rule_of(abi_v1::kTornUpdate).fix_gcc, rule_of(abi_v1::kTornUpdate).fix_clang}) {
    const std::string fence = code_in(fix, "atomic_signal_fence", ")");
    REQUIRE_FALSE(fence.empty());
    builder.build("fence.c", "#include <stdatomic.h>\nint main(void) { " + fence + "; }\n", kCc);
    builder.build("fence.cc",
                  "#include <atomic>\nusing namespace std;\nint main() { " + fence + "; }\n", kCxx);
  }
}

TEST_CASE("fixes: what is said in Rust is Rust") {
  skip_without_rust();
  Builder builder;
  int found = 0;
  for (const Rule& rule : all_rules()) {
    const std::string code = statement(rule.fix_rust, "#[no_mangle]");
    if (code.empty()) continue;
    INFO(rule.code);
    ++found;
    const FileInspection check =
        check_of(builder.build("version.rs", "#![allow(non_upper_case_globals)]\n" + code + "\n",
                               "rustc --edition 2021 --crate-type cdylib"));
    // The file has no variable; its version is right.
    for (const Finding& finding : check.findings) {
      const bool of_version =
          finding.rule >= abi_v1::kVersionExported && finding.rule <= abi_v1::kVersionKind;
      CHECK_FALSE(of_version);
    }
    CHECK(check.version_value == 1);
  }
  CHECK(found == 3);
  const std::string condition = code_in(rule_of(abi_v1::kPlatform).fix_rust, "#[cfg", ")]");
  REQUIRE_FALSE(condition.empty());
  builder.build("platform.rs", condition + "\nfn main() {}\n", "rustc --edition 2021");
  const std::string fence =
      code_in(rule_of(abi_v1::kTornUpdate).fix_rust, "std::sync::atomic::compiler_fence", ")");
  REQUIRE_FALSE(fence.empty());
  builder.build("fence.rs", "use std::sync::atomic::Ordering;\nfn main() { " + fence + "; }\n",
                "rustc --edition 2021");
}

}  // namespace labelscope::test

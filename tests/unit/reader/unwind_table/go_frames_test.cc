// Tests unwind tables of Go programs compared with .debug_frame, which Go's linker makes of the
// same depths, and libdw never sees. Every row is compared, of programs linked in each way, on both
// processors.
#include "unwind_table/go_frames.h"

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/paths.h"
#include "unwind_table/build_unwind_table.h"

using namespace labelscope;

namespace {

std::string program(const std::string& name) {
  std::string path = std::string(paths::kGoLabels) + "/" + name;
  if (!std::filesystem::exists(path)) skip_test("go is not installed");
  return path;
}

UniqueFd open_program(const std::string& name) {
  UniqueFd file(::open(program(name).c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file.valid());
  return file;
}

UnwindTable table_of(const std::string& name, const UnwindTableLimits& limits = {}) {
  auto table = build_unwind_table(open_program(name), limits);
  INFO(name << ": " << (table ? "" : table.error().context));
  REQUIRE(table);
  return *std::move(table);
}

struct Row {
  std::uint64_t start = 0;
  std::string cfa;
  std::string return_address;
};

// Returns the rows of .debug_frame in readelf's words: "0000000000401060 rsp+112 c-8". The last row
// of each function is where it ends.
std::vector<Row> rows_of(const std::string& name) {
  std::FILE* pipe = ::popen(("readelf -wNF '" + program(name) + "' 2>/dev/null").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::vector<Row> rows;
  bool wanted = false;
  bool in_function = false;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    const std::string text = line;
    if (text.starts_with("Contents of the ")) wanted = text.find(".debug_frame") != text.npos;
    std::istringstream stream(text);
    std::string words[4];
    for (std::string& word : words) stream >> word;
    if (words[3] == "CIE") in_function = false;
    if (words[3] == "FDE") in_function = true;
    const bool is_row = words[0].size() == 16 && words[1].find("p+") != std::string::npos;
    if (!wanted || !in_function || !is_row) continue;
    rows.push_back({std::strtoull(words[0].c_str(), nullptr, 16), words[1], words[2]});
  }
  REQUIRE(::pclose(pipe) == 0);
  return rows;
}

std::string text_of(const ls_unwind_rule& rule, bool x86) {
  const std::string cfa = (x86 ? "rsp+" : "sp+") + std::to_string(rule.cfa_offset) + " ";
  return cfa + (rule.ra == LS_RA_REGISTER ? "s" : "c" + std::to_string(rule.ra_offset));
}

// .debug_frame is wrong about functions that change stacks or that no function calls.
bool is_special(const GoFunction& function) {
  return function.sets_stack || function.is_first || function.name.starts_with("_rt0_");
}

void compare(const std::string& name, const std::string& twin) {
  INFO(name);
  const UnwindTable table = table_of(name);
  const bool x86 = table.machine == Machine::kX86_64;
  const auto file = ElfImage::open(open_program(name));
  REQUIRE(file);
  const auto functions = GoFunctions::read(*file);
  REQUIRE(functions);
  CHECK(table.counts.go_functions == functions->count());
  CHECK_FALSE(table.counts.go_refused);
  std::size_t compared = 0;
  std::size_t without = 0;
  for (const Row& row : rows_of(twin)) {
    const auto function = functions->find(row.start);
    if (!function || is_special(*function)) continue;
    const ls_unwind_rule* rule = table.rule_at(row.start);
    REQUIRE(rule != nullptr);
    ++compared;
    if (rule->cfa == LS_CFA_GAP || rule->cfa == LS_CFA_SIGNAL) {
      UNSCOPED_INFO("nothing is claimed of " << function->name);
      REQUIRE(function->is_handwritten);
      ++without;
      continue;
    }
    INFO(std::hex << row.start << " in " << function->name);
    REQUIRE(rule->cfa == LS_CFA_SP);
    // For a frame of size zero on aarch64 readelf prints "s", where our rule names x30.
    REQUIRE(text_of(*rule, x86) == row.cfa + " " + row.return_address);
  }
  std::printf("FACT: go-frames/%s %zu rows compared, %zu without a claim; %zu rows, %zu rules\n",
              name.c_str(), compared, without, table.rows.size(), table.rules.size());
  CHECK(compared > 3000);
  CHECK(without * 50 < compared);
}

std::map<std::string, std::uint64_t> starts_of(const std::string& name) {
  const auto file = ElfImage::open(open_program(name));
  REQUIRE(file);
  const auto functions = GoFunctions::read(*file);
  REQUIRE(functions);
  std::map<std::string, std::uint64_t> starts;
  for (std::size_t i = 0; i < functions->count(); ++i) {
    const auto function = functions->at(i);
    REQUIRE(function);
    // A wrapper of the same name stands behind the function that it wraps.
    starts.emplace(std::string(function->name), function->start);
  }
  return starts;
}

}  // namespace

TEST_CASE("go frames: each row is what .debug_frame says") {
  for (const char* name : {"static", "pie", "cgo", "cgo_pie", "shared.so"}) compare(name, name);
}

TEST_CASE("go frames: a stripped program has the rows of its twin") {
  compare("stripped", "static");
}

TEST_CASE("go frames: each row of aarch64 is what .debug_frame says") {
  compare("aarch64", "aarch64");
}

TEST_CASE(
    "go frames: no function calls the first code of threads, and stacks end where they change") {
  for (const char* name : {"stripped", "aarch64"}) {
    INFO(name);
    const UnwindTable table = table_of(name);
    auto starts = starts_of(name);
    for (const char* first : {"runtime.goexit", "runtime.mstart", "runtime.rt0_go"}) {
      INFO(first);
      CHECK(table.rule_at(starts.at(first))->cfa == LS_CFA_ENTRY);
    }
    CHECK(table.rule_at(starts.at("gogo"))->cfa == LS_CFA_GAP);
    for (const char* changes : {"runtime.mcall", "runtime.morestack", "runtime.systemstack"}) {
      INFO(changes);
      const ls_unwind_rule* rule = table.rule_at(starts.at(changes));
      const bool x86 = table.machine == Machine::kX86_64;
      if (x86 && rule->cfa == LS_CFA_SP) {
        // Go 1.26's functions first make a frame, to which rbp points when the stack is another
        // one. The scheduler, which mcall() calls, never returns.
        constexpr std::uint64_t kBehindFrame = 4;  // push %rbp; mov %rsp, %rbp
        CHECK(rule->cfa_offset == 8);
        rule = table.rule_at(starts.at(changes) + kBehindFrame);
        const bool returns = std::string_view(changes) != "runtime.mcall";
        CHECK(rule->cfa == (returns ? LS_CFA_GAP_FP : LS_CFA_ENTRY));
        CHECK(rule->operand == 0);
        continue;
      }
      CHECK(rule->cfa == (x86 ? LS_CFA_GAP_FP : LS_CFA_GAP));
      CHECK(rule->operand == (x86 ? LS_FP_LEAVES_OUT : 0));
    }
    // The kernel calls this function, and the stack goes on with the code that the signal
    // interrupted.
    CHECK(table.rule_at(starts.at("runtime.sigtramp"))->cfa == LS_CFA_SP);
  }
}

TEST_CASE("go frames: what does not fit is followed by frame pointers, and that is said") {
  UnwindTableLimits limits;
  limits.rows = 2000;
  const UnwindTable table = table_of("stripped", limits);
  CHECK(table.counts.go_refused);
  CHECK(table.counts.go_functions == 0);
  CHECK(table.rule_at(starts_of("stripped").at("main.unit"))->cfa == LS_CFA_GAP_FP);

  limits = {};
  limits.rules = 16;
  CHECK(table_of("stripped", limits).counts.go_refused);
}

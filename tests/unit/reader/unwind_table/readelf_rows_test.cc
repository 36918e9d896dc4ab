// Compares every row of real files with binutils, which has its own reader of call frame
// information (`readelf -wF`). Only the contents of rows are compared: readelf shows no row where
// we have a gap.
#include <fcntl.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/same_table.h"
#include "unwind_table/build_unwind_table.h"

using namespace labelscope;

namespace {

// These files are what Debian installs on every machine that can build this, and what the cross
// compiler brings: hand-written code (libcrypto), exceptions (libstdc++), large programs (cc1plus),
// Rust, Ada.
constexpr const char* kFiles[] = {
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/x86_64-linux-gnu/libm.so.6",
    "/lib/x86_64-linux-gnu/libgcc_s.so.1",
    "/lib/x86_64-linux-gnu/libz.so.1",
    "/lib/x86_64-linux-gnu/liblzma.so.5",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libssl.so.3",
    "/usr/lib/x86_64-linux-gnu/libdw.so.1",
    "/usr/lib/x86_64-linux-gnu/libelf.so.1",
    "/usr/lib/x86_64-linux-gnu/libzstd.so.1",
    "/usr/lib/x86_64-linux-gnu/libasan.so.8",
    "/bin/bash",
    "/usr/bin/xz",
    "/usr/bin/perl",
    "/usr/bin/python3.11",
    "/usr/bin/git",
    "/usr/bin/cmake",
    "/usr/bin/openssl",
    "/usr/bin/x86_64-linux-gnu-ld.bfd",
    "/usr/aarch64-linux-gnu/lib/libc.so.6",
    "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
    "/usr/aarch64-linux-gnu/lib/libm.so.6",
    "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1",
    "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
    "/usr/aarch64-linux-gnu/lib/libasan.so.8",
    "/usr/aarch64-linux-gnu/lib/libgomp.so.1",
    "/usr/aarch64-linux-gnu/lib/libpthread.so.0",
    "/usr/aarch64-linux-gnu/lib/libanl.so.1",
    "/usr/aarch64-linux-gnu/lib/libatomic.so.1",
    "/usr/aarch64-linux-gnu/lib/libc_malloc_debug.so.0",
    "/usr/aarch64-linux-gnu/lib/libdl.so.2",
    "/usr/aarch64-linux-gnu/lib/libhwasan.so.0",
    "/usr/aarch64-linux-gnu/lib/libitm.so.1",
    "/usr/aarch64-linux-gnu/lib/liblsan.so.0",
    "/usr/aarch64-linux-gnu/lib/libmemusage.so",
    "/usr/aarch64-linux-gnu/lib/libnsl.so.1",
    "/usr/aarch64-linux-gnu/lib/libnss_compat.so.2",
    "/usr/aarch64-linux-gnu/lib/libnss_hesiod.so.2",
    "/usr/aarch64-linux-gnu/lib/libpcprofile.so",
    "/usr/aarch64-linux-gnu/lib/libresolv.so.2",
    "/usr/aarch64-linux-gnu/lib/librt.so.1",
    "/usr/aarch64-linux-gnu/lib/libthread_db.so.1",
    "/usr/aarch64-linux-gnu/lib/libtsan.so.2",
    "/usr/aarch64-linux-gnu/lib/libubsan.so.1",
};
// At least this number of each processor's files must be compared, where any are there.
constexpr std::size_t kEnough = 20;

struct ReadelfRow {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::string cfa;
  std::string frame_pointer;  // empty: the row has no such column
  std::string stack_pointer;
  std::string return_column;
  std::string return_address;
  bool signal = false;
};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::uint64_t hex(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 16); }

// Reads the text of `readelf -wF`, which looks like this:
//
//   00000000 0000000000000014 00000000 CIE "zR" cf=1 df=-8 ra=16
//      LOC           CFA      ra
//   0000000000000000 rsp+8    c-8
//
//   00000018 0000000000000014 0000001c FDE cie=00000000 pc=0000000000001040..0000000000001066
//      LOC           CFA      rbp   ra
//   0000000000001040 rsp+8    u     c-8
//   0000000000001050 rdi+0    r9 (r9) r1 (rdx)
//
// An FDE that changes nothing has no rows: its CIE's row holds for all of it.
class ReadelfText {
 public:
  explicit ReadelfText(bool x86) : x86_(x86) {}

  std::vector<ReadelfRow> read(std::FILE* pipe) {
    char buffer[4096];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) take(buffer);
    finish();
    return std::move(rows_);
  }
  std::size_t functions() const { return functions_; }
  const std::vector<std::string>& odd_lines() const { return odd_lines_; }

 private:
  void take(const std::string& line) {
    if (line.starts_with("Contents of the ")) {
      finish();
      wanted_ = line.find(".eh_frame section") != std::string::npos;
      return;
    }
    if (!wanted_) return;
    auto words = words_of(line);
    std::erase_if(words, [](const std::string& word) { return word.starts_with("("); });
    if (words.empty() || line.find("ZERO terminator") != std::string::npos) return;
    if (words.size() >= 4 && words[3] == "CIE") {
      finish();
      cie_ = words[0];
      of_cie_[cie_].return_column = words.back();
      of_cie_[cie_].signal = words.size() > 4 && words[4].find('S') != std::string::npos;
    } else if (words.size() >= 6 && words[3] == "FDE") {
      finish();
      in_function_ = true;
      ++functions_;
      const auto range = words[5].substr(3);
      start_ = hex(range);
      end_ = hex(range.substr(range.find("..") + 2));
      cie_ = words[4].substr(4);
    } else if (words[0] == "LOC") {
      columns_ = words;
    } else if (words.size() == columns_.size() && words.size() >= 2) {
      take_row(words);
    } else {
      odd_lines_.push_back(line);
    }
  }

  void take_row(const std::vector<std::string>& words) {
    ReadelfRow row;
    row.start = hex(words[0]);
    row.signal = of_cie_[cie_].signal;
    row.return_column = of_cie_[cie_].return_column;
    row.cfa = words[1];
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (columns_[i] == (x86_ ? "rbp" : "x29")) row.frame_pointer = words[i];
      if (columns_[i] == (x86_ ? "rsp" : "sp")) row.stack_pointer = words[i];
      if (columns_[i] == "ra") row.return_address = words[i];
    }
    if (in_function_) {
      open_.push_back(row);
    } else {
      of_cie_[cie_] = row;
    }
  }

  void finish() {
    if (in_function_ && open_.empty()) {
      open_.push_back(of_cie_[cie_]);
      open_[0].start = start_;
    }
    for (std::size_t i = 0; i < open_.size(); ++i) {
      open_[i].end = i + 1 < open_.size() ? open_[i + 1].start : end_;
      if (open_[i].end > open_[i].start) rows_.push_back(open_[i]);
    }
    open_.clear();
    columns_.clear();
    in_function_ = false;
  }

  bool x86_;
  bool wanted_ = false;
  bool in_function_ = false;
  std::size_t functions_ = 0;
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;
  std::string cie_;
  std::map<std::string, ReadelfRow> of_cie_;
  std::vector<std::string> columns_;
  std::vector<ReadelfRow> open_;
  std::vector<ReadelfRow> rows_;
  std::vector<std::string> odd_lines_;
};

std::string with_sign(std::int32_t number) {
  return (number < 0 ? "" : "+") + std::to_string(number);
}

const char* const kX86Names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                 "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

std::string register_name(int number, bool x86) {
  if (x86) return kX86Names[number];
  return number == 31 ? "sp" : "x" + std::to_string(number);
}

// Returns what readelf would print for our rule. Every expression is "exp".
std::string cfa_text(const ls_unwind_rule& rule, bool x86) {
  const int stack_pointer = x86 ? 7 : 31;
  const int frame_pointer = x86 ? 6 : 29;
  switch (rule.cfa) {
    case LS_CFA_SP:
      return register_name(stack_pointer, x86) + with_sign(rule.cfa_offset);
    case LS_CFA_FP:
      return register_name(frame_pointer, x86) + with_sign(rule.cfa_offset);
    case LS_CFA_REGISTER:
      return register_name(LS_OPERAND_NUMBER(rule.operand), x86) + with_sign(rule.cfa_offset);
    default:
      return "exp";
  }
}

// Returns what differs, or nothing if both are equal.
std::string difference(const ReadelfRow& row, const ls_unwind_rule* rule, bool x86) {
  if (rule == nullptr) return "no rule";
  // Code that changes stacks has the augmentation of signal frames, too, but says where its return
  // address is.
  if (row.signal && !(x86 && row.return_address.starts_with("c"))) {
    return rule->cfa == LS_CFA_SIGNAL ? "" : "no signal frame";
  }
  if (rule->ra == LS_RA_NONE && rule->cfa == LS_CFA_SP) {
    return row.return_address == "u" ? "" : "a root";
  }
  // Where no rule can express readelf's row, it can only be checked that ours is missing.
  if (rule->cfa == LS_CFA_UNSUPPORTED) {
    if (row.return_column != (x86 ? "ra=16" : "ra=30")) return "";
    const bool odd_stack_pointer = !row.stack_pointer.empty() && row.stack_pointer != "u";
    return row.cfa == "exp" || row.return_address.ends_with("exp") || odd_stack_pointer
               ? ""
               : "unsupported";
  }
  if (cfa_text(*rule, x86) != row.cfa) return "CFA " + cfa_text(*rule, x86);
  const bool ra_at_cfa = rule->ra == LS_RA_AT_CFA || rule->ra == LS_RA_OTHER_STACK;
  std::string ra =
      ra_at_cfa ? "c" + with_sign(rule->ra_offset) : "r" + std::to_string(rule->ra_offset);
  // readelf shows nothing of a register that keeps its value, and "u" before it is first saved.
  if (rule->ra == LS_RA_REGISTER && rule->ra_offset == 30 &&
      (row.return_address.empty() || row.return_address == "u" || row.return_address == "s"))
    ra = row.return_address;
  if (ra != row.return_address) return "RA " + ra;
  std::string fp = "lost";
  if (rule->fp == LS_FP_AT_CFA) fp = "c" + with_sign(rule->fp_offset);
  if (rule->fp == LS_FP_AT_FP) fp = "exp";
  if (rule->fp == LS_FP_SAME) {
    fp = row.frame_pointer.empty() || row.frame_pointer == "u" || row.frame_pointer == "s"
             ? row.frame_pointer
             : "same";
  }
  if (fp == "lost" && (row.frame_pointer == "exp" || row.frame_pointer == "u" ||
                       row.frame_pointer.starts_with("r")))
    return "";
  return fp == row.frame_pointer ? "" : "FP " + fp;
}

struct Compared {
  Machine machine = Machine::kX86_64;
  std::size_t rows = 0;
  std::size_t unsupported = 0;
  std::size_t expressions = 0;
  std::size_t roots = 0;
  std::size_t contexts = 0;
};

Compared compare(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file.valid());
  auto table = build_unwind_table(std::move(file));
  INFO(path << ": " << (table ? "" : table.error().context));
  REQUIRE(table);
  const bool x86 = table->machine == Machine::kX86_64;
  std::FILE* pipe = ::popen(("readelf -wNF " + path + " 2>/dev/null").c_str(), "r");
  REQUIRE(pipe != nullptr);
  ReadelfText text(x86);
  const auto rows = text.read(pipe);
  REQUIRE(::pclose(pipe) == 0);
  REQUIRE(rows.size() >= 4);
  INFO((text.odd_lines().empty() ? "" : text.odd_lines()[0]));
  REQUIRE(text.odd_lines().empty());
  Compared compared{.machine = table->machine};
  for (const ReadelfRow& row : rows) {
    ++compared.rows;
    // Checks the first byte and the last one, since no other row of readelf's covers a byte between
    // them.
    for (const std::uint64_t at : {row.start, row.end - 1}) {
      const ls_unwind_rule* rule = table->rule_at(at);
      // glibc describes the function that no context returns from as any other.
      const bool starts_context = rule != nullptr && rule->cfa == LS_CFA_ENTRY;
      compared.contexts += starts_context && at == row.start;
      if (starts_context) continue;
      const std::string wrong = difference(row, rule, x86);
      if (wrong.empty()) continue;
      INFO(std::hex << at << " of the row at " << row.start << ": readelf has " << row.cfa
                    << ", FP " << row.frame_pointer << ", RA " << row.return_address
                    << "; the table has " << wrong);
      REQUIRE(wrong.empty());
    }
    const ls_unwind_rule* rule = table->rule_at(row.start);
    compared.unsupported += rule->cfa == LS_CFA_UNSUPPORTED;
    compared.expressions += row.cfa == "exp";
    compared.roots += rule->ra == LS_RA_NONE && rule->cfa == LS_CFA_SP;
  }
  REQUIRE(compared.contexts <= 1);
  std::printf("FACT: rows/%s %zu in %zu rules, %zu pages; %" PRIu64 " of %" PRIu64
              " bytes in gaps, %" PRIu64
              " of them with frame pointers; %zu rows unsupported, %zu "
              "roots, %" PRIu64 " functions hidden, %" PRIu64 " damaged\n",
              path.c_str(), table->rows.size(), table->rules.size(), table->pages.size(),
              table->counts.gap_bytes, table->counts.code_bytes, table->counts.frame_pointer_bytes,
              compared.unsupported, compared.roots, table->counts.hidden_functions,
              table->counts.damaged_functions);
  return compared;
}

}  // namespace

TEST_CASE("unwind table: every row of the system's files is what readelf says") {
  std::set<std::filesystem::path> seen;
  std::map<Machine, std::size_t> files;
  Compared all;
  for (const char* name : kFiles) {
    std::error_code error;
    const auto path = std::filesystem::canonical(name, error);
    if (error || !seen.insert(path).second) continue;
    const Compared one = compare(path.string());
    ++files[one.machine];
    all.rows += one.rows;
    all.unsupported += one.unsupported;
    all.expressions += one.expressions;
  }
  std::printf("FACT: rows/compared %zu of %zu files for x86-64, %zu for aarch64\n", all.rows,
              files[Machine::kX86_64], files[Machine::kAarch64]);
  CHECK(all.unsupported * 1000 < all.rows);  // of hand-written code: 9 of ld.so and a few more
  if (files[Machine::kX86_64] < kEnough || files[Machine::kAarch64] < kEnough) {
    skip_test(
        "this machine has not the files that are compared: bash, cmake, git, perl, openssl, "
        "python3.11, libasan8 and those of libc6-arm64-cross and libtsan2-arm64-cross");
  }
  CHECK(all.rows > 100'000);
  CHECK(all.expressions > 20);
}

TEST_CASE("unwind table: what is interpreted here and by libdw alone is the same, in each bit") {
  std::set<std::filesystem::path> seen;
  for (const char* name : kFiles) {
    std::error_code error;
    const auto path = std::filesystem::canonical(name, error);
    if (error || !seen.insert(path).second) continue;
    CAPTURE(path.string());
    const auto open = [&] { return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); };
    UnwindTableLimits limits;
    limits.only_libdw = true;
    const auto table = build_unwind_table(open());
    const auto by_libdw = build_unwind_table(open(), limits);
    REQUIRE(table.has_value() == by_libdw.has_value());
    if (table) CHECK(same_table(*table, *by_libdw));
  }
  CHECK(seen.size() > 3);
}

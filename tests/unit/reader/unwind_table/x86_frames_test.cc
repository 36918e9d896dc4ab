// Compares what is computed from instructions alone with what compilers and people wrote down:
// functions of x86-64 that have call frame information are followed as if they had none.
#include "unwind_table/x86_frames.h"

#include <fcntl.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "support/catch.h"
#include "unwind_table/build_unwind_table.h"
#include "unwind_table/call_frames.h"
#include "unwind_table/frame_rules.h"
#include "unwind_table/x86_instruction.h"

using namespace labelscope;
using namespace std::string_literals;

namespace {

constexpr const char* kFolder = "/usr/lib/x86_64-linux-gnu/";
constexpr const char* kFiles[] = {
    "libc.so.6",      "ld-linux-x86-64.so.2", "libm.so.6",   "libcrypto.so.3",
    "libstdc++.so.6", "libgcc_s.so.1",        "libssl.so.3", "libz.so.1",
    "libzstd.so.1",   "libelf.so.1",          "libdw.so.1",  "libcapstone.so.4"};

struct Counts {
  std::map<std::string, std::size_t> bytes;
  std::size_t functions = 0;
  std::vector<std::string> contradictions;
};

bool is_only_return_address(const ls_unwind_rule& rule) {
  return rule.cfa == LS_CFA_SP && rule.cfa_offset == 8 && rule.ra == LS_RA_AT_CFA &&
         rule.fp == LS_FP_SAME;
}

// Returns what contradicts the written rule, or nothing if the rule is the same or says less.
std::string contradiction(const ls_unwind_rule& told, const ls_unwind_rule& written) {
  if (told.cfa == LS_CFA_GAP) return {};
  if (told.cfa == LS_CFA_GAP_FP) {
    const bool right = written.fp == LS_FP_AT_CFA && written.fp_offset == -16 &&
                       (written.cfa != LS_CFA_FP || written.cfa_offset == 16);
    return right ? "" : "it has no frame record at CFA - 16";
  }
  if (told.cfa == written.cfa && told.cfa_offset != written.cfa_offset) {
    return "CFA +" + std::to_string(told.cfa_offset) + ", but is +" +
           std::to_string(written.cfa_offset);
  }
  // After rbp has been restored, its value is still in its place.
  if (told.fp == LS_FP_AT_CFA && written.fp == LS_FP_AT_CFA &&
      written.fp_offset != told.fp_offset) {
    return "rbp is not saved at CFA" + std::to_string(told.fp_offset);
  }
  // After pop %rbp, the written rule may still name the place that it was popped from.
  const bool still =
      written.fp == LS_FP_AT_CFA && told.cfa == LS_CFA_SP && -written.fp_offset > told.cfa_offset;
  if (told.fp == LS_FP_SAME && written.fp != LS_FP_SAME && !still) return "rbp is not the caller's";
  return {};
}

const char* kind_of(const ls_unwind_rule& rule) {
  return rule.cfa == LS_CFA_GAP      ? "nothing"
         : rule.cfa == LS_CFA_GAP_FP ? "frame pointer"
         : rule.cfa == LS_CFA_SP     ? "sp"
         : rule.cfa == LS_CFA_FP     ? "fp"
                                     : "register";
}

void compare_file(const std::string& path, bool all_known, Counts& counts) {
  const auto open_file = [&] { return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); };
  auto table = build_unwind_table(open_file());
  auto file = ElfImage::open(open_file());
  auto image = CallFrameImage::from_file(open_file());
  REQUIRE(table);
  REQUIRE(file);
  REQUIRE(image);
  auto frames = CallFrames::open(*std::move(image));
  REQUIRE(frames);
  const auto& described = frames->functions();
  std::vector<std::uint64_t> starts;
  for (const DescribedFunction& function : described) {
    const ls_unwind_rule* rule = table->rule_at(function.start);
    // Otherwise this is a part of another function, which jumps here.
    const bool is_whole = rule != nullptr && is_only_return_address(*rule);
    if (is_whole && (all_known || function.start % 16 == 0)) starts.push_back(function.start);
  }
  // Described functions that lie side by side are followed together.
  std::set<std::uint64_t> wrongs;
  for (std::size_t first = 0; first < described.size();) {
    std::size_t last = first;
    while (last + 1 < described.size() && described[last + 1].start - described[last].end < 64 &&
           described[last + 1].end - described[first].start < (4 << 20)) {
      ++last;
    }
    std::string bytes(described[last].end - described[first].start, '\0');
    REQUIRE(file->read(described[first].start, std::as_writable_bytes(std::span(bytes))));
    const auto parts = x86_frames({bytes, described[first].start, starts, all_known, {}});
    REQUIRE(!parts.empty());
    REQUIRE(parts.front().start == described[first].start);
    auto part = parts.begin();
    for (std::size_t i = first; i <= last; ++i) {
      const bool is_whole = std::binary_search(starts.begin(), starts.end(), described[i].start);
      counts.functions += is_whole;
      for (std::uint64_t at = described[i].start; at < described[i].end;) {
        while (std::next(part) != parts.end() && std::next(part)->start <= at) ++part;
        const ls_unwind_rule* written = table->rule_at(at);
        REQUIRE(written != nullptr);
        const auto size = std::max<std::size_t>(
            x86::decode(std::string_view(bytes).substr(at - described[first].start)).size, 1);
        if (is_whole && written->ra == LS_RA_AT_CFA && written->cfa <= LS_CFA_FP) {
          counts.bytes[kind_of(part->rule)] += size;
          const std::string wrong = contradiction(part->rule, *written);
          if (!wrong.empty() && wrongs.insert(described[i].start).second) {
            char where[128];
            std::snprintf(where, sizeof where, "%s: %" PRIx64 " in the function at %" PRIx64 ": ",
                          path.c_str(), at, described[i].start);
            counts.contradictions.push_back(where + wrong);
          }
        }
        at += size;
      }
    }
    first = last + 1;
  }
}

void compare_files(bool all_known, Counts& counts) {
  std::size_t files = 0;
  for (const char* name : kFiles) {
    const std::string path = std::string(kFolder) + name;
    if (!UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)).valid()) continue;
    ++files;
    // If not all functions are known, the parts that exceptions lead to are taken for functions.
    if (!all_known && path.find("libstdc++") != std::string::npos) continue;
    compare_file(path, all_known, counts);
  }
  if (files == 0) skip_test("the libraries of x86-64 are not on this machine");
  std::size_t all = 0;
  for (const auto& [kind, bytes] : counts.bytes) all += bytes;
  for (const auto& [kind, bytes] : counts.bytes) {
    std::printf("FACT: x86_frames/%s %s %.2f %%\n", all_known ? "known" : "stripped", kind.c_str(),
                100. * static_cast<double>(bytes) / static_cast<double>(all));
  }
  std::printf("FACT: x86_frames/contradictions %zu in %zu functions\n",
              counts.contradictions.size(), counts.functions);
  // A table without rules is never wrong, so this counts how much is claimed.
  CHECK(counts.functions > 3000);
  CHECK(counts.bytes["nothing"] * 12 < all);
}

// Returns the parts of a function as "+offset: rule".
std::vector<std::string> follow(std::string_view bytes, std::vector<std::uint64_t> functions = {0},
                                bool all_known = true) {
  std::vector<std::string> told;
  for (const CodePart& part : x86_frames({bytes, 0, functions, all_known, {}})) {
    const ls_unwind_rule& rule = part.rule;
    std::string text = "+" + std::to_string(part.start) + ": ";
    if (rule.cfa == LS_CFA_GAP) {
      text += "nothing";
    } else if (rule.cfa == LS_CFA_GAP_FP) {
      text += "frame pointer";
    } else {
      text += kind_of(rule) + "+"s + std::to_string(rule.cfa_offset);
      if (rule.fp == LS_FP_AT_CFA) text += ", rbp at CFA" + std::to_string(rule.fp_offset);
      if (rule.fp == LS_FP_LOST) text += ", rbp lost";
      const bool likely = (rule.operand & LS_ONLY_LIKELY) != 0;
      if (likely) text += ", likely";
    }
    told.push_back(text);
  }
  return told;
}

using Told = std::vector<std::string>;

}  // namespace

// The exceptions are in code that describes itself wrongly: glibc's assembly code for large numbers
// does not describe its pushes (__mpn_mul_1(), __mpn_addmul_1()), and some of OpenSSL's describes
// them an instruction late. The rest are parts that are reached only by an exception, or not at
// all, and are taken for functions because they are aligned.
TEST_CASE("x86 frames: what is claimed of a function is what its call frame information says") {
  Counts counts;
  SECTION("all functions are known") { compare_files(true, counts); }
  SECTION("more may be there") { compare_files(false, counts); }
  for (const std::string& each : counts.contradictions) UNSCOPED_INFO(each);
  CHECK(counts.contradictions.size() * 300 < counts.functions);
}

TEST_CASE("x86 frames: a leaf has its caller on top of the stack") {
  // Code: mov $3000, %ecx; dec %ecx; jnz -4; ret
  CHECK(follow("\xb9\xb8\x0b\0\0\xff\xc9\x75\xfc\xc3"s) == Told{"+0: sp+8"});
}

TEST_CASE("x86 frames: between the saving of the frame pointer and its setting both are known") {
  // Code: push %rbp; xor %eax, %eax; mov %rsp, %rbp; call 0x1000; pop %rbp; ret
  CHECK(follow("\x55\x31\xc0\x48\x89\xe5\xe8\0\x10\0\0\x5d\xc3"s) ==
        Told{"+0: sp+8", "+1: sp+16, rbp at CFA-16", "+6: frame pointer", "+12: sp+8"});
}

TEST_CASE("x86 frames: the stack pointer may move and rbp be anything") {
  // Code: push %rbx; push %rbp; sub $24, %rsp; mov $1, %ebp; add $24, %rsp; pop %rbp; pop %rbx; ret
  CHECK(follow("\x53\x55\x48\x83\xec\x18\xbd\1\0\0\0\x48\x83\xc4\x18\x5d\x5b\xc3"s) ==
        Told{"+0: sp+8", "+1: sp+16", "+2: sp+24, rbp at CFA-24", "+6: sp+48, rbp at CFA-24",
             "+15: sp+24, rbp at CFA-24", "+16: sp+16", "+17: sp+8"});
}

TEST_CASE("x86 frames: an aligned stack is found by the register that has the old one") {
  // Code: mov %rsp, %rax; and $-32, %rsp; sub $64, %rsp; mov %rax, %rsp; ret
  CHECK(follow("\x48\x89\xe0\x48\x83\xe4\xe0\x48\x83\xec\x40\x48\x89\xc4\xc3"s) ==
        Told{"+0: sp+8", "+7: register+8", "+14: sp+8"});
}

TEST_CASE("x86 frames: where the return address is taken from the stack, it is gone or put back") {
  // Code: pop %rax; push %rbx; push %rbx; ret
  CHECK(follow("\x58\x53\x53\xc3"s) == Told{"+0: sp+8", "+1: nothing"});
  // Code: add $8, %rsp; push %rbx; ret
  CHECK(follow("\x48\x83\xc4\x08\x53\xc3"s) == Told{"+0: sp+8", "+4: nothing"});
  // Code: pop %rax; xor %eax, %eax; push %rax; ret
  CHECK(follow("\x58\x31\xc0\x50\xc3"s) == Told{"+0: sp+8", "+1: nothing"});
  // As V8's Builtins_CallApiCallback. Code: pop %rax; push %rbx; push %rax; push %rbp;
  // mov %rsp, %rbp; call 0x1000; leave; pop %rcx; add %rbx, %rsp; push %rcx; ret
  CHECK(follow("\x58\x53\x50\x55\x48\x89\xe5\xe8\0\x10\0\0\xc9\x59\x48\x01\xdc\x51\xc3"s) ==
        Told{"+0: sp+8", "+1: nothing", "+3: sp+8", "+4: sp+16, rbp at CFA-16", "+7: frame pointer",
             "+13: sp+8", "+14: nothing", "+18: sp+8"});
}

TEST_CASE("x86 frames: where two ways meet with different frames nothing is claimed") {
  // Code: test %edi, %edi; je +1; push %rbx; nop; ret
  CHECK(follow("\x85\xff\x74\1\x53\x90\xc3"s) == Told{"+0: sp+8", "+5: nothing"});
}

TEST_CASE("x86 frames: a call that does not return does not lead into the next function") {
  // Code: push %rax; call 0x1000; and at 16: ret
  const std::string code = "\x50\xe8\0\x10\0\0"s + std::string(10, '\x90') + "\xc3";
  CHECK(follow(code, {0, 16}) == Told{"+0: sp+8", "+1: sp+16", "+16: sp+8"});
  // In a stripped file this is likely a function, unless it is the head of a loop (jmp -2).
  CHECK(follow(code, {0}, false) == Told{"+0: sp+8", "+1: sp+16", "+16: sp+8, likely"});
  const std::string loop = "\x50\xe8\0\x10\0\0"s + std::string(10, '\x90') + "\xeb\xfe";
  CHECK(follow(loop, {0}, false) == Told{"+0: sp+8", "+1: sp+16", "+16: nothing"});
}

TEST_CASE("x86 frames: what follows a return is a function, most likely, or a case of a switch") {
  // Code: ret; and at 16: push %rax; pop %rax; ret
  const std::string two = "\xc3"s + std::string(15, '\xcc') + "\x50\x58\xc3";
  CHECK(follow(two, {0}, false) ==
        Told{"+0: sp+8", "+16: sp+8, likely", "+17: sp+16, likely", "+18: sp+8, likely"});
  // Code: push %rbx; jmp *%rax; pop %rbx; ret
  CHECK(follow("\x53\xff\xe0\x5b\xc3"s, {0}, false) ==
        Told{"+0: sp+8", "+1: sp+16", "+3: sp+16, likely", "+4: sp+8, likely"});
  // The same code is aligned here, so it may be either.
  const std::string either = "\x53\xff\xe0"s + std::string(13, '\xcc') + "\x5b\xc3";
  CHECK(follow(either, {0}, false) == Told{"+0: sp+8", "+1: sp+16", "+16: nothing"});
}

TEST_CASE("x86 frames: data between functions is not followed") {
  const std::string code = "\xc3"s + std::string(15, '\xcc') + std::string(16, '\x06') + "\xc3";
  CHECK(follow(code, {0, 32}, false) == Told{"+0: sp+8", "+16: nothing", "+32: sp+8"});
}

TEST_CASE("x86 frames: any bytes have parts in order, and an end") {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string bytes(random() % 4096, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    std::uint64_t last = 0;
    for (const CodePart& part : x86_frames({bytes, 0x1000, {}, false, {}})) {
      REQUIRE(part.start >= 0x1000);
      REQUIRE(part.start >= last);
      REQUIRE(part.start <= 0x1000 + bytes.size());
      last = part.start;
    }
  }
}

// Nothing leads behind any of the calls, so what comes next is looked at again behind each of them.
// All of it each time would be half a billion instructions.
TEST_CASE(
    "x86 frames: code that is nothing but calls is followed in a time that grows as it does") {
  constexpr std::size_t kCalls = 32768;
  std::string code = "\xc3"s + std::string(15, '\x90');
  while (code.size() < 16 * kCalls) {
    const auto distance = -static_cast<std::int32_t>(code.size() + 5);  // to the first byte
    code += '\xe8';
    code.append(reinterpret_cast<const char*>(&distance), sizeof distance);
    code += std::string(11, '\x90');
  }
  const std::clock_t before = std::clock();
  const std::vector<CodePart> parts = x86_frames({code, 0x1000, {}, false, {}});
  CHECK((std::clock() - before) / CLOCKS_PER_SEC < 5);
  REQUIRE(!parts.empty());
  CHECK(parts.front().start == 0x1000);
}

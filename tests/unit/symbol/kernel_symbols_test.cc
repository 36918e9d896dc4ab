// KernelSymbols over frozen text, which has addresses and names in the kernel's own form.
#include "cli/symbol/kernel_symbols.h"

#include <string>
#include <vector>

#include "process/proc_fs.h"
#include "support/catch.h"

using labelscope::ErrorCode;
using labelscope::cli::KernelSymbols;

namespace {

constexpr const char* kText =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000200 t __pi_helper\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 T do_syscall_64\n"
    "ffffffff81000200 T helper\n"
    "ffffffff81000200 W weak_helper\n"
    "ffffffff81000300 D some_data\n"
    "ffffffffc0000000 t ext4_map_blocks\t[ext4]\n"
    "ffffffffc0100000 t bpf_prog_6deef7357e7b4530_trace\t[bpf]\n";

KernelSymbols parse(const std::string& text) {
  auto symbols = KernelSymbols::parse(text);
  REQUIRE(symbols);
  return std::move(*symbols);
}

std::string name_at(const KernelSymbols& symbols, labelscope::Address address) {
  auto symbol = symbols.find(address);
  return symbol ? std::string(symbol->name) : "none";
}

}  // namespace

TEST_CASE("kernel_symbols: an address belongs to the last function that begins before it") {
  KernelSymbols symbols = parse(kText);
  CHECK(name_at(symbols, 0xffffffff81000100) == "do_syscall_64");
  CHECK(name_at(symbols, 0xffffffff810001ff) == "do_syscall_64");
}

TEST_CASE(
    "kernel_symbols: of several names of one address the global one without underscores is shown") {
  CHECK(name_at(parse(kText), 0xffffffff81000234) == "helper");
}

TEST_CASE("kernel_symbols: the padding in front of a function has its own name") {
  const KernelSymbols symbols = parse(
      "ffffffff81000010 T __pfx_read\n"
      "ffffffff81000020 T read\n"
      "ffffffff81000030 T write\n"
      "ffffffff81000040 t __pfx_map\t[one]\n"
      "ffffffff81000050 t map\t[two]\n"
      "ffffffff81000060 t __pfx_\n");
  CHECK(name_at(symbols, 0xffffffff81000018) == "__pfx_read");
  CHECK(name_at(symbols, 0xffffffff81000028) == "read");
  CHECK(name_at(symbols, 0xffffffff81000038) == "write");
  CHECK(name_at(symbols, 0xffffffff81000048) == "__pfx_map");
  CHECK(symbols.find(0xffffffff81000048)->module == "one");
  CHECK(symbols.find(0xffffffff81000058)->module == "two");
  CHECK(name_at(symbols, 0xffffffff81000068) == "__pfx_");
}

TEST_CASE("kernel_symbols: names of any length stay whole") {
  std::string text;
  std::vector<std::string> names;
  for (unsigned i = 0; i < 40; ++i) {
    names.push_back(std::string(1000 + 1621 * i, static_cast<char>('a' + i % 26)));
    text += "ffffffff8100" + std::to_string(1000 + i) + " T " + names.back() + "\n";
  }
  const KernelSymbols symbols = parse(text);
  for (unsigned i = 0; i < 40; ++i) {
    const auto address = std::stoull("ffffffff8100" + std::to_string(1000 + i), nullptr, 16);
    CHECK((name_at(symbols, address) == names[i]));
  }
}

TEST_CASE("kernel_symbols: module names are kept") {
  KernelSymbols symbols = parse(kText);
  auto symbol = symbols.find(0xffffffffc0000010);
  REQUIRE(symbol);
  CHECK(symbol->name == "ext4_map_blocks");
  CHECK(symbol->module == "ext4");
  CHECK(symbols.find(0xffffffff81000100)->module.empty());
  CHECK(symbols.find(0xffffffffc0100001)->module == "bpf");
}

TEST_CASE("kernel_symbols: data, gaps and what lies outside have no name") {
  KernelSymbols symbols = parse(kText);
  CHECK(name_at(symbols, 0xffffffff81000310) == "none");
  CHECK(name_at(symbols, 0xffffffff80ffffff) == "none");
  CHECK(name_at(symbols, 0xffffffffc00fffff) == "ext4_map_blocks");
  CHECK(name_at(symbols, 0xffffffffffffffff) == "none");
  CHECK(name_at(symbols, 0x1000) == "none");
}

TEST_CASE("kernel_symbols: views stay good when the table moves") {
  KernelSymbols symbols = parse("ffffffff81000000 T f\n");
  KernelSymbols moved = std::move(symbols);
  CHECK(name_at(moved, 0xffffffff81000000) == "f");
}

TEST_CASE("kernel_symbols: pieces that end anywhere give the same names as the whole text") {
  const std::string text = kText;
  for (std::size_t size = 1; size < text.size(); ++size) {
    KernelSymbols read;
    for (std::size_t at = 0; at < text.size(); at += size) REQUIRE(read.add(text.substr(at, size)));
    const auto symbols = KernelSymbols::finish(std::move(read));
    REQUIRE(symbols);
    CAPTURE(size);
    CHECK(name_at(*symbols, 0xffffffff81000234) == "helper");
    CHECK(symbols->find(0xffffffffc0000001)->module == "ext4");
    CHECK(symbols->malformed_lines() == 0);
  }
}

TEST_CASE("kernel_symbols: hidden addresses are a permission problem and name what shows them") {
  auto hidden = KernelSymbols::parse("0000000000000000 T _text\n0000000000000000 t f\t[m]\n");
  REQUIRE_FALSE(hidden);
  CHECK(hidden.error().code == ErrorCode::kPermission);
  CHECK(hidden.error().context.find("CAP_SYSLOG") != std::string::npos);
  // A setting that is right already is not advised.
  const bool restricted = labelscope::read_proc_line("/proc/sys/kernel/kptr_restrict") != "0";
  CHECK((hidden.error().context.find("kernel.kptr_restrict") != std::string::npos) == restricted);
  auto empty = KernelSymbols::parse("");
  REQUIRE_FALSE(empty);
  CHECK(empty.error().code == ErrorCode::kPermission);
}

TEST_CASE("kernel_symbols: lines of an unknown form are counted and the rest is used") {
  KernelSymbols symbols = parse(
      "ffffffff81000000 T good\nnonsense\nffffffff81000010 T\nffffffff81000010 T \n"
      "ffffffff81000020 t f\t[\nzz T x\nffffffff81000030 T last");
  CHECK(symbols.malformed_lines() == 5);
  CHECK(name_at(symbols, 0xffffffff81000031) == "last");
  auto none = KernelSymbols::parse("what is this\n");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::kMalformed);
}

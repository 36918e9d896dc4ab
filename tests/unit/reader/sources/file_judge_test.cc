// Tests the static rules over files that differ in one field of one table: which rules are broken,
// and which are not checked any more. tests/targets/violators has writers that a compiler makes.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "findings/check_rule.h"
#include "labelscope/inspect.h"
#include "labelscope/plan.h"
#include "sources/custom_labels/rules.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

constexpr const char* kAbiName = "/usr/lib/libcustomlabels.so";
// Places in testdata/elf/one_slot.yaml.
constexpr std::size_t kVersionSymbol = 0x300 + sizeof(Elf64_Sym);
constexpr std::size_t kVariableSymbol = 0x300 + 2 * sizeof(Elf64_Sym);

FileInspection check_bytes(const std::string& bytes, const std::string& name = kAbiName) {
  auto check = inspect_file(open_bytes(bytes), name);
  if (!check) FAIL(check.error().context);
  return *std::move(check);
}

std::string codes_of(const FileInspection& check) {
  std::set<std::string> broken;
  for (const Finding& finding : check.findings) broken.insert(rule_of(finding.rule).code);
  std::string codes;
  for (const std::string& code : broken) codes += (codes.empty() ? "" : " ") + code;
  return codes;
}

bool asked(const FileInspection& check, const char* code) {
  return std::any_of(check.rules.begin(), check.rules.end(),
                     [&](RuleId rule) { return std::string(rule_of(rule).code) == code; });
}

template <class Field>
std::string patched(std::string bytes, std::size_t at, Field value) {
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

// Returns the offset of the program header of this type in the file's bytes.
std::size_t program_header(const std::string& bytes, std::uint32_t type) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr program;
    std::memcpy(&program, bytes.data() + at, sizeof program);
    if (program.p_type == type) return at;
  }
  FAIL("no such program header");
  return 0;
}

struct Case {
  const char* code;
  Verdict verdict;
  std::string bytes;
};

std::vector<Case> wrong_fields() {
  const std::string good = elf_from_yaml("one_slot");
  const auto version_info = kVersionSymbol + offsetof(Elf64_Sym, st_info);
  return {
      {"LS011", Verdict::kBroken, elf_from_yaml("one_slot", {"VERSION_SIZE=0"})},
      {"LS012", Verdict::kBroken, patched(good, 0x700, std::uint32_t{0})},
      {"LS012", Verdict::kBroken,
       patched(good, kVersionSymbol + offsetof(Elf64_Sym, st_value), 0x7000000UL)},
      {"LS013", Verdict::kCompliant,
       patched(patched(good, kVersionSymbol + offsetof(Elf64_Sym, st_value), 0x1900UL), 0x1900,
               std::uint32_t{1})},
      {"LS014", Verdict::kBroken,
       patched(good, version_info, static_cast<std::uint8_t>(STB_GLOBAL << 4 | STT_FUNC))},
      {"LS014", Verdict::kBroken,
       patched(good, version_info, static_cast<std::uint8_t>(STB_GLOBAL << 4 | STT_TLS))},
      {"LS021", Verdict::kBroken, elf_from_yaml("one_slot", {"SET_TYPE=STT_OBJECT"})},
      {"LS022", Verdict::kBroken, elf_from_yaml("one_slot", {"SET_SIZE=24"})},
      {"LS023", Verdict::kCompliant,
       patched(good, program_header(good, PT_TLS) + offsetof(Elf64_Phdr, p_align), 4UL)},
      {"LS031", Verdict::kReadable, elf_from_yaml("one_slot", {"RELOCATION=R_X86_64_TPOFF64"})},
      {"LS031", Verdict::kReadable, elf_from_yaml("one_slot", {"RELASZ=0"})},
      {"LS032", Verdict::kReadable, elf_from_yaml("one_slot", {"SYMBOL=0", "ADDEND=0x18"})},
  };
}

}  // namespace

TEST_CASE("check file: a correct library meets every rule that applies to it") {
  for (const char* machine : {"EM_X86_64", "EM_AARCH64"}) {
    INFO(machine);
    const bool arm = std::string(machine) == "EM_AARCH64";
    const FileInspection check = check_bytes(elf_from_yaml(
        "one_slot", {std::string("MACHINE=") + machine,
                     arm ? "RELOCATION=R_AARCH64_TLSDESC" : "RELOCATION=R_X86_64_TLSDESC"}));
    CHECK(codes_of(check).empty());
    std::string rules;
    for (const RuleId rule : check.rules) rules += std::string(rule_of(rule).code) + " ";
    CHECK(rules ==
          "LS001 LS003 LS010 LS011 LS012 LS013 LS014 LS020 LS021 LS022 LS023 LS031 LS032 ");
  }
}

TEST_CASE("check file: one field that is wrong is one rule that is broken") {
  const std::string good = elf_from_yaml("one_slot");
  const auto version_info = kVersionSymbol + offsetof(Elf64_Sym, st_info);
  const auto variable_value = kVariableSymbol + offsetof(Elf64_Sym, st_value);
  for (const Case& one : wrong_fields()) {
    INFO(one.code);
    const FileInspection seen = check_bytes(one.bytes);
    CHECK(codes_of(seen) == one.code);
    CHECK(verdict_name(seen.verdict) == verdict_name(one.verdict));
  }
  // A symbol without a type, as assemblers define them, counts as data.
  CHECK(codes_of(check_bytes(patched(good, version_info,
                                     static_cast<std::uint8_t>(STB_GLOBAL << 4 | STT_NOTYPE))))
            .empty());
  // The relocation names the symbol, wherever it is.
  CHECK(codes_of(check_bytes(patched(good, variable_value, 0x14UL))) == "LS023");
  CHECK(codes_of(check_bytes(good, "/usr/lib/liblabels.so")) == "LS003");
}

TEST_CASE("check file: the planner judges a loaded file by the same rules, in the same words") {
  std::vector<Case> cases = wrong_fields();
  cases.push_back({"LS030", Verdict::kBroken,
                   patched(patched(elf_from_yaml("one_slot"), offsetof(Elf64_Ehdr, e_type),
                                   static_cast<std::uint16_t>(ET_EXEC)),
                           kVariableSymbol + offsetof(Elf64_Sym, st_value), 0x20UL)});
  for (const Case& one : cases) {
    INFO(one.code);
    const FileInspection seen = check_bytes(one.bytes);
    REQUIRE_FALSE(seen.findings.empty());
    FakeTarget target;
    target.load(kAbiName, one.bytes, seen.executable ? 0 : 0x7f0000000000, seen.executable);
    auto plan = Planner().plan(target);
    REQUIRE(plan);
    // Memory that the file does not hold gives another finding than memory that does not exist.
    if (seen.findings[0].code == FindingCode::kVersionUnreadable) continue;
    CHECK(plan->refusals.size() == (one.verdict == Verdict::kBroken ? 1 : 0));
    std::vector<Finding> told;
    if (!plan->refusals.empty()) told.push_back(plan->refusals[0].finding);
    if (!plan->publishers.empty()) told = plan->publishers[0].findings;
    CHECK(std::any_of(told.begin(), told.end(), [&](const Finding& finding) {
      return finding_title(finding) == finding_title(seen.findings[0]) &&
             finding_clause(finding) == finding_clause(seen.findings[0]);
    }));
  }
}

TEST_CASE("check file: two mistakes are two, and the first hides what follows from it") {
  const std::string both =
      patched(elf_from_yaml("one_slot", {"SET_TYPE=STT_OBJECT"}), 0x700, std::uint32_t{2});
  const FileInspection check = check_bytes(both, "liblabels.so");
  CHECK(codes_of(check) == "LS003 LS012 LS021");
  CHECK_FALSE(asked(check, "LS022"));
  CHECK_FALSE(asked(check, "LS031"));
  CHECK(asked(check, "LS013"));
  const FileInspection wide = check_bytes(elf_from_yaml("one_slot", {"VERSION_SIZE=8"}));
  CHECK_FALSE(asked(wide, "LS012"));
}

TEST_CASE("check file: of an executable the place in its block is asked, not its name") {
  const std::string good = elf_from_yaml("one_slot");
  const std::string program =
      patched(good, offsetof(Elf64_Ehdr, e_type), static_cast<std::uint16_t>(ET_EXEC));
  const FileInspection check = check_bytes(program, "/usr/bin/server");
  CHECK(codes_of(check).empty());
  CHECK(asked(check, "LS030"));
  CHECK_FALSE(asked(check, "LS003"));
  CHECK_FALSE(asked(check, "LS031"));
  const std::size_t value = kVariableSymbol + offsetof(Elf64_Sym, st_value);
  CHECK(codes_of(check_bytes(patched(program, value, 0x20UL), "server")) == "LS030");
  CHECK(codes_of(check_bytes(patched(program, value, ~0UL - 7), "server")) == "LS030");
}

TEST_CASE("check file: what is meant to be read-only is, behind the loader's relocations") {
  std::string bytes =
      patched(elf_from_yaml("one_slot"), kVersionSymbol + offsetof(Elf64_Sym, st_value), 0x1900UL);
  bytes = patched(bytes, 0x1900, std::uint32_t{1});
  CHECK(codes_of(check_bytes(bytes)) == "LS013");
  // Adds one more program header.
  Elf64_Phdr relro{};
  relro.p_type = PT_GNU_RELRO;
  relro.p_vaddr = 0x1800;
  relro.p_memsz = 0x200;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t after = header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
  REQUIRE(after + sizeof relro <= 0x280);  // where the first section starts
  bytes = patched(bytes, after, relro);
  bytes =
      patched(bytes, offsetof(Elf64_Ehdr, e_phnum), static_cast<std::uint16_t>(header.e_phnum + 1));
  CHECK(codes_of(check_bytes(bytes)).empty());
}

TEST_CASE("check file: another platform's file breaks the first rule if it publishes") {
  const std::string good = elf_from_yaml("one_slot");
  const auto machine = offsetof(Elf64_Ehdr, e_machine);
  for (const std::string& bytes :
       {patched(good, machine, static_cast<std::uint16_t>(EM_RISCV)),
        patched(good, EI_OSABI, static_cast<std::uint8_t>(ELFOSABI_FREEBSD))}) {
    const FileInspection check = check_bytes(bytes);
    CHECK(codes_of(check) == "LS001");
    CHECK(check.rules == std::vector{abi_v1::kPlatform});
  }
  CHECK(codes_of(check_bytes(patched(good, EI_OSABI, static_cast<std::uint8_t>(ELFOSABI_GNU))))
            .empty());
  // The symbol has the same name and is not defined there.
  const std::size_t section = offsetof(Elf64_Sym, st_shndx);
  std::string importer = patched(good, kVersionSymbol + section, std::uint16_t{SHN_UNDEF});
  importer = patched(importer, kVariableSymbol + section, std::uint16_t{SHN_UNDEF});
  CHECK(check_bytes(importer).rules.empty());
  auto foreign = inspect_file(
      open_bytes(patched(importer, machine, static_cast<std::uint16_t>(EM_RISCV))), kAbiName);
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("check file: another platform's file is known by the symbols of every source") {
  std::string bytes = elf_from_yaml("one_slot");
  const auto rename = [&](const std::string& from, std::string to) {
    to.resize(from.size());
    for (std::size_t at = 0; (at = bytes.find(from, at)) != std::string::npos;) {
      bytes.replace(at, from.size(), to);
    }
  };
  rename("custom_labels_abi_version", "other");
  rename("custom_labels_current_set", "otel_thread_ctx_v1");
  const FileInspection check = check_bytes(
      patched(bytes, offsetof(Elf64_Ehdr, e_machine), static_cast<std::uint16_t>(EM_RISCV)));
  CHECK(check.source == LS_SOURCE_OTEL_CONTEXT);
  CHECK(check.verdict == Verdict::kBroken);
  REQUIRE(check.findings.size() == 1);
  CHECK(check.findings[0].text.find("riscv") != std::string::npos);
}

TEST_CASE("check file: what the loader copies from a library is the library's") {
  const std::size_t section = offsetof(Elf64_Sym, st_shndx);
  auto reader_of_version = [&](const char* machine, const char* relocation, const char* place) {
    std::string bytes = elf_from_yaml(
        "one_slot", {std::string("MACHINE=") + machine, std::string("RELOCATION=") + relocation,
                     "SYMBOL=custom_labels_abi_version", std::string("SLOT=") + place});
    bytes = patched(bytes, kVersionSymbol + offsetof(Elf64_Sym, st_value), 0x1900UL);
    return patched(bytes, kVariableSymbol + section, std::uint16_t{SHN_UNDEF});
  };
  for (const auto& [machine, relocation] :
       {std::pair("EM_X86_64", "R_X86_64_COPY"), std::pair("EM_AARCH64", "R_AARCH64_COPY")}) {
    INFO(machine);
    const FileInspection check = check_bytes(reader_of_version(machine, relocation, "0x1900"));
    CHECK(check.rules.empty());
    CHECK(check.verdict == Verdict::kNothing);
    REQUIRE(check.version.dynamic);
    CHECK_FALSE(check.version.dynamic->defined);
    CHECK_FALSE(check.version_value);
    // The relocation is another variable's.
    CHECK(codes_of(check_bytes(reader_of_version(machine, relocation, "0x1908"))) ==
          "LS012 LS013 LS020");
  }
}

TEST_CASE("check file: a file cut or altered anywhere is an answer or an error") {
  const std::string good = elf_from_yaml("one_slot");
  std::size_t answers = 0;
  std::size_t errors = 0;
  auto look = [&](const std::string& bytes) {
    auto check = inspect_file(open_bytes(bytes), kAbiName);
    check ? ++answers : ++errors;
    if (check) {
      CHECK(check->findings.size() <= check->rules.size());
    } else {
      CHECK_FALSE(check.error().context.empty());
    }
  };
  for (std::size_t size = 0; size < good.size(); size += 61) look(good.substr(0, size));
  std::mt19937 random(7);
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = good;
    // The bytes that change are those of headers, symbols and relocations; the rest is padding.
    for (int k = 0; k < 3; ++k) bytes[random() % 0x720] = static_cast<char>(random());
    bytes[EI_CLASS] = static_cast<char>(1 + random() % 2);
    bytes[EI_DATA] = static_cast<char>(1 + random() % 2);
    look(bytes);
  }
  CHECK(answers > 0);
  CHECK(errors > 0);
}

}  // namespace labelscope::test

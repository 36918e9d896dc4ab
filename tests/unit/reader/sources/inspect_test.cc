// Tests how inspect_file() classifies files by their own symbols and relocations, without loading
// them. The compiled files have one flaw or access model each, so that the right answer is known.
#include "labelscope/inspect.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "sources/custom_labels/rules.h"
#include "sources/thread_context/rules.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"
#include "unit/symbol/temp_folder.h"

namespace labelscope::test {
namespace {

constexpr const char* kAbiName = "/usr/lib/libcustomlabels.so";

FileInspection inspect_bytes(const std::string& bytes, const std::string& name = kAbiName) {
  auto seen = inspect_file(open_bytes(bytes), name);
  if (!seen) FAIL(seen.error().context);
  return *std::move(seen);
}

FileInspection inspect_fixture(const std::string& name) {
  const std::string path = fixture_path(name);
  return inspect_bytes(read_file(path), path);
}

std::string findings_of(const FileInspection& seen) {
  std::string names;
  for (const Finding& finding : seen.findings) {
    names += (names.empty() ? "" : " ") + std::string(finding_name(finding));
  }
  return names;
}

void check_verdict(const FileInspection& seen, Verdict verdict, const std::string& findings) {
  CHECK(verdict_name(seen.verdict) == verdict_name(verdict));
  CHECK(findings_of(seen) == findings);
}

void check_error(const std::string& bytes, ErrorCode code) {
  auto seen = inspect_file(open_bytes(bytes), kAbiName);
  REQUIRE_FALSE(seen);
  CHECK(seen.error().code == code);
  CHECK_FALSE(seen.error().context.empty());
}

}  // namespace

TEST_CASE("inspect: a library with a TLS descriptor under the ABI's name is compliant") {
  const FileInspection seen = inspect_fixture("libcustomlabels_gnu2.so");
  check_verdict(seen, Verdict::kCompliant, "");
  CHECK_FALSE(seen.executable);
  CHECK(seen.abi_name);
  CHECK(seen.version_value == 1U);
  CHECK(seen.access == std::vector{FileAccess::kTlsDesc});
  REQUIRE(seen.relocations.size() == 1);
  CHECK(seen.relocations[0].by_name);
  REQUIRE(seen.variable.dynamic);
  CHECK(seen.variable.dynamic->value == 40);  // -DTLS_BEFORE=40
  CHECK(seen.variable.dynamic->type == STT_TLS);
  REQUIRE(seen.variable.symtab);
  CHECK(seen.variable.symtab->value == 40);
  REQUIRE(seen.tls);
  CHECK(seen.tls->memory_size == 48);
}

TEST_CASE("inspect: other access models of a library are readable, with a hint about descriptors") {
  const FileInspection gnu = inspect_fixture("libcustomlabels_gnu.so");
  check_verdict(gnu, Verdict::kReadable, "no-tlsdesc");
  CHECK(gnu.access == std::vector{FileAccess::kGeneralDynamic});
  const FileInspection ie = inspect_fixture("libcustomlabels_ie.so");
  check_verdict(ie, Verdict::kReadable, "no-tlsdesc");
  CHECK(ie.access == std::vector{FileAccess::kInitialExec});
}

TEST_CASE("inspect: a protected variable's descriptor has no symbol") {
  const FileInspection seen = inspect_fixture("libcustomlabels_protected.so");
  check_verdict(seen, Verdict::kReadable, "no-tlsdesc");
  REQUIRE(seen.relocations.size() == 1);
  CHECK_FALSE(seen.relocations[0].by_name);
  CHECK(seen.relocations[0].addend == 40);
}

TEST_CASE("inspect: the file name counts, not the folder") {
  check_verdict(inspect_fixture("publishes_under_another_name.so"), Verdict::kReadable,
                "file-name");
  const std::string bytes = read_file(fixture_path("libcustomlabels_gnu2.so"));
  check_verdict(inspect_bytes(bytes, "/libcustomlabels/lib.so"), Verdict::kReadable, "file-name");
  check_verdict(inspect_bytes(bytes, "libcustomlabels.so.1"), Verdict::kReadable, "file-name");
  check_verdict(inspect_bytes(bytes, "customlabels.node"), Verdict::kCompliant, "");
}

TEST_CASE("inspect: an executable needs no relocation, but must export") {
  const FileInspection hidden = inspect_fixture("exe_symtab_only");
  check_verdict(hidden, Verdict::kReadable, "not-exported");
  CHECK(hidden.executable);
  CHECK(hidden.access == std::vector{FileAccess::kLocalExec});
  CHECK(hidden.version_value == 1U);
  CHECK_FALSE(hidden.variable.dynamic);
  CHECK(hidden.variable.symtab);
  const FileInspection stripped = inspect_fixture("exe_stripped");
  check_verdict(stripped, Verdict::kNothing, "");
  CHECK_FALSE(stripped.has_symtab);
  CHECK(stripped.has_dynamic_symbols);
}

TEST_CASE("inspect: who imports the variable publishes nothing") {
  for (const char* name : {"exe_importer_sysv", "exe_importer_gnu"}) {
    const FileInspection seen = inspect_fixture(name);
    check_verdict(seen, Verdict::kNothing, "");
    CHECK(seen.imports_variable);
    CHECK(seen.access.empty());
  }
}

TEST_CASE("inspect: what is broken says by what, and then what else breaks a rule") {
  const std::pair<const char*, const char*> cases[] = {
      {"WRONG_VERSION", "version-unknown no-tlsdesc"}, {"WIDE_VERSION", "version-size no-tlsdesc"},
      {"NOT_THREAD_LOCAL", "not-thread-local"},        {"ONLY_VERSION", "current-set-missing"},
      {"ONLY_SET", "version-missing no-tlsdesc"},
  };
  for (const auto& [flaw, finding] : cases) {
    const FileInspection seen = inspect_fixture(std::string("libcustomlabels_") + flaw + ".so");
    check_verdict(seen, Verdict::kBroken, finding);
  }
  CHECK(inspect_fixture("libcustomlabels_WRONG_VERSION.so").version_value == 2U);
  check_verdict(inspect_bytes(elf_from_yaml("one_slot", {"SET_SIZE=16"})), Verdict::kBroken,
                "current-set-size");
}

TEST_CASE("inspect: section headers are not needed for what is exported") {
  const FileInspection seen =
      inspect_bytes(without_sections(fixture_path("libcustomlabels_gnu2.so")));
  check_verdict(seen, Verdict::kCompliant, "");
  CHECK_FALSE(seen.has_symtab);
  CHECK_FALSE(seen.variable.symtab);
}

TEST_CASE("inspect: files for aarch64 are judged by their own relocations") {
  struct Case {
    const char* relocation;
    FileAccess access;
    Verdict verdict;
  };
  for (const Case& one :
       {Case{"R_AARCH64_TLSDESC", FileAccess::kTlsDesc, Verdict::kCompliant},
        Case{"R_AARCH64_TLS_TPREL64", FileAccess::kInitialExec, Verdict::kReadable},
        Case{"R_AARCH64_TLS_DTPMOD64", FileAccess::kGeneralDynamic, Verdict::kReadable}}) {
    INFO(one.relocation);
    const FileInspection seen = inspect_bytes(elf_from_yaml(
        "one_slot", {"MACHINE=EM_AARCH64", std::string("RELOCATION=") + one.relocation}));
    CHECK(seen.machine == Machine::kAarch64);
    CHECK(verdict_name(seen.verdict) == verdict_name(one.verdict));
    CHECK(seen.access == std::vector{one.access});
    CHECK(seen.version_value == 1U);
    if (one.verdict == Verdict::kReadable) {
      REQUIRE(seen.findings.size() == 1);
      CHECK(seen.findings[0].fix.find("-mtls-dialect=desc") != std::string::npos);
    }
  }
}

TEST_CASE("inspect: a symbol-less relocation counts where it means the variable or its block") {
  auto count = [](const char* relocation, const char* addend) {
    return inspect_bytes(elf_from_yaml("one_slot", {std::string("RELOCATION=") + relocation,
                                                    "SYMBOL=0", std::string("ADDEND=") + addend}))
        .relocations.size();
  };
  CHECK(count("R_X86_64_TLSDESC", "0x18") == 1);  // the variable
  CHECK(count("R_X86_64_TLSDESC", "0x8") == 0);   // another one
  CHECK(count("R_X86_64_TLSDESC", "0") == 1);     // the block
  CHECK(count("R_X86_64_TPOFF64", "0") == 0);     // the variable at the block's start
  CHECK(count("R_X86_64_DTPMOD64", "0") == 1);    // the block, of local-dynamic code
}

TEST_CASE("inspect: a version outside of the file's data is not taken for one") {
  std::string bytes = elf_from_yaml("one_slot");
  // .dynsym is at 0x300, and the version is its second entry.
  const std::uint64_t nowhere = 0x7000000;
  std::memcpy(bytes.data() + 0x300 + sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_value), &nowhere,
              sizeof nowhere);
  const FileInspection seen = inspect_bytes(bytes);
  check_verdict(seen, Verdict::kBroken, "version-unreadable");
  CHECK_FALSE(seen.version_value);
}

TEST_CASE("inspect: what is no file for here says why") {
  check_error("", ErrorCode::kMalformed);
  check_error("#!/bin/sh\nexit 0\n", ErrorCode::kMalformed);
  const std::string good = elf_from_yaml("one_slot");
  std::string class32 = good;
  class32[EI_CLASS] = ELFCLASS32;
  std::string big_endian = good;
  big_endian[EI_DATA] = ELFDATA2MSB;
  auto seen32 = inspect_file(open_bytes(class32), kAbiName);
  CHECK_FALSE(seen32);
  auto seen_big = inspect_file(open_bytes(big_endian), kAbiName);
  CHECK_FALSE(seen_big);
  std::string object = good;
  const std::uint16_t type = ET_REL;
  std::memcpy(object.data() + offsetof(Elf64_Ehdr, e_type), &type, sizeof type);
  check_error(object, ErrorCode::kUnsupported);
}

TEST_CASE("inspect: a file of debug information is called one") {
  const TempFolder folder;
  const std::string path = folder.path() + "/libcustomlabels.so";
  const std::string command = "objcopy --only-keep-debug '" +
                              fixture_path("libcustomlabels_gnu2.so") + "' '" + path + "' 2>&1";
  if (std::system(command.c_str()) != 0) skip_test("objcopy does not work here");
  const std::string bytes = read_file(path);
  const auto seen = inspect_file(open_bytes(bytes), path);
  REQUIRE_FALSE(seen);
  CHECK(seen.error().code == ErrorCode::kUnsupported);
  CHECK(seen.error().context.find("debug information only") != std::string::npos);
}

TEST_CASE("inspect: a file cut anywhere is an answer or an error, never an accident") {
  const std::string good = read_file(fixture_path("libcustomlabels_gnu2.so"));
  std::size_t refused = 0;
  for (std::size_t size = 0; size < good.size(); size += 97) {
    auto seen = inspect_file(open_bytes(good.substr(0, size)), kAbiName);
    if (seen) continue;
    ++refused;
    CHECK_FALSE(seen.error().context.empty());
  }
  CHECK(refused > 0);
}

TEST_CASE("inspect: of two sources the first that can be read is shown, and both are judged") {
  const auto has = [](const FileInspection& seen, RuleId rule) {
    return std::ranges::find(seen.rules, rule) != seen.rules.end();
  };
  FileInspection seen = inspect_fixture("libcustomlabels_and_context.so");
  check_verdict(seen, Verdict::kCompliant, "");
  CHECK(seen.source == LS_SOURCE_CUSTOM_LABELS);
  CHECK(has(seen, abi_v1::kVersionValue));
  CHECK(has(seen, context_v1::kSize));
  seen = inspect_fixture("libcustomlabels_flawed_and_context.so");
  CHECK(seen.source == LS_SOURCE_THREAD_CONTEXT);
  check_verdict(seen, Verdict::kCompliant, "version-unknown");
  CHECK(has(seen, abi_v1::kVersionValue));
  CHECK(has(seen, context_v1::kSize));
}

}  // namespace labelscope::test

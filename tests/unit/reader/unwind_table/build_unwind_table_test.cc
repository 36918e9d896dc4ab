// Tests the rules for what assembly code says about itself, each way once (odd_frames.S), and for
// files that lie.
#include "unwind_table/build_unwind_table.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

using namespace labelscope;
using namespace labelscope::test;

static bool operator==(const ls_unwind_rule& left, const ls_unwind_rule& right) {
  return left.cfa == right.cfa && left.ra == right.ra && left.fp == right.fp &&
         left.operand == right.operand && left.cfa_offset == right.cfa_offset &&
         left.fp_offset == right.fp_offset && left.ra_offset == right.ra_offset;
}

namespace {

UniqueFd open_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file.valid());
  return file;
}

UniqueFd file_of(const std::vector<char>& bytes) {
  UniqueFd file(memfd_create("unwind_table_test", MFD_CLOEXEC));
  REQUIRE(file.valid());
  REQUIRE(::pwrite(file.get(), bytes.data(), bytes.size(), 0) ==
          static_cast<ssize_t>(bytes.size()));
  return file;
}

std::vector<char> bytes_of(const std::string& path) {
  const UniqueFd file = open_file(path);
  std::vector<char> bytes(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)));
  REQUIRE(::pread(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return bytes;
}

// The linker makes no search table for instructions that it does not understand. So the unknown
// instruction is put in after linking, in the place of a marked one that means nothing.
std::vector<char> odd_file() {
  std::vector<char> bytes = bytes_of(fixture_path("libodd_frames.so"));
  constexpr char kMarked[] = {0x2e, 0x55, 0x2e, 0x2a};
  const auto found =
      std::search(bytes.begin(), bytes.end(), std::begin(kMarked), std::end(kMarked));
  REQUIRE(found != bytes.end());
  *found = 0x3e;
  return bytes;
}

class OddFrames {
 public:
  OddFrames() {
    auto table = build_unwind_table(file_of(odd_file()));
    INFO((table ? "" : table.error().context));
    REQUIRE(table);
    table_ = *std::move(table);
  }
  std::uint64_t address(const char* symbol) const {
    auto image = ElfImage::open(open_file(fixture_path("libodd_frames.so")));
    REQUIRE(image);
    auto found = image->find_dynamic_symbol(symbol);
    REQUIRE(found);
    REQUIRE(*found);
    return (*found)->value;
  }
  ls_unwind_rule at(const char* symbol, int offset = 0) const {
    const ls_unwind_rule* rule =
        table_.rule_at(address(symbol) + static_cast<std::uint64_t>(std::int64_t{offset}));
    REQUIRE(rule != nullptr);
    return *rule;
  }
  const UnwindTable& table() const { return table_; }

 private:
  UnwindTable table_;
};

}  // namespace

TEST_CASE("unwind table: what assembly code says of itself is its rule") {
  const OddFrames odd;
  CHECK(odd.at("ra_in_register") ==
        ls_unwind_rule{LS_CFA_SP, LS_RA_REGISTER, LS_FP_SAME, 0, 0, 0, 5});
  CHECK(odd.at("root").ra == LS_RA_NONE);
  CHECK(odd.at("root").cfa == LS_CFA_SP);
  CHECK(odd.at("leaf_register") ==
        ls_unwind_rule{LS_CFA_REGISTER, LS_RA_AT_CFA, LS_FP_SAME, 11, 8, 0, -8});
  CHECK(odd.at("at_sp") ==
        ls_unwind_rule{LS_CFA_AT_SP, LS_RA_AT_CFA, LS_FP_AT_CFA, 2, 24, -24, -8});
  CHECK(odd.at("at_fp") == ls_unwind_rule{LS_CFA_AT_FP, LS_RA_AT_CFA, LS_FP_AT_FP, 0, -40, 0, -8});
  CHECK(odd.at("unsupported").cfa == LS_CFA_UNSUPPORTED);
  CHECK(odd.at("leaf_vector").cfa == LS_CFA_UNSUPPORTED);
  CHECK(odd.at("after_damaged") ==
        ls_unwind_rule{LS_CFA_FP, LS_RA_AT_CFA, LS_FP_AT_CFA, 0, 16, -16, -8});
  CHECK(odd.at("after_restore") == odd.at("after_damaged"));
}

TEST_CASE("unwind table: a function that cannot be read costs nothing but itself") {
  const OddFrames odd;
  CHECK(odd.at("damaged").cfa == LS_CFA_SP);  // what comes before can be read
  CHECK(odd.at("damaged", 1).cfa == LS_CFA_UNSUPPORTED);
  CHECK(odd.at("after_damaged", -1).cfa == LS_CFA_SP);
  CHECK(odd.table().counts.damaged_functions + odd.table().counts.hidden_functions == 1);
}

TEST_CASE("unwind table: one byte before a return address is still the caller") {
  const OddFrames odd;
  CHECK(odd.at("after_last_call", -1).cfa_offset == 48);
  CHECK(odd.at("after_last_call").cfa_offset == 8);
}

// lld keeps the first of two entries for one address in its search table.
TEST_CASE("unwind table: an empty function hides no other in a file that lld has linked") {
  const std::string path = fixture_path("libodd_frames_lld.so");
  auto image = ElfImage::open(open_file(path));
  REQUIRE(image);
  auto symbol = image->find_dynamic_symbol("after_empty");
  REQUIRE(symbol);
  REQUIRE(*symbol);
  auto table = build_unwind_table(open_file(path));
  REQUIRE(table);
  const ls_unwind_rule* rule = table->rule_at((*symbol)->value);
  REQUIRE(rule != nullptr);
  CHECK(rule->cfa == LS_CFA_SP);
  CHECK(rule->cfa_offset == 8);
  CHECK(table->counts.hidden_functions == 0);
}

TEST_CASE("unwind table: a file without any description is a gap from its first to its last byte") {
  constexpr std::uint64_t kCode = 3 * 65536 + 100;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_entry = kCode;  // nowhere in it
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr code{};
  code.p_type = PT_LOAD;
  code.p_flags = PF_R | PF_X;
  code.p_filesz = code.p_memsz = kCode;
  code.p_align = 4096;
  std::vector<char> bytes(kCode, '\x06');  // of which no instruction is made
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &code, sizeof code);
  const auto table = build_unwind_table(file_of(bytes));
  INFO((table ? "" : table.error().context));
  REQUIRE(table);
  CHECK(table->pages.size() == 4);
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{65535}, kCode - 1}) {
    const ls_unwind_rule* rule = table->rule_at(at);
    REQUIRE(rule != nullptr);
    CHECK(rule->cfa == LS_CFA_GAP);
  }
}

TEST_CASE("unwind table: code that nothing describes is a gap, and says what its bytes show") {
  const OddFrames odd;
  CHECK(odd.at("frame_pointer", 20).cfa == LS_CFA_GAP_FP);
  const ls_unwind_rule only_return{LS_CFA_SP, LS_RA_AT_CFA, LS_FP_SAME, 0, 8, 0, -8};
  const ls_unwind_rule by_code{LS_CFA_SP, LS_RA_AT_CFA, LS_FP_SAME, LS_BY_CODE, 8, 0, -8};
  CHECK(odd.at("gap", 20) == by_code);
  CHECK(odd.at("signal_return").cfa == LS_CFA_SIGNAL);
  CHECK(odd.at("signal_return", -1).cfa == LS_CFA_SIGNAL);
  CHECK(odd.at("signal_return", -2).cfa == LS_CFA_GAP);
  CHECK(odd.at("signal_return", 9).cfa == LS_CFA_SIGNAL);  // the pc in that system call
  CHECK(odd.at("signal_return", 10) == by_code);
  CHECK(odd.at("go_thread").cfa == LS_CFA_ENTRY);
  CHECK(odd.at("go_thread", 2).cfa == LS_CFA_ENTRY);  // where its call is looked up
  CHECK(odd.at("go_first") == only_return);
  CHECK(odd.at("go_first", 4) == only_return);
  CHECK(odd.at("go_first", 5) == only_return);
  CHECK(odd.at("go_exit").cfa == LS_CFA_ENTRY);  // what a goroutine returns to is one byte behind
  CHECK(odd.at("go_exit", 8).cfa == LS_CFA_SP);
  CHECK(odd.at("fiber_end", -1).cfa == LS_CFA_ENTRY);
  CHECK(odd.at("fiber_end").cfa == LS_CFA_ENTRY);
  CHECK(odd.at("after_empty").cfa_offset == 8);
  // Padding is never executed, so it needs no rows of its own.
  CHECK(odd.at("padding", 8).cfa == LS_CFA_SP);
  CHECK(odd.table().counts.gap_bytes > 300);
  CHECK(odd.table().counts.frame_pointer_bytes > 100);
}

TEST_CASE(
    "unwind table: a handler returns to the first byte of its frame, and is looked up before") {
  const OddFrames odd;
  CHECK(odd.at("signal_frame").cfa == LS_CFA_SIGNAL);
  CHECK(odd.at("signal_frame", -1).cfa == LS_CFA_SIGNAL);
}

TEST_CASE("unwind table: a frame of augmentation S that the kernel has not made leads elsewhere") {
  const OddFrames odd;
  const ls_unwind_rule elsewhere{LS_CFA_AT_SP, LS_RA_OTHER_STACK, LS_FP_SAME, 2, 8, 0, -8};
  CHECK(odd.at("other_stack") == elsewhere);
  CHECK_FALSE(odd.at("other_stack", -1) == elsewhere);  // it is called as any other
}

TEST_CASE("unwind table: a return address may be made for a function that nobody calls") {
  const OddFrames odd;
  const auto is_made = [](const ls_unwind_rule& rule) {
    return rule.cfa == LS_CFA_ENTRY && rule.operand == LS_MADE_RETURN;
  };
  CHECK(odd.at("made_root").ra == LS_RA_NONE);
  CHECK(is_made(odd.at("made_root", -1)));
  CHECK(odd.at("made_root", -2).cfa != LS_CFA_ENTRY);
  CHECK(odd.at("made_context").cfa == LS_CFA_ENTRY);
  CHECK(odd.at("made_context", 3).cfa == LS_CFA_ENTRY);
  CHECK(is_made(odd.at("made_context", -1)));
  CHECK_FALSE(is_made(odd.at("made_context")));
  CHECK(odd.at("root_behind_call").ra == LS_RA_NONE);
  CHECK_FALSE(is_made(odd.at("root_behind_call", -1)));
}

namespace {

// Returns the table of a system library, and the address of one of its functions.
std::pair<UnwindTable, std::uint64_t> library_table(const std::string& path, const char* function) {
  if (::access(path.c_str(), R_OK) != 0) skip_test(path + " is not on this machine");
  auto image = ElfImage::open(open_file(path));
  REQUIRE(image);
  auto symbol = image->find_dynamic_symbol(function);
  REQUIRE(symbol);
  auto table = build_unwind_table(open_file(path));
  REQUIRE(table);
  return {*std::move(table), *symbol ? (*symbol)->value : 0};
}

}  // namespace

TEST_CASE("unwind table: behind the system call that makes a thread, two threads are told apart") {
  const std::string path = "/lib/x86_64-linux-gnu/libc.so.6";
  const auto [table, clone] = library_table(path, "clone");
  if (clone == 0) skip_test("libc does not export clone()");
  auto image = ElfImage::open(open_file(path));
  REQUIRE(image);
  std::string code(96, '\0');
  REQUIRE(image->read(clone, std::as_writable_bytes(std::span(code))));
  const std::size_t call = code.find("\x0f\x05");
  const std::size_t child = code.find("\x31\xed", call);  // xor %ebp, %ebp
  REQUIRE(call != std::string::npos);
  REQUIRE(child != std::string::npos);
  for (std::size_t at = call; at < child; ++at) {
    CAPTURE(at);
    const ls_unwind_rule* rule = table.rule_at(clone + at);
    REQUIRE(rule != nullptr);
    CHECK(rule->cfa == LS_CFA_NEW_THREAD);
    CHECK(rule->cfa_offset == 8);
    CHECK(rule->ra == LS_RA_AT_CFA);
  }
  CHECK(table.rule_at(clone + child)->ra == LS_RA_NONE);
}

TEST_CASE("unwind table: only a file that finds a CFA by rbx says where rbx is") {
  const auto with_rbx = [](const UnwindTable& table) {
    return std::ranges::count_if(table.rules, [](const ls_unwind_rule& rule) {
      const bool may_have = rule.cfa == LS_CFA_SP || rule.cfa == LS_CFA_FP;
      return may_have && LS_OPERAND_NUMBER(rule.operand) > LS_RBX_SAME;
    });
  };
  const OddFrames odd;
  CHECK(with_rbx(odd.table()) == 0);
  const auto [loader, unused] = library_table("/lib64/ld-linux-x86-64.so.2", "__tls_get_addr");
  CHECK(with_rbx(loader) > 10);
}

TEST_CASE("unwind table: every page begins with the rule in force") {
  const OddFrames odd;
  const UnwindTable& table = odd.table();
  REQUIRE(table.pages.size() > 16);  // the far section
  for (const ls_unwind_rows& page : table.pages) {
    REQUIRE(page.count > 0);
    CHECK(LS_UNWIND_ROW_OFFSET(table.rows[page.first]) == 0);
    for (std::uint32_t i = 1; i < page.count; ++i) {
      CHECK(table.rows[page.first + i] >> 16 > table.rows[page.first + i - 1] >> 16);
    }
  }
  CHECK(odd.at("far_away", 4).cfa_offset == 24);
  CHECK(table.rule_at(odd.address("far_away") - (1 << 16))->cfa == LS_CFA_GAP);
  CHECK(table.rule_at(table.text - 1) == nullptr);
  CHECK(table.rule_at(~0ULL) == nullptr);
}

TEST_CASE("unwind table: code that is followed takes no room from the rest of its page") {
  const std::string path = fixture_path("libcrowded_frames.so");
  auto image = ElfImage::open(open_file(path));
  REQUIRE(image);
  auto table = build_unwind_table(open_file(path));
  INFO((table ? "" : table.error().context));
  REQUIRE(table);
  const auto rule_of = [&](const char* name) {
    auto symbol = image->find_dynamic_symbol(name);
    REQUIRE(symbol);
    REQUIRE(*symbol);
    const ls_unwind_rule* rule = table->rule_at((*symbol)->value + 1);
    REQUIRE(rule != nullptr);
    return *rule;
  };
  CHECK(rule_of("crowded_first").cfa_offset == 16);
  CHECK(rule_of("crowded_second").cfa == LS_CFA_GAP);
  CHECK(rule_of("crowded_third").cfa == LS_CFA_GAP);
}

TEST_CASE("unwind table: a limit that is reached has its name in the error") {
  const std::string path = fixture_path("libodd_frames.so");
  auto check = [&](const UnwindTableLimits& limits, const char* named) {
    auto table = build_unwind_table(open_file(path), limits);
    REQUIRE_FALSE(table);
    CHECK(table.error().code == ErrorCode::kLimit);
    CHECK_THAT(table.error().context, Catch::Matchers::Contains(named));
  };
  check({.rows = 3}, "3 rows");
  check({.rules = 4}, "4 different rules");
  check({.text_bytes = 65536}, "spans more than");
  check({.time = std::chrono::milliseconds(0)}, "0 ms");
}

TEST_CASE("unwind table: a file with any byte changed gives a table or an error") {
  const std::vector<char> sound = odd_file();
  std::mt19937 random(4711);
  std::size_t tables = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<char> bytes = sound;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      // Half of the changes are in the headers and the frames, which are at the start and near the
      // end.
      const std::size_t at = random() % (random() % 2 ? bytes.size() : 4096);
      bytes[at] = static_cast<char>(random() % 3 ? random() : random() % 2 ? 0xff : 0);
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    auto table = build_unwind_table(file_of(bytes), {.time = std::chrono::milliseconds(2000)});
    if (!table) continue;
    ++tables;
    for (const ls_unwind_rows& page : table->pages) {
      REQUIRE(page.count <= LS_UNWIND_BLOCK_ROWS);
      REQUIRE(page.first + page.count <= table->rows.size());
      for (std::uint32_t i = 0; i < page.count; ++i) {
        REQUIRE(LS_UNWIND_ROW_RULE(table->rows[page.first + i]) < table->rules.size());
      }
    }
  }
  CHECK(tables > 300);
}

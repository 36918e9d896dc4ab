// Tests planning on made-up processes, with slots in every state in which a loader leaves them.
#include <algorithm>
#include <array>

#include "elf/elf_image.h"
#include "labelscope/observe.h"
#include "labelscope/plan.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

constexpr Address kBias = 0x7f0000000000;
constexpr Address kSlot = kBias + 0x1900;
constexpr Address kThread = 0x7e0000000000;
constexpr Address kMuslBias = 0x7f1000000000;
// No module contains this code.
constexpr Address kStaticResolver = 0x7d0000000000;
constexpr Address kDynamicResolver = 0x7d0000000100;
constexpr Address kIndex = 0x550000000000;
constexpr const char* kLibrary = "/usr/lib/libcustomlabels.so";
// The offset of the variable in its TLS block in one_slot.yaml.
constexpr std::int64_t kInBlock = 0x18;

class SlotTarget : public FakeTarget {
 public:
  explicit SlotTarget(const std::vector<std::string>& macros = {}) {
    load(kLibrary, elf_from_yaml("one_slot", macros), kBias);
    const bool aarch64 = std::count(macros.begin(), macros.end(), "MACHINE=EM_AARCH64") != 0;
    const std::array<unsigned char, 8> code =
        aarch64 ? std::array<unsigned char, 8>{0x00, 0x04, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}
                : std::array<unsigned char, 8>{0x48, 0x8b, 0x40, 0x08, 0xc3};
    fake_memory().put(kStaticResolver, code);
    fake_memory().put(kDynamicResolver, std::array<unsigned char, 16>{0x90});
  }
  void put_slot(std::uint64_t first, std::uint64_t second) {
    fake_memory().put(kSlot, std::array<std::uint64_t, 2>{first, second});
  }
  void load_musl(const std::vector<std::string>& macros = {}) {
    load("/lib/ld-musl.so.1", elf_from_yaml("musl", macros), kMuslBias);
  }
};

ProcessPlan plan_of(const Target& target) {
  Planner planner;
  auto plan = planner.plan(target);
  if (!plan) FAIL(plan.error().context);
  return *std::move(plan);
}

Publisher only_publisher(const Target& target) {
  const ProcessPlan plan = plan_of(target);
  for (const Refusal& refusal : plan.refusals) UNSCOPED_INFO(refusal.finding.text);
  REQUIRE(plan.publishers.size() == 1);
  return plan.publishers.front();
}

bool any_finding(const Publisher& publisher, const std::string& part) {
  return std::any_of(publisher.findings.begin(), publisher.findings.end(), [&](const Finding& one) {
    return finding_clause(one).find(part) != std::string::npos;
  });
}

void check_tp_offset(const Publisher& publisher, AccessModel model, std::int64_t offset) {
  INFO(access_model_name(publisher.model));
  CHECK(publisher.model == model);
  CHECK(publisher.recipe.kind == LS_TP_OFFSET);
  CHECK(publisher.recipe.offset == offset);
}

void check_waiting(const Target& target, const std::string& note) {
  const ProcessPlan plan = plan_of(target);
  REQUIRE(plan.publishers.size() == 1);
  CHECK(plan.plan_again);
  CHECK(plan.publishers[0].model == AccessModel::kUnresolved);
  CHECK(plan.publishers[0].recipe.kind == LS_RECIPE_NOT_RELOCATED);
  CHECK(any_finding(plan.publishers[0], note));
  const Located located = locate(plan.publishers[0].recipe, kThread, target.memory());
  CHECK(located.outcome == LS_UNREADABLE_NOT_RELOCATED);
}

}  // namespace

TEST_CASE("plan_slot: a descriptor that the loader has not filled is planned again") {
  SlotTarget target;
  check_waiting(target, "not filled");
  target.put_slot(kStaticResolver, static_cast<std::uint64_t>(-32));
  CHECK_FALSE(plan_of(target).plan_again);
  check_tp_offset(only_publisher(target), AccessModel::kTlsDescStatic, -32);
}

TEST_CASE("plan_slot: initial-exec and general dynamic slots of 0 are planned again") {
  check_waiting(SlotTarget({"RELOCATION=R_X86_64_TPOFF64"}), "not filled");
  check_waiting(SlotTarget({"RELOCATION=R_X86_64_DTPMOD64"}), "not filled");
}

TEST_CASE("plan_slot: a lazy descriptor, which leads into the module's own PLT, is planned again") {
  SlotTarget target;
  target.put_slot(kBias + 0x640, kBias + 0x600);
  check_waiting(target, "not filled");
}

TEST_CASE("plan_slot: a slot that is not mapped yet is planned again") {
  SlotTarget target;
  target.fake_memory().unmap_page(kSlot);
  check_waiting(target, "cannot be read");
}

TEST_CASE("plan_slot: a file whose bytes are mapped beside where it is loaded is one module") {
  const std::string file = elf_from_yaml("one_slot", {});
  SlotTarget target;
  target.put_slot(kStaticResolver, static_cast<std::uint64_t>(-32));
  // The first page is mapped right below, so that the copy that is loaded seems to continue it.
  target.map_bytes(kLibrary, file, kBias - 0x1000, 0x1000, true);
  target.map_bytes(kLibrary, file, kBias + 0x100000, 0x2000, true);
  const ProcessPlan plan = plan_of(target);
  CHECK(plan.modules == 1);
  CHECK(plan.refusals.empty());
  CHECK_FALSE(plan.plan_again);
  REQUIRE(plan.publishers.size() == 1);
  CHECK(plan.publishers[0].load_bias == kBias);
  check_tp_offset(plan.publishers[0], AccessModel::kTlsDescStatic, -32);
}

TEST_CASE(
    "plan_slot: a file that is being loaded is planned again, one that is not loaded is not") {
  // libcustomlabels_gnu2.so has its data elsewhere in memory than in the file.
  const std::string file = read_file(fixture_path("libcustomlabels_gnu2.so"));
  for (const bool loader : {true, false}) {
    INFO(loader);
    FakeTarget target;
    const ElfImage image = require_image(file);
    const std::vector<LoadSegment>& loads = image.load_segments();
    const auto code = std::find_if(loads.begin(), loads.end(),
                                   [](const LoadSegment& load) { return load.executable; });
    const auto data = std::find_if(loads.begin(), loads.end(),
                                   [](const LoadSegment& load) { return load.writable; });
    REQUIRE(code->vaddr == code->file_offset);
    REQUIRE(data->vaddr != data->file_offset);
    const Address end = (data->vaddr + data->memory_size + 0xfff) & ~Address{0xfff};
    const Address code_end = (code->vaddr + code->memory_size + 0xfff) & ~Address{0xfff};
    // The loader maps the whole file first, then the code over it, and the data last.
    target.map_bytes(kLibrary, file, kBias, end, !loader);
    if (loader) target.protect(kBias + code->vaddr, kBias + code_end, true);
    const ProcessPlan plan = plan_of(target);
    CHECK(plan.plan_again == loader);
    CHECK(plan.publishers.empty());
    CHECK(plan.refusals.empty());
  }
}

TEST_CASE("plan_slot: of very many files that are no publishers some are named, the rest counted") {
  FakeTarget target;
  const std::string file = elf_from_yaml("one_slot", {"VERSION_SIZE=8"});
  constexpr std::size_t kFiles = 300;
  for (std::size_t i = 0; i < kFiles; ++i) {
    target.load("/lib/number-" + std::to_string(i), file, kBias + i * 0x10000);
  }
  const ProcessPlan plan = plan_of(target);
  CHECK(plan.refusals.size() == kFiles);
  CHECK(plan.absence().find("/lib/number-0: ") != std::string::npos);
  CHECK(plan.absence().find("and 295 more are none either") != std::string::npos);
  CHECK(plan.absence().size() < 2000);
}

TEST_CASE("plan_slot: a static descriptor's argument is an offset, whatever number it is") {
  // The offsets are positive, zero and larger than 32 bits. None of them is an address to follow.
  for (const std::int64_t offset :
       {std::int64_t{-8}, std::int64_t{0}, std::int64_t{424}, std::int64_t{1} << 40}) {
    SlotTarget target;
    target.put_slot(kStaticResolver, static_cast<std::uint64_t>(offset));
    check_tp_offset(only_publisher(target), AccessModel::kTlsDescStatic, offset);
  }
}

TEST_CASE("plan_slot: a symbol-less descriptor is corrected by the addend, not added to twice") {
  // In files of lld the addend is the variable's own offset, so the argument leads to the variable.
  SlotTarget exact({"SYMBOL=0", "ADDEND=0x18"});
  exact.put_slot(kStaticResolver, static_cast<std::uint64_t>(-100));
  check_tp_offset(only_publisher(exact), AccessModel::kTlsDescStatic, -100);
  // These slots are of another variable of the module, and of the module's base (local dynamic).
  SlotTarget other({"SYMBOL=0", "ADDEND=0x8"});
  other.put_slot(kStaticResolver, static_cast<std::uint64_t>(-100));
  check_tp_offset(only_publisher(other), AccessModel::kTlsDescStatic, -100 + 0x10);
  SlotTarget base({"SYMBOL=0", "ADDEND=0"});
  base.put_slot(kStaticResolver, static_cast<std::uint64_t>(-100));
  check_tp_offset(only_publisher(base), AccessModel::kTlsDescStatic, -100 + kInBlock);
}

TEST_CASE("plan_slot: an initial-exec slot is an offset from the thread pointer") {
  SlotTarget target({"RELOCATION=R_X86_64_TPOFF64"});
  target.put_slot(static_cast<std::uint64_t>(-64), 0);
  check_tp_offset(only_publisher(target), AccessModel::kInitialExec, -64);
}

TEST_CASE("plan_slot: an initial-exec slot may be the last word of its page") {
  SlotTarget target({"RELOCATION=R_X86_64_TPOFF64", "SLOT=0x1ff8"});
  target.fake_memory().put(kBias + 0x1ff8, static_cast<std::uint64_t>(-64));
  check_tp_offset(only_publisher(target), AccessModel::kInitialExec, -64);
}

TEST_CASE("plan_slot: musl on aarch64 may put a library's block at offset 0") {
  const std::vector<std::string> macros = {"MACHINE=EM_AARCH64",
                                           "RELOCATION=R_AARCH64_TLS_TPREL64"};
  SlotTarget target(macros);
  target.load_musl({"MACHINE=EM_AARCH64"});
  check_tp_offset(only_publisher(target), AccessModel::kInitialExec, 0);
}

TEST_CASE("plan_slot: a dynamic descriptor leads to module, offset and generation") {
  SlotTarget target;
  target.put_slot(kDynamicResolver, kIndex);
  target.fake_memory().put(kIndex, std::array<std::uint64_t, 3>{5, 0x118, 9});
  const Publisher publisher = only_publisher(target);
  CHECK(publisher.model == AccessModel::kTlsDescDynamic);
  CHECK(publisher.recipe.kind == LS_DTV_SLOT);
  CHECK(publisher.recipe.module_id == 5);
  CHECK(publisher.recipe.offset == 0x118);
  CHECK(publisher.recipe.generation == 9);
  CHECK(publisher.recipe.dtv_offset == 8);
  CHECK(publisher.recipe.length_offset == -16);
  CHECK(publisher.recipe.entry_size == 16);
}

TEST_CASE("plan_slot: musl's dynamic descriptor has no generation, and its DTV is another") {
  SlotTarget target;
  target.load_musl();
  target.put_slot(kDynamicResolver, kIndex);
  target.fake_memory().put(kIndex, std::array<std::uint64_t, 3>{2, 0, 0x550000001000});
  const Publisher publisher = only_publisher(target);
  CHECK(publisher.recipe.generation == 0);
  CHECK(publisher.recipe.dtv_offset == 8);
  CHECK(publisher.recipe.length_offset == 0);
  CHECK(publisher.recipe.entry_size == 8);
}

TEST_CASE("plan_slot: on aarch64 the DTV's address is at the thread pointer, with musl below it") {
  const std::vector<std::string> macros = {"MACHINE=EM_AARCH64", "RELOCATION=R_AARCH64_TLSDESC"};
  for (const bool musl : {false, true}) {
    SlotTarget target(macros);
    if (musl) target.load_musl({"MACHINE=EM_AARCH64"});
    target.put_slot(kDynamicResolver, kIndex);
    target.fake_memory().put(kIndex, std::array<std::uint64_t, 3>{2, 0, 2});
    CHECK(only_publisher(target).recipe.dtv_offset == (musl ? -8 : 0));
  }
}

TEST_CASE("plan_slot: general dynamic slots are module and offset") {
  SlotTarget named({"RELOCATION=R_X86_64_DTPMOD64"});
  named.put_slot(7, 0x30);
  CHECK(only_publisher(named).model == AccessModel::kGeneralDynamic);
  CHECK(only_publisher(named).recipe.module_id == 7);
  CHECK(only_publisher(named).recipe.offset == 0x30);
  // Without a symbol the slot is of local dynamic code, whose second word does not describe the
  // variable; the offset is that of the variable's symbol.
  SlotTarget bare({"RELOCATION=R_X86_64_DTPMOD64", "SYMBOL=0"});
  bare.put_slot(7, 0);
  CHECK(only_publisher(bare).recipe.offset == kInBlock);
}

TEST_CASE("plan_slot: slots that cannot be true are refused with a reason, and end the waiting") {
  SlotTarget no_index;
  no_index.put_slot(kDynamicResolver, 0x10);
  CHECK(only_publisher(no_index).recipe.kind == LS_RECIPE_NONE);
  CHECK(any_finding(only_publisher(no_index), "leads to cannot be read"));
  CHECK_FALSE(plan_of(no_index).plan_again);
  SlotTarget no_module;
  no_module.put_slot(kDynamicResolver, kIndex);
  no_module.fake_memory().put(kIndex, std::array<std::uint64_t, 3>{kIndex, 0, 0});
  CHECK(any_finding(only_publisher(no_module), "is no module ID"));
  SlotTarget no_code;
  no_code.put_slot(0x10, 0);
  CHECK(any_finding(only_publisher(no_code), "cannot be read"));
}

TEST_CASE("plan_slot: relocations that cannot be read are said, and there is nothing to wait for") {
  const SlotTarget target({"RELASZ=0x100000"});
  const Publisher publisher = only_publisher(target);
  CHECK(publisher.recipe.kind == LS_RECIPE_NONE);
  CHECK(any_finding(publisher, "relocations cannot be read"));
}

TEST_CASE(
    "plan_slot: the main executable needs no slot, and its variable is the linker's constant") {
  FakeTarget target;
  target.load("/usr/bin/service", elf_from_yaml("publisher"), kBias, /*main=*/true);
  const Publisher publisher = only_publisher(target);
  // The block has size 0x20 and alignment 0x40, and the variable is at 0x18.
  check_tp_offset(publisher, AccessModel::kLocalExec, -40);
  CHECK(publisher.findings.empty());
}

TEST_CASE("plan_slot: an executable that exports nothing is read through .symtab, with a note") {
  FakeTarget target;
  target.load("/usr/bin/service", read_file(fixture_path("exe_symtab_only")), kBias, /*main=*/true);
  const Publisher publisher = only_publisher(target);
  CHECK(publisher.model == AccessModel::kLocalExec);
  CHECK(any_finding(publisher, "--export-dynamic-symbol"));
}

TEST_CASE(
    "plan_slot: an executable that only imports the variable is no publisher and no mistake") {
  // DT_HASH lists imported symbols, DT_GNU_HASH does not.
  for (const char* file : {"exe_importer_sysv", "exe_importer_gnu"}) {
    FakeTarget target;
    target.load("/usr/bin/service", read_file(fixture_path(file)), kBias, /*main=*/true);
    const ProcessPlan plan = plan_of(target);
    CHECK(plan.publishers.empty());
    CHECK(plan.refusals.empty());
  }
}

TEST_CASE("plan_slot: two copies of one file are two publishers") {
  SlotTarget target;
  target.put_slot(kStaticResolver, static_cast<std::uint64_t>(-32));
  constexpr Address kOther = 0x7f2000000000;
  target.load(kLibrary, elf_from_yaml("one_slot"), kOther);
  target.fake_memory().put(kOther + 0x1900, std::array<std::uint64_t, 2>{
                                                kStaticResolver, static_cast<std::uint64_t>(-48)});
  const ProcessPlan plan = plan_of(target);
  REQUIRE(plan.publishers.size() == 2);
  CHECK(plan.publishers[0].load_bias == kBias);
  CHECK(plan.publishers[0].recipe.offset == -32);
  CHECK(plan.publishers[1].load_bias == kOther);
  CHECK(plan.publishers[1].recipe.offset == -48);
}

TEST_CASE("plan_slot: two publishers that the loader bound to one variable are one") {
  SlotTarget target;
  target.put_slot(kStaticResolver, static_cast<std::uint64_t>(-32));
  constexpr Address kOther = 0x7f2000000000;
  target.load("/opt/libcustomlabels.so", elf_from_yaml("one_slot"), kOther);
  target.fake_memory().put(kOther + 0x1900, std::array<std::uint64_t, 2>{
                                                kStaticResolver, static_cast<std::uint64_t>(-32)});
  CHECK(plan_of(target).publishers.size() == 1);
}

TEST_CASE("plan_slot: planning again opens only files that are new or publish") {
  SlotTarget target;
  target.put_slot(kStaticResolver, static_cast<std::uint64_t>(-32));
  target.load_musl();
  Planner planner;
  REQUIRE(planner.plan(target));
  CHECK(target.opened("/lib/ld-musl.so.1") == 1);
  const std::string late = "/usr/lib/libcustomlabels-late.so";
  constexpr Address kLate = 0x7f3000000000;
  target.load(late, elf_from_yaml("one_slot"), kLate);
  target.fake_memory().put(kLate + 0x1900, std::array<std::uint64_t, 2>{kStaticResolver, 8});
  auto plan = planner.plan(target);
  REQUIRE(plan);
  CHECK(plan->publishers.size() == 2);
  CHECK(plan->modules == 3);
  CHECK(target.opened("/lib/ld-musl.so.1") == 1);
  CHECK(target.opened(late) == 1);
}

TEST_CASE("plan_slot: where the libc is asked again, only its own files are opened for it") {
  SlotTarget target({"RELOCATION=R_X86_64_DTPMOD64"});
  target.put_slot(7, 0x30);
  target.load_musl();
  constexpr const char* kExecutable = "/usr/bin/service";
  target.load(kExecutable, read_file(fixture_path("exe_importer_gnu")), 0x550000000000);
  REQUIRE(plan_of(target).publishers.size() == 1);
  CHECK(target.opened("/lib/ld-musl.so.1") == 2);
  CHECK(target.opened(kExecutable) == 1);
}

TEST_CASE("plan_slot: a file that cannot be opened is a refusal, not the end") {
  SlotTarget target;
  target.put_slot(kStaticResolver, static_cast<std::uint64_t>(-32));
  target.load_musl();
  target.lose_file("/lib/ld-musl.so.1");
  const ProcessPlan plan = plan_of(target);
  REQUIRE(plan.refusals.size() == 1);
  CHECK(plan.refusals.front().path == "/lib/ld-musl.so.1");
  // It may publish labels, too: a thread without others is unreadable.
  CHECK(plan.publishers.size() == 1);
  REQUIRE(plan.recipes().size() == 2);
  CHECK(plan.recipes().back().kind == LS_RECIPE_NONE);
}

TEST_CASE("plan_slot: a variable of a wrong type or size is refused by what is wrong") {
  const SlotTarget plain({"SET_TYPE=STT_OBJECT"});
  REQUIRE(plan_of(plain).refusals.size() == 1);
  CHECK(plan_of(plain).refusals[0].finding.text.find("not thread-local") != std::string::npos);
  const SlotTarget wide({"SET_SIZE=16"});
  REQUIRE(plan_of(wide).refusals.size() == 1);
  CHECK(plan_of(wide).refusals[0].finding.text.find("16 bytes") != std::string::npos);
}

TEST_CASE(
    "plan_slot: a file that was written anew while no process had it mapped is looked at again") {
  const std::string path = "/opt/libcustomlabels.so";
  const auto plan_of = [&](Planner& planner, const std::string& file) {
    FakeTarget target;  // numbers its files from 1 on: the same file with other bytes
    if (!file.empty()) target.load(path, file, 0x7f0000000000);
    auto plan = planner.plan(target);
    REQUIRE(plan);
    return plan->publishers.size();
  };
  const std::string publisher = read_file(fixture_path("libcustomlabels_gnu2.so"));
  std::string none = publisher;
  for (const char* name : {"custom_labels_abi_version", "custom_labels_current_set"}) {
    for (std::size_t at = 0; (at = none.find(name, at)) != std::string::npos;) none[at] = 'X';
  }
  Planner planner;
  CHECK(plan_of(planner, none) == 0);
  CHECK(plan_of(planner, publisher) == 0);  // stayed mapped: not read again
  CHECK(plan_of(planner, "") == 0);
  CHECK(plan_of(planner, publisher) == 1);
}

}  // namespace labelscope::test

// Tests core files of both processors, made here byte by byte: what is in them, and what is wrong
// with them. core_process_files_test.cc tests where the files of the process come from.
#include "labelscope/core_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

#include "labelscope/plan.h"
#include "sampling/snapshot.h"
#include "support/catch.h"
#include "unit/reader/core_bytes.h"
#include "unit/reader/elf_bytes.h"
#include "unit/reader/made_core.h"

namespace labelscope::test {
namespace {

constexpr Machine kMachines[] = {Machine::kX86_64, Machine::kAarch64};
constexpr Address kData = 0x550000000000;

CoreBytes smallest(Machine machine = Machine::kX86_64) {
  CoreBytes made(machine);
  made.add_thread({.tid = 1});
  return made;
}

std::string why_not(const std::string& bytes) {
  const MadeCore core(bytes);
  if (core.opened()) return "it was opened";
  CHECK(core.error().context.starts_with(core.path() + ": "));
  return core.error().context;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string text_at(const CoreFile& core, Address address, std::size_t size) {
  std::string text(size, '\0');
  const Status status = core.memory().read(address, std::as_writable_bytes(std::span(text)));
  return status ? text : status.error().context;
}

}  // namespace

TEST_CASE("core_file: threads, their registers and the process are read, of either processor") {
  for (const Machine machine : kMachines) {
    INFO("machine " << static_cast<int>(machine));
    CoreBytes made(machine);
    made.add_thread({.tid = 42, .signal = 11, .thread_pointer = 0x7f01, .pc = 0x401, .sp = 0x7ff0});
    made.add_process(40, "service", "service --port 80 ");
    made.add_auxv({{AT_PAGESZ, 4096}, {AT_PHDR, 0x400040}});
    made.add_thread({.tid = 40, .signal = 11, .thread_pointer = 0x7f02, .pc = 0x402, .sp = 0x7ff1});
    const MadeCore core(made.bytes());
    REQUIRE(core.opened());
    CHECK(core->machine() == machine);
    CHECK(raw(core->pid()) == 40);
    CHECK(core->comm() == "service");
    CHECK(core->command_line() == "service --port 80");
    CHECK(core->program_headers_address() == Address{0x400040});
    CHECK_FALSE(core->truncated());
    REQUIRE(core->threads().size() == 2);
    const CoreThread& crashed = core->threads()[0];
    CHECK(raw(crashed.tid) == 42);
    CHECK(crashed.name.empty());
    CHECK(crashed.signal == 11);
    CHECK(crashed.thread_pointer == Address{0x7f01});
    CHECK(crashed.registers.machine == machine);
    CHECK(crashed.registers.pc == 0x401);
    CHECK(crashed.registers.dwarf[machine == Machine::kX86_64 ? 7 : 31] == 0x7ff0);
    CHECK(core->threads()[1].name == "service");
    CHECK(core->threads()[1].thread_pointer == Address{0x7f02});
  }
}

TEST_CASE("core_file: a name has fifteen bytes, whatever the sixteenth holds") {
  CoreBytes made(Machine::kX86_64);
  made.add_thread({.tid = 40, .signal = 11, .thread_pointer = 0x7f02, .pc = 0x402, .sp = 0x7ff1});
  made.add_process(40, "sixteen-bytes-xx", "service");
  const MadeCore core(made.bytes());
  REQUIRE(core.opened());
  CHECK(core->comm() == "sixteen-bytes-x");
}

TEST_CASE("core_file: what missing notes would hold stays empty") {
  CoreBytes made(Machine::kAarch64);
  // There is no thread pointer: emulators and old debuggers do not write NT_ARM_TLS.
  made.add_note("CORE", NT_PRSTATUS, std::string(392, '\0'));
  const MadeCore core(made.bytes());
  REQUIRE(core.opened());
  CHECK(core->comm().empty());
  CHECK_FALSE(core->program_headers_address());
  CHECK_FALSE(core->threads()[0].thread_pointer);
  const auto snapshot = snapshot_core(*core, {}, {});
  REQUIRE(snapshot);
  CHECK(snapshot->threads[0].seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER);
  CHECK(contains(snapshot->threads[0].problem, "NT_ARM_TLS"));
  REQUIRE(core->problems().size() == 1);
  CHECK(contains(core->problems()[0].reason, "NT_FILE"));
}

TEST_CASE("core_file: the notes of others are passed over, whatever they hold") {
  CoreBytes made;
  made.add_note("GDB", NT_PRSTATUS, std::string(1 << 20, 'x'));
  made.add_note("", 0, "");
  made.add_note("A NAME OF SOME LENGTH", NT_FILE, "x");
  made.add_thread({.tid = 1});
  const MadeCore core(made.bytes());
  REQUIRE(core.opened());
  CHECK(core->threads().size() == 1);
}

TEST_CASE("core_file: memory is what was dumped, across segments, and nothing else") {
  CoreBytes made = smallest();
  made.add_memory(kData + 4096, "second" + std::string(4090, '.'), 8192);
  made.add_memory(kData, std::string(4091, '.') + "first");
  const MadeCore core(made.bytes());
  REQUIRE(core.opened());
  CHECK(text_at(*core, kData + 4091, 11) == "firstsecond");
  CHECK(contains(text_at(*core, kData + 8191, 2), "not dumped"));
  CHECK(contains(text_at(*core, kData - 1, 2), "not dumped"));
  CHECK(contains(text_at(*core, UINT64_MAX - 1, 4), "beyond all addresses"));
  CHECK(contains(text_at(*core, UINT64_MAX, 1), "not dumped"));
  CHECK(text_at(*core, kData, 0).empty());
}

TEST_CASE("core_file: of segments that overlap, each byte has one, and reading ends") {
  CoreBytes made = smallest();
  made.add_memory(kData, "aaaa", 8);
  made.add_memory(kData + 2, "bbbb");
  made.add_memory(kData + 1, "c");
  made.add_memory(kData + 6, "defg", 12);
  const MadeCore core(made.bytes());
  REQUIRE(core.opened());
  CHECK(text_at(*core, kData, 4) == "aaaa");
  CHECK(contains(text_at(*core, kData, 5), "not dumped"));
  CHECK(text_at(*core, kData + 8, 2) == "fg");
  CHECK(contains(text_at(*core, kData + 8, 3), "not dumped"));
  const auto mappings = core->mappings();
  REQUIRE(mappings);
  CHECK(mappings->size() == 2);
}

TEST_CASE("core_file: a core that was cut short says so, and gives what it still has") {
  CoreBytes made = smallest();
  made.add_memory(kData, std::string(4096, 'a'));
  made.add_memory(kData + 4096, std::string(4096, 'b'));
  const std::string whole = made.bytes();
  const MadeCore core(whole.substr(0, whole.size() - 4000));
  REQUIRE(core.opened());
  CHECK(core->truncated());
  CHECK(text_at(*core, kData + 4095, 2) == "ab");
  CHECK(contains(text_at(*core, kData + 8191, 1), "cut short"));

  // A file that is cut earlier has no threads either, and is refused.
  for (const std::size_t size : {std::size_t{300}, std::size_t{100}, std::size_t{20}}) {
    CHECK(contains(why_not(whole.substr(0, size)), "cut short"));
  }
}

TEST_CASE("core_file: a core with more mappings than e_phnum can count") {
  CoreBytes made = smallest();
  made.add_memory(kData, "here");
  made.count_in_section();
  const std::string whole = made.bytes();
  const MadeCore core(whole);
  REQUIRE(core.opened());
  CHECK(text_at(*core, kData, 4) == "here");
  // Where the file is cut short, the count is gone, but the notes show where the headers end.
  const MadeCore cut(whole.substr(0, whole.size() - sizeof(Elf64_Shdr) - 2));
  REQUIRE(cut.opened());
  CHECK(cut->truncated());
  CHECK(cut->threads().size() == 1);
  CHECK(text_at(*cut, kData, 2) == "he");
}

TEST_CASE("core_file: what is no core file is called what it is") {
  const std::string core = smallest().bytes();
  const auto with = [&](std::size_t at, const std::string& bytes) {
    return std::string(core).replace(at, bytes.size(), bytes);
  };
  CHECK(contains(why_not("\x28\xb5\x2f\xfd and so on"), "zstd -d"));
  CHECK(contains(why_not("\x04\x22\x4d\x18 and so on"), "lz4 -d"));
  CHECK(contains(why_not("\x1f\x8b and so on"), "coredumpctl dump -o core"));
  CHECK(contains(why_not("MDMP and so on"), "minidump"));
  CHECK(contains(why_not(""), "empty"));
  CHECK(contains(why_not("#!/bin/sh"), "not an ELF file"));
  CHECK(contains(why_not(with(EI_CLASS, "\x01")), "64-bit"));
  CHECK(contains(why_not(with(EI_DATA, "\x02")), "little-endian"));
  const std::size_t type = offsetof(Elf64_Ehdr, e_type);
  CHECK(contains(why_not(with(type, {ET_DYN, 0})), "executable or a library"));
  CHECK(contains(why_not(with(type, {ET_REL, 0})), "not a core file"));
  const std::size_t machine = offsetof(Elf64_Ehdr, e_machine);
  CHECK(contains(why_not(with(machine, bytes_of(Elf64_Half{EM_PPC64}))), "neither x86-64"));
  CHECK(contains(why_not(CoreBytes().bytes()), "no threads"));

  const auto absent = CoreFile::open("/nonexistent/core", {});
  REQUIRE_FALSE(absent);
  CHECK(absent.error().code == ErrorCode::kNotFound);
  const auto directory = CoreFile::open("/", {});
  REQUIRE_FALSE(directory);
  CHECK(contains(directory.error().context, "not a regular file"));
}

TEST_CASE("core_file: headers that lie are refused, not believed") {
  const std::string core = [] {
    CoreBytes made = smallest();
    made.add_memory(kData, "here");
    return made.bytes();
  }();
  const auto with = [&](std::size_t at, std::uint64_t value) {
    return std::string(core).replace(at, sizeof value, bytes_of(value));
  };
  const std::size_t note = sizeof(Elf64_Ehdr);
  const std::size_t load = note + sizeof(Elf64_Phdr);
  CHECK(contains(why_not(with(offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 8)), "nowhere"));
  CHECK(contains(why_not(with(offsetof(Elf64_Ehdr, e_phoff), 1 << 30)), "cut short"));
  CHECK(contains(why_not(with(load + offsetof(Elf64_Phdr, p_vaddr), UINT64_MAX)), "contradicts"));
  CHECK(contains(why_not(with(load + offsetof(Elf64_Phdr, p_filesz), 5)), "contradicts"));
  CHECK(contains(why_not(with(load + offsetof(Elf64_Phdr, p_offset), UINT64_MAX)), "beyond"));
  CHECK(contains(why_not(with(note + offsetof(Elf64_Phdr, p_filesz), UINT64_MAX)),
                 "beyond all files"));

  // Notes that claim more than the file holds are read as far as it goes.
  const MadeCore longer(with(note + offsetof(Elf64_Phdr, p_filesz), 1ULL << 62));
  REQUIRE(longer.opened());
  CHECK(longer->truncated());
  CHECK(longer->threads().size() == 1);
}

TEST_CASE("core_file: notes that end early end no other segment of notes") {
  // The first segment has one note, which lies; the second, two threads.
  CoreBytes threads;
  threads.add_note_bytes(bytes_of(Elf64_Nhdr{5, UINT32_MAX, NT_AUXV}));
  threads.add_thread({.tid = 1});
  threads.add_thread({.tid = 2});
  threads.add_memory(kData, "here");
  std::string core = threads.bytes();
  const std::size_t first = sizeof(Elf64_Ehdr);
  const std::size_t second = first + sizeof(Elf64_Phdr);
  Elf64_Phdr note;
  std::memcpy(&note, core.data() + first, sizeof note);
  constexpr std::uint64_t kLie = sizeof(Elf64_Nhdr);
  Elf64_Phdr rest = note;
  rest.p_offset += kLie;
  rest.p_filesz -= kLie;
  note.p_filesz = kLie;
  core.replace(first, sizeof note, bytes_of(note)).replace(second, sizeof rest, bytes_of(rest));
  const MadeCore opened(core);
  REQUIRE(opened.opened());
  CHECK(opened->threads().size() == 2);
}

TEST_CASE("core_file: notes that lie are refused, or end the notes") {
  const auto opened_with = [](const std::string& note) {
    CoreBytes made = smallest();
    made.add_note_bytes(note);
    made.add_thread({.tid = 2});
    return MadeCore(made.bytes());
  };
  // The note is longer than the range, so nothing behind it can be found.
  const MadeCore endless(opened_with(bytes_of(Elf64_Nhdr{5, UINT32_MAX, NT_AUXV})));
  REQUIRE(endless.opened());
  CHECK(endless->threads().size() == 1);
  // Nothing of the file is missing. The error is reported, and no thread passes for unlabelled.
  CHECK_FALSE(endless->truncated());
  REQUIRE_FALSE(endless->problems().empty());
  CHECK(contains(endless->problems().back().reason, "a note is longer"));
  CoreBytes no_threads;
  no_threads.add_note_bytes(bytes_of(Elf64_Nhdr{5, UINT32_MAX, NT_AUXV}));
  CHECK(contains(why_not(no_threads.bytes()), "a note is longer"));
  const MadeCore nameless(opened_with(bytes_of(Elf64_Nhdr{UINT32_MAX, 0, NT_AUXV})));
  REQUIRE(nameless.opened());
  CHECK(nameless->threads().size() == 1);

  const auto refused_with = [](std::uint32_t type, const std::string& content) {
    CoreBytes made = smallest();
    made.add_note("CORE", type, content);
    return why_not(made.bytes());
  };
  CHECK(contains(refused_with(NT_PRSTATUS, std::string(111, 'x')), "NT_PRSTATUS"));
  CHECK(contains(refused_with(NT_PRSTATUS, std::string(300, 'x')), "NT_PRSTATUS"));
  CHECK(contains(refused_with(NT_PRPSINFO, std::string(100, 'x')), "NT_PRPSINFO"));
  CHECK(contains(refused_with(NT_AUXV, std::string(70000, 'x')), "impossibly large"));
  // The table of files has a wrong count, paths that do not end, or pages that overflow.
  const auto word = [](std::uint64_t value) { return bytes_of(value); };
  CHECK(contains(refused_with(NT_FILE, word(1)), "NT_FILE"));
  CHECK(contains(refused_with(NT_FILE, word(UINT64_MAX) + word(4096)), "NT_FILE"));
  CHECK(contains(refused_with(NT_FILE, word(2) + word(4096) + std::string(47, 'x')), "NT_FILE"));
  const std::string range = word(kData) + word(kData + 4096);
  CHECK(contains(refused_with(NT_FILE, word(1) + word(4096) + range + word(0) + "/a"), "NT_FILE"));
  CHECK(contains(refused_with(NT_FILE, word(1) + word(4096) + range + word(UINT64_MAX / 2) + "/a" +
                                           std::string(4, '\0')),
                 "NT_FILE"));
  CHECK(contains(
      refused_with(NT_FILE, word(1) + word(0) + range + word(0) + "/a" + std::string(4, '\0')),
      "NT_FILE"));
}

TEST_CASE("core_file: labels are read as the core's processor lays them out, on any machine") {
  constexpr Address kBias = 0x7f0000000000;
  constexpr Address kThread = 0x7e0000001000;
  constexpr Address kResolver = 0x7d0000000000;
  constexpr std::uint64_t kSlot = 0x1900;
  constexpr std::uint64_t kOffset = 0x40;
  for (const Machine machine : kMachines) {
    const bool x86 = machine == Machine::kX86_64;
    INFO((x86 ? "x86-64" : "aarch64"));
    const TempFolder root;
    const std::string file = elf_from_yaml(
        "one_slot",
        x86 ? std::vector<std::string>{}
            : std::vector<std::string>{"MACHINE=EM_AARCH64", "RELOCATION=R_AARCH64_TLSDESC"});
    write_file(root.path() + "/lib/libcustomlabels.so", file);
    // This resolver returns the descriptor's argument.
    const std::string code = x86 ? std::string("\x48\x8b\x40\x08\xc3", 5)
                                 : std::string("\x00\x04\x40\xf9\xc0\x03\x5f\xd6", 8);
    // On aarch64 a program may use the top byte of a pointer for itself.
    const std::uint64_t tag = x86 ? 0 : Address{0xa5} << 56;
    const auto word = [](std::uint64_t value) { return bytes_of(value); };
    std::string data = word((kData + 0x100) | tag);  // the set, at 0
    data += word(1) + word(1);
    data.resize(0x100);
    data += word(6) + word((kData + 0x200) | tag) + word(2) + word((kData + 0x206) | tag);
    data.resize(0x200);
    data += "tenant42";
    std::string block(0x2000, '\0');
    block.replace(0x1000 + kOffset, 8, word(kData | tag));

    CoreBytes made(machine);
    made.add_thread({.tid = 7, .signal = 6, .thread_pointer = kThread});
    made.add_thread({.tid = 6, .thread_pointer = kThread + 0x100});
    made.add_memory(kData, data);
    made.add_memory(kThread - 0x1000, block);
    made.add_memory(kResolver, code + std::string(16, '\0'));
    made.add_library("/lib/libcustomlabels.so", file, kBias,
                     {{kSlot, word(kResolver) + word(kOffset)}});
    made.add_loaded_files();
    const MadeCore core(made.bytes(), {{}, {root.path()}, {}});
    REQUIRE(core.opened());
    auto plan = Planner().plan(*core);
    REQUIRE(plan);
    for (const Refusal& refusal : plan->refusals) UNSCOPED_INFO(refusal.finding.text);
    REQUIRE(plan->publishers.size() == 1);
    const auto snapshot = snapshot_core(*core, *plan, {});
    REQUIRE(snapshot);
    CHECK(snapshot->source == SnapshotSource::kCore);
    // Threads are ordered by number, not as in the core; the signal is that of the core's first
    // one.
    REQUIRE(snapshot->threads.size() == 2);
    CHECK(raw(snapshot->threads[0].tid) == 6);
    CHECK(snapshot->threads[0].signal == 0);
    CHECK(snapshot->threads[0].seen.outcome == LS_UNLABELLED);
    CHECK(snapshot->threads[1].signal == 6);
    CHECK(snapshot->threads[1].seen.outcome == LS_LABELLED);
    REQUIRE(snapshot->threads[1].seen.labels.size() == 1);
    CHECK(snapshot->threads[1].seen.labels[0].key == "tenant");
    CHECK(snapshot->threads[1].seen.labels[0].value == "42");
    CHECK(core->problems().empty());

    // This is the same core without the last page of the labels' memory, although its headers list
    // it.
    CoreBytes lacking(machine);
    lacking.add_thread({.tid = 7, .thread_pointer = kThread});
    lacking.add_memory(kThread - 0x1000, block);
    lacking.add_memory(kResolver, code + std::string(16, '\0'));
    lacking.add_library("/lib/libcustomlabels.so", file, kBias,
                        {{kSlot, word(kResolver) + word(kOffset)}});
    lacking.add_loaded_files();
    lacking.add_memory(kData, data);
    std::string bytes = lacking.bytes();
    const MadeCore cut(bytes.substr(0, bytes.size() - data.size()), {{}, {root.path()}, {}});
    REQUIRE(cut.opened());
    plan = Planner().plan(*cut);
    REQUIRE(plan);
    const auto seen = snapshot_core(*cut, *plan, {});
    REQUIRE(seen);
    REQUIRE(seen->threads.size() == 1);
    CHECK(seen->threads[0].seen.outcome == LS_UNREADABLE_NOT_RESIDENT);
    CHECK(contains(seen->threads[0].problem, "was cut short"));
    // Where the process itself had no memory, nothing is missing: the pointer is wrong.
    bytes.replace(bytes.find(block) + 0x1000 + kOffset, 8, word((kData + 0x100000) | tag));
    const MadeCore wild(bytes, {{}, {root.path()}, {}});
    REQUIRE(wild.opened());
    const auto astray = snapshot_core(*wild, *plan, {});
    REQUIRE(astray);
    CHECK(astray->threads[0].seen.outcome == LS_UNREADABLE_NOT_RESIDENT);
    CHECK(astray->threads[0].problem.empty());
  }
}

}  // namespace labelscope::test

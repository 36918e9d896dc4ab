// Tests core files of real processes, by the kernel and by gcore, with glibc and musl. The labels
// of every thread are those that the process itself printed, wherever its files have gone since.
#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "elf/elf_image.h"
#include "process/crashed_process.h"
#include "support/catch.h"
#include "unit/reader/core_bytes.h"
#include "unit/reader/made_core.h"

namespace labelscope::test {
namespace {

namespace fs = std::filesystem;

LabelSet sorted(LabelSet labels) {
  for (Label& label : labels) label.publisher = 0;
  std::sort(labels.begin(), labels.end());
  return labels;
}

const LabelSet& labels_of(const TruthThread& truth) { return truth.variables.at(0).labels; }

bool is_same(const ThreadSnapshot& seen, const TruthThread& truth) {
  return sorted(seen.seen.labels) == sorted(labels_of(truth));
}

void check_threads(const SeenCore& seen, const CrashedProcess& crashed) {
  for (const Refusal& refusal : seen.snapshot.plan.refusals) {
    UNSCOPED_INFO(refusal.path << ": " << refusal.finding.text);
  }
  for (const CoreFileProblem& problem : seen.core->problems()) {
    UNSCOPED_INFO(problem.path << ": " << problem.reason);
  }
  CHECK(seen.snapshot.plan.publishers.size() == 1);
  CHECK(seen.snapshot.threads.size() == crashed.truth().size());
  for (const TruthThread& truth : crashed.truth()) {
    INFO(truth.kind << " thread " << raw(truth.tid));
    const ThreadSnapshot& thread = seen.thread(truth.tid);
    CHECK(thread.problem.empty());
    CHECK(thread.thread_pointer == truth.thread_pointer);
    CHECK(outcome_name(thread.seen.outcome) ==
          outcome_name(labels_of(truth).empty() ? LS_UNLABELLED : LS_LABELLED));
    CHECK(is_same(thread, truth));
  }
}

const TruthThread& victim_of(const CrashedProcess& crashed) {
  const auto found = std::find_if(crashed.truth().begin(), crashed.truth().end(),
                                  [](const TruthThread& t) { return t.kind == "victim"; });
  REQUIRE(found != crashed.truth().end());
  return *found;
}

void check_signals(const SeenCore& seen, const CrashedProcess& crashed) {
  for (const ThreadSnapshot& thread : seen.snapshot.threads) {
    CHECK(thread.signal == (thread.tid == victim_of(crashed).tid ? SIGSEGV : 0));
  }
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string build_id(const std::string& path) {
  auto image = ElfImage::open(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  return image ? image->build_id() : "";
}

// Copies all of the process's files below a system root, and removes those that belong to it alone
// from where they were.
void move_below(const CrashedProcess& crashed, const std::string& root) {
  for (const std::string& file : crashed.files()) {
    write_file(root + file, read_bytes(file));
    if (file.starts_with(crashed.programs() + "/")) fs::remove(file);
  }
}

// Copies the same files into one directory, each named by its build ID, if it has one.
void put_by_build_id(const CrashedProcess& crashed, const std::string& root,
                     const std::string& directory) {
  for (const std::string& file : crashed.files()) {
    const std::string id = build_id(root + file);
    const std::string name = id.empty() ? fs::path(file).filename().string() : id;
    write_file((fs::path(directory) / name).string(), read_bytes(root + file));
  }
}

void check_everywhere(Libc libc, CoreMaker maker) {
  const CrashedProcess crashed(libc, maker);
  {
    INFO("with its files in place");
    const SeenCore seen = see_core(crashed.core(), {});
    check_threads(seen, crashed);
    CHECK(seen.core->problems().empty());
    CHECK(seen.core->comm() == std::string("crasher-") + name_of(libc));
    if (maker == CoreMaker::kKernel) check_signals(seen, crashed);
  }
  const TempFolder root;
  move_below(crashed, root.path());
  {
    INFO("without them");
    const SeenCore seen = see_core(crashed.core(), {{}, {"/nonexistent"}, {}});
    for (const ThreadSnapshot& thread : seen.snapshot.threads) {
      CHECK(outcome_name(thread.seen.outcome) == outcome_name(LS_UNREADABLE_NO_RECIPE));
    }
    // Each file is named, with its build ID.
    for (const std::string& file : crashed.files()) {
      const auto problems = seen.core->problems();
      const auto problem = std::find_if(problems.begin(), problems.end(),
                                        [&](const auto& one) { return one.path == file; });
      REQUIRE(problem != problems.end());
      CHECK(problem->build_id == build_id(root.path() + file));
      CHECK(problem->reason.find(problem->build_id) != std::string::npos);
    }
  }
  {
    INFO("below a system root");
    const SeenCore seen = see_core(crashed.core(), {{}, {root.path()}, {}});
    check_threads(seen, crashed);
    CHECK(seen.core->problems().empty());
  }
  const TempFolder directory;
  put_by_build_id(crashed, root.path(), directory.path());
  {
    INFO("in a directory, named by build ID");
    const SeenCore seen = see_core(crashed.core(), {{}, {"/nonexistent"}, {directory.path()}});
    check_threads(seen, crashed);
    CHECK(seen.core->problems().empty());
  }
}

struct Note {
  std::uint32_t type;
  std::string bytes;  // with header, name and padding
};

std::size_t padded(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

// Returns the core with its notes changed; they move to its end.
template <class Change>
std::string with_notes(std::string core, Change change) {
  Elf64_Ehdr header;
  std::memcpy(&header, core.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr ph;
    char* const place = core.data() + header.e_phoff + i * sizeof ph;
    std::memcpy(&ph, place, sizeof ph);
    if (ph.p_type != PT_NOTE) continue;
    std::string notes;
    for (std::size_t at = ph.p_offset; at + sizeof(Elf64_Nhdr) <= ph.p_offset + ph.p_filesz;) {
      Elf64_Nhdr note;
      std::memcpy(&note, core.data() + at, sizeof note);
      const std::size_t size = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
      notes += change(Note{note.n_type, core.substr(at, size)});
      at += size;
    }
    ph.p_offset = core.size();
    ph.p_filesz = notes.size();
    std::memcpy(place, &ph, sizeof ph);
    return core + notes;
  }
  FAIL("the core has no notes");
  return core;
}

std::string without_file_table(const std::string& core) {
  return with_notes(core, [](const Note& note) { return note.type == NT_FILE ? "" : note.bytes; });
}

// The emulator leaves the thread pointers out. This puts in those that the threads have printed.
std::string with_thread_pointers(const std::string& core, const std::vector<TruthThread>& truth) {
  return with_notes(core, [&](const Note& note) {
    if (note.type != NT_PRSTATUS) return note.bytes;
    std::int32_t tid = 0;
    std::memcpy(&tid, note.bytes.data() + sizeof(Elf64_Nhdr) + 8 + 32, sizeof tid);
    for (const TruthThread& thread : truth) {
      if (raw(thread.tid) != tid) continue;
      const Elf64_Nhdr header{6, sizeof thread.thread_pointer, NT_ARM_TLS};
      return note.bytes + bytes_of(header) + std::string("LINUX\0\0\0", 8) +
             bytes_of(thread.thread_pointer);
    }
    return note.bytes;
  });
}

}  // namespace

TEST_CASE("core: the kernel's core of a glibc program, with and without its files") {
  check_everywhere(Libc::kGlibc, CoreMaker::kKernel);
}

TEST_CASE("core: the kernel's core of a musl program, with and without its files") {
  check_everywhere(Libc::kMusl, CoreMaker::kKernel);
}

TEST_CASE("core: gcore's core of a glibc program, with and without its files") {
  check_everywhere(Libc::kGlibc, CoreMaker::kGcore);
}

TEST_CASE("core: gcore's core of a musl program, with and without its files") {
  check_everywhere(Libc::kMusl, CoreMaker::kGcore);
}

TEST_CASE("core: a writer that is hit within an update leaves the labels from before") {
  for (const Libc libc : {Libc::kGlibc, Libc::kMusl}) {
    INFO(name_of(libc));
    const CrashedProcess crashed(libc, CoreMaker::kKernel, "fault");
    const SeenCore seen = see_core(crashed.core(), {});
    check_threads(seen, crashed);
    check_signals(seen, crashed);
    CHECK_FALSE(labels_of(victim_of(crashed)).empty());
  }
}

TEST_CASE(
    "core: a thread that was killed while it changed its labels has the old ones or the new") {
  constexpr int kTimes = 5;
  for (int i = 0; i < kTimes; ++i) {
    const Libc libc = i % 2 == 0 ? Libc::kGlibc : Libc::kMusl;
    INFO(name_of(libc));
    const CrashedProcess crashed(libc, CoreMaker::kKernel, "update");
    const SeenCore seen = see_core(crashed.core(), {});
    const TruthThread& before = victim_of(crashed);
    const ThreadSnapshot& victim = seen.thread(before.tid);
    CHECK(outcome_name(victim.seen.outcome) == outcome_name(LS_LABELLED));
    for (const TruthThread& truth : crashed.truth()) {
      if (truth.tid != before.tid) CHECK(is_same(seen.thread(truth.tid), truth));
    }
    const TruthThread& after = crashed.truth().back();
    REQUIRE(after.kind == "alternative");
    CHECK((is_same(victim, before) || is_same(victim, after)));
    // Another process killed this one, so the signal is not the victim's own.
    CHECK(victim.signal == 0);
  }
}

TEST_CASE("core: the stacks of all threads reach their beginning") {
  const CrashedProcess crashed(Libc::kGlibc, CoreMaker::kKernel);
  const SeenCore seen = see_core(crashed.core(), {});
  for (const ThreadSnapshot& thread : seen.snapshot.threads) {
    INFO("thread " << raw(thread.tid));
    REQUIRE(thread.stack);
    CHECK(thread.stack->cut.empty());
    CHECK(thread.stack->frames.size() >= 3);
  }
  const ThreadSnapshot& victim = seen.thread(victim_of(crashed).tid);
  CHECK(victim.stack->frames.front() == seen.core->threads().front().registers.pc);
}

TEST_CASE("core: without a table of mapped files the loader's list has them") {
  for (const Libc libc : {Libc::kGlibc, Libc::kMusl}) {
    INFO(name_of(libc));
    const CrashedProcess crashed(libc, CoreMaker::kKernel);
    const std::string core = crashed.copy_of_core(without_file_table(read_bytes(crashed.core())));
    const SeenCore seen = see_core(core, {});
    check_threads(seen, crashed);
    CHECK(seen.core->problems().empty());
    // The list begins at the executable; without that file nothing is known.
    move_below(crashed, TempFolder().path());
    const SeenCore blind = see_core(core, {});
    REQUIRE_FALSE(blind.core->problems().empty());
    for (const ThreadSnapshot& thread : blind.snapshot.threads) {
      CHECK(outcome_name(thread.seen.outcome) == outcome_name(LS_UNREADABLE_NO_RECIPE));
    }
  }
}

TEST_CASE("core: an emulated aarch64 process is read on this machine, stacks and all") {
  const CrashedProcess crashed(Libc::kGlibc, CoreMaker::kQemu);
  const CoreOptions options{
      crashed.programs() + "/crasher", {CrashedProcess::kGuestRoot}, {crashed.programs()}};
  const SeenCore without = see_core(crashed.core(), options);
  CHECK(without.core->machine() == Machine::kAarch64);
  for (const ThreadSnapshot& thread : without.snapshot.threads) {
    CHECK(thread.seen.outcome == LS_UNREADABLE_NO_THREAD_POINTER);
  }
  const SeenCore seen = see_core(
      crashed.copy_of_core(with_thread_pointers(read_bytes(crashed.core()), crashed.truth())),
      options);
  check_threads(seen, crashed);
  CHECK(seen.thread(victim_of(crashed).tid).signal == SIGSEGV);
  for (const ThreadSnapshot& thread : seen.snapshot.threads) {
    REQUIRE(thread.stack);
    CHECK(thread.stack->cut.empty());
    CHECK(thread.stack->frames.size() >= 3);
  }
}

}  // namespace labelscope::test

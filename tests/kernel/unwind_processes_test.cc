// Tests what the unwinder knows of processes, as the BPF programs find it: this test's own mappings
// and those of its children. Tables are made up, by the size of a file.
#include "bpf/unwind/unwind_processes.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "kernel/sampled_child.h"
#include "kernel/sampling.h"
#include "kernel/unwind_maps.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::test;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kRoom = std::size_t{64} * LS_UNWIND_BLOCK_ROWS * 4;
// Files of this size and above are this test's own. There is room for three of them, and not for
// four.
constexpr std::size_t kOwnSize = (64 << 20) + 1;
constexpr std::uint32_t kOwnPages = 20;
const Pid kSelf{static_cast<std::int32_t>(::getpid())};

// Makes a file with code, in memory.
UniqueFd code_file_of_size(std::size_t size) {
  UniqueFd fd(memfd_create("unwind_processes_test", MFD_CLOEXEC));
  REQUIRE(fd.valid());
  REQUIRE(::pwrite(fd.get(), ELFMAG, SELFMAG, 0) == SELFMAG);
  REQUIRE(::ftruncate(fd.get(), static_cast<off_t>(size)) == 0);
  return fd;
}
UniqueFd code_file(unsigned number) { return code_file_of_size(kOwnSize + number); }

class CodeMappingOf {
 public:
  explicit CodeMappingOf(const UniqueFd& file, void* at = nullptr)
      : memory_(::mmap(at, kPage, PROT_READ | PROT_EXEC,
                       MAP_PRIVATE | (at == nullptr ? 0 : MAP_FIXED), file.get(), 0)) {
    REQUIRE(memory_ != MAP_FAILED);
  }
  CodeMappingOf(const CodeMappingOf&) = delete;
  CodeMappingOf& operator=(const CodeMappingOf&) = delete;
  ~CodeMappingOf() { unmap(); }
  void unmap() {
    if (memory_ != nullptr) ::munmap(std::exchange(memory_, nullptr), kPage);
  }
  Address start() const { return reinterpret_cast<Address>(memory_); }

 private:
  void* memory_;
};

class Unwound {
 public:
  explicit Unwound(std::size_t most_bytes = 16 * kRoom) : object_(load_unwinder()) {
    auto tables = UnwindTables::open(object_->object(), most_bytes);
    REQUIRE(tables);
    processes_.emplace(
        *std::move(tables), [this](UniqueFd file) { return build(std::move(file)); },
        [this](Pid pid) -> std::optional<std::uint32_t> {
          const auto count = execs.find(pid);
          return count == execs.end() ? std::nullopt : std::optional(count->second);
        });
  }
  void set(Pid pid, const OneLook* look = nullptr) { processes_->set(pid, look); }
  UnwindProcesses* operator->() { return &*processes_; }
  const BpfObject& object() const { return *object_; }

  // Returns the number of the module whose mapping starts here, if it is known.
  std::optional<std::uint32_t> module_at(Pid pid, Address start) const {
    const auto list = list_of(*object_, pid);
    if (!list) return std::nullopt;
    for (const ls_unwind_mapping& mapping : mappings_of(*object_, *list)) {
      if (mapping.start == start) return mapping.module;
    }
    return std::nullopt;
  }
  // Returns the mark that a file's table has in its rows.
  std::optional<std::uint32_t> mark_at(Pid pid, Address start) const {
    const auto module = module_at(pid, start);
    if (!module || *module >= LS_UNWIND_MAX_MODULES) return std::nullopt;
    return LS_UNWIND_ROW_RULE(rows_of(*object_, module_of(*object_, *module), 0).at(0));
  }
  // Takes all tables that were asked for, and looks again where that is due.
  void settle() {
    processes_->wait(milliseconds(20'000));
    processes_->work();
  }
  void work_until(const std::function<bool()>& condition) {
    wait_for([&] {
      processes_->wait(milliseconds(1));
      processes_->work();
      return condition();
    });
  }
  void look_again_until(const std::function<bool()>& condition) {
    processes_->on_mapping(kSelf);
    work_until(condition);
  }

  std::map<Pid, std::uint32_t> execs{{kSelf, 0}};
  std::atomic<unsigned> built{0};  // of this test's own files
  std::atomic<bool> fails{false};
  std::atomic<bool> holds{false};    // no table is made before this is false
  std::vector<std::size_t> in_turn;  // sizes of files, in the order of their tables

 private:
  Result<UnwindTable> build(UniqueFd file) {
    struct stat status {};
    ::fstat(file.get(), &status);
    const auto size = static_cast<std::size_t>(status.st_size);
    holds.wait(true);
    in_turn.push_back(size);
    if (size < kOwnSize) return made_up_table(1, 1, 0);
    ++built;
    if (fails) return Error{ErrorCode::kMalformed, "no table"};
    return made_up_table(kOwnPages, LS_UNWIND_BLOCK_ROWS,
                         static_cast<std::uint16_t>(size - kOwnSize));
  }

  std::unique_ptr<BpfObject> object_;
  std::optional<UnwindProcesses> processes_;  // the last member, because its thread builds
};

}  // namespace

TEST_CASE(
    "unwind processes: a file that is mapped gets a table, one that is unmapped loses its place") {
  Unwound own;
  const UniqueFd file = code_file(3);
  CodeMappingOf first(file);
  own.set(kSelf);
  own.settle();
  CHECK(own.mark_at(kSelf, first.start()) == 3);
  SECTION("the same file, once more: no second table") {
    const CodeMappingOf second(file);
    own.look_again_until([&] { return own.mark_at(kSelf, second.start()) == 3; });
    CHECK(own.module_at(kSelf, second.start()) == own.module_at(kSelf, first.start()));
    CHECK(own.built == 1);
  }
  SECTION("another one at the same address: no old table") {
    const UniqueFd other = code_file(4);
    const CodeMappingOf in_its_place(other, reinterpret_cast<void*>(first.start()));
    own.look_again_until([&] { return own.mark_at(kSelf, first.start()) != 3; });
    own.work_until([&] { return own.mark_at(kSelf, first.start()) == 4; });
  }
  SECTION("nothing in its place: not even the mapping") {
    const Address start = first.start();
    first.unmap();
    own.look_again_until([&] { return !own.module_at(kSelf, start); });
  }
}

TEST_CASE("unwind processes: of hundreds of files 128 are waited for at first, and then all") {
  constexpr std::size_t kAtFirst = 128;
  constexpr std::size_t kFiles = 200;
  constexpr std::size_t kSmall = 20 << 20;  // no file of the system has these sizes
  // The builder lets a sixteenth of the limit wait.
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 32 * kFiles);
  if (limit.rlim_cur < 32 * kFiles) skip_test("so many files cannot be open");
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  std::deque<CodeMappingOf> mappings;
  for (std::size_t i = 0; i < kFiles; ++i) mappings.emplace_back(code_file_of_size(kSmall + i));
  Unwound own;
  const auto process = LiveProcess::open(kSelf);
  REQUIRE(process);
  const OneLook look(**process);
  own.set(kSelf, &look);
  own->wait(milliseconds(20'000));
  // This program's file is one of those, and so may be some libraries.
  const auto known = [&] {
    return static_cast<std::size_t>(std::ranges::count_if(mappings, [&](const CodeMappingOf& each) {
      return own.mark_at(kSelf, each.start()).has_value();
    }));
  };
  CHECK(known() < kAtFirst);
  CHECK(known() > kAtFirst / 2);
  // Nearly all stacks lead through the C library, wherever it is.
  const Mapping* libc = find_mapping(*look.look(), reinterpret_cast<Address>(&::getauxval));
  REQUIRE(libc != nullptr);
  CHECK(own.mark_at(kSelf, libc->start) == 0);
  SECTION("a moment later") {
    own.work_until([&] { return known() == kFiles; });
  }
  SECTION("all at once, if nobody waits for the first sample") {
    own.execs[kSelf] = 1;
    own.set(kSelf);
    own->wait(milliseconds(20'000));
    CHECK(known() == kFiles);
  }
}

TEST_CASE("unwind processes: the table for want of which a stack ends is made before others") {
  Unwound own;
  const UniqueFd early = code_file(1);
  const UniqueFd wanted = code_file(2);
  // Files are asked for in the order of their addresses.
  auto* place = static_cast<std::byte*>(
      ::mmap(nullptr, 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(place != MAP_FAILED);
  const CodeMappingOf first(early, place);
  const CodeMappingOf second(wanted, place + kPage);
  own.holds = true;
  own.set(kSelf);
  own->want(kSelf, second.start() + 16);
  own.holds = false;
  own.holds.notify_all();
  own.settle();
  const auto of_early = std::ranges::find(own.in_turn, kOwnSize + 1);
  const auto of_wanted = std::ranges::find(own.in_turn, kOwnSize + 2);
  REQUIRE(of_wanted != own.in_turn.end());
  CHECK(of_wanted < of_early);
}

TEST_CASE("unwind processes: a program that is foreseen has its tables from its first moment on") {
  Unwound own;
  const UniqueFd file = code_file(3);
  SECTION("its own file") {
    own->expect(UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)));
    own.settle();
    REQUIRE(own.built == 1);
    const CodeMappingOf mapping(file);
    own.set(kSelf);
    CHECK(own.mark_at(kSelf, mapping.start()) == 3);
    CHECK(own.built == 1);
  }
  SECTION("the C library, even if it is not known which program it will be") {
    own->expect({});
    own.settle();
    own.set(kSelf);
    const auto mappings = (*LiveProcess::open(kSelf))->mappings();
    const Mapping* libc = find_mapping(*mappings, reinterpret_cast<Address>(&::getauxval));
    REQUIRE(libc != nullptr);
    CHECK(own.mark_at(kSelf, libc->start) == 0);
  }
}

TEST_CASE("unwind processes: what a program loads in its first moments is known at once") {
  Unwound own;
  const UniqueFd file = code_file(3);
  own->expect(UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)));
  own.settle();
  // A busy machine may take longer than these moments, so there are several programs.
  bool at_once = false;
  for (int program = 1; program < 20 && !at_once; ++program) {
    own.execs[kSelf] = static_cast<std::uint32_t>(program);
    own.set(kSelf);
    const CodeMappingOf library(file);
    own->on_mapping(kSelf);
    own->work();
    at_once = own.mark_at(kSelf, library.start()) == 3;
  }
  CHECK(at_once);
}

TEST_CASE("unwind processes: a file whose table cannot be made, and code that is in no file") {
  Unwound own;
  own.fails = true;
  const UniqueFd file = code_file(3);
  const CodeMappingOf mapping(file);
  void* made = ::mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(made != MAP_FAILED);
  own.set(kSelf);
  own.settle();
  CHECK(own.module_at(kSelf, mapping.start()) == LS_UNWIND_NO_TABLE);
  CHECK(own.module_at(kSelf, reinterpret_cast<Address>(made)) == LS_UNWIND_NO_FILE);
  CHECK(own->totals().failed == 1);
  ::munmap(made, kPage);
}

TEST_CASE("unwind processes: where rows have no more room, the file that is unused longest goes") {
  Unwound own(kRoom);
  const UniqueFd files[] = {code_file(1), code_file(2), code_file(3), code_file(4), code_file(5)};
  CodeMappingOf one(files[0]);
  CodeMappingOf two(files[1]);
  const CodeMappingOf three(files[2]);
  own.set(kSelf);
  own.settle();
  REQUIRE(own.mark_at(kSelf, three.start()) == 3);
  REQUIRE(own->totals().no_room == 0);

  // While all tables are in use, none is evicted: the new file has no table, and that is counted.
  CodeMappingOf four(files[3]);
  own.look_again_until([&] { return own->totals().no_room == 1; });
  own.work_until([&] { return own.module_at(kSelf, four.start()).has_value(); });
  CHECK(own.module_at(kSelf, four.start()) == LS_UNWIND_NO_TABLE);
  CHECK(own->totals().evicted == 0);
  for (const CodeMappingOf* each : {&one, &two}) CHECK(own.mark_at(kSelf, each->start()));

  const std::uint64_t bytes = own->totals().row_bytes;
  const Address former_two = two.start();
  two.unmap();
  own.look_again_until([&] { return !own.module_at(kSelf, former_two); });
  const Address former_one = one.start();
  one.unmap();
  own.look_again_until([&] { return !own.module_at(kSelf, former_one); });
  // A list that is no longer used is kept for a while, and its files are in use that long. Then the
  // table that had no room is built again, in the place of the second file's.
  own.work_until([&] { return own.mark_at(kSelf, four.start()) == 4; });
  CHECK(own->totals().no_room == 0);
  CHECK(own->totals().evicted == 1);

  const Address former_four = four.start();
  four.unmap();
  own.look_again_until([&] { return !own.module_at(kSelf, former_four); });
  const ls_unwind_process now = *list_of(own.object(), kSelf);
  own.work_until([&] { return mappings_in_use(own.object()) == now.count; });
  // The first file has been unused for longer than the fourth.
  const CodeMappingOf five(files[4]);
  own.look_again_until([&] { return own.mark_at(kSelf, five.start()) == 5; });
  CHECK(own->totals().evicted == 2);
  CHECK(own->totals().row_bytes == bytes);
  CHECK(own.mark_at(kSelf, three.start()) == 3);  // it was in use all the time
  const unsigned built = own.built;
  const CodeMappingOf four_again(files[3]);
  own.look_again_until([&] { return own.mark_at(kSelf, four_again.start()) == 4; });
  CHECK(own.built == built);
}

TEST_CASE("unwind processes: what a parent has mapped just before a fork, its child has, too") {
  Unwound own;
  own.set(kSelf);
  own.settle();
  const UniqueFd file = code_file(3);
  const CodeMappingOf unreported(file);
  SampledChild child([](ChildSide& parent) { parent.wait_until_told(); });
  own.execs[child.pid()] = 0;
  own->on_fork({kSelf, 0}, {child.pid(), 0});
  own.set(child.pid());
  own.work_until([&] { return own.mark_at(child.pid(), unreported.start()) == 3; });
  CHECK(!own.module_at(kSelf, unreported.start()));
}

TEST_CASE("unwind processes: a child has its parent's list, until it is the last one to leave") {
  Unwound own;
  SampledChild child([](ChildSide& parent) { parent.wait_until_told(); });
  SampledChild grandchild([](ChildSide& parent) { parent.wait_until_told(); });
  own.execs[child.pid()] = 0;
  own.set(child.pid());
  own.settle();
  const auto list = list_of(own.object(), child.pid());
  REQUIRE(list);
  REQUIRE(list->count > 0);
  own.execs[grandchild.pid()] = 0;
  own->on_fork({child.pid(), 0}, {grandchild.pid(), 0});
  const auto same = list_of(own.object(), grandchild.pid());
  REQUIRE(same);
  CHECK(same->list == list->list);

  own->forget(child.pid());
  own.execs.erase(child.pid());
  CHECK_FALSE(list_of(own.object(), child.pid()));
  own->forget(grandchild.pid());
  // Both processes had the list. Only the end of the last one gives the mappings back, once.
  own.work_until([&] { return mappings_in_use(own.object()) == 0; });
}

TEST_CASE("unwind processes: a list stays while one of two processes has it") {
  Unwound own;
  SampledChild child([](ChildSide& parent) { parent.wait_until_told(); });
  SampledChild grandchild([](ChildSide& parent) { parent.wait_until_told(); });
  SampledChild stranger([](ChildSide& parent) { parent.wait_until_told(); });
  for (const SampledChild* each : {&child, &grandchild, &stranger}) own.execs[each->pid()] = 0;
  own.set(child.pid());
  own.set(stranger.pid());
  own.settle();
  own->on_fork({child.pid(), 0}, {grandchild.pid(), 0});
  const auto list = list_of(own.object(), grandchild.pid());
  REQUIRE(list);
  const auto other = list_of(own.object(), stranger.pid());
  const auto in_use = [&] { return mappings_in_use(own.object()); };
  own.work_until([&] { return in_use() == list->count + other->count; });  // not the first lists
  own->forget(child.pid());
  // The stranger leaves later. When its list is given back, the child's would have been, too.
  own->forget(stranger.pid());
  own.work_until([&] { return in_use() <= list->count; });
  CHECK(mappings_of(own.object(), *list).size() == list->count);
}

TEST_CASE(
    "unwind processes: an exec is another program's list, and a process that ended has none") {
  Unwound own;
  SampledChild child([](ChildSide& parent) { parent.wait_until_told(); });
  own.execs[child.pid()] = 0;
  own.set(child.pid());
  own.settle();
  const auto before = list_of(own.object(), child.pid());
  REQUIRE(before);
  own.execs[child.pid()] = 1;
  own.set(child.pid());
  const auto after = list_of(own.object(), child.pid());
  REQUIRE(after);
  CHECK(after->life == 1);
  CHECK(after->list != before->list);
  // The process has ended, and no event has reported that yet.
  own.execs.erase(child.pid());
  own.set(child.pid());
  own->forget(child.pid());
  own->forget(child.pid());
  CHECK_FALSE(list_of(own.object(), child.pid()));
  own->on_fork({child.pid(), 0}, {kSelf, 0});
  CHECK_FALSE(list_of(own.object(), kSelf));
  own.work_until([&] { return mappings_in_use(own.object()) == 0; });
}

TEST_CASE("unwind processes: a child that was known already gives its former list back") {
  Unwound own;
  SampledChild child([](ChildSide& parent) { parent.wait_until_told(); });
  SampledChild grandchild([](ChildSide& parent) { parent.wait_until_told(); });
  for (const SampledChild* each : {&child, &grandchild}) {
    own.execs[each->pid()] = 0;
    own.set(each->pid());
  }
  own.settle();
  own->on_fork({child.pid(), 0}, {grandchild.pid(), 0});
  own->forget(child.pid());
  own->forget(grandchild.pid());
  own.work_until([&] { return mappings_in_use(own.object()) == 0; });
}

// AddressSpace: the newest mapping of an address counts, and those parts of an older one that it
// does not cover stay.
#include "cli/profile/address_space.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/fake_target.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

Mapping anonymous(Address start, Address end, const char* name) {
  Mapping mapping;
  mapping.start = start;
  mapping.end = end;
  mapping.executable = true;
  mapping.path = name;
  return mapping;
}

// A file that exists as long as the object.
class WrittenFile {
 public:
  explicit WrittenFile(std::string_view content) {
    const int file = ::mkstemp(path_.data());
    REQUIRE(file >= 0);
    REQUIRE(::write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    REQUIRE(::fstat(file, &status_) == 0);
    ::close(file);
  }
  ~WrittenFile() { ::unlink(path_.c_str()); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  // In place, as a linker does; later than what was there, by the clock of the file system.
  void write_anew(std::string_view content) {
    struct stat now {};
    do {
      const int file = ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
      REQUIRE(file >= 0);
      REQUIRE(::write(file, content.data(), content.size()) ==
              static_cast<ssize_t>(content.size()));
      REQUIRE(::fstat(file, &now) == 0);
      ::close(file);
    } while (now.st_ctim.tv_sec == status_.st_ctim.tv_sec &&
             now.st_ctim.tv_nsec == status_.st_ctim.tv_nsec);
  }
  const std::string& path() const { return path_; }
  void name(Mapping& mapping) const {
    mapping.path = path_;
    // The device may be any but zero.
    mapping.file = {1, 1, status_.st_ino};
  }

 private:
  std::string path_ = "/tmp/labelscope-XXXXXX";
  struct stat status_ {};
};

}  // namespace

TEST_CASE("address_space: an address belongs to the mapping that holds it") {
  ModuleTable modules;
  AddressSpace space(modules);
  space.add(anonymous(0x1000, 0x2000, "[a]"), nullptr);
  space.add(anonymous(0x3000, 0x4000, "[b]"), nullptr);
  CHECK(space.module_at(0xfff) == kNoIndex);
  CHECK(modules.modules()[space.module_at(0x1000)].path == "[a]");
  CHECK(modules.modules()[space.module_at(0x1fff)].path == "[a]");
  CHECK(space.module_at(0x2000) == kNoIndex);
  CHECK(modules.modules()[space.module_at(0x3800)].path == "[b]");
}

TEST_CASE("address_space: a new mapping in the middle leaves both ends of the old one") {
  ModuleTable modules;
  AddressSpace space(modules);
  space.add(anonymous(0x1000, 0x9000, "[old]"), nullptr);
  std::uint64_t before = space.epoch();
  space.add(anonymous(0x3000, 0x5000, "[new]"), nullptr);
  CHECK(space.epoch() != before);
  CHECK(modules.modules()[space.module_at(0x2fff)].path == "[old]");
  CHECK(modules.modules()[space.module_at(0x3000)].path == "[new]");
  CHECK(modules.modules()[space.module_at(0x4fff)].path == "[new]");
  CHECK(modules.modules()[space.module_at(0x5000)].path == "[old]");
}

TEST_CASE("address_space: a new mapping over several replaces them all") {
  ModuleTable modules;
  AddressSpace space(modules);
  space.add(anonymous(0x1000, 0x3000, "[a]"), nullptr);
  space.add(anonymous(0x3000, 0x4000, "[b]"), nullptr);
  space.add(anonymous(0x4000, 0x6000, "[c]"), nullptr);
  space.add(anonymous(0x2000, 0x5000, "[over]"), nullptr);
  CHECK(modules.modules()[space.module_at(0x1800)].path == "[a]");
  CHECK(modules.modules()[space.module_at(0x2000)].path == "[over]");
  CHECK(modules.modules()[space.module_at(0x3800)].path == "[over]");
  CHECK(modules.modules()[space.module_at(0x4fff)].path == "[over]");
  CHECK(modules.modules()[space.module_at(0x5000)].path == "[c]");
}

TEST_CASE("address_space: the same mapping again changes nothing") {
  ModuleTable modules;
  AddressSpace space(modules);
  space.add(anonymous(0x1000, 0x3000, "[a]"), nullptr);
  std::uint64_t before = space.epoch();
  space.add(anonymous(0x1000, 0x3000, "[a]"), nullptr);
  CHECK(space.epoch() == before);
  CHECK(space.module_at(0x2000) != kNoIndex);
  CHECK(modules.modules().size() == 1);
}

TEST_CASE("address_space: a mapping of nothing changes nothing") {
  ModuleTable modules;
  AddressSpace space(modules);
  space.add(anonymous(0x1000, 0x9000, "[old]"), nullptr);
  const std::uint64_t before = space.epoch();
  space.add(anonymous(0x3000, 0x3000, "[empty]"), nullptr);
  space.add(anonymous(0x5000, 0x4000, "[backwards]"), nullptr);
  CHECK(space.epoch() == before);
  for (Address address : {0x1000, 0x3000, 0x4800, 0x5000, 0x8fff})
    CHECK(modules.modules()[space.module_at(address)].path == "[old]");
}

namespace {

// Code of this very process, between pages that are none, and what a report of it says.
class OwnCode {
 public:
  OwnCode() {
    void* room = ::mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(room != MAP_FAILED);
    at_ = reinterpret_cast<Address>(room) + kPage;
    REQUIRE(::mprotect(reinterpret_cast<void*>(at_), kPage, PROT_READ | PROT_EXEC) == 0);
  }
  ~OwnCode() { ::munmap(reinterpret_cast<void*>(at_ - kPage), 3 * kPage); }
  OwnCode(const OwnCode&) = delete;
  OwnCode& operator=(const OwnCode&) = delete;
  Address at() const { return at_; }
  Mapping report() const { return anonymous(at_, at_ + kPage, ""); }

 private:
  static constexpr std::size_t kPage = 4096;
  Address at_ = 0;
};

std::uint64_t clock_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

TEST_CASE("address_space: where reports were lost, what may have changed is not known") {
  const auto own = reinterpret_cast<Address>(&clock_ns);
  const OwnCode stays;
  const OwnCode changes;
  auto self = LiveProcess::open(Pid{::getpid()});
  REQUIRE(self);
  ModuleTable modules;
  AddressSpace space(modules);
  const auto is_known = [&](Address address, std::uint64_t time_ns) {
    space.look_up_at(time_ns);
    const Index module = space.module_at(address);
    REQUIRE(module != kNoIndex);
    return module != kUnknownModule;
  };
  space.add(stays.report(), nullptr, clock_ns());
  REQUIRE(space.load(**self));
  // What was there before is loaded once more; the list had it the first time.
  space.add(changes.report(), nullptr, clock_ns());
  const std::uint64_t before = clock_ns();
  const std::uint64_t lost = clock_ns();
  space.note_gap(lost);
  CHECK(space.has_open_gap());
  for (const Address address : {own, stays.at(), changes.at()}) {
    CHECK(is_known(address, before - 1));
    CHECK_FALSE(is_known(address, clock_ns()));
  }
  const OwnCode fresh;
  REQUIRE(space.load(**self));
  CHECK_FALSE(space.has_open_gap());
  CHECK(is_known(own, lost));
  CHECK(is_known(stays.at(), lost));
  CHECK_FALSE(is_known(changes.at(), lost));
  CHECK_FALSE(is_known(fresh.at(), lost));
  for (const Address address : {own, stays.at(), changes.at(), fresh.at()})
    CHECK(is_known(address, clock_ns()));
  // A child has the same, and gaps of its own.
  AddressSpace child = space;
  const std::uint64_t again = clock_ns();
  space.note_gap(again);
  child.note_gap(again);
  REQUIRE(space.load(**self));
  CHECK(is_known(fresh.at(), again));
  CHECK_FALSE(is_known(fresh.at(), lost));
  child.look_up_at(again);
  CHECK(child.module_at(own) == kUnknownModule);
}

TEST_CASE("address_space: what the list shows where another was counts from then on") {
  const OwnCode code;
  auto self = LiveProcess::open(Pid{::getpid()});
  REQUIRE(self);
  ModuleTable modules;
  AddressSpace space(modules);
  Mapping before = code.report();
  before.path = "[before]";
  space.add(before, nullptr, clock_ns());
  const std::uint64_t sampled_before = clock_ns();
  REQUIRE(space.load(**self));
  const auto path = [&] { return modules.modules()[space.module_at(code.at())].path; };
  space.look_up_at(sampled_before);
  CHECK(path() == "[before]");
  const std::uint64_t epoch = space.epoch();
  SECTION("for samples") { space.look_up_at(clock_ns()); }
  SECTION("and before what is reported behind it") {
    const OwnCode other;
    space.add(other.report(), nullptr, clock_ns());
  }
  CHECK(path() == "[anon]");
  CHECK(space.epoch() != epoch);
}

namespace {

// A process with one mapping, which knows a time at which its list was being read.
class OneMapping final : public test::FakeTarget {
 public:
  explicit OneMapping(Mapping mapping) : list_{std::move(mapping)} {}
  Result<std::vector<Mapping>> mappings() const override {
    read_ns_ = clock_ns();
    return list_;
  }
  std::uint64_t read_ns() const { return read_ns_; }

 private:
  std::vector<Mapping> list_;
  mutable std::uint64_t read_ns_ = 0;
};

// Which mapping an address was in at that time.
const std::string& path_at(const ModuleTable& modules, AddressSpace& space, Address address,
                           std::uint64_t time_ns) {
  space.look_up_at(time_ns);
  return modules.modules()[space.module_at(address)].path;
}

}  // namespace

TEST_CASE("address_space: reports and the list that was read meanwhile, in any order") {
  const Mapping first = anonymous(0x1000, 0x2000, "[first]");
  const Mapping second = anonymous(0x1000, 0x2000, "[second]");
  ModuleTable modules;
  AddressSpace space(modules);
  const auto path_at = [&](std::uint64_t time_ns) {
    return ::path_at(modules, space, 0x1800, time_ns);
  };
  space.add(first, nullptr, clock_ns());
  const std::uint64_t before = clock_ns();
  SECTION("the list has what the last report before it says, and older ones come later") {
    const OneMapping process(first);
    REQUIRE(space.load(process));
    CHECK(path_at(before) == "[first]");
    space.add(second, nullptr, before);
    CHECK(path_at(before) == "[second]");
    CHECK(path_at(clock_ns()) == "[first]");
  }
  SECTION("the same, where only a part of it was replaced") {
    const OneMapping process(first);
    REQUIRE(space.load(process));
    space.add(anonymous(0x1800, 0x1900, "[part]"), nullptr, before);
    CHECK(path_at(before) == "[part]");
    CHECK(path_at(clock_ns()) == "[first]");
  }
  SECTION("something was mapped while the list was read, which does not have it") {
    const OneMapping process(first);
    space.add(second, nullptr, before);
    REQUIRE(space.load(process));
    CHECK(path_at(process.read_ns()) == "[second]");
    space.add(anonymous(0x1000, 0x2000, "[third]"), nullptr, process.read_ns());
    CHECK(path_at(clock_ns()) == "[third]");
  }
  SECTION("something was mapped while the list was read, which has it") {
    const OneMapping process(second);
    REQUIRE(space.load(process));
    CHECK(path_at(process.read_ns() - 1) == "[first]");
    space.add(second, nullptr, process.read_ns());
    CHECK(path_at(clock_ns()) == "[second]");
  }
}

TEST_CASE("address_space: several lists that were read while older reports were still to come") {
  const Mapping first = anonymous(0x1000, 0x2000, "[first]");
  const Mapping second = anonymous(0x1000, 0x2000, "[second]");
  const Mapping third = anonymous(0x1000, 0x2000, "[third]");
  ModuleTable modules;
  AddressSpace space(modules);
  const auto path_at = [&](std::uint64_t time_ns) {
    return ::path_at(modules, space, 0x1800, time_ns);
  };
  space.add(first, nullptr, clock_ns());
  const std::uint64_t before = clock_ns();
  SECTION("the later one has another mapping") {
    REQUIRE(space.load(OneMapping(first)));
    REQUIRE(space.load(OneMapping(third)));
    space.add(second, nullptr, before);
    CHECK(path_at(before) == "[second]");
    CHECK(path_at(clock_ns()) == "[third]");
  }
  SECTION("the later one has what is known") {
    REQUIRE(space.load(OneMapping(second)));
    const std::uint64_t between = clock_ns();
    REQUIRE(space.load(OneMapping(first)));
    CHECK(path_at(before) == "[first]");
    CHECK(path_at(between) == "[second]");
    CHECK(path_at(clock_ns()) == "[first]");
  }
}

TEST_CASE("address_space: what a list shows around something that was mapped while it was read") {
  ModuleTable modules;
  AddressSpace space(modules);
  space.add(anonymous(0x1000, 0x1400, "[old]"), nullptr, clock_ns());
  const OneMapping process(anonymous(0x1000, 0x2000, "[listed]"));
  REQUIRE(space.load(process));
  space.add(anonymous(0x1800, 0x1900, "[part]"), nullptr, process.read_ns());
  CHECK(path_at(modules, space, 0x1200, clock_ns()) == "[listed]");
  CHECK(path_at(modules, space, 0x1850, clock_ns()) == "[part]");
  CHECK(path_at(modules, space, 0x1950, clock_ns()) == "[listed]");
}

TEST_CASE("address_space: a list of the parent that was read behind a fork is not the child's") {
  const Mapping of_parent = anonymous(0x1000, 0x2000, "[parent]");
  const Mapping of_child = anonymous(0x1000, 0x2000, "[child]");
  ModuleTable modules;
  AddressSpace space(modules, Pid{1});
  const std::uint64_t before = clock_ns();
  const bool is_known = GENERATE(true, false);
  if (is_known) space.add(anonymous(0x1000, 0x2000, "[old]"), nullptr, before);
  const std::uint64_t behind_fork = clock_ns();
  REQUIRE(space.load(OneMapping(of_parent)));
  AddressSpace child = space;
  child.set_owner(Pid{2});
  child.add(of_child, nullptr, behind_fork);
  CHECK(path_at(modules, child, 0x1800, clock_ns()) == "[child]");
  CHECK(path_at(modules, space, 0x1800, clock_ns()) == "[parent]");
}

TEST_CASE("address_space: a list from before a gap says nothing of what is behind it") {
  const Mapping there = anonymous(0x1000, 0x2000, "[there]");
  ModuleTable modules;
  AddressSpace space(modules);
  space.add(there, nullptr, clock_ns());
  const OneMapping process(there);
  REQUIRE(space.load(process));
  const std::uint64_t gap = clock_ns();
  space.note_gap(gap);
  REQUIRE(space.load(OneMapping(anonymous(0x8000, 0x9000, "[else]"))));
  space.look_up_at(gap);
  CHECK(space.module_at(0x1800) == kUnknownModule);
}

TEST_CASE("address_space: what is reported without a time is newer than each list before") {
  const OwnCode code;
  auto self = LiveProcess::open(Pid{::getpid()});
  REQUIRE(self);
  ModuleTable modules;
  AddressSpace space(modules);
  Mapping mapping = code.report();
  mapping.path = "[before]";
  space.add(mapping, nullptr, clock_ns());
  REQUIRE(space.load(**self));
  mapping.path = "[behind]";
  space.add(mapping, nullptr);
  space.look_up_at(clock_ns());
  CHECK(modules.modules()[space.module_at(code.at())].path == "[behind]");
}

TEST_CASE("address_space: very many gaps are remembered as few that hold them all") {
  const auto own = reinterpret_cast<Address>(&clock_ns);
  auto self = LiveProcess::open(Pid{::getpid()});
  REQUIRE(self);
  ModuleTable modules;
  AddressSpace space(modules);
  REQUIRE(space.load(**self));
  std::vector<std::uint64_t> times;
  std::vector<std::unique_ptr<OwnCode>> made;
  for (int i = 0; i < 40; ++i) {
    times.push_back(clock_ns());
    space.note_gap(times.back());
    made.push_back(std::make_unique<OwnCode>());
    REQUIRE(space.load(**self));
  }
  for (std::size_t gap = 0; gap < times.size(); ++gap) {
    space.look_up_at(times[gap]);
    CHECK(space.module_at(own) != kUnknownModule);
    for (std::size_t i = gap; i < made.size(); ++i)
      CHECK(space.module_at(made[i]->at()) == kUnknownModule);
  }
  space.look_up_at(times.back());
  CHECK(space.module_at(made[0]->at()) != kUnknownModule);
}

TEST_CASE("address_space: our own mappings lead to our own functions") {
  ModuleTable modules;
  AddressSpace space(modules);
  auto self = LiveProcess::open(Pid{::getpid()});
  REQUIRE(self);
  REQUIRE(space.load(**self));
  auto here = reinterpret_cast<Address>(&parse_maps);  // NOLINT: the address is the point
  Index index = space.module_at(here);
  REQUIRE(index != kNoIndex);
  const ProfileModule& module = modules.modules()[index];
  CHECK(module.kind == ProfileModule::Kind::kFile);
  CHECK(module.path.find("test_address_space") != std::string::npos);
  CHECK(!module.build_id.empty());
  // Returns the bias as the loader reports it; the program comes first.
  Address bias = kNoIndex;
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void* out) {
        *static_cast<Address*>(out) = program->dlpi_addr;
        return 1;
      },
      &bias);
  CHECK(module.load_bias == bias);
}

TEST_CASE("address_space: of a program that its loader has started, the program counts") {
  constexpr const char* kLoader = kHostMachine == Machine::kX86_64 ? "/lib64/ld-linux-x86-64.so.2"
                                                                   : "/lib/ld-linux-aarch64.so.1";
  if (::access(kLoader, X_OK) != 0) skip_test("there is no loader of glibc");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execl(kLoader, kLoader, "/bin/sleep", "1000", nullptr);
    ::_exit(127);
  }
  // Until the loader has told it, the loader is all that is known.
  std::string path;
  ModuleTable modules;
  for (int i = 0; i < 3000 && !path.ends_with("/sleep"); ++i) {
    ::usleep(10'000);
    auto process = LiveProcess::open(Pid{child});
    if (!process) break;
    AddressSpace space(modules);
    if (!space.load(**process)) continue;
    const Index program = space.program([&] { return process->get(); });
    path = program == kNoIndex ? std::string() : modules.modules()[program].path;
  }
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(path.ends_with("/sleep"));
}

TEST_CASE("address_space: a load bias counts from where the segment is linked, not from its page") {
  // The file is laid out as by lld: code is at another address than its place in the file.
  struct {
    Elf64_Ehdr header{};
    Elf64_Phdr code{};
  } file;
  std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_ident[EI_DATA] = ELFDATA2LSB;
  file.header.e_ident[EI_VERSION] = EV_CURRENT;
  file.header.e_type = ET_DYN;
  file.header.e_machine = kHostMachine == Machine::kX86_64 ? EM_X86_64 : EM_AARCH64;
  file.header.e_version = EV_CURRENT;
  file.header.e_ehsize = sizeof(Elf64_Ehdr);
  file.header.e_phoff = sizeof(Elf64_Ehdr);
  file.header.e_phentsize = sizeof(Elf64_Phdr);
  file.header.e_phnum = 1;
  file.code = {PT_LOAD, PF_R | PF_X, 0x1234, 0x3234, 0x3234, 0x800, 0x800, 0x1000};
  Mapping mapping = anonymous(0x7f0000003000, 0x7f0000004000, "");
  mapping.file_offset = 0x1000;
  const WrittenFile written({reinterpret_cast<const char*>(&file), sizeof file});
  written.name(mapping);
  ModuleTable modules;
  const ProfileModule module = modules.modules()[modules.add(mapping, nullptr)];
  INFO(module.symbol_problem);
  CHECK(module.load_bias == 0x7f0000000000);
}

TEST_CASE("address_space: another file under the name of the one that was mapped is not taken") {
  const WrittenFile written("some bytes");
  Mapping mapping = anonymous(0x1000, 0x2000, "");
  written.name(mapping);
  ModuleTable modules;
  CHECK(modules.modules()[modules.add(mapping, nullptr)].symbol_problem.empty());
  ++mapping.file.inode;
  const Index other = modules.add(mapping, nullptr);
  CHECK(modules.modules()[other].symbol_problem.find("another file now") != std::string::npos);
  std::vector<ModuleFile> files;
  static_cast<void>(modules.take(files));
  CHECK(files[other] == nullptr);
}

TEST_CASE("address_space: a file that is written anew in place is another file") {
  WrittenFile written("the first build");
  Mapping mapping = anonymous(0x1000, 0x2000, "");
  written.name(mapping);
  ModuleTable modules;
  AddressSpace before(modules);
  before.add(mapping, nullptr);
  const bool sampled_before = GENERATE(true, false);
  if (sampled_before) static_cast<void>(before.module_at(0x1000));
  written.write_anew("the second build");
  // Another process, or the same one where it maps the file again.
  AddressSpace after(modules);
  after.add(mapping, nullptr);
  const Index second = after.module_at(0x1000);
  const Index first = before.module_at(0x1000);
  before.add(mapping, nullptr);
  CHECK(before.module_at(0x1000) == second);
  REQUIRE(first != second);
  std::vector<ModuleFile> files;
  const std::vector<ProfileModule> taken = modules.take(files);
  CHECK(files[first] == nullptr);
  CHECK(taken[first].symbol_problem.find("written anew") != std::string::npos);
  REQUIRE(files[second] != nullptr);
  CHECK(taken[second].symbol_problem.empty());
}

TEST_CASE("address_space: an equal build ID does not make another build the same") {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string build{std::istreambuf_iterator<char>(file), {}};
  WrittenFile written(build);
  Mapping mapping = anonymous(0x1000, 0x2000, "");
  written.name(mapping);
  ModuleTable modules;
  AddressSpace space(modules);
  space.add(mapping, nullptr);
  const Index module = space.module_at(0x1000);
  REQUIRE(modules.modules()[module].build_id.size() == 40);
  const bool same = GENERATE(true, false);
  std::string again = build;
  if (!same) again[again.size() - 1000] ^= 1;  // a letter of a name, or in the headers of sections
  written.write_anew(again);
  std::vector<ModuleFile> files;
  const std::vector<ProfileModule> taken = modules.take(files);
  CHECK((files[module] != nullptr) == same);
  CHECK((taken[module].symbol_problem.find("written anew") != std::string::npos) != same);
}

TEST_CASE(
    "address_space: a file that is renamed, gets another mode or is removed is the same file") {
  WrittenFile written("some bytes");
  Mapping mapping = anonymous(0x1000, 0x2000, "");
  written.name(mapping);
  ModuleTable modules;
  AddressSpace before(modules);
  before.add(mapping, nullptr);
  if (GENERATE(true, false)) {
    REQUIRE(::chmod(written.path().c_str(), 0700) == 0);
  } else {
    const std::string aside = written.path() + ".old";
    REQUIRE(std::rename(written.path().c_str(), aside.c_str()) == 0);
    REQUIRE(std::rename(aside.c_str(), written.path().c_str()) == 0);
  }
  AddressSpace after(modules);
  after.add(mapping, nullptr);
  const Index module = before.module_at(0x1000);
  CHECK(after.module_at(0x1000) == module);
  REQUIRE(::unlink(written.path().c_str()) == 0);
  std::vector<ModuleFile> files;
  const std::vector<ProfileModule> taken = modules.take(files);
  CHECK(files[module] != nullptr);
  CHECK(taken[module].symbol_problem.empty());
}

TEST_CASE("address_space: what is mapped becomes a module with its first sample") {
  ModuleTable modules;
  AddressSpace space(modules);
  space.add(anonymous(0x1000, 0x2000, "[a]"), nullptr);
  space.add(anonymous(0x3000, 0x4000, "[b]"), nullptr);
  CHECK(modules.modules().empty());
  const Index sampled = space.module_at(0x3800);
  CHECK(modules.modules().size() == 1);
  // A child has the same modules right after fork.
  AddressSpace child = space;
  CHECK(child.module_at(0x3000) == sampled);
  CHECK(modules.modules().size() == 1);
}

TEST_CASE("address_space: mappings without end are forgotten, and those with samples stay") {
  ModuleTable modules;
  AddressSpace space(modules);
  space.add(anonymous(0x1000, 0x2000, "[sampled]"), nullptr);
  const Index sampled = space.module_at(0x1000);
  constexpr std::size_t kMany = 10 * AddressSpace::kMostWithoutSamples;
  for (std::size_t i = 0; i < kMany; ++i) {
    space.add(anonymous(0x10000 + i * 0x2000, 0x11000 + i * 0x2000, "[new]"), nullptr);
  }
  CHECK(modules.forgotten() > kMany / 2);
  CHECK(modules.forgotten() < kMany);
  CHECK(space.module_at(0x1800) == sampled);
  CHECK(modules.modules().size() == 1);
}

TEST_CASE("address_space: a mapping that was forgotten and is still there is found again") {
  ModuleTable modules;
  AddressSpace space(modules);
  auto self = LiveProcess::open(Pid{::getpid()});
  REQUIRE(self);
  // No mapping has been reported yet.
  const auto here = reinterpret_cast<Address>(&parse_maps);  // NOLINT: the address is the point
  CHECK(space.module_at(here) == kNoIndex);
  REQUIRE(space.load(**self, here));
  CHECK(modules.modules().size() == 1);
  const Index found = space.module_at(here);
  REQUIRE(found != kNoIndex);
  CHECK(modules.modules()[found].path.find("test_address_space") != std::string::npos);
}

TEST_CASE("address_space: a family with many files makes room for one with few") {
  constexpr std::size_t kMost = 4;
  ModuleTable modules(kMost);
  std::vector<std::unique_ptr<WrittenFile>> written;
  const auto add = [&](Family family) {
    written.push_back(std::make_unique<WrittenFile>("some bytes"));
    Mapping mapping = anonymous(0x1000, 0x2000, "");
    written.back()->name(mapping);
    return modules.add(mapping, nullptr, family);
  };
  const Family greedy = modules.new_family();
  const Family modest = modules.new_family();
  std::vector<Index> of_greedy;
  for (std::size_t i = 0; i < kMost; ++i) of_greedy.push_back(add(greedy));
  const Index refused = add(greedy);
  CHECK(modules.modules()[refused].symbol_problem.find("ulimit -n") != std::string::npos);
  const Index first = add(modest);
  const Index second = add(modest);
  CHECK(modules.modules()[first].symbol_problem.empty());
  const Index third = add(modest);  // by now both families have two files
  std::vector<ModuleFile> files;
  const std::vector<ProfileModule> taken = modules.take(files);
  REQUIRE(files[first] != nullptr);
  CHECK((files[first]->valid() && files[second]->valid()));
  CHECK(files[third] == nullptr);
  CHECK((files[of_greedy[0]]->valid() && files[of_greedy[1]]->valid()));
  for (const Index given_up : {of_greedy[2], of_greedy[3]}) {
    CHECK_FALSE(files[given_up]->valid());
    CHECK(taken[given_up].symbol_problem.find("ulimit -n") != std::string::npos);
  }
}

TEST_CASE("address_space: code that processes make themselves is another module for each of them") {
  ModuleTable modules;
  AddressSpace first(modules, Pid{2'000'000'001});
  AddressSpace second(modules, Pid{2'000'000'002});
  first.add(anonymous(0x1000, 0x2000, ""), nullptr);
  second.add(anonymous(0x1000, 0x2000, ""), nullptr);
  // A child has the code that its parent made, under the parent's names, and makes its own.
  AddressSpace child = first;
  child.set_owner(Pid{2'000'000'003});
  child.add(anonymous(0x3000, 0x4000, ""), nullptr);
  first.add(anonymous(0x3000, 0x4000, ""), nullptr);
  CHECK(first.module_at(0x1800) != second.module_at(0x1800));
  CHECK(child.module_at(0x1800) == first.module_at(0x1800));
  CHECK(child.module_at(0x3800) != first.module_at(0x3800));
}

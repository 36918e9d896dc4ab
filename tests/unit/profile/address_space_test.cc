// AddressSpace: the newest mapping of an address counts, and those parts of an older one that it
// does not cover stay.
#include "cli/profile/address_space.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
#include "unit/profile/anonymous_mapping.h"

using namespace labelscope;
using namespace labelscope::cli;
using test::anonymous;

namespace {

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

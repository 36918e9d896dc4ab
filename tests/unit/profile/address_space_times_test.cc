// AddressSpace over time: reports come with their times, some are lost, and the kernel's list is
// read in between.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/profile/address_space.h"
#include "support/catch.h"
#include "support/fake_target.h"
#include "unit/profile/anonymous_mapping.h"

using namespace labelscope;
using namespace labelscope::cli;
using test::anonymous;

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

// AddressSpace: the newest mapping of an address counts, what sticks out of it stays.
#include "cli/record/address_space.h"

#include "support/catch.h"

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
  CHECK(modules.modules().size() == 1);
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
  CHECK(module.load_bias != 0);
}

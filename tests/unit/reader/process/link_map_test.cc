// Tests the loader's list in a target's memory: made up, cut, changing, endless.
#include "process/link_map.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <string>

#include "support/catch.h"
#include "support/fake_memory.h"

namespace labelscope::test {
namespace {

constexpr Address kDynamic = 0x10000;
constexpr Address kDebug = 0x20000;
constexpr Address kFirst = 0x30000;
constexpr Address kText = 0x40000;
constexpr Address kPage = 0x1000;

void put_link(FakeMemory& memory, Address at, Address bias, Address next) {
  memory.put(at, LoadedLink{bias, 0, bias + 0x100, next});
}

// Puts a list of two links, which the loader is not changing.
void put_two_links(FakeMemory& memory) {
  memory.put(kDynamic, Elf64_Dyn{DT_DEBUG, {kDebug}});
  memory.put(kDebug + offsetof(r_debug, r_map), kFirst);
  memory.put(kDebug + offsetof(r_debug, r_state),
             static_cast<std::int32_t>(r_debug::RT_CONSISTENT));
  put_link(memory, kFirst, 0x5000, kFirst + 0x100);
  put_link(memory, kFirst + 0x100, 0x6000, 0);
}

}  // namespace

TEST_CASE("link_map: a list is read to its end, in order") {
  FakeMemory memory;
  put_two_links(memory);
  const LinkMap map = read_link_map(memory, kDynamic);
  CHECK(map.complete);
  CHECK(map.consistent);
  REQUIRE(map.links.size() == 2);
  CHECK(map.links[0].bias == 0x5000);
  CHECK(map.links[1].bias == 0x6000);
}

TEST_CASE("link_map: while the loader adds or takes away, the list is not consistent") {
  for (const int state : {r_debug::RT_ADD, r_debug::RT_DELETE}) {
    FakeMemory memory;
    put_two_links(memory);
    memory.put(kDebug + offsetof(r_debug, r_state), state);
    CHECK_FALSE(read_link_map(memory, kDynamic).consistent);
  }
}

TEST_CASE("link_map: a list that leads back to itself ends, each link once") {
  FakeMemory memory;
  put_two_links(memory);
  put_link(memory, kFirst + 0x100, 0x6000, kFirst);
  const LinkMap map = read_link_map(memory, kDynamic);
  CHECK_FALSE(map.complete);
  CHECK(map.links.size() == 2);
}

TEST_CASE("link_map: a list that leads to memory that is not there is not complete") {
  FakeMemory memory;
  put_two_links(memory);
  put_link(memory, kFirst + 0x100, 0x6000, 0x7F0000);
  const LinkMap map = read_link_map(memory, kDynamic);
  CHECK_FALSE(map.complete);
  CHECK(map.links.size() == 2);
}

TEST_CASE("link_map: without DT_DEBUG, or before the loader has filled it, there is no list") {
  FakeMemory memory;
  put_two_links(memory);
  memory.put(kDynamic, Elf64_Dyn{DT_DEBUG, {0}});
  CHECK(read_link_map(memory, kDynamic).links.empty());
  memory.put(kDynamic, Elf64_Dyn{DT_NULL, {0}});
  CHECK(read_link_map(memory, kDynamic).links.empty());
}

TEST_CASE("link_map: a path that crosses pages is read whole, and ends where memory does") {
  FakeMemory memory;
  memory.map(kText, kPage);
  const std::string path(200, 'p');
  const Address near_end = kText + kPage - 100;
  memory.put_text(near_end, path.substr(0, 100));
  CHECK(target_text(memory, near_end) == path.substr(0, 100));
  memory.put_text(kText + kPage, path.substr(100));
  CHECK(target_text(memory, near_end) == path);
}

}  // namespace labelscope::test

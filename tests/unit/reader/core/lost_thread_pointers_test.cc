// Tests cores in which threads have no thread pointer, made here: where the reader finds it again,
// and what it does not take for one. frozen_core_test.cc has a whole core by a kernel that leaves
// it out.
#include <cstring>

#include "support/catch.h"
#include "unit/reader/core_bytes.h"
#include "unit/reader/made_core.h"

namespace labelscope::test {
namespace {

constexpr Address kStack = 0x7f0000000000;
constexpr Address kHeap = 0x550000000000;
constexpr std::int32_t kTid = 4711;

class Memory {
 public:
  explicit Memory(std::size_t size) : bytes_(size, '\0') {}
  template <class T>
  Memory& put(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Puts glibc's struct pthread: its own address twice, followed by the thread's ID.
void put_glibc(Memory& memory, Address start, std::size_t offset, std::int32_t tid) {
  memory.put(offset, start + offset).put(offset + 0x10, start + offset).put(offset + 0x2d0, tid);
}

// Puts musl's struct pthread: its own address, its neighbours, and the ID.
void put_musl(Memory& memory, Address start, std::size_t offset, std::int32_t tid, Address previous,
              Address next) {
  memory.put(offset, start + offset).put(offset + 0x10, previous).put(offset + 0x18, next);
  memory.put(offset + 0x30, tid);
}

CoreBytes with_thread() {
  CoreBytes made(Machine::kX86_64);
  made.add_thread({.tid = 1, .thread_pointer = 0x7777});
  made.add_thread({.tid = kTid, .sp = kStack + 0x100});
  return made;
}

std::optional<Address> thread_pointer_in(const CoreBytes& made) {
  const MadeCore core(made.bytes());
  REQUIRE(core.opened());
  REQUIRE(core->threads().size() == 2);
  // A thread pointer that the core has is left as it is.
  CHECK(core->threads()[0].thread_pointer == Address{0x7777});
  return core->threads()[1].thread_pointer;
}

}  // namespace

TEST_CASE("lost_thread_pointers: glibc's block is found above the thread's stack") {
  CoreBytes made = with_thread();
  Memory stack(0x3000);
  put_glibc(stack, kStack, 0x2500, kTid);
  made.add_memory(kStack, stack.bytes());
  CHECK(thread_pointer_in(made) == kStack + 0x2500);
}

TEST_CASE("lost_thread_pointers: and elsewhere, also across what is read at a time") {
  // The reader takes a mebibyte at a time; some of these offsets are at its borders.
  for (const std::size_t offset : {0x0UL, 0x10UL, 0xffff8UL, 0xffe00UL, 0x100000UL, 0x1ffc00UL}) {
    INFO("at " << offset);
    CoreBytes made = with_thread();
    Memory heap(0x200000);
    put_glibc(heap, kHeap, offset, kTid);
    made.add_memory(kHeap, heap.bytes());
    CHECK(thread_pointer_in(made) == kHeap + offset);
  }
}

TEST_CASE("lost_thread_pointers: musl's block is found by its neighbours") {
  CoreBytes made = with_thread();
  Memory heap(0x1000);
  put_musl(heap, kHeap, 0x100, kTid, kHeap + 0x800, kHeap + 0x800);
  put_musl(heap, kHeap, 0x800, 1, kHeap + 0x100, kHeap + 0x100);
  made.add_memory(kHeap, heap.bytes());
  CHECK(thread_pointer_in(made) == kHeap + 0x100);
}

TEST_CASE("lost_thread_pointers: what only looks like a block is not one") {
  CoreBytes made = with_thread();
  Memory heap(0x4000);
  SECTION("nothing") {}
  SECTION("another thread's") { put_glibc(heap, kHeap, 0x100, kTid + 1); }
  SECTION("its copy, which holds another address") { put_glibc(heap, kHeap + 0x1000, 0x100, kTid); }
  SECTION("a list head with the number behind it") {
    heap.put(0x100, kHeap + 0x100).put(0x108, kHeap + 0x100).put(0x130, kTid);
  }
  SECTION("a ring of one whose neighbour knows nothing of it") {
    put_musl(heap, kHeap, 0x100, kTid, kHeap + 0x800, kHeap + 0x800);
    put_musl(heap, kHeap, 0x800, 1, kHeap + 0x900, kHeap + 0x900);
  }
  SECTION("two of them") {
    put_glibc(heap, kHeap, 0x100, kTid);
    put_glibc(heap, kHeap, 0x2100, kTid);
  }
  SECTION("one that the core cuts off") { put_glibc(heap, kHeap, 0x3d00, kTid); }
  made.add_memory(kHeap, heap.bytes().substr(0, 0x3f00));
  CHECK(thread_pointer_in(made) == std::nullopt);
}

TEST_CASE("lost_thread_pointers: memory that cannot be written holds none") {
  CoreBytes made = with_thread();
  Memory code(0x1000);
  put_glibc(code, kHeap, 0x100, kTid);
  made.add_memory(kHeap, code.bytes(), 0, PF_R | PF_X);
  CHECK(thread_pointer_in(made) == std::nullopt);
}

TEST_CASE("lost_thread_pointers: on aarch64 none is lost, and 0 is what it was") {
  CoreBytes made(Machine::kAarch64);
  made.add_thread({.tid = kTid});
  const MadeCore core(made.bytes());
  REQUIRE(core.opened());
  CHECK(core->threads()[0].thread_pointer == Address{0});
}

}  // namespace labelscope::test

// bpf/wire/task_records.cc: every sequence of bytes gives a record or an error, and the kernel's
// states have their letters.
#include "bpf/wire/task_records.h"

#include <elf.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "bpf/wire/snapshot_wire.h"
#include "process/proc_fs.h"
#include "support/catch.h"

using namespace labelscope;

namespace {

struct WholeThread {
  ls_thread_head thread{};
  ls_label_head head{};
  ls_label_block block{0, 0, 1, 5};
  ls_label_ref ref{0, 2, 2, 3};
  char bytes[8] = {'i', 'd', 'a', 'b', 'c', 0, 0, 0};
};

WholeThread whole_thread() {
  WholeThread made;
  made.thread.record = {sizeof(made), LS_RECORD_THREAD, {}};
  made.thread.thread_pointer = 0x7000;
  made.thread.tid = 13;
  made.thread.state = 1;
  std::memcpy(made.thread.comm, "sixteen-bytes-xx", LS_THREAD_COMM_SIZE);
  made.head.outcome = LS_LABELLED;
  made.head.block_count = 1;
  made.head.size = 24;
  return made;
}

struct WholeMapping {
  ls_mapping_head head{};
  char path[16] = {};
};

WholeMapping whole_mapping() {
  WholeMapping made;
  made.head.record = {sizeof(made), LS_RECORD_MAPPING, {}};
  made.head.start = 0x1000;
  made.head.end = 0x3000;
  made.head.page_offset = 2;
  made.head.inode = 77;
  made.head.device = (8U << 20) | 3;
  made.head.flags = LS_MAPPING_READABLE | LS_MAPPING_EXECUTABLE;
  std::memcpy(made.path, "/a\nb", 4);
  made.head.path_size = 4;
  return made;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

TEST_CASE("task_records: a thread is taken apart into who, how and labels") {
  WholeThread made = whole_thread();
  auto record = decode_thread(bytes_of(made));
  REQUIRE(record);
  REQUIRE(raw(record->thread.tid) == 13);
  REQUIRE(record->thread.name == "sixteen-bytes-xx");
  REQUIRE(record->thread.state == 'S');
  REQUIRE(record->thread.thread_pointer == Address{0x7000});
  REQUIRE(record->thread.seen.labels == LabelSet{{"id", "abc", 0}});
  REQUIRE_FALSE(record->ended);
  made.thread.thread_pointer = 0;
  made.thread.no_memory = 1;
  record = decode_thread(bytes_of(made));
  REQUIRE(record);
  REQUIRE_FALSE(record->thread.thread_pointer);
  REQUIRE(record->ended);
  // This is a zombie whose memory others still have.
  made.thread.no_memory = 0;
  made.thread.exit_state = 0x20;
  record = decode_thread(bytes_of(made));
  REQUIRE(record);
  REQUIRE(record->ended);
}

TEST_CASE("task_records: the kernel's states have the letters of /proc") {
  // Linux 6.18 has these in include/linux/sched.h: running, interruptible, uninterruptible,
  // stopped, traced.
  REQUIRE(state_letter(0, 0) == 'R');
  REQUIRE(state_letter(1, 0) == 'S');
  REQUIRE(state_letter(2, 0) == 'D');
  REQUIRE(state_letter(4, 0) == 'T');
  REQUIRE(state_letter(8, 0) == 't');
  REQUIRE(state_letter(0x80, 0x10) == 'X');
  REQUIRE(state_letter(0x80, 0x20) == 'Z');
  REQUIRE(state_letter(0x40, 0) == 'P');
  REQUIRE(state_letter(0x402, 0) == 'I');
  REQUIRE(state_letter(0x102, 0) == 'D');   // killable
  REQUIRE(state_letter(0x101, 0) == 'S');   // only signals wake it
  REQUIRE(state_letter(0x1000, 0) == 'D');  // waits for a lock of a real-time kernel
  REQUIRE(state_letter(0x8000, 0) == 'D');  // frozen
  for (std::uint32_t state = 0; state < 0x20000; ++state) {
    REQUIRE(std::string_view("RSDTtXZPI").find(state_letter(state, 0)) != std::string_view::npos);
  }
}

TEST_CASE("task_records: a mapping is the line of /proc/PID/maps") {
  WholeMapping made = whole_mapping();
  auto mapping = decode_mapping(bytes_of(made));
  REQUIRE(mapping);
  REQUIRE(mapping->start == 0x1000);
  REQUIRE(mapping->end == 0x3000);
  REQUIRE(mapping->file_offset == 2 * static_cast<std::uint64_t>(getpagesize()));
  REQUIRE(mapping->readable);
  REQUIRE_FALSE(mapping->writable);
  REQUIRE(mapping->executable);
  REQUIRE(mapping->file == FileId{8, 3, 77});
  REQUIRE(mapping->path == "/a\\012b");
  SECTION("path") { made.head.path_size = 17; }
  SECTION("path, huge") { made.head.path_size = 0xffffffff; }
  SECTION("backwards") { made.head.end = 0x1000; }
  REQUIRE_FALSE(decode_mapping(bytes_of(made)));
}

TEST_CASE("task_records: bytes are as many as were asked for, or there is an error") {
  struct {
    ls_bytes_head head{};
    std::uint64_t bytes[2] = {1, 2};
  } made;
  auto bytes = decode_bytes(bytes_of(made), 12);
  REQUIRE(bytes);
  REQUIRE(bytes->size() == 12);
  REQUIRE((*bytes)[8] == std::byte{2});
  REQUIRE_FALSE(decode_bytes(bytes_of(made), 17));
  made.head.error = -14;
  bytes = decode_bytes(bytes_of(made), 12);
  REQUIRE_FALSE(bytes);
  REQUIRE(bytes.error().code == ErrorCode::kUnreadable);
}

TEST_CASE("task_records: the auxiliary vector is searched up to its end") {
  const std::uint64_t entries[7] = {AT_PAGESZ, 4096, AT_PHDR, 0x40, AT_NULL, 0, AT_BASE};
  const auto made = std::as_bytes(std::span(entries));
  REQUIRE(find_auxiliary(made, AT_PHDR) == std::uint64_t{0x40});
  REQUIRE(find_auxiliary(made, AT_PAGESZ) == std::uint64_t{4096});
  REQUIRE_FALSE(find_auxiliary(made, AT_BASE));
  REQUIRE_FALSE(find_auxiliary(made.first(6), AT_PAGESZ));
  REQUIRE_FALSE(find_auxiliary({}, AT_PHDR));
}

TEST_CASE("task_records: records cut anywhere, or with any bytes, are refused or in bounds") {
  const WholeThread thread = whole_thread();
  for (std::size_t size = 0; size < sizeof(thread); ++size) {
    REQUIRE_FALSE(decode_thread(bytes_of(thread).first(size)));
  }
  const WholeMapping mapping = whole_mapping();
  for (std::size_t size = 0; size < sizeof(mapping.head) + 4; ++size) {
    REQUIRE_FALSE(decode_mapping(bytes_of(mapping).first(size)));
  }
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes(random() % 200);
    const auto whole = bytes_of(thread);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] =
          i < whole.size() && random() % 20 != 0 ? whole[i] : static_cast<std::byte>(random());
    }
    // Sanitizers detect a read beyond the bytes.
    (void)decode_thread(bytes);
    (void)decode_mapping(bytes);
    (void)decode_bytes(bytes, random() % 64);
    (void)find_auxiliary(bytes, AT_PHDR);
  }
}

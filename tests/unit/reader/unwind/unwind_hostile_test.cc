// What unwinding takes from files, which are headers and call frame information, is bounded
// whatever the file says. Damaged files shorten stacks, and do no harm.
#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "support/catch.h"
#include "support/fake_target.h"
#include "unit/reader/elf_bytes.h"
#include "unit/symbol/temp_folder.h"
#include "unwind/unwind.h"
#include "unwind_table/call_frame_check.h"
#include "unwind_table/call_frame_image.h"

namespace labelscope::test {
namespace {

constexpr Address kBias = 0x7f0000000000;
constexpr Address kStack = 0x7ffd00000000;

std::string library() { return read_file(fixture_path("libcustomlabels_gnu2.so")); }

Elf64_Phdr* find_segment(std::string& file, std::uint32_t type) {
  auto* header = reinterpret_cast<Elf64_Ehdr*>(file.data());
  auto* segments = reinterpret_cast<Elf64_Phdr*>(file.data() + header->e_phoff);
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == type) return &segments[i];
  }
  FAIL("the file has no such segment");
  return nullptr;
}

// Unwinds from every few bytes of the file's code, on a stack that holds addresses of it. `look`
// gets each stack, with the link-time address where it begins.
template <class Look>
void unwind_everywhere(const std::string& file, Look look) {
  std::string intact = library();
  FakeTarget target;
  target.load("/lib/library.so", file, kBias, true);
  auto unwinder = Unwinder::open(target);
  REQUIRE(unwinder);
  const Elf64_Phdr code = [&] {
    auto* header = reinterpret_cast<Elf64_Ehdr*>(intact.data());
    auto* segments = reinterpret_cast<Elf64_Phdr*>(intact.data() + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; ++i) {
      if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X) != 0) return segments[i];
    }
    return Elf64_Phdr{};
  }();
  FakeMemory& memory = target.fake_memory();
  for (Address at = 0; at < 8192; at += 8) {
    memory.put(kStack + at, kBias + code.p_vaddr + (at * 7) % code.p_memsz);
  }
  for (std::uint64_t offset = 0; offset < code.p_memsz; offset += 5) {
    Registers registers;
    registers.machine = kHostMachine;  // the library is built for it
    registers.pc = kBias + code.p_vaddr + offset;
    registers.dwarf.fill(kStack + 512);
    // A function that has not saved its return address finds it here; on x86-64 it is on the stack.
    if (kHostMachine == Machine::kAarch64) registers.dwarf[30] = kBias + code.p_vaddr + offset / 2;
    UnwoundStack stack = (*unwinder)->unwind(registers, memory, std::nullopt);
    while ((*unwinder)->lacks_tables()) {
      (*unwinder)->make_tables(target);
      stack = (*unwinder)->unwind(registers, memory, std::nullopt);
    }
    CHECK_FALSE(stack.frames.empty());
    CHECK(stack.frames.size() <= Unwinder::kMaxFrames);
    look(code.p_vaddr + offset, stack);
  }
}

}  // namespace

TEST_CASE("call_frame_image: keeps call frame information and nothing of the rest") {
  const std::string file = library();
  auto image = CallFrameImage::from_file(open_bytes(file));
  REQUIRE(image);
  CHECK((*image)->machine() == require_image(file).machine());
  CHECK((*image)->bytes().size() < file.size() / 2);
  std::string copy(reinterpret_cast<const char*>((*image)->bytes().data()),
                   (*image)->bytes().size());
  const Elf64_Phdr* frames = find_segment(copy, PT_GNU_EH_FRAME);
  CHECK(frames->p_offset + frames->p_filesz <= copy.size());
}

TEST_CASE("call_frame_image: a file that ends anywhere is refused or used, never read past") {
  const std::string file = library();
  for (std::size_t size = 0; size < file.size(); size += size < 2048 ? 1 : 61) {
    auto image = CallFrameImage::from_file(open_bytes(file.substr(0, size)));
    if (image) CHECK((*image)->bytes().size() <= file.size());
  }
}

TEST_CASE("call_frame_image: sizes that lie are refused without being believed") {
  const auto with = [](void (*damage)(Elf64_Phdr&)) {
    std::string file = library();
    // The section headers are removed, so that they cannot help.
    reinterpret_cast<Elf64_Ehdr*>(file.data())->e_shoff = 0;
    damage(*find_segment(file, PT_GNU_EH_FRAME));
    return CallFrameImage::from_file(open_bytes(file));
  };
  CHECK_FALSE(with([](Elf64_Phdr& frames) { frames.p_vaddr = UINT64_MAX - 8; }));
  CHECK_FALSE(with([](Elf64_Phdr& frames) { frames.p_offset = UINT64_MAX - 8; }));
  CHECK_FALSE(with([](Elf64_Phdr& frames) { frames.p_type = PT_NOTE; }));

  std::string file = library();
  auto* header = reinterpret_cast<Elf64_Ehdr*>(file.data());
  auto* segments = reinterpret_cast<Elf64_Phdr*>(file.data() + header->e_phoff);
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD) segments[i].p_filesz = UINT64_MAX / 2;
  }
  CHECK_FALSE(CallFrameImage::from_file(open_bytes(file)));
}

// Makes entries in the format's form: a shared one (a CIE), then those of functions (FDEs).
class Entries {
 public:
  std::uint64_t add_shared(std::size_t instructions = 4) { return add(0, instructions); }
  std::uint64_t add_function(std::uint64_t shared, std::size_t instructions = 16) {
    return add(bytes_.size() + 4 - shared, instructions);
  }
  void add_word(std::uint32_t word) { append(&word, sizeof word); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::uint64_t add(std::uint64_t id, std::size_t instructions) {
    const std::uint64_t at = bytes_.size();
    add_word(static_cast<std::uint32_t>(sizeof(std::uint32_t) + instructions));
    add_word(static_cast<std::uint32_t>(id));
    bytes_.resize(bytes_.size() + instructions);
    return at;
  }
  void append(const void* from, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
  }
  std::vector<std::byte> bytes_;
};

// Returns the file with one section, which has this name and these bytes.
std::string with_eh_frame(std::string file, const std::string& content) {
  const std::string names("\0.eh_frame\0.shstrtab\0", 21);
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_flags = SHF_ALLOC;
  sections[1].sh_offset = file.size();
  sections[1].sh_size = content.size();
  sections[2].sh_name = 11;
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = file.size() + content.size();
  sections[2].sh_size = names.size();
  auto* header = reinterpret_cast<Elf64_Ehdr*>(file.data());
  header->e_shoff = file.size() + content.size() + names.size();
  header->e_shnum = 3;
  header->e_shstrndx = 2;
  return file + content + names +
         std::string(reinterpret_cast<const char*>(sections), sizeof sections);
}

TEST_CASE("call_frame_check: entries are taken up to the first that is none") {
  using Offsets = std::vector<std::uint64_t>;
  const auto taken = [](const Entries& entries) {
    return take_call_frames(entries.bytes(), CallFrameKind::kEhFrame).functions;
  };
  Entries entries;
  const auto shared = entries.add_shared();
  const auto first = entries.add_function(shared);
  const auto second = entries.add_function(shared);
  REQUIRE(taken(entries) == Offsets{first, second});
  SECTION("a terminator") {
    entries.add_word(0);
    entries.add_function(shared);
  }
  SECTION("an entry so large that interpreting it would take long") {
    entries.add_function(shared, 1 << 20);
    entries.add_function(shared);
  }
  SECTION("a function that refers to another function") { entries.add_function(first); }
  SECTION("a function that refers into an entry") { entries.add_function(shared + 4); }
  SECTION("a function that refers to before the section") {
    entries.add_function(std::uint64_t{0} - 64);
  }
  SECTION("a length that leads out of the section") {
    entries.add_word(1000);
    entries.add_word(0);
  }
  SECTION("an entry that says nothing") { entries.add_function(shared, 0); }
  SECTION("a length that is too short for an entry") {
    entries.add_word(2);
    entries.add_word(0);
  }
  CHECK(taken(entries) == Offsets{first, second});
}

TEST_CASE("call_frame_check: a search table leads to functions' entries only") {
  Entries entries;
  const auto shared = entries.add_shared();
  const auto function = entries.add_function(shared);
  const CallFrameEntries taken = take_call_frames(entries.bytes(), CallFrameKind::kEhFrame);
  constexpr Address kHeader = 0x1000;
  constexpr Address kFrames = 0x2000;
  struct {
    std::uint8_t encodings[4] = {1, 0x1b, 0x03, 0x3b};
    std::int32_t to_frames = 0;
    std::uint32_t count = 1;
    std::int32_t function = 0;
    std::int32_t entry = 0;
  } header;
  const auto accepted = [&] {
    return static_cast<bool>(
        check_search_table(std::as_bytes(std::span(&header, 1)), kHeader, taken, kFrames));
  };
  const auto entry_at = [](std::uint64_t offset) {
    return static_cast<std::int32_t>(kFrames + offset - kHeader);
  };
  header.entry = entry_at(function);
  CHECK(accepted());
  header.entry = entry_at(function + 4);
  CHECK_FALSE(accepted());
  header.entry = entry_at(shared);
  CHECK_FALSE(accepted());
  header.entry = -1;
  CHECK_FALSE(accepted());
  header.entry = entry_at(function);
  header.count = 2;  // the second is not there
  CHECK_FALSE(accepted());
  header.count = UINT32_MAX;
  CHECK_FALSE(accepted());
  header.encodings[3] = 0xff;  // no table
  CHECK(accepted());
}

TEST_CASE("call_frame_check: no more entries are taken than a reader can look through") {
  Entries entries;
  const auto shared = entries.add_shared();
  const auto first = entries.add_function(shared);
  const auto second = entries.add_function(shared);
  const std::uint64_t third = entries.add_function(shared);
  const CallFrameEntries taken = take_call_frames(entries.bytes(), CallFrameKind::kEhFrame, 2);
  CHECK(taken.functions == std::vector<std::uint64_t>{first, second});
  CHECK(taken.size == third);
}

TEST_CASE("call_frame_image: entries without a search table are counted, and bounded") {
  Entries entries;
  const auto shared = entries.add_shared(20);
  for (std::size_t i = 0; i < CallFrameEntries::kMostWithoutTable + 10; ++i) {
    entries.add_function(shared, 4);
  }
  const auto section = entries.bytes();
  std::string file = library();
  find_segment(file, PT_GNU_EH_FRAME)->p_type = PT_NULL;
  const std::string text(reinterpret_cast<const char*>(section.data()), section.size());
  const auto image = CallFrameImage::from_file(open_bytes(with_eh_frame(file, text)));
  REQUIRE(image);
  CHECK((*image)->entries_without_table() == CallFrameEntries::kMostWithoutTable);
  const auto honest = CallFrameImage::from_file(open_bytes(library()));
  REQUIRE(honest);
  CHECK((*honest)->entries_without_table() == 0);
}

TEST_CASE("call_frame_image: a compressed .debug_frame is unpacked within a bound") {
  const TempFolder folder;
  const std::string path = folder.path() + "/program";
  const std::string source = folder.path() + "/program.c";
  // There are many functions alike, so that objcopy finds compressing worth it.
  std::string code = "int main(void) { return 0; }\n";
  for (int i = 0; i < 200; ++i) {
    code += "int f" + std::to_string(i) + "(int x) { return x + " + std::to_string(i) + "; }\n";
  }
  std::ofstream(source) << code;
  const std::string compile = "gcc -O1 -g -fno-asynchronous-unwind-tables -fno-unwind-tables '" +
                              source + "' -o '" + path + "' 2>&1";
  const std::string compress =
      "objcopy --compress-debug-sections=zlib-gabi '" + path + "' '" + path + ".z' 2>&1";
  if (std::system(compile.c_str()) != 0 || std::system(compress.c_str()) != 0) {
    skip_test("gcc or objcopy does not work here");
  }
  const auto plain = CallFrameImage::from_file(open_bytes(read_file(path)));
  std::string packed_file = read_file(path + ".z");
  const auto packed = CallFrameImage::from_file(open_bytes(packed_file));
  REQUIRE(plain);
  REQUIRE(packed);
  CHECK((*plain)->entries_without_table() >= 200);
  CHECK((*packed)->entries_without_table() == (*plain)->entries_without_table());
  // A false size is refused before anything is allocated.
  Elf64_Ehdr header;
  std::memcpy(&header, packed_file.data(), sizeof header);
  int lied = 0;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, packed_file.data() + header.e_shoff + i * sizeof section, sizeof section);
    if ((section.sh_flags & SHF_COMPRESSED) == 0) continue;
    const std::uint64_t size = UINT64_MAX / 2;
    std::memcpy(packed_file.data() + section.sh_offset + offsetof(Elf64_Chdr, ch_size), &size,
                sizeof size);
    ++lied;
  }
  REQUIRE(lied > 0);
  const auto refused = CallFrameImage::from_file(open_bytes(packed_file));
  const std::size_t left = refused ? (*refused)->entries_without_table() : 0;
  CHECK(left + 200 <= (*plain)->entries_without_table());
}

TEST_CASE("unwind: damaged call frame information shortens stacks and does no harm") {
  const std::string file = library();
  // In the undamaged file, code that is described, or keeps frame pointers, leads on; other code
  // does not. Most of this library is of the C runtime, which describes nothing. An unwinder that
  // follows what happens to be in the frame pointer there invents frames.
  const auto table = build_unwind_table(open_bytes(file));
  REQUIRE(table);
  std::size_t led_on = 0;
  unwind_everywhere(file, [&](std::uint64_t address, const UnwoundStack& stack) {
    CAPTURE(address);
    const ls_unwind_rule* rule = table->rule_at(address);
    const bool gap = rule == nullptr || rule->cfa == LS_CFA_GAP || rule->cfa == LS_CFA_ENTRY;
    CHECK((stack.frames.size() == 1) == gap);
    if (gap) CHECK(stack.end != LS_STACK_BAD_RETURN);
    led_on += gap ? 0 : 1;
  });
  CHECK(led_on > 10);
  std::string copy = file;
  const Elf64_Phdr frames = *find_segment(copy, PT_GNU_EH_FRAME);
  std::mt19937 random(20261121);
  for (int turn = 0; turn < 150; ++turn) {
    INFO(turn);
    std::string damaged = file;
    // .eh_frame follows its header.
    const std::size_t range = 4 * frames.p_filesz;
    for (int change = 0; change < 1 + turn % 8; ++change) {
      damaged[frames.p_offset + random() % range] = static_cast<char>(random());
    }
    unwind_everywhere(damaged, [](std::uint64_t, const UnwoundStack&) {});
  }
}

}  // namespace labelscope::test

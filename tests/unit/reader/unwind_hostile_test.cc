// What unwinding takes from files: headers and call frame information, whatever else the file says.
// Damaged files shorten stacks, and do no harm.
#include <elf.h>

#include <cstring>
#include <random>

#include "call_frame_image.h"
#include "elf_bytes.h"
#include "labelscope/unwind.h"
#include "support/catch.h"
#include "support/fake_target.h"

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

// Stacks from every few bytes of the file's code, on a stack that holds addresses of it. Returns
// how many frames they have on average.
double unwind_everywhere(const std::string& file) {
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
  std::size_t frames = 0;
  std::size_t stacks = 0;
  for (std::uint64_t offset = 0; offset < code.p_memsz; offset += 5) {
    Registers registers;
    registers.machine = Machine::kX86_64;
    registers.pc = kBias + code.p_vaddr + offset;
    registers.dwarf.fill(kStack + 512);
    const UnwoundStack stack = (*unwinder)->unwind(registers, memory, std::nullopt);
    CHECK(stack.frames.size() >= 1);
    CHECK(stack.frames.size() <= Unwinder::kMaxFrames);
    frames += stack.frames.size();
    ++stacks;
  }
  return static_cast<double>(frames) / static_cast<double>(stacks);
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
    // Its section headers must not help.
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

TEST_CASE("unwind: damaged call frame information shortens stacks and does no harm") {
  const std::string file = library();
  CHECK(unwind_everywhere(file) > 2);
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
    unwind_everywhere(damaged);
  }
}

}  // namespace labelscope::test

// Tests what a file shows of its Go runtime: the version and the place of the running goroutine.
// The files are made here of only program headers, code and data.
#include "sources/go_labels/go_runtime.h"

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

using namespace labelscope;
using namespace labelscope::test;
using namespace std::string_literals;

namespace {

using Slot = GoRuntime::Slot;

constexpr std::uint64_t kText = 0x40'1000;
constexpr std::uint64_t kData = 0x50'0000;
constexpr std::size_t kDataOffset = 0x4000;

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Makes a file with code at kText, data at kData and no section headers.
std::string made_file(std::uint16_t machine, const std::string& code, const std::string& data) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr text{PT_LOAD, PF_R | PF_X, 0x1000, kText, kText, code.size(), code.size(), 0x1000};
  Elf64_Phdr writable{PT_LOAD, PF_R | PF_W, kDataOffset,      kData,
                      kData,   data.size(), data.size() + 64, 0x1000};
  std::string file = bytes_of(header) + bytes_of(text) + bytes_of(writable);
  file.resize(0x1000);
  file += code;
  file.resize(kDataOffset);
  return file + data;
}

std::string inline_information(const std::string& version) {
  std::string data = "\xff Go buildinf:\x08\x02"s;
  data.resize(32);
  return data + static_cast<char>(version.size()) + version + "\0"s;
}

// Makes the build information of Go before 1.18: a pointer to a string in Go's form.
std::string pointed_information(const std::string& version, std::uint64_t text = kData + 48) {
  std::string data = "\xff Go buildinf:\x08\0"s;
  data += bytes_of(kData + 32) + bytes_of(std::uint64_t{0});
  return data + bytes_of(text) + bytes_of(std::uint64_t{version.size()}) + version;
}

GoRuntime runtime_of(const std::string& file) {
  const ElfImage image = require_image(file);
  auto go = find_go_runtime(image);
  REQUIRE(go);
  REQUIRE(*go);
  REQUIRE(find_go_slot(image, **go));
  return **go;
}

GoRuntime of_code(std::uint16_t machine, const std::string& code, const std::string& more = "") {
  return runtime_of(made_file(machine, code, inline_information("go1.19.8") + more));
}

std::string words(const std::vector<std::uint32_t>& instructions) {
  std::string code;
  for (const std::uint32_t word : instructions) code += bytes_of(word);
  return code;
}

constexpr std::uint32_t kNop = 0xd503201f;
const std::string kFiller(40, '\x90');

}  // namespace

TEST_CASE("go_runtime: the version, in both forms") {
  for (const std::string& data :
       {inline_information("go1.21.5 X:nocoverageredesign"), pointed_information("go1.17.13"),
        // The information need not be the first thing in the data.
        std::string(32, 'x') + inline_information("go1.19")}) {
    const GoRuntime go = runtime_of(made_file(EM_X86_64, kFiller, data));
    CHECK(go.version.starts_with("go1."));
    CHECK(go.minor >= 17);
  }
  CHECK_FALSE(*find_go_runtime(require_image(made_file(EM_X86_64, kFiller, std::string(64, 'x')))));
}

TEST_CASE("go_runtime: which number of a version counts") {
  CHECK(go_minor_version("go1.19.8") == 19);
  CHECK(go_minor_version("go1.27rc1") == 27);
  CHECK(go_minor_version("go1.25-20250209-RC00 cl/724970549 +ff27d270c9") == 25);
  CHECK(go_minor_version("devel go1.20-abcdef Mon") == 20);
  CHECK(go_minor_version("devel +abcdef") == 0);
  CHECK(go_minor_version("go1.") == 0);
  CHECK(go_minor_version("go1.99999999999999999999") == 0);
  CHECK(go_minor_version("") == 0);
}

TEST_CASE("go_runtime: build information that lies is a runtime of unknown version") {
  const auto minor = [](const std::string& data) {
    return runtime_of(made_file(EM_X86_64, kFiller, data)).minor;
  };
  std::string endless = inline_information("go1.19");
  for (std::size_t i = 32; i < endless.size(); ++i) endless[i] = '\xff';
  CHECK(minor(endless) == 0);
  CHECK(minor(pointed_information("go1.17", 0)) == 0);
  CHECK(minor(pointed_information("go1.17", ~0ULL)) == 0);
  std::string big_endian = inline_information("go1.19");
  big_endian[15] = '\x03';
  CHECK(minor(big_endian) == 0);
  std::string huge = pointed_information("go1.17");
  std::memset(huge.data() + 40, 0xff, 8);
  CHECK(minor(huge) == 0);
  // A version that is too long is cut.
  CHECK(runtime_of(
            made_file(EM_X86_64, kFiller, pointed_information("go1.17" + std::string(4096, '7'))))
            .version.size() < 100);
}

TEST_CASE("go_runtime: the slot on x86-64, as each linker writes it") {
  const auto offset = bytes_of(std::int32_t{-1024});
  const GoRuntime direct =
      of_code(EM_X86_64, kFiller + "\x64\x48\xc7\x04\x25"s + offset + "\x23\x01\0\0"s + kFiller);
  CHECK(direct.slot == Slot::kOffset);
  CHECK(direct.offset == -1024);
  CHECK(direct.text == kText);
  const std::string store = "\x64\x48\xc7\x03\x23\x01\0\0"s;
  const GoRuntime relaxed =
      of_code(EM_X86_64, kFiller + "\x48\xc7\xc3"s + offset + store + kFiller);
  CHECK(relaxed.slot == Slot::kOffset);
  CHECK(relaxed.offset == -1024);
  const GoRuntime got = of_code(
      EM_X86_64, kFiller + "\x48\x8b\x1d"s + bytes_of(std::int32_t{0x1000}) + store + kFiller);
  CHECK(got.slot == Slot::kGot);
  CHECK(got.got == kText + kFiller.size() + 7 + 0x1000);
  // Code with another number, or without a number, is not Go's. A file without the runtime's code
  // is a plugin.
  const std::string other = kFiller + "\x64\x48\xc7\x04\x25"s + offset + "\x24\x01\0\0"s + kFiller;
  CHECK(of_code(EM_X86_64, other).slot == Slot::kNone);
  CHECK(of_code(EM_X86_64, kFiller + "\x64\x48\xc7"s).slot == Slot::kNone);
}

TEST_CASE("go_runtime: the slot is found across the pieces in which code is read") {
  const std::string store = "\x64\x48\xc7\x04\x25"s + bytes_of(std::int32_t{-8}) + "\x23\x01\0\0"s;
  for (const std::size_t before : {(1U << 20) - 13, (1U << 20) - 5, (1U << 20) - 1, 1U << 20}) {
    std::string code(before, '\x90');
    code += store + kFiller;
    std::string file = made_file(EM_X86_64, kFiller, inline_information("go1.19"));
    // The code is the last part of the file.
    const std::size_t place = file.size() + (0x1000 - file.size() % 0x1000);
    file.resize(place);
    Elf64_Phdr text{PT_LOAD, PF_R | PF_X, place, kText, kText, code.size(), code.size(), 0x1000};
    std::memcpy(file.data() + sizeof(Elf64_Ehdr), &text, sizeof text);
    Elf64_Phdr data{};
    std::memcpy(&data, file.data() + sizeof(Elf64_Ehdr) + sizeof text, sizeof data);
    data.p_vaddr = 0x4000'0000;
    std::memcpy(file.data() + sizeof(Elf64_Ehdr) + sizeof text, &data, sizeof data);
    INFO(before);
    CHECK(runtime_of(file + code).offset == -8);
  }
}

TEST_CASE("go_runtime: on aarch64 a flag says whether x28 has a copy in TLS") {
  // adrp x27, kData; add x27, x27, #flag; ldrsb x0, [x27]; cbz x0; mrs x0, tpidr_el0; <offset>;
  // ldr x28, [x0, x27]
  const std::size_t flag = inline_information("go1.19.8").size();
  const auto load_g = [&](const std::vector<std::uint32_t>& offset) {
    constexpr std::uint32_t kPages = (kData - (kText & ~0xfffULL)) >> 12;
    std::vector<std::uint32_t> code(8, kNop);
    code.push_back(0x90000000 | (kPages & 3) << 29 | kPages >> 2 << 5 | 27);
    code.push_back(0x91000000 | static_cast<std::uint32_t>(flag) << 10 | 27 << 5 | 27);
    code.insert(code.end(), {0x39800360, 0xb4000080, 0xd53bd040});
    code.insert(code.end(), offset.begin(), offset.end());
    code.push_back(0xf87b681c);
    return words(code);
  };
  const std::string plain = load_g({0xd280021b});             // mov x27, #16
  const std::string wide = load_g({0xd2a0003b, 0xf280021b});  // movz #1, lsl 16; movk #16
  const std::string got = load_g({0x9000001b, 0xf940077b});   // adrp x27, .; ldr x27, [x27, #8]
  CHECK(of_code(EM_AARCH64, plain, "\0"s).slot == Slot::kRegister);
  const GoRuntime cgo = of_code(EM_AARCH64, plain, "\1"s);
  CHECK(cgo.slot == Slot::kOffset);
  CHECK(cgo.offset == 16);
  CHECK(of_code(EM_AARCH64, wide, "\1"s).offset == 0x10010);
  const GoRuntime by_got = of_code(EM_AARCH64, got, "\1"s);
  CHECK(by_got.slot == Slot::kGot);
  CHECK(by_got.got == kText + 8);
  CHECK(of_code(EM_AARCH64, words({kNop, kNop, 0xf87b681c})).slot == Slot::kNone);
}

#include "cli/names/packed_symbols.h"

#include <gelf.h>
#include <lzma.h>

#include <array>
#include <cstring>

namespace labelscope::cli {
namespace {

// The strongest preset of xz(1) needs this much to unpack.
constexpr std::uint64_t kMostMemory = std::uint64_t{80} << 20;

Elf_Data* packed_section(Elf* elf) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_PROGBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name != nullptr && std::strcmp(name, ".gnu_debugdata") == 0) {
      return elf_rawdata(section, nullptr);
    }
  }
  return nullptr;
}

}  // namespace

Result<bool> check_packed_symbols(Elf* elf, Budget& budget) {
  const Elf_Data* packed = packed_section(elf);
  if (packed == nullptr) return false;
  lzma_stream stream = LZMA_STREAM_INIT;
  // libdwfl uses this decoder, too.
  lzma_ret result = lzma_auto_decoder(&stream, kMostMemory, 0);
  stream.next_in = static_cast<const std::uint8_t*>(packed->d_buf);
  stream.avail_in = packed->d_size;
  std::array<std::uint8_t, 65536> nowhere;
  bool paid = true;
  while (result == LZMA_OK && paid) {
    stream.next_out = nowhere.data();
    stream.avail_out = nowhere.size();
    result = lzma_code(&stream, LZMA_FINISH);
    paid = budget.spend(Cost::kUnpackedBytes, nowhere.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (!paid) return Error{ErrorCode::kLimit, "its packed symbols are too large"};
  if (result == LZMA_STREAM_END) return true;
  return Error{ErrorCode::kMalformed, "its packed symbols (.gnu_debugdata) cannot be unpacked"};
}

}  // namespace labelscope::cli

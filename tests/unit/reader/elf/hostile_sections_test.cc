// Compressed sections are unpacked within bounds, and refused where they lie.
#include "elf/hostile_sections.h"

#include <elf.h>
#include <zlib.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "support/catch.h"

namespace labelscope::test {
namespace {

// Makes a section compressed by zlib that claims to have `claimed` bytes.
std::vector<std::byte> packed(const std::vector<std::byte>& bytes, std::uint64_t claimed) {
  uLongf size = ::compressBound(bytes.size());
  std::vector<std::byte> section(sizeof(Elf64_Chdr) + size);
  const Elf64_Chdr header{ELFCOMPRESS_ZLIB, 0, claimed, 1};
  std::memcpy(section.data(), &header, sizeof header);
  REQUIRE(::compress(reinterpret_cast<Bytef*>(section.data() + sizeof header), &size,
                     reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) == Z_OK);
  section.resize(sizeof header + size);
  return section;
}

const std::vector<std::byte> kBytes(5000, std::byte{7});

ErrorCode refused(const std::vector<std::byte>& section, std::uint64_t most) {
  const auto unpacked = unpack_section(section, most);
  REQUIRE_FALSE(unpacked);
  return unpacked.error().code;
}

}  // namespace

TEST_CASE("hostile_sections: what was packed comes out") {
  const auto unpacked = unpack_section(packed(kBytes, kBytes.size()), kBytes.size());
  REQUIRE(unpacked);
  CHECK(*unpacked == kBytes);
}

TEST_CASE("hostile_sections: a size above the limit is refused") {
  CHECK(refused(packed(kBytes, kBytes.size()), kBytes.size() - 1) == ErrorCode::kLimit);
}

TEST_CASE("hostile_sections: a size that zlib cannot reach with so few bytes is refused") {
  const std::uint64_t claimed = std::uint64_t{1} << 30;
  CHECK(refused(packed(kBytes, claimed), claimed) == ErrorCode::kLimit);
}

TEST_CASE("hostile_sections: bytes that are no stream of zlib's are refused") {
  std::vector<std::byte> section = packed(kBytes, kBytes.size());
  for (std::size_t i = sizeof(Elf64_Chdr); i < section.size(); ++i) section[i] ^= std::byte{0x5A};
  CHECK(refused(section, kBytes.size()) == ErrorCode::kUnsupported);
  section.resize(sizeof(Elf64_Chdr) - 1);
  CHECK(refused(section, kBytes.size()) == ErrorCode::kMalformed);
}

}  // namespace labelscope::test

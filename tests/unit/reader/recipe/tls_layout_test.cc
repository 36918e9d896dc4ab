// Tests distances of the main executable's variables, compared with published facts and with
// programs that know their own.
#include "recipe/tls_layout.h"

#include <array>
#include <cstdio>
#include <sstream>

#include "elf/elf_image.h"
#include "support/catch.h"
#include "support/paths.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

template <std::size_t n>
bool is_static(Machine machine, const std::array<unsigned char, n>& code) {
  return is_static_tlsdesc_resolver(machine, code.data(), code.size());
}

std::vector<std::string> probes() {
  skip_in_user_mode_emulation();
  std::vector<std::string> paths;
  std::istringstream list(paths::kTlsProbes);
  for (std::string path; std::getline(list, path, ':');) paths.push_back(path);
  if (paths.empty()) skip_test("no gcc to build the programs with");
  return paths;
}

std::string run(const std::string& path) {
  FILE* pipe = ::popen(path.c_str(), "r");  // NOLINT(cert-env33-c): built by this build
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 1024> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), n);
  }
  REQUIRE(::pclose(pipe) == 0);
  return output;
}

}  // namespace

TEST_CASE("tls_layout: on x86-64 the block's size is rounded up to its alignment") {
  // With size 0x20, alignment 0x40 and the variable at 0x18 it is 0x40 - 0x18 = 40 bytes below the
  // thread pointer.
  CHECK(local_exec_offset(Machine::kX86_64, {0, 0x20, 0x40}, 0x18) == -40);
  CHECK(local_exec_offset(Machine::kX86_64, {0, 0x20, 0x10}, 0x18) == -8);
  CHECK(local_exec_offset(Machine::kX86_64, {0, 8, 1}, 0) == -8);
}

TEST_CASE("tls_layout: on aarch64 the thread control block's 16 bytes are rounded up") {
  CHECK(local_exec_offset(Machine::kAarch64, {0, 0x20, 8}, 0x18) == 16 + 0x18);
  CHECK(local_exec_offset(Machine::kAarch64, {0, 0x20, 16}, 0) == 16);
  CHECK(local_exec_offset(Machine::kAarch64, {0, 0x20, 64}, 8) == 64 + 8);
  CHECK(local_exec_offset(Machine::kAarch64, {0, 0x20, 4096}, 0) == 4096);
}

TEST_CASE(
    "tls_layout: a template that starts between two multiples of its alignment keeps its "
    "remainder") {
  // The block lies at an address that is congruent to p_vaddr.
  //   x86-64:  the least distance >= 0x20 with (-distance) mod 0x40 == 0x10 is 0x30
  //   aarch64: the least distance >= 16 that is 0x20 mod 0x40 is 0x20
  CHECK(local_exec_offset(Machine::kX86_64, {0x1010, 0x20, 0x40}, 0x18) == 0x18 - 0x30);
  CHECK(local_exec_offset(Machine::kAarch64, {0x1020, 0x20, 0x40}, 0x18) == 0x20 + 0x18);
  CHECK(local_exec_offset(Machine::kAarch64, {0x1008, 0x20, 0x40}, 0) == 0x48);
}

TEST_CASE(
    "tls_layout: executables of every linker and alignment have their variables where it says") {
  for (const std::string& path : probes()) {
    const ElfImage image = require_image(read_file(path));
    REQUIRE(image.tls());
    std::istringstream truth(run(path));
    std::string name;
    std::int64_t distance = 0;
    int variables = 0;
    while (truth >> name >> distance) {
      INFO(path << " " << name);
      auto symbol = image.find_symtab_symbol(name);
      REQUIRE(symbol);
      REQUIRE(*symbol);
      CHECK(local_exec_offset(image.machine(), *image.tls(), (*symbol)->value) == distance);
      ++variables;
    }
    CHECK(variables == 5);
  }
}

TEST_CASE("tls_layout: the static resolver of x86-64 is known with and without endbr64") {
  using Code = std::array<unsigned char, 16>;
  CHECK(is_static(Machine::kX86_64, Code{0x48, 0x8b, 0x40, 0x08, 0xc3}));
  CHECK(is_static(Machine::kX86_64, Code{0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x40, 0x08, 0xc3}));
}

TEST_CASE("tls_layout: code that only looks like the static resolver of x86-64 is refused") {
  using Code = std::array<unsigned char, 16>;
  // The code is _dl_tlsdesc_undefweak: mov 8(%rax),%rax; sub %fs:0,%rax; ret
  CHECK_FALSE(
      is_static(Machine::kX86_64, Code{0x48, 0x8b, 0x40, 0x08, 0x64, 0x48, 0x2b, 0x04, 0x25}));
  // These have another register, another offset, no return, a return alone, or a prefix in the
  // wrong place.
  CHECK_FALSE(is_static(Machine::kX86_64, Code{0x48, 0x8b, 0x48, 0x08, 0xc3}));
  CHECK_FALSE(is_static(Machine::kX86_64, Code{0x48, 0x8b, 0x40, 0x10, 0xc3}));
  CHECK_FALSE(is_static(Machine::kX86_64, Code{0x48, 0x8b, 0x40, 0x08, 0x90}));
  CHECK_FALSE(is_static(Machine::kX86_64, Code{0xc3}));
  CHECK_FALSE(is_static(Machine::kX86_64, Code{0x90, 0x48, 0x8b, 0x40, 0x08, 0xc3}));
  CHECK_FALSE(is_static(Machine::kX86_64, Code{}));
  // This is aarch64's resolver in an x86-64 process.
  CHECK_FALSE(is_static(Machine::kX86_64, Code{0x00, 0x04, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}));
  const unsigned char cut[] = {0x48, 0x8b, 0x40, 0x08, 0xc3};
  CHECK_FALSE(is_static_tlsdesc_resolver(Machine::kX86_64, cut, 4));
  CHECK_FALSE(is_static_tlsdesc_resolver(Machine::kX86_64, cut, 0));
}

TEST_CASE("tls_layout: the static resolver of aarch64 is known behind nop and bti") {
  using Code = std::array<unsigned char, 16>;
  CHECK(is_static(Machine::kAarch64, Code{0x00, 0x04, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}));
  CHECK(is_static(Machine::kAarch64,
                  Code{0x1f, 0x20, 0x03, 0xd5, 0x00, 0x04, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}));
  CHECK(is_static(Machine::kAarch64,
                  Code{0x5f, 0x24, 0x03, 0xd5, 0x00, 0x04, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}));
  CHECK(is_static(Machine::kAarch64, Code{0x5f, 0x24, 0x03, 0xd5, 0x1f, 0x20, 0x03, 0xd5, 0x00,
                                          0x04, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}));
}

TEST_CASE("tls_layout: code that only looks like the static resolver of aarch64 is refused") {
  using Code = std::array<unsigned char, 16>;
  // The codes are ldr x1, [x0, #8]; ret, then ldr x0, [x0]; ret, and ldr x0, [x0, #8] without ret.
  CHECK_FALSE(is_static(Machine::kAarch64, Code{0x01, 0x04, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}));
  CHECK_FALSE(is_static(Machine::kAarch64, Code{0x00, 0x00, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}));
  CHECK_FALSE(is_static(Machine::kAarch64, Code{0x00, 0x04, 0x40, 0xf9, 0x1f, 0x20, 0x03, 0xd5}));
  // bti j is no landing pad of a call.
  CHECK_FALSE(is_static(Machine::kAarch64, Code{0x9f, 0x24, 0x03, 0xd5, 0x00, 0x04, 0x40, 0xf9,
                                                0xc0, 0x03, 0x5f, 0xd6}));
  const unsigned char cut[] = {0x00, 0x04, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6};
  CHECK_FALSE(is_static_tlsdesc_resolver(Machine::kAarch64, cut, 7));
}

}  // namespace labelscope::test

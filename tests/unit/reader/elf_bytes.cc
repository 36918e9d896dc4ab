// Makes ELF files by running yaml2obj and llvm-objcopy.
#include "elf_bytes.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "elf/elf_image.h"
#include "support/catch.h"
#include "support/paths.h"

namespace labelscope::test {
namespace {

std::string output_of(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");  // NOLINT(cert-env33-c): our own tools
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), n);
  }
  INFO(command);
  REQUIRE(::pclose(pipe) == 0);
  return output;
}

}  // namespace

const std::vector<std::string>& aarch64_macros() {
  static const std::vector<std::string> kMacros = {
      "MACHINE=EM_AARCH64", "TLSDESC=R_AARCH64_TLSDESC", "DTPMOD=R_AARCH64_TLS_DTPMOD64",
      "DTPOFF=R_AARCH64_TLS_DTPREL64", "TPOFF=R_AARCH64_TLS_TPREL64"};
  return kMacros;
}

std::string elf_from_yaml(const std::string& name, const std::vector<std::string>& macros) {
  const std::string tool = YAML2OBJ;
  if (tool.empty()) skip_test("yaml2obj is not installed (Debian package llvm)");
  std::string command = tool;
  for (const std::string& macro : macros) command += " '-D" + macro + "'";
  return output_of(command + " -o - " + testdata_path("elf/" + name + ".yaml"));
}

std::string fixture_path(const std::string& name) {
  std::string path = std::string(paths::kFixtures) + "/" + name;
  if (!std::filesystem::exists(path)) skip_test("the build had no tool to make " + name);
  return path;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  INFO(path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string without_sections(const std::string& path) {
  const std::string tool = OBJCOPY;
  if (tool.empty()) skip_test("llvm-objcopy is not installed (Debian package llvm)");
  return output_of(tool + " --strip-sections " + path + " -");
}

std::string testdata_path(const std::string& name) {
  return std::string(paths::kTestdata) + "/" + name;
}

Result<ElfImage> open_image(const std::string& bytes) { return ElfImage::open(open_bytes(bytes)); }

ElfImage require_image(const std::string& bytes) {
  Result<ElfImage> image = open_image(bytes);
  if (!image) FAIL(image.error().context);
  return *std::move(image);
}

}  // namespace labelscope::test

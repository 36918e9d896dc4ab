// ELF files for tests: made from text by yaml2obj, compiled by the build, or cut from one of those.
#pragma once

#include <string>
#include <vector>

#include "elf/elf_image.h"
#include "support/fake_target.h"

namespace labelscope::test {

// The macros that turn testdata/elf/publisher.yaml into a file for aarch64.
const std::vector<std::string>& aarch64_macros();

// Makes a file of testdata/elf/<name>.yaml through yaml2obj, with macros "NAME=value". Skips the
// test if there is no yaml2obj.
std::string elf_from_yaml(const std::string& name, const std::vector<std::string>& macros = {});

// Returns the path of a file that CMakeLists.txt compiles. Skips the test if the build lacked a
// tool for it.
std::string fixture_path(const std::string& name);
std::string read_file(const std::string& path);

// Returns the file without section headers, by `llvm-objcopy --strip-sections`. Skips the test if
// that program is missing.
std::string without_sections(const std::string& path);

std::string testdata_path(const std::string& name);

Result<ElfImage> open_image(const std::string& bytes);
// Fails the test if the file cannot be opened.
ElfImage require_image(const std::string& bytes);

}  // namespace labelscope::test

// Tests the table of functions in a Go program, compared with its symbols (go tool nm) and its
// .debug_frame (readelf), which Go's linker writes as well.
#include "elf/go_functions.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/paths.h"

using namespace labelscope;

namespace {

std::string program(const std::string& name) {
  std::string path = std::string(paths::kGoLabels) + "/" + name;
  if (!std::filesystem::exists(path)) skip_test("go is not installed");
  return path;
}

Result<GoFunctions> functions_of(const std::string& path) {
  auto file = ElfImage::open(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  REQUIRE(file);
  return GoFunctions::read(*file);
}

std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) != 0;)
    text.append(buffer, n);
  REQUIRE(::pclose(pipe) == 0);
  return text;
}

// Symbols include what the runtime's names leave out: the kind of an assembly function, and the
// types of comparisons that the compiler makes. This removes both. The linker writes the middle dot
// of a name as a full stop in symbols.
std::string as_the_runtime_has_it(std::string name) {
  constexpr std::string_view kDot = "\u00b7";
  for (auto at = name.find(kDot); at != std::string::npos; at = name.find(kDot)) {
    name.replace(at, kDot.size(), ".");
  }
  if (name.ends_with(".abi0")) name.resize(name.size() - 5);
  return name.starts_with("type..") ? "type.." : name;
}

std::multimap<std::uint64_t, std::string> symbols_of(const std::string& path) {
  std::multimap<std::uint64_t, std::string> symbols;
  std::istringstream text(output_of("go tool nm '" + path + "'"));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string address;
    std::string kind;
    std::string name;
    words >> address >> kind >> std::ws;
    std::getline(words, name);
    if (kind == "T" || kind == "t") {
      symbols.emplace(std::strtoull(address.c_str(), nullptr, 16), as_the_runtime_has_it(name));
    }
  }
  return symbols;
}

void compare(const std::string& path, const std::string& twin) {
  INFO(path);
  const auto functions = functions_of(path);
  INFO((functions ? "" : functions.error().context));
  REQUIRE(functions);
  const auto symbols = symbols_of(twin);
  CHECK(functions->count() > 1000);
  std::vector<std::string> different;
  for (std::size_t i = 0; i < functions->count(); ++i) {
    const auto function = functions->at(i);
    REQUIRE(function);
    const auto [first, last] = symbols.equal_range(function->start);
    const auto same = std::find_if(first, last, [&](const auto& symbol) {
      return symbol.second == as_the_runtime_has_it(std::string(function->name));
    });
    if (same == last) different.emplace_back(function->name);
    for (const std::uint64_t at : {function->start, function->end - 1}) {
      const auto found = functions->find(at);
      REQUIRE(found);
      REQUIRE(found->start == function->start);
    }
  }
  CHECK(different == std::vector<std::string>());
  CHECK_FALSE(functions->find(functions->start() - 1));
  CHECK_FALSE(functions->find(functions->end()));
}

}  // namespace

TEST_CASE("go functions: names and starts are those of the symbols") {
  for (const char* name : {"static", "pie", "cgo", "cgo_pie", "shared.so"}) {
    compare(program(name), program(name));
  }
}

TEST_CASE("go functions: a stripped program has them as well") {
  compare(program("stripped"), program("static"));
}

TEST_CASE(
    "go functions: without section headers the table is searched, for as long as there is time") {
  std::ifstream file(program("static"), std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  REQUIRE(bytes.size() > sizeof(Elf64_Ehdr));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  const int copy = ::memfd_create("without sections", MFD_CLOEXEC);
  REQUIRE(::write(copy, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const auto image = ElfImage::open(UniqueFd(copy));
  REQUIRE(image);
  int asked = 0;
  const auto found = GoFunctions::read(*image, [&] { return ++asked < 0; });
  INFO((found ? "" : found.error().context));
  REQUIRE(found);
  CHECK(asked > 0);
  CHECK(found->count() == functions_of(program("static"))->count());
  const auto late = GoFunctions::read(*image, [] { return true; });
  REQUIRE_FALSE(late);
  CHECK(late.error().code == ErrorCode::kLimit);
}

TEST_CASE("go functions: flags say where stacks begin and change") {
  const auto functions = functions_of(program("stripped"));
  REQUIRE(functions);
  std::map<std::string, GoFunction> by_name;
  for (std::size_t i = 0; i < functions->count(); ++i) {
    const auto function = functions->at(i);
    REQUIRE(function);
    by_name[std::string(function->name)] = *function;
  }
  for (const char* first : {"runtime.goexit", "runtime.mstart", "runtime.rt0_go"}) {
    INFO(first);
    CHECK(by_name.at(first).is_first);
  }
  for (const char* sets : {"runtime.mcall", "runtime.systemstack", "runtime.morestack"}) {
    INFO(sets);
    CHECK(by_name.at(sets).sets_stack);
    CHECK_FALSE(by_name.at(sets).is_first);
  }
  CHECK(by_name.at("runtime.memclrNoHeapPointers").is_handwritten);
  CHECK_FALSE(by_name.at("runtime.mallocgc").is_handwritten);
  CHECK_FALSE(by_name.at("main.unit").sets_stack);
}

TEST_CASE("go functions: other files have none") {
  const auto none = functions_of("/proc/self/exe");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::kNotFound);
}

TEST_CASE("go functions: an older table is said to be that") {
  std::ifstream original(program("static"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(original)), std::istreambuf_iterator<char>());
  // Code may have the first bytes of a table, too. Behind those of the table are the least length
  // of an instruction and that of a pointer.
  const std::size_t at = [&bytes] {
    for (const std::string first : {"\xf0\xff\xff\xff", "\xf1\xff\xff\xff"}) {
      for (const char quantum : {'\1', '\4'}) {
        const std::string magic = first + std::string(2, '\0') + quantum + '\x08';
        if (const auto found = bytes.find(magic); found != std::string::npos) return found;
      }
    }
    return std::string::npos;
  }();
  REQUIRE(at != std::string::npos);
  bytes[at] = '\xfb';
  const auto path = std::filesystem::temp_directory_path() / "labelscope-older-go";
  std::ofstream(path, std::ios::binary) << bytes;
  const auto older = functions_of(path.string());
  std::filesystem::remove(path);
  REQUIRE_FALSE(older);
  CHECK(older.error().code == ErrorCode::kUnsupported);
  CHECK(older.error().context.find("older than Go 1.18") != std::string::npos);
}

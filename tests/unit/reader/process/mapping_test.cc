// Tests lines of /proc/PID/maps.
#include "labelscope/mapping.h"

#include "process/maps_parser.h"
#include "support/catch.h"
#include "unit/reader/elf_bytes.h"

namespace labelscope::test {
namespace {

Mapping parse_one(const std::string& line) {
  auto mappings = parse_maps(line);
  INFO(line);
  REQUIRE(mappings);
  REQUIRE(mappings->size() == 1);
  return mappings->front();
}

}  // namespace

TEST_CASE("mapping: every field of a line is kept") {
  const Mapping mapping = parse_one(
      "7f1c2a400000-7f1c2a428000 r-xp 00028000 fe:01 1179857                    "
      "/usr/lib/x86_64-linux-gnu/libc.so.6\n");
  CHECK(mapping.start == 0x7f1c2a400000);
  CHECK(mapping.end == 0x7f1c2a428000);
  CHECK(mapping.file_offset == 0x28000);
  CHECK(mapping.readable);
  CHECK_FALSE(mapping.writable);
  CHECK(mapping.executable);
  CHECK(mapping.file == FileId{0xfe, 1, 1179857});
  CHECK(mapping.path == "/usr/lib/x86_64-linux-gnu/libc.so.6");
}

TEST_CASE("mapping: memory without a file has no path and no file") {
  const Mapping mapping = parse_one("7ffd0000-7ffe0000 rw-p 00000000 00:00 0 \n");
  CHECK_FALSE(mapping.file);
  CHECK(mapping.path.empty());
  CHECK(parse_one("7ffd0000-7ffe0000 rw-p 00000000 00:00 0\n").path.empty());
  CHECK(parse_one("7ffd0000-7ffe0000 rw-p 00000000 00:00 0      [stack]\n").path == "[stack]");
}

TEST_CASE("mapping: a path is everything behind the spaces, as the kernel prints it") {
  const std::string head = "1000-2000 r--p 00000000 08:01 5    ";
  CHECK(parse_one(head + "/opt/a b  c/x y.so\n").path == "/opt/a b  c/x y.so");
  CHECK(parse_one(head + "/tmp/line\\012break\n").path == "/tmp/line\\012break");
  CHECK(parse_one(head + "/usr/lib/libx.so (deleted)\n").path == "/usr/lib/libx.so (deleted)");
  CHECK(parse_one(head + "/memfd:code (deleted)\n").path == "/memfd:code (deleted)");
}

TEST_CASE("mapping: the highest address of all is a mapping too") {
  const Mapping mapping =
      parse_one("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]\n");
  CHECK(mapping.start == 0xffffffffff600000);
  CHECK_FALSE(mapping.readable);
  CHECK(mapping.executable);
}

TEST_CASE("mapping: the last line may lack its newline, and no text is no mapping") {
  CHECK(parse_one("1000-2000 r--p 00000000 08:01 5 /a").path == "/a");
  auto none = parse_maps("");
  REQUIRE(none);
  CHECK(none->empty());
}

TEST_CASE("mapping: a malformed line is named by its number") {
  const char* bad[] = {
      "",
      "no maps line",
      "1000",
      "1000-",
      "1000-2000",
      "1000-2000 r--p",
      "1000-2000 r-",
      "1000-2000 r--p 0",
      "1000-2000 r--p 0 08",
      "1000-2000 r--p 0 08:01",
      "1000-2000 r--p 0 08:01 x",
      "-2000 r--p 0 08:01 5",
      "0x1000-2000 r--p 0 08:01 5",
      " 1000-2000 r--p 0 08:01 5",
      "-1000-2000 r--p 0 08:01 5",
      "2000-1000 r--p 0 08:01 5",
      "1000-1000 r--p 0 08:01 5",
      "10000000000000000-20000000000000000 r--p 0 08:01 5",
      "1000-2000 r--p 0 1ffffffff:01 5",
      "1000-2000 r--p 0 08:1ffffffff 5",
      "1000-2000 r--p 0 08:01 99999999999999999999",
      "1000-2000 r--p 0 08:01 5glued",
      "1000-2000 what 0 08:01 5 /a",
      "1000-2000 x--p 0 08:01 5 /a",
  };
  for (const char* line : bad) {
    INFO("line: " << line);
    auto mappings = parse_maps("1000-2000 r--p 0 08:01 5 /a\n" + std::string(line) + "\n");
    REQUIRE_FALSE(mappings);
    CHECK(mappings.error().code == ErrorCode::kMalformed);
    CHECK(mappings.error().context.find("line 2") != std::string::npos);
  }
}

TEST_CASE("mapping: a whole file of a real process is read line by line") {
  const std::string text = read_file(testdata_path("maps/service.txt"));
  auto mappings = parse_maps(text);
  REQUIRE(mappings);
  REQUIRE(mappings->size() == static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')));
  for (const Mapping& mapping : *mappings) {
    CHECK(find_mapping(*mappings, mapping.start) == &mapping);
    CHECK(find_mapping(*mappings, mapping.end - 1) == &mapping);
  }
}

TEST_CASE("mapping: find_mapping includes the first byte, excludes the end, and knows gaps") {
  auto mappings = parse_maps(
      "1000-2000 r--p 0 00:00 0\n"
      "2000-3000 r--p 0 00:00 0\n"
      "5000-6000 r--p 0 00:00 0\n");
  REQUIRE(mappings);
  const std::vector<Mapping>& all = *mappings;
  CHECK(find_mapping(all, 0xfff) == nullptr);
  CHECK(find_mapping(all, 0x1000) == &all[0]);
  CHECK(find_mapping(all, 0x1fff) == &all[0]);
  CHECK(find_mapping(all, 0x2000) == &all[1]);
  CHECK(find_mapping(all, 0x3000) == nullptr);
  CHECK(find_mapping(all, 0x4fff) == nullptr);
  CHECK(find_mapping(all, 0x5fff) == &all[2]);
  CHECK(find_mapping(all, 0x6000) == nullptr);
  CHECK(find_mapping(all, UINT64_MAX) == nullptr);
  CHECK(find_mapping({}, 0x1000) == nullptr);
}

TEST_CASE("mapping: a text in pieces has the mappings of the whole text") {
  const std::string text =
      "1000-2000 r--p 00000000 08:01 5    /opt/a b\n"
      "2000-3000 r-xp 00001000 08:01 5    /opt/a b\n"
      "7ffd0000-7ffe0000 rw-p 00000000 00:00 0 \n"
      "7ffe0000-7fff0000 rw-p 00000000 00:00 0   [stack]";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    MapsParser parser;
    for (std::size_t at = 0; at < text.size(); at += size) {
      REQUIRE(parser.add(std::string_view(text).substr(at, size)));
    }
    const auto mappings = parser.finish();
    INFO(size);
    REQUIRE(mappings);
    REQUIRE(mappings->size() == 4);
    CHECK((*mappings)[0].path == "/opt/a b");
    CHECK((*mappings)[1].start == 0x2000);
    CHECK((*mappings)[1].executable);
    CHECK((*mappings)[2].path.empty());
    CHECK((*mappings)[3].path == "[stack]");
  }
  MapsParser parser;
  REQUIRE(parser.add("1000-2000 r--p 00000000 08:01 5 /a\n1000-20"));
  const auto cut = parser.finish();
  REQUIRE_FALSE(cut);
  CHECK(cut.error().context.find("line 2") != std::string::npos);
}

}  // namespace labelscope::test

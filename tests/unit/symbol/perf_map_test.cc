// Tests the lines of a perf map, as its writers write them, and malformed ones.
#include "cli/names/perf_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "support/catch.h"
#include "temp_folder.h"

using namespace labelscope;       // NOLINT(google-build-using-namespace): a test of this namespace
using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a test of this namespace

namespace {

PerfMap parsed(const std::string& text) { return PerfMap::parse(text, {}); }

}  // namespace

TEST_CASE("perf_map: an address has the name of the function that lies there") {
  const PerfMap map = parsed(
      "1000 20 JS:*handle /srv/a b.js:12:20\n"
      "0x1020 0x10 void java.util.HashMap::resize()\n");
  CHECK(map.find(0xfff).empty());
  CHECK(map.find(0x1000) == "JS:*handle /srv/a b.js:12:20");
  CHECK(map.find(0x101f) == "JS:*handle /srv/a b.js:12:20");
  CHECK(map.find(0x1020) == "void java.util.HashMap::resize()");
  CHECK(map.find(0x1030).empty());
  CHECK(map.left_out().empty());
}

TEST_CASE("perf_map: of functions at one place the last one counts, as far as it reaches") {
  const PerfMap map = parsed(
      "1000 100 old\n"
      "1040 20 new\n"
      "2000 10 short\n"
      "1f00 200 long\n"
      "3000 10 first\n"
      "3000 10 second\n");
  CHECK(map.find(0x103f) == "old");
  CHECK(map.find(0x1040) == "new");
  CHECK(map.find(0x105f) == "new");
  CHECK(map.find(0x1060) == "old");
  CHECK(map.find(0x10ff) == "old");
  CHECK(map.find(0x1100).empty());
  CHECK(map.find(0x2008) == "long");
  CHECK(map.find(0x3008) == "second");
}

TEST_CASE("perf_map: a place that gets another function after the first sample keeps the first") {
  const std::string before = "1000 40 old\n1000 40 first\n2000 40 stays\n3000 40 same\n";
  const std::string later =
      "1020 40 second\n3000 40 same\n4000 40 only\n5000 40 third\n5000 40 fourth\n";
  const PerfMap map = PerfMap::parse(before + later, {}, false, before.size());
  const auto is = [&](Address at, const char* name, bool reused) {
    const PerfMap::Match found = map.look_up(at);
    CHECK(found.name == name);
    CHECK(found.reused == reused);
  };
  is(0x101f, "first", false);
  is(0x1020, "first", true);
  is(0x103f, "first", true);
  is(0x1040, "second", false);
  is(0x2000, "stays", false);
  is(0x3000, "same", false);  // compiled again, to the same place
  is(0x4000, "only", false);
  is(0x5000, "third", true);
  is(0x6000, "", false);
  // Half of a line was there: nobody had seen it yet.
  const PerfMap half = PerfMap::parse("1000 40 first\n1000 40 second\n", {}, false, 20);
  CHECK(half.look_up(0x1000).name == "first");
  CHECK(half.look_up(0x1000).reused);
}

TEST_CASE("perf_map: what is no line of that form is left out, the others count") {
  const PerfMap map = parsed(
      "\n"
      "root:*:19000:0:99999:7:::\n"
      "1000\n"
      "1000 10\n"
      "1000 10 \n"
      "1000 0 empty\n"
      "ffffffffffffff00 200 beyond\n"
      "11111111111111111 10 too long a number\n"
      "-10 10 negative\n"
      "2000 10 \x1b[31mname\xff\n"
      "3000 10 cut off");
  CHECK(map.lines() == 1);
  CHECK(map.find(0x1000).empty());
  CHECK(map.find(0x2000) == "\x1b[31mname\xff");
  CHECK(map.find(0x3000).empty());
}

TEST_CASE("perf_map: of a file that is too large the end counts, and it says so") {
  TempFolder folder;
  const std::string path = folder.path() + "/perf-1.map";
  std::ofstream(path) << "1000 10 first\n2000 10 second\n3000 10 third\n";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  PerfMap::Limits limits;
  limits.bytes = 30;  // "10 first" is cut, and the rest of its line is dropped
  auto map = PerfMap::read(file.get(), limits);
  REQUIRE(map.has_value());
  CHECK(map->find(0x1000).empty());
  CHECK(map->find(0x3000) == "third");
  CHECK_FALSE(map->left_out().empty());
  limits = {};
  limits.lines = 2;
  map = PerfMap::read(file.get(), limits);
  REQUIRE(map.has_value());
  CHECK(map->lines() == 2);
  CHECK(map->left_out().find("first 2 lines") != std::string::npos);
}

TEST_CASE("perf_map: functions over each other a hundred thousand times are laid out at once") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    text += "1000 fffffff n" + std::to_string(i) + "\n";
  }
  CHECK(parsed(text).find(0x2000) == "n99999");
}

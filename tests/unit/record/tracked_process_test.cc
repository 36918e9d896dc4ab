// Tests indices of publishers that stay the same over all plans of a recording.
#include "cli/record/tracked_process.h"

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

Publisher publisher(std::string path, Address load_bias) {
  Publisher made;
  made.path = std::move(path);
  made.load_bias = load_bias;
  return made;
}

using Indices = std::vector<std::uint8_t>;

}  // namespace

TEST_CASE("publisher_table: a publisher keeps its index whatever comes before it in a plan") {
  PublisherTable table;
  CHECK(table.adopt({publisher("/b.so", 0x2000)}) == Indices{0});
  CHECK(table.adopt({publisher("/a.so", 0x1000), publisher("/b.so", 0x2000)}) == Indices{1, 0});
  CHECK(table.paths() == std::vector<std::string>{"/b.so", "/a.so"});
}

TEST_CASE("publisher_table: copies of one file are publishers of their own") {
  PublisherTable table;
  CHECK(table.adopt({publisher("/a.so", 0x1000), publisher("/a.so", 0x9000)}) == Indices{0, 1});
  CHECK(table.paths() == std::vector<std::string>{"/a.so", "/a.so"});
  // The first copy is unloaded; the second keeps its index.
  CHECK(table.adopt({publisher("/a.so", 0x9000)}) == Indices{1});
  // The copy is loaded again elsewhere, below and above the other.
  CHECK(table.adopt({publisher("/a.so", 0x500), publisher("/a.so", 0x9000)}) == Indices{0, 1});
  CHECK(table.adopt({publisher("/a.so", 0x9000), publisher("/a.so", 0xa000)}) == Indices{1, 0});
  // One copy stays, and a new one beside it is not taken for it.
  CHECK(table.adopt({publisher("/a.so", 0xa000), publisher("/a.so", 0xb000)}) == Indices{0, 1});
}

TEST_CASE("publisher_table: a library that is loaded again somewhere else has its old index") {
  PublisherTable table;
  table.adopt({publisher("/a.so", 0x1000)});
  CHECK(table.adopt({}).empty());
  CHECK(table.adopt({publisher("/a.so", 0x5000)}) == Indices{0});
  CHECK(table.paths().size() == 1);
}

TEST_CASE("publisher_table: more publishers than a label can name share the last index") {
  PublisherTable table;
  for (int i = 0; i < 300; ++i) {
    const Indices index = table.adopt({publisher("/" + std::to_string(i) + ".so", 0x1000)});
    REQUIRE(index.size() == 1);
    REQUIRE(index[0] == std::min(i, 255));
  }
  CHECK(table.paths().size() == 256);
}

TEST_CASE(
    "publisher_table: what is no file and what the user has named have indices of their own") {
  PublisherTable table;
  Publisher named = publisher("/a", 0x1000);
  named.named = "id:u64";
  CHECK(table.adopt({publisher("/a", 0x1000), named}) == Indices{0, 1});
  CHECK(table.adopt_source(ProcessSource::kCgroup) == 2);
  CHECK(table.adopt_source(ProcessSource::kEnvironment) == 3);
  CHECK(table.adopt_source(ProcessSource::kCgroup) == 2);
  CHECK(table.adopt({named}) == Indices{1});
  CHECK(table.paths() == std::vector<std::string>{"/a", "/a:id:u64", "[cgroup]", "[environment]"});
}

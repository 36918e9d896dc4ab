#include "cli/format/common/gzip_writer.h"

#include <sstream>

#include "support/catch.h"
#include "unit/format/pprof_decoded.h"

using namespace labelscope::cli;
using labelscope::test::gunzip;

TEST_CASE("gzip_writer: one write larger than any buffer comes back whole") {
  // The bytes do not compress: every buffer of the compressor fills up within the one call.
  std::string bytes;
  std::uint32_t state = 1;
  for (int i = 0; i < 4'000'000; ++i) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24);
  }
  std::ostringstream out;
  GzipWriter gzip(out);
  gzip.write(bytes);
  REQUIRE(gzip.finish().has_value());
  CHECK((gunzip(out.str()) == bytes));
}

TEST_CASE("gzip_writer: many small writes and none at all are one file each") {
  std::ostringstream many;
  GzipWriter gzip(many);
  for (int i = 0; i < 1000; ++i) gzip.write(std::to_string(i % 10));
  gzip.write("");
  REQUIRE(gzip.finish().has_value());
  CHECK(gunzip(many.str()).size() == 1000);

  std::ostringstream none;
  GzipWriter empty(none);
  REQUIRE(empty.finish().has_value());
  CHECK(gunzip(none.str()).empty());
}

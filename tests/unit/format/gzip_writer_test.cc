#include "cli/format/common/gzip_writer.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "support/catch.h"
#include "unit/format/pprof_decoded.h"

using namespace labelscope::cli;
using labelscope::test::gunzip;

namespace {

std::string zipped(std::string_view bytes) {
  std::ostringstream out;
  GzipWriter gzip(out);
  gzip.write(bytes);
  REQUIRE(gzip.finish().has_value());
  return out.str();
}

}  // namespace

TEST_CASE("gzip_writer: one write larger than any buffer comes back whole") {
  // The bytes do not compress: every buffer of the compressor fills up within the one call.
  std::string bytes;
  std::uint32_t state = 1;
  for (int i = 0; i < 4'000'000; ++i) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24);
  }
  const std::string file = zipped(bytes);
  CHECK((gunzip(file) == bytes));
  CHECK(file.size() < bytes.size() + bytes.size() / 500);
}

TEST_CASE("gzip_writer: repetitions of every length come back from every distance") {
  std::mt19937 random(1);
  std::string bytes;
  // Some are too far away to be found, some are longer than a match, and some cross pieces.
  for (std::size_t i = 0; i < 20'000; ++i) {
    const std::size_t length = i % 600;
    const std::size_t distance = 1 + random() % (i % 2 == 0 ? 300 : 33'000);
    bytes += static_cast<char>(random() % 256);
    if (distance > bytes.size()) continue;
    for (std::size_t n = 0; n < length; ++n) bytes += bytes[bytes.size() - distance];
  }
  const std::string file = zipped(bytes);
  CHECK((gunzip(file) == bytes));
  CHECK(file.size() < bytes.size() / 20);
}

TEST_CASE("gzip_writer: no code is too long where bytes are as rare as can be") {
  // Each byte is about as frequent as the two rarer ones together: the longest codes there are.
  std::string bytes;
  std::size_t count = 1;
  std::size_t before = 1;
  for (char byte = 'a'; byte <= 'z'; ++byte) {
    bytes.append(count, byte);
    count += std::exchange(before, count);
  }
  std::mt19937 random(1);
  std::shuffle(bytes.begin(), bytes.end(), random);
  CHECK((gunzip(zipped(bytes)) == bytes));
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

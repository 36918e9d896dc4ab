// Tests where a file's code is, computed from one of its mappings, with segments as linkers lay
// them out.
#include "elf/loaded_file.h"

#include "support/catch.h"

using namespace labelscope;

namespace {

constexpr std::uint64_t kBias = 0x5555'0000'0000;

LoadSegment segment(std::uint64_t vaddr, std::uint64_t offset, std::uint64_t size,
                    bool executable) {
  return {vaddr, offset, size, size, executable, false};
}

// Returns the bias by a mapping of whole pages, as the kernel makes it.
std::optional<std::uint64_t> bias_of(const std::vector<LoadSegment>& segments,
                                     const LoadSegment& mapped, std::uint64_t from = 0) {
  return load_bias_at(segments, kBias + (mapped.vaddr & ~0xfffULL) + from,
                      (mapped.file_offset & ~0xfffULL) + from);
}

}  // namespace

TEST_CASE("loaded_file: code whose offset in the file is not its address") {
  // In files of lld each segment starts in the file where the previous one ends, but a page further
  // in memory.
  const std::vector<LoadSegment> lld{segment(0, 0, 0x1700, false),
                                     segment(0x2700, 0x1700, 0x3500, true),
                                     segment(0x6c00, 0x4c00, 0x300, false)};
  CHECK(bias_of(lld, lld[1]) == kBias);
  // mprotect() may leave a mapping of only a part of the segment.
  CHECK(bias_of(lld, lld[1], 0x2000) == kBias);
  CHECK_FALSE(bias_of(lld, segment(0x9000, 0x9000, 0x1000, true)));
}

TEST_CASE("loaded_file: several segments with code, of which two have a part of the same page") {
  const std::vector<LoadSegment> two{segment(0x1000, 0x1000, 0x1800, true),
                                     segment(0x4800, 0x2800, 0x2000, true)};
  CHECK(bias_of(two, two[0]) == kBias);
  CHECK(bias_of(two, two[1]) == kBias);
  CHECK(bias_of(two, two[1], 0x1000) == kBias);
}

TEST_CASE(
    "loaded_file: code before the first segment with code, as mold and --rosegment lay it out") {
  // In files of mold headers and read-only data stand behind the code.
  const std::vector<LoadSegment> mold{segment(0x200000, 0, 0x800, false),
                                      segment(0x201800, 0x800, 0x1000, true),
                                      segment(0x203800, 0x1800, 0x400, false)};
  CHECK(bias_of(mold, mold[1]) == kBias);
}

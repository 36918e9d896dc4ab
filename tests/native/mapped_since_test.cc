// bpf/unwind/mapped_since.h: which frames of a stack can be relied on.
#include "bpf/unwind/mapped_since.h"

#include <vector>

#include "support/catch.h"
#include "unwind/stack.h"

using namespace labelscope;

namespace {

constexpr std::uint32_t kList = 7;
constexpr std::uint64_t kNow = 1'000'000;
const std::vector<std::uint64_t> kStack{0x1000, 0x2001, 0x3001 | LS_FRAME_BY_FP, 0x4001};

constexpr MappedCode kOne{{8, 1, 11}, 5, 0};
constexpr MappedCode kTwo{{8, 1, 12}, 5, 0};
constexpr MappedCode kOnesNumber{{8, 1, 11}, 6, 0};
constexpr MappedCode kOneElsewhere{{8, 1, 11}, 5, 0x1000};
constexpr MappedCode kWithoutGeneration{{8, 1, 13}, 0, 0};
constexpr MappedCode kMemory{};

struct Since : MappedSince {
  Since() { begin_list(kList, 100, 110); }
  void map(const MappedCode& code, std::uint64_t time_ns, bool was_there = false) {
    note(0x2000, 0x3000, time_ns, code, was_there);
  }
  bool doubts(std::uint32_t list = kList, std::uint64_t time_ns = kNow) const {
    const auto frame = doubtful(list, time_ns, kStack);
    if (frame) CHECK(*frame == 1);
    return frame.has_value();
  }
};

}  // namespace

TEST_CASE("mapped_since: what was mapped before a list was read is no news to it") {
  Since since;
  CHECK_FALSE(since.doubts());
  since.map(kOne, 100);
  CHECK_FALSE(since.doubts());
  since.map(kTwo, 120);
  CHECK(since.doubts());
  CHECK_FALSE(since.doubts(kList, 119));
  since.begin_list(kList + 1, 130, 140);
  CHECK_FALSE(since.doubts(kList + 1));
  CHECK(since.doubts());
}

TEST_CASE("mapped_since: what is there again is what the list has") {
  Since since;
  since.map(kOne, 90);
  since.map(kTwo, 120);
  CHECK(since.doubts());
  since.map(kOne, 130);
  CHECK_FALSE(since.doubts());
  CHECK(since.doubts(kList, 125));
  // But not the next file with its number, or another part of it.
  std::uint64_t time_ns = 140;
  for (const MappedCode& other : {kOnesNumber, kOneElsewhere}) {
    since.map(other, time_ns++);
    CHECK(since.doubts());
    since.map(kOne, time_ns++);
    CHECK_FALSE(since.doubts());
  }
}

TEST_CASE("mapped_since: without a generation a file is never known again") {
  Since since;
  since.map(kWithoutGeneration, 90);
  since.map(kTwo, 120);
  since.map(kWithoutGeneration, 130);
  CHECK(since.doubts());
}

TEST_CASE("mapped_since: of what was mapped before all reports it is not known what it was") {
  Since since;
  since.map(kOne, 120);
  CHECK(since.doubts());
}

TEST_CASE("mapped_since: what was mapped while a list was read may be in it, or not") {
  Since since;
  since.map(kOne, 90);
  since.map(kTwo, 105);
  CHECK(since.doubts());
  since.map(kOne, 120);
  CHECK(since.doubts());
  since.begin_list(kList + 1, 130, 140);
  since.map(kOne, 135);
  CHECK_FALSE(since.doubts(kList + 1));
}

TEST_CASE("mapped_since: memory that has no table may be mapped again and again") {
  Since since;
  since.map(kMemory, 120, true);
  CHECK_FALSE(since.doubts());
  since.map(kMemory, 130, true);
  CHECK_FALSE(since.doubts());
  since.map(kOne, 140);
  CHECK(since.doubts());
  // What the list of a file's copy has is no such memory.
  Since copied;
  copied.map(kMemory, 90);
  copied.map(kMemory, 120);
  CHECK(copied.doubts());
}

TEST_CASE("mapped_since: the first frame there is the last that counts, marked or not") {
  MappedSince since;
  since.begin_list(kList, 100, 110);
  since.note(0x3000, 0x5000, 120, kOne, false);
  CHECK(since.doubtful(kList, kNow, kStack) == 2u);
  since.note(0x1000, 0x1001, 120, kOne, false);
  CHECK(since.doubtful(kList, kNow, kStack) == 0u);
}

TEST_CASE("mapped_since: a return address counts where its call is") {
  MappedSince since;
  since.begin_list(kList, 100, 110);
  since.note(0x2001, 0x3000, 120, kOne, false);
  CHECK_FALSE(since.doubtful(kList, kNow, kStack));
  since.note(0x1001, 0x2001, 120, kOne, false);
  CHECK(since.doubtful(kList, kNow, kStack) == 1u);
}

TEST_CASE("mapped_since: a mapping takes the place of parts of others") {
  MappedSince since;
  since.begin_list(kList, 100, 110);
  since.note(0x1000, 0x5000, 90, kOne, false);
  since.note(0x2000, 0x3000, 120, kTwo, false);
  CHECK(since.doubtful(kList, kNow, kStack) == 1u);
  const std::vector<std::uint64_t> others{0x1500, 0x3001, 0x4501};
  CHECK(since.doubtful(kList, kNow, others) == std::nullopt);
  since.note(0x0, 0x6000, 130, kOne, false);
  CHECK_FALSE(since.doubtful(kList, kNow, kStack));
  CHECK(since.doubtful(kList, kNow, std::vector<std::uint64_t>{0x5500}) == 0u);
}

TEST_CASE("mapped_since: of a list that is not known any more, the leaf alone is good") {
  MappedSince since;
  CHECK(since.doubtful(kList, kNow, kStack) == 0u);
  CHECK_FALSE(since.doubtful(kList, kNow, {}));
  for (std::uint32_t i = 0; i <= MappedSince::kMostLists; ++i) {
    since.begin_list(kList + i, 100, 110);
  }
  CHECK(since.doubtful(kList, kNow, kStack) == 0u);
  CHECK_FALSE(since.doubtful(kList + 1, kNow, kStack));
}

TEST_CASE("mapped_since: with too many mappings the leaf alone is good, until the next list") {
  for (const bool at_one_place : {false, true}) {
    MappedSince since;
    since.begin_list(kList, 100, 110);
    for (std::uint64_t i = 0; i <= MappedSince::kMostChanges; ++i) {
      const Address start = 0x100000 + (at_one_place ? 0 : i * 0x1000);
      since.note(start, start + 0x1000, 120 + i, kOne, false);
    }
    CHECK(since.doubtful(kList, kNow, kStack) == 0u);
    since.begin_list(kList + 1, 100'000, 100'010);
    CHECK_FALSE(since.doubtful(kList + 1, kNow, kStack));
    CHECK(since.doubtful(kList, kNow, kStack) == 0u);
  }
}

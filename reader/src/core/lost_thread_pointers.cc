// Most thread control blocks are at the top of their thread's stack, so the stacks are searched
// first, from the stack pointer on.
#include "core/lost_thread_pointers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>

#include "base/value_at.h"

namespace labelscope {
namespace {

constexpr std::uint64_t kMostMemory = 256 << 20;
constexpr std::uint64_t kPiece = 1 << 20;
constexpr std::size_t kWord = sizeof(Address);
constexpr std::size_t kStackPointer = 7;  // rsp

// In glibc these are the offsets of the block's own address, and of the ID.
constexpr std::size_t kGlibcSelf = 0x10;
constexpr std::size_t kGlibcTid = 0x2d0;
// In musl these are the offsets of the links of a ring of all threads, and of the ID.
constexpr std::size_t kMuslPrevious = 0x10;
constexpr std::size_t kMuslNext = 0x18;
constexpr std::size_t kMuslTid = 0x30;
// The number of bytes of a block that are looked at, from its beginning.
constexpr std::size_t kBlock = kGlibcTid + sizeof(std::int32_t);

// Nothing in a core is trusted: in a hostile one, every word may look like a block of musl's.
constexpr std::size_t kMostNeighbours = 1 << 16;

class BlockSearch {
 public:
  BlockSearch(const DumpedMemory& memory, std::vector<CoreThread>& threads) : memory_(memory) {
    for (CoreThread& thread : threads) {
      if (thread.thread_pointer != Address{0}) continue;
      thread.thread_pointer.reset();
      lost_[raw(thread.tid)].threads.push_back(&thread);
    }
  }
  bool is_needed() const { return !lost_.empty(); }

  // Searches the dumped part of a segment, from `offset` on.
  void search(const CoreSegment& segment, std::uint64_t offset) {
    if (!segment.writable || offset >= segment.file_size) return;
    const std::uint64_t size = std::min(segment.file_size - offset, left_);
    left_ -= size;
    std::vector<std::byte> piece(std::min<std::uint64_t>(size, kPiece + kBlock));
    // Each piece overlaps the next by a block, so that none is cut in two.
    for (std::uint64_t at = 0; at < size; at += kPiece) {
      const std::size_t length = std::min<std::uint64_t>(size - at, piece.size());
      const Address start = segment.start + offset + at;
      if (!memory_.read(start, std::span(piece).first(length))) return;
      search_piece(start, std::span(piece).first(length));
    }
  }

  void finish() {
    for (auto& [tid, lost] : lost_) {
      if (lost.found.size() != 1 || lost.threads.size() != 1) continue;
      lost.threads.front()->thread_pointer = lost.found.front();
    }
  }

 private:
  struct Lost {
    std::vector<CoreThread*> threads;
    std::vector<Address> found;  // at most two: with more than one the search has failed
  };

  void search_piece(Address start, std::span<const std::byte> bytes) {
    if (bytes.size() < kMuslTid + sizeof(std::int32_t)) return;
    const std::size_t end =
        std::min<std::size_t>(kPiece, bytes.size() - kMuslTid - sizeof(std::int32_t) + 1);
    for (std::size_t at = 0; at < end; at += kWord) {
      if (value_at<Address>(bytes, at) != start + at) continue;
      take_block(start + at, bytes.subspan(at));
    }
  }

  void take_block(Address block, std::span<const std::byte> bytes) {
    if (bytes.size() >= kBlock && value_at<Address>(bytes, kGlibcSelf) == block) {
      add(value_at<std::int32_t>(bytes, kGlibcTid), block);
    } else if (lost_.contains(value_at<std::int32_t>(bytes, kMuslTid)) &&
               is_in_ring(block, bytes)) {
      add(value_at<std::int32_t>(bytes, kMuslTid), block);
    }
  }

  // An empty list begins with its own address, too; but the neighbours of a thread of musl's point
  // back to it.
  bool is_in_ring(Address block, std::span<const std::byte> bytes) {
    if (neighbours_left_ == 0) return false;
    --neighbours_left_;
    std::array<std::byte, kMuslNext + kWord> next{};
    std::array<std::byte, kMuslNext + kWord> previous{};
    const auto next_at = value_at<Address>(bytes, kMuslNext);
    const auto previous_at = value_at<Address>(bytes, kMuslPrevious);
    return memory_.read(next_at, next) && value_at<Address>(next, 0) == next_at &&
           value_at<Address>(next, kMuslPrevious) == block && memory_.read(previous_at, previous) &&
           value_at<Address>(previous, 0) == previous_at &&
           value_at<Address>(previous, kMuslNext) == block;
  }

  void add(std::int32_t tid, Address block) {
    auto lost = lost_.find(tid);
    if (lost == lost_.end() || lost->second.found.size() == 2) return;
    lost->second.found.push_back(block);
  }

  const DumpedMemory& memory_;
  std::map<std::int32_t, Lost> lost_;  // by thread ID
  std::uint64_t left_ = kMostMemory;
  std::size_t neighbours_left_ = kMostNeighbours;
};

}  // namespace

void find_lost_thread_pointers(const std::vector<CoreSegment>& segments, const DumpedMemory& memory,
                               std::vector<CoreThread>& threads) {
  BlockSearch search(memory, threads);
  if (!search.is_needed()) return;
  // The start of the search by segment: several stacks may be in one.
  std::map<const CoreSegment*, std::uint64_t> stacks;
  for (const CoreThread& thread : threads) {
    const Address sp = thread.registers.dwarf[kStackPointer] & ~(Address{kWord} - 1);
    const CoreSegment* segment = find_segment(segments, sp);
    if (segment == nullptr) continue;
    const std::uint64_t offset = sp - segment->start;
    const auto [known, is_new] = stacks.emplace(segment, offset);
    if (!is_new) known->second = std::min(known->second, offset);
  }
  for (const auto& [segment, offset] : stacks) search.search(*segment, offset);
  for (const CoreSegment& segment : segments) {
    if (!stacks.contains(&segment)) search.search(segment, 0);
  }
  search.finish();
}

}  // namespace labelscope

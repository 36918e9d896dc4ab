// Words that imitate glibc's locks, and say something wrong: nobody owns any of them. (For
// FUTEX_LOCK_PI there is none, since the kernel refuses it.)
#pragma once

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace labelscope::test {

inline std::uint32_t own_number() { return static_cast<std::uint32_t>(gettid()); }

inline long futex(const void* address, int operation, std::uint32_t value) {
  return syscall(SYS_futex, address, operation, value, nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
}

// Memory like that of glibc's locks, at the end of a page that nothing follows.
struct Imitation {
  std::array<std::uint32_t, 10> words{};
  std::size_t futex_at = 0;
  int operation = FUTEX_WAIT_PRIVATE;
};

class Imitations {
 public:
  // `innocent` is the number of a thread that holds no lock.
  Imitations(std::uint32_t innocent, const std::atomic<bool>& over)
      : innocent_(innocent), over_(over) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto* pages = static_cast<std::byte*>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0) std::abort();
    end_ = reinterpret_cast<std::uint32_t*>(pages + page);
  }

  // Sleeps on the next imitation, until it is woken.
  void sleep() {
    const Imitation imitation = make(round_++);
    // The last one has only its futex in the page.
    const std::size_t count =
        round_ % kKinds == 0 ? imitation.futex_at + 1 : imitation.words.size();
    std::uint32_t* words = end_ - count;
    std::memcpy(words, imitation.words.data(), count * sizeof(std::uint32_t));
    const std::uint32_t* word = words + imitation.futex_at;
    at_ = word;
    const std::uint32_t number = done_;
    while (done_ == number && !over_) futex(word, imitation.operation, *word);
  }
  void wake() {
    ++done_;
    const std::uint32_t* word = at_;
    if (word == nullptr) return;
    futex(word, FUTEX_WAKE_PRIVATE, 1);
    futex(word, FUTEX_WAKE, 1);
  }

 private:
  static constexpr unsigned kKinds = 18;

  // A mutex: lock, count, owner, users, kind, spins, and a list of two pointers.
  Imitation make(unsigned round) const {
    const std::uint32_t other = innocent_;
    const auto parent = static_cast<std::uint32_t>(getppid());
    const std::uint32_t waits = FUTEX_WAITERS;
    switch (round % kKinds) {
      case 0:  // the one that waits itself
        return {{2, 0, own_number(), 1}};
      case 1:  // a thread of another process
        return {{2, 0, parent, 1}};
      case 2:  // nobody
        return {{2, 0, 0x3ffffff0, 1}};
      case 3:
        return {{2, 0, 0xffffffff, 1}};
      case 4:  // nobody uses it
        return {{2, 0, other, 0}};
      case 5:  // of no kind that there is
        return {{2, 0, other, 1, 0x4000}};
      case 6:  // not robust, but in a list
        return {{2, 0, other, 1, 0, 0, 0x1234}};
      case 7:  // not recursive, but held twice
        return {{2, 2, other, 1}};
      case 8:  // other processes may use it: the owner may count in another namespace
        return {{2, 0, other, 1, 128}, 0, FUTEX_WAIT};
      case 9:  // not robust, but with a robust one's word
        return {{waits | other, 0, other, 1}};
      case 10:  // robust, and its two owners differ
        return {{waits | other, 0, other + 1, 1, 16}, 0, FUTEX_WAIT};
      case 15:  // robust, and in no list of its owner
        return {{waits | other, 1, other, 1, 16 | 128}, 0, FUTEX_WAIT};
      case 11:  // a pair of values of Rust's mutex, whose data are a number of a thread
        return {{2, 0, other, 1}, 0, FUTEX_WAIT_BITSET_PRIVATE};
      case 12:  // a read-write lock whose writer is the one that waits
        return {{3, 0, 3, 1, 0, 0, own_number(), 0}, 2, FUTEX_WAIT_BITSET_PRIVATE};
      case 13:  // a read-write lock that nobody has locked to write
        return {{1, 0, 3, 1, 0, 0, other, 0}, 2, FUTEX_WAIT_BITSET_PRIVATE};
      case 14:  // a read-write lock with something between
        return {{3, 0, 3, 1, 7, 0, other, 0}, 2, FUTEX_WAIT_BITSET_PRIVATE};
      case 16:  // a mutex to the last word, but another thread lets go of it
        return {{2, 0, other, 1}};
      default:  // its memory ends behind the futex
        return {{2}};
    }
  }

  std::uint32_t innocent_;
  const std::atomic<bool>& over_;
  std::uint32_t* end_ = nullptr;
  unsigned round_ = 0;
  std::atomic<const std::uint32_t*> at_ = nullptr;
  std::atomic<std::uint32_t> done_ = 0;
};

}  // namespace labelscope::test

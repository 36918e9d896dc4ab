// An allocator for large arrays that are accessed at random, and grow. They have pages of their
// own, which go back to the kernel when an array has grown out of them: in the heap of malloc they
// would stay, between other things. And the kernel is asked for huge pages, because with small ones
// nearly every access would wait for an address to be translated.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace labelscope::cli {

template <class T>
class PageAllocator {
 public:
  using value_type = T;

  PageAllocator() = default;
  template <class Other>
  explicit PageAllocator(const PageAllocator<Other>&) {}

  T* allocate(std::size_t count) {
    const std::size_t size = count * sizeof(T);
    if (size < kLeastSize) return static_cast<T*>(::operator new(size));
    void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    madvise(pages, size, MADV_HUGEPAGE);  // an older kernel, or one without them, does not matter
    return static_cast<T*>(pages);
  }
  void deallocate(T* start, std::size_t count) {
    const std::size_t size = count * sizeof(T);
    if (size < kLeastSize) {
      ::operator delete(start);
    } else {
      munmap(start, size);
    }
  }
  bool operator==(const PageAllocator&) const = default;

 private:
  static constexpr std::size_t kLeastSize = 256UL * 1024;
};

}  // namespace labelscope::cli

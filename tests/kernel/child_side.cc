// The child's half of sampled_child.h, which programs use that are not tests, too.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "kernel/sampled_child.h"

extern "C" {
// This is volatile, so that the stores are done when a sample comes.
static __thread custom_labels_labelset_t* volatile test_current_set;
// The linker defines these for a section whose name is an identifier.
extern const char __start_labelscope_burn[];  // NOLINT: the linker's name
extern const char __stop_labelscope_burn[];   // NOLINT: the linker's name
}

namespace labelscope::test {
namespace {

std::uint64_t thread_pointer() {
#if defined(__x86_64__)
  std::uint64_t value = 0;
  __asm__("mov %%fs:0, %0" : "=r"(value));
  return value;
#else
  std::uint64_t value = 0;
  __asm__("mrs %0, tpidr_el0" : "=r"(value));
  return value;
#endif
}

std::uint64_t address_of_variable() {
  return reinterpret_cast<std::uint64_t>(const_cast<custom_labels_labelset_t**>(&test_current_set));
}

__attribute__((noinline, section("labelscope_burn"))) void burn_some() {
  volatile int rounds = 0;
  while (rounds < 20000) rounds = rounds + 1;
}

}  // namespace

custom_labels_label_t label(const std::string& key, const std::string& value) {
  // Sets point to these bytes until the process ends. Each has an allocation of its own, scattered
  // as on any heap.
  static std::vector<std::unique_ptr<unsigned char[]>> kept;
  auto copy = [](const std::string& text) {
    // There is one byte more, so that an empty string has an address, too.
    kept.push_back(std::make_unique<unsigned char[]>(text.size() + 1));
    std::copy(text.begin(), text.end(), kept.back().get());
    return custom_labels_string_t{text.size(), kept.back().get()};
  };
  return {copy(key), copy(value)};
}

// The kernel joins none of these, because they all begin at the same place of the file.
std::uint64_t map_code(unsigned times) {
  constexpr std::size_t kTwoPages = 8192;
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  void* last = nullptr;
  for (unsigned i = 0; i < times; ++i) {
    last = mmap(nullptr, kTwoPages, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 4096);
  }
  close(file);
  return reinterpret_cast<std::uint64_t>(last);
}

void publish(custom_labels_labelset_t* set) { test_current_set = set; }

void publish_labels(std::vector<custom_labels_label_t>& slots) {
  auto* set = new custom_labels_labelset_t{slots.data(), slots.size(), slots.size()};
  publish(set);
}

std::uint64_t label_offset() { return address_of_variable() - thread_pointer(); }

void burn(const std::function<bool()>& done) {
  while (!done()) {
    for (int i = 0; i < 50; ++i) burn_some();
  }
}

std::pair<std::uint64_t, std::uint64_t> burn_code() {
  return {reinterpret_cast<std::uint64_t>(__start_labelscope_burn),
          reinterpret_cast<std::uint64_t>(__stop_labelscope_burn)};
}

void ChildSide::say(std::uint64_t number) const {
  if (write(out_, &number, sizeof(number)) != sizeof(number)) _exit(90);
}

bool ChildSide::told() const {
  pollfd ready{in_, POLLIN, 0};
  return poll(&ready, 1, 0) > 0;
}

void ChildSide::wait_until_told() const {
  pollfd ready{in_, POLLIN, 0};
  poll(&ready, 1, -1);
}

void ChildSide::take() const {
  char byte = 0;
  // The pipe ends when the parent is gone, and then the child ends, too.
  if (read(in_, &byte, 1) != 1) _exit(91);
}

void ChildSide::burn_until_told() const {
  burn([this] { return told(); });
  take();
}

}  // namespace labelscope::test

#include "bpf/sampling/thread_times.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "bpf/wire/wire.h"

namespace labelscope {
namespace {

// The kernel hands out at most 32 KiB at a time.
constexpr std::size_t kMostTimes = (32 << 10) / sizeof(ls_thread_time);

}  // namespace

ThreadTimes::~ThreadTimes() { bpf_link__destroy(link_); }

Status ThreadTimes::open(const bpf_object* object, unsigned reads) {
  bpf_program* program = bpf_object__find_program_by_name(object, "thread_times");
  link_ = bpf_program__attach_iter(program, nullptr);
  if (!link_) return system_error(errno, "cannot attach the BPF program thread_times");
  for (unsigned i = 0; i < reads; ++i) {
    UniqueFd iterator(bpf_iter_create(bpf_link__fd(link_)));
    if (!iterator.valid()) return system_error(errno, "cannot start a BPF iterator");
    iterators_.push_back(std::move(iterator));
  }
  return {};
}

std::optional<ThreadTimes::ByProcess> ThreadTimes::read() {
  if (iterators_.empty()) return std::nullopt;
  const UniqueFd iterator = std::move(iterators_.back());
  iterators_.pop_back();
  return read(iterator);
}

std::optional<ThreadTimes::ByProcess> ThreadTimes::read_once_more() {
  if (link_ == nullptr) return std::nullopt;
  const UniqueFd iterator(bpf_iter_create(bpf_link__fd(link_)));
  return iterator.valid() ? read(iterator) : std::nullopt;
}

std::optional<ThreadTimes::ByProcess> ThreadTimes::read(const UniqueFd& iterator) {
  ByProcess all;
  std::array<ls_thread_time, kMostTimes> times;
  const auto bytes = std::as_writable_bytes(std::span(times));
  std::size_t filled = 0;  // less than one entry, from the read before
  for (;;) {
    const ssize_t got = ::read(iterator.get(), &bytes[filled], bytes.size() - filled);
    // EAGAIN means that the iterator has skipped a million other tasks and must be called again.
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return all;
    filled += static_cast<std::size_t>(got);
    const std::size_t whole = filled / sizeof(ls_thread_time);
    for (const ls_thread_time& time : std::span(times).first(whole)) {
      all[static_cast<Pid>(time.pid)].push_back(
          {static_cast<Tid>(time.tid), time.thread_ns, time.identity, 0, time.is_worker != 0});
    }
    const std::size_t taken = whole * sizeof(ls_thread_time);
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(taken),
              bytes.begin() + static_cast<std::ptrdiff_t>(filled), bytes.begin());
    filled -= taken;
  }
}

}  // namespace labelscope

#include "bpf/unwind/table_builder.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/deaf_thread.h"

namespace labelscope {
namespace {

// Files that wait may take this part of the limit on open files: 64 for a limit of 1,024.
constexpr std::size_t kShare = 16;
constexpr std::size_t kFewest = 8;
constexpr std::size_t kMost = 4096;

}  // namespace

TableBuilder::TableBuilder(Build build)
    : build_(std::move(build)),
      most_asked_(kFewest),
      ready_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  most_asked_ = std::clamp(static_cast<std::size_t>(limit.rlim_cur) / kShare, kFewest, kMost);
}

TableBuilder::~TableBuilder() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    asked_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool TableBuilder::has_room() const {
  const std::lock_guard lock(mutex_);
  return asked_.size() < most_asked_;
}

bool TableBuilder::is_idle() const {
  const std::lock_guard lock(mutex_);
  return asked_.empty() && !busy_;
}

void TableBuilder::prefer(std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(asked_, key, &Asked::key);
  if (found == asked_.end() || found->order == Order::kFirst) return;
  const auto front = std::ranges::find(asked_, Order::kThen, &Asked::order);
  std::rotate(front, found, found + 1);
}

bool TableBuilder::has_thread() {
  if (thread_.joinable()) return true;
  thread_ = start_deaf_thread([this] { run(); });  // if there is none, the next file tries again
  return thread_.joinable();
}

void TableBuilder::ask(std::uint64_t key, UniqueFd file, Order order) {
  const bool can_build = has_thread();
  const std::lock_guard lock(mutex_);
  if (!can_build) {
    built_.push_back({key, Error{ErrorCode::kLimit, "no thread can be started to build it"}});
    static_cast<void>(::eventfd_write(ready_.get(), 1));
  } else {
    const auto before = std::ranges::find_if(
        asked_, [&](const Asked& each) { return order == Order::kFirst && each.order != order; });
    asked_.insert(before, {key, std::move(file), order});
    changed_.notify_all();
  }
}

std::vector<TableBuilder::Built> TableBuilder::take() {
  const std::lock_guard lock(mutex_);
  eventfd_t ignored = 0;
  static_cast<void>(::eventfd_read(ready_.get(), &ignored));
  return std::exchange(built_, {});
}

bool TableBuilder::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [this] { return asked_.empty() && !busy_; });
}

void TableBuilder::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !asked_.empty(); });
    if (ends_) return;
    Asked next = std::move(asked_.front());
    asked_.pop_front();
    busy_ = true;
    lock.unlock();
    Built built{next.key, Error{ErrorCode::kLimit, "it needs more memory than there is"}};
    try {
      built.table = build_(std::move(next.file));
    } catch (const std::bad_alloc&) {
      // This file then has no table. No other exception may be thrown (CONTRIBUTING.md).
    }
    lock.lock();
    busy_ = false;
    built_.push_back(std::move(built));
    if (asked_.empty()) static_cast<void>(::eventfd_write(ready_.get(), 1));
    changed_.notify_all();
  }
}

}  // namespace labelscope

#include "bpf/table_builder.h"

#include <sys/resource.h>

#include <csignal>
#include <utility>

namespace labelscope {

TableBuilder::~TableBuilder() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    asked_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TableBuilder::ask(std::uint64_t key, UniqueFd file) {
  if (!thread_.joinable()) {
    // Signals are for the threads that wait for them.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back({key, std::move(file)});
  }
  changed_.notify_all();
}

std::vector<TableBuilder::Built> TableBuilder::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(built_, {});
}

bool TableBuilder::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [this] { return asked_.empty() && !busy_; });
}

void TableBuilder::run() {
  // labelscope goes before other programs while it samples; this is work that can wait for them.
  ::setpriority(PRIO_PROCESS, 0, 5);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !asked_.empty(); });
    if (ends_) return;
    Asked next = std::move(asked_.front());
    asked_.pop_front();
    busy_ = true;
    lock.unlock();
    Built built{next.key, build_(std::move(next.file))};
    lock.lock();
    busy_ = false;
    built_.push_back(std::move(built));
    changed_.notify_all();
  }
}

}  // namespace labelscope

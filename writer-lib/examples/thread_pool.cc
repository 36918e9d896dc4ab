// The threads of this pool work for many requests: each task runs under the labels of the thread
// that submitted it, and between tasks a thread has none. One line in submit() does it.
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "customlabels/pprof.hpp"

namespace labels = customlabels::labels;

namespace {

class ThreadPool {
 public:
  explicit ThreadPool(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  // Finishes the tasks that were submitted before.
  ~ThreadPool() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void submit(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push(labels::Inherit(std::move(task)));  // <- the one line
    }
    wake_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::queue<std::function<void()>> tasks_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

std::string tenant_now() { return std::string(labels::Label("tenant").value_or("none")); }

}  // namespace

int main() {
  constexpr int kRequests = 100;
  std::vector<std::string> seen(kRequests);
  {
    ThreadPool pool(4);
    for (int i = 0; i < kRequests; ++i) {
      // Each request has its own tenant, and its task outlives it.
      labels::Do(labels::Labels("tenant", "tenant " + std::to_string(i % 7)),
                 [&] { pool.submit([&seen, i] { seen[i] = tenant_now(); }); });
    }
  }
  for (int i = 0; i < kRequests; ++i) {
    const std::string submitted_by = "tenant " + std::to_string(i % 7);
    if (seen[i] == submitted_by) continue;
    std::printf("task %d of %s ran under %s\n", i, submitted_by.c_str(), seen[i].c_str());
    return 1;
  }
  std::printf("%d tasks ran under their submitters' labels; now: %s\n", kRequests,
              tenant_now().c_str());
  return tenant_now() == "none" ? 0 : 1;
}

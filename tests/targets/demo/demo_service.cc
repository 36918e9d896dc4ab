// labelscope-demo-service: a small service to profile. Workers serve requests of three tenants on
// two routes and label each with tenant and http.route; CPU time splits 60/30/10 % by tenant and
// 70/30 % by route.
//
// It prints `ready pid N` first and its truth as one line of JSON last: CPU time by label, measured
// by the workers' own CPU clocks. It ends after --seconds, or on SIGINT or SIGTERM.
#include <getopt.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "customlabels/labels.hpp"
#include "scheduler.h"
#include "work.h"

namespace {

// This is long enough to outweigh the scheduler's lock, and short enough for the split to hold
// within a second.
constexpr std::int64_t kRequestNs = 2'000'000;
constexpr int kMaxSeconds = 86'400;
constexpr int kMaxThreads = 256;
constexpr int kUsageError = 2;

const char kUsage[] =
    "usage: labelscope-demo-service [--seconds N] [--threads N] [--request-id]\n"
    "  --seconds N    run for N seconds, 1 to 86400 (default 30)\n"
    "  --threads N    worker threads, 1 to 256 (default: one per CPU, at least 2)\n"
    "  --request-id   label each request with request.id as well\n";

struct Options {
  int seconds = 30;
  int threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 2U, 256U));
  bool request_id = false;
};

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool parse_number(const char* text, int max, int& number) {
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, number);
  return parsed.ec == std::errc() && parsed.ptr == end && number >= 1 && number <= max;
}

std::optional<Options> parse_options(int argc, char** argv) {
  static const option kLong[] = {{"seconds", required_argument, nullptr, 's'},
                                 {"threads", required_argument, nullptr, 't'},
                                 {"request-id", no_argument, nullptr, 'r'},
                                 {nullptr, 0, nullptr, 0}};
  Options options;
  int choice = 0;
  while ((choice = getopt_long(argc, argv, "", kLong, nullptr)) != -1) {
    switch (choice) {
      case 's':
        if (!parse_number(optarg, kMaxSeconds, options.seconds)) return std::nullopt;
        break;
      case 't':
        if (!parse_number(optarg, kMaxThreads, options.threads)) return std::nullopt;
        break;
      case 'r':
        options.request_id = true;
        break;
      default:
        return std::nullopt;
    }
  }
  if (optind != argc) return std::nullopt;
  return options;
}

// Works until the request has had its CPU time. The sum keeps the results from being optimized
// away.
[[gnu::noinline]] std::uint64_t serve_request(const demo::Scheduler::Request& request,
                                              const std::atomic<bool>& stop) {
  const bool is_search = demo::kKinds[request.kind].route == "/search";
  const std::int64_t end = thread_cpu_ns() + kRequestNs;
  std::uint64_t sum = 0;
  std::uint64_t seed = request.id;
  do {
    sum += is_search ? demo::search(seed++) : demo::checkout(seed++);
  } while (thread_cpu_ns() < end && !stop.load(std::memory_order_relaxed));
  return sum;
}

void run_worker(demo::Scheduler& scheduler, const Options& options, const std::atomic<bool>& stop,
                std::atomic<std::uint64_t>& results) {
  while (!stop.load(std::memory_order_relaxed)) {
    const demo::Scheduler::Request request = scheduler.begin();
    const demo::Kind& kind = demo::kKinds[request.kind];
    std::int64_t cpu_ns = 0;
    {
      const customlabels::Scope labels{{"tenant", kind.tenant}, {"http.route", kind.route}};
      const std::int64_t start = thread_cpu_ns();
      if (options.request_id) customlabels::set("request.id", std::to_string(request.id));
      results.fetch_add(serve_request(request, stop), std::memory_order_relaxed);
      cpu_ns = thread_cpu_ns() - start;
    }
    scheduler.finish(request, cpu_ns);
  }
  scheduler.add_thread(thread_cpu_ns());
}

// Waits for SIGINT, SIGTERM or the end of the time.
void wait_for_end(const sigset_t& signals, int seconds) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t start_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  const std::int64_t end_ns = start_ns + std::int64_t{seconds} * 1'000'000'000;
  for (std::int64_t now_ns = start_ns; now_ns < end_ns;) {
    const std::int64_t left = end_ns - now_ns;
    const timespec timeout = {left / 1'000'000'000, left % 1'000'000'000};
    if (sigtimedwait(&signals, nullptr, &timeout) > 0) return;
    // Another signal, or a stop and continue, ends the wait early, so this waits for the rest.
    clock_gettime(CLOCK_MONOTONIC, &now);
    now_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = parse_options(argc, argv);
  if (!options) {
    std::fputs(kUsage, stderr);
    return kUsageError;
  }
  // Signals are blocked before the workers start, so that they inherit the mask and only the wait
  // below takes signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  demo::Scheduler scheduler;
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> results = 0;
  std::vector<std::thread> workers;
  workers.reserve(static_cast<std::size_t>(options->threads));
  for (int i = 0; i < options->threads; ++i) {
    workers.emplace_back([&, i] {
      pthread_setname_np(pthread_self(), ("worker-" + std::to_string(i)).c_str());
      run_worker(scheduler, *options, stop, results);
    });
  }
  std::printf("ready pid %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  wait_for_end(signals, options->seconds);
  stop = true;
  for (std::thread& worker : workers) worker.join();
  std::printf("%s\n", scheduler.truth().c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}

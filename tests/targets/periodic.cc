// A program whose work comes at fixed periods, and which knows how long it did what: the truth for
// shares of time.
//
//   periodic [--seconds N] [--one-processor] THREAD...
//
// Each THREAD does its work again and again:
//   a:6,b:3/10.1   6 ms under the label tenant=a, 3 under b, then sleep until 10.1 ms have passed
//                  since it began; without "/10.1" it never sleeps. "~3": 3 ms on average, at
//                  random. "@3": 3 ms which pass a byte to another thread each 0.1 ms and
//                  wait for it to come back
//   thread!a:1     a new thread for each 1 ms
//   process!a:1    a new process for each 1 ms
//   switch!a       hands a byte to and fro with another thread, as fast as it can
//
// It prints "ready PID", and for each line on stdin one line of JSON: CPU time by label as the
// threads' own clocks have it, and what the process and its children have run in all. Ends with its
// stdin, or after so many seconds, with a last such line.
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "customlabels/labels.hpp"

namespace {

constexpr int kMostLabels = 64;

struct Tally {
  std::array<char, 32> label;
  std::atomic<std::uint64_t> ns;
};
Tally* tallies = nullptr;  // shared with child processes

std::int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Tally* tally_of(const std::string& label) {
  for (int i = 0; i < kMostLabels; ++i) {
    if (tallies[i].label[0] == 0) label.copy(tallies[i].label.data(), 31);
    if (label == tallies[i].label.data()) return &tallies[i];
  }
  std::abort();
}

struct Turn {
  std::string label;
  double ms = 0;
  bool random = false;
  bool passing = false;
  Tally* tally = nullptr;
};

// Another thread, which sends back what it gets.
class Echo {
 public:
  Echo() {
    if (pipe(there_) != 0 || pipe(back_) != 0) std::abort();
    std::thread([from = there_[0], to = back_[1]] {
      char byte = 0;
      while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1) continue;
    }).detach();
  }
  void pass() {
    char byte = 0;
    if (write(there_[1], &byte, 1) != 1 || read(back_[0], &byte, 1) != 1) std::abort();
  }

 private:
  int there_[2];
  int back_[2];
};

void pass_a_byte() {
  thread_local Echo echo;
  echo.pass();
}

// A turn lasts for an amount of CPU time, so that it is as long on a busy machine.
void work(const Turn& turn, std::mt19937& random) {
  double ms = turn.ms;
  if (turn.random) ms *= -std::log(1 - std::uniform_real_distribution<double>(0, 1)(random));
  const customlabels::Scope labels{{"tenant", turn.label}};
  const std::int64_t start = now(CLOCK_THREAD_CPUTIME_ID);
  const std::int64_t end = start + static_cast<std::int64_t>(ms * 1e6);
  std::int64_t at = start;
  std::int64_t next_pass = start;
  while (at < end) {
    // The byte is not passed all the time: by ptrace a thread that works cannot be distinguished
    // from one that waits in a system call, and on processors that switch slowly most of the time
    // would be in there.
    if (turn.passing && at >= next_pass) {
      pass_a_byte();
      next_pass = now(CLOCK_THREAD_CPUTIME_ID) + 100'000;
    }
    at = now(CLOCK_THREAD_CPUTIME_ID);
  }
  turn.tally->ns += static_cast<std::uint64_t>(at - start);
}

struct Job {
  enum class Kind { kTurns, kThreads, kProcesses, kSwitches };
  Kind kind = Kind::kTurns;
  std::vector<Turn> turns;
  double period_ms = 0;
};

Job parse(std::string_view text) {
  Job job;
  for (const auto& [name, kind] :
       {std::pair{"thread!", Job::Kind::kThreads}, std::pair{"process!", Job::Kind::kProcesses},
        std::pair{"switch!", Job::Kind::kSwitches}}) {
    if (!text.starts_with(name)) continue;
    job.kind = kind;
    text.remove_prefix(std::string_view(name).size());
  }
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    job.period_ms = std::stod(std::string(text.substr(slash + 1)));
    text = text.substr(0, slash);
  }
  while (!text.empty()) {
    std::string one(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    Turn turn;
    const auto colon = one.find(':');
    turn.label = one.substr(0, colon);
    if (colon != std::string::npos) {
      turn.random = one[colon + 1] == '~';
      turn.passing = one[colon + 1] == '@';
      turn.ms = std::stod(one.substr(colon + (turn.random || turn.passing ? 2 : 1)));
    }
    turn.tally = tally_of(turn.label);
    job.turns.push_back(turn);
  }
  return job;
}

void sleep_until(std::int64_t ns) {
  const timespec time = {ns / 1'000'000'000, ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
  }
}

void take_turns(const Job& job) {
  std::mt19937 random{std::random_device{}()};
  std::int64_t begin = now(CLOCK_MONOTONIC);
  for (;;) {
    for (const Turn& turn : job.turns) work(turn, random);
    if (job.period_ms == 0) continue;
    begin += static_cast<std::int64_t>(job.period_ms * 1e6);
    if (const std::int64_t late = now(CLOCK_MONOTONIC) - begin; late > 0) begin += late;
    sleep_until(begin);
  }
}

void start_threads(const Job& job) {
  for (;;) {
    std::thread([&] {
      std::mt19937 random{std::random_device{}()};
      for (const Turn& turn : job.turns) work(turn, random);
    }).join();
  }
}

void start_processes(const Job& job) {
  for (;;) {
    const pid_t child = fork();
    if (child == 0) {
      std::mt19937 random{std::random_device{}()};
      for (const Turn& turn : job.turns) work(turn, random);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
}

void switch_about(const Job& job) {
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0) std::abort();
  auto pass = [&job](int from, int to, bool first) {
    const customlabels::Scope labels{{"tenant", job.turns.front().label}};
    char byte = 0;
    if (first && write(to, &byte, 1) != 1) std::abort();
    std::int64_t before = now(CLOCK_THREAD_CPUTIME_ID);
    for (std::uint64_t rounds = 1;; ++rounds) {
      if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1) std::abort();
      if (rounds % 64 != 0) continue;
      const std::int64_t at = now(CLOCK_THREAD_CPUTIME_ID);
      job.turns.front().tally->ns += static_cast<std::uint64_t>(at - before);
      before = at;
    }
  };
  std::thread other(pass, there[0], back[1], false);
  pass(back[0], there[1], true);
}

void run(const Job& job) {
  switch (job.kind) {
    case Job::Kind::kTurns:
      return take_turns(job);
    case Job::Kind::kThreads:
      return start_threads(job);
    case Job::Kind::kProcesses:
      return start_processes(job);
    case Job::Kind::kSwitches:
      return switch_about(job);
  }
}

std::uint64_t children_ns() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000LL +
                  used.ru_utime.tv_usec + used.ru_stime.tv_usec;
  return static_cast<std::uint64_t>(us) * 1000;
}

void stay_on_this_processor() {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &here);
  if (sched_setaffinity(0, sizeof here, &here) != 0) std::abort();
}

void tell() {
  std::printf("{\"process_ns\":%lld,\"children_ns\":%llu,\"labels\":{",
              static_cast<long long>(now(CLOCK_PROCESS_CPUTIME_ID)),
              static_cast<unsigned long long>(children_ns()));
  for (int i = 0; i < kMostLabels && tallies[i].label[0] != 0; ++i) {
    std::printf("%s\"%s\":%llu", i == 0 ? "" : ",", tallies[i].label.data(),
                static_cast<unsigned long long>(tallies[i].ns.load()));
  }
  std::puts("}}");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  void* shared = mmap(nullptr, kMostLabels * sizeof(Tally), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  tallies = static_cast<Tally*>(shared);
  std::vector<Job> jobs;
  double seconds = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--seconds" && i + 1 < argc) {
      seconds = std::stod(argv[++i]);
    } else if (std::string_view(argv[i]) == "--one-processor") {
      stay_on_this_processor();
    } else {
      jobs.push_back(parse(argv[i]));
    }
  }
  std::vector<std::thread> threads;
  threads.reserve(jobs.size());
  for (const Job& job : jobs) threads.emplace_back(run, std::cref(job));
  std::printf("ready %d\n", getpid());
  std::fflush(stdout);
  if (seconds > 0) {
    sleep_until(now(CLOCK_MONOTONIC) + static_cast<std::int64_t>(seconds * 1e9));
  } else {
    for (int letter = 0; (letter = std::getchar()) != EOF;) {
      if (letter == '\n') tell();
    }
  }
  tell();
  _exit(0);
}

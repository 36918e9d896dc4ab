// A made-up machine whose threads wait, for tests of what a recording of waits adds up to. Its
// processes fork, execute other programs and end, with numbers that come again; threads change
// their labels, and make each other wait. It reports this as the sampler would, with losses and
// delays by chance, and knows the truth.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sampling/sampler.h"

namespace labelscope::test {

// What goes wrong in a recording, each by its probability.
struct WaitFaults {
  double label_set_dropped = 0;  // the record that names a number finds no room, and comes again
  double number_forgotten = 0;   // the kernel knows few numbers: it names one again
  double sample_dropped = 0;
  double sample_otherwise = 0;   // a sample has other labels than the total of its wait
  double unreadable = 0;         // the labels of a wait
  double total_without_room = 0;
  double blame_without_room = 0;
  double blamed_too_long = 0;    // parts were added, and their total was not yet
  double fork_lost = 0;
  std::uint64_t requests = 0;    // each wait has one of so many values of a second label
};

// A wait as a table shows it, and what is to blame for it.
struct WaitPlace {
  std::int32_t pid = 0;
  ls_sample_kind kind = LS_WAITING;
  std::int32_t call = LS_CALL_NONE;
  std::string tenant;  // empty: unlabelled; "?": unreadable
  auto operator<=>(const WaitPlace&) const = default;
};
struct Culprit {
  ls_blame_kind kind = LS_BLAME_UNKNOWN;
  std::int32_t pid = 0;
  std::string tenant;
  auto operator<=>(const Culprit&) const = default;
};
struct WaitSum {
  std::uint64_t time_ns = 0;
  std::uint64_t count = 0;
  void add(std::uint64_t ns) {
    time_ns += ns;
    ++count;
  }
  bool operator==(const WaitSum&) const = default;
};

class MadeUpWaits final : public Sampler {
 public:
  static constexpr std::uint64_t kPeriodNs = 10'000'000;
  // No process has so high a number, so nothing is read of other programs.
  static constexpr std::int32_t kFirstNumber = 1 << 23;

  MadeUpWaits(std::uint64_t seed, const WaitFaults& faults);

  Status set_process(Pid, std::span<const ls_tls_recipe>, const PresetPlans&) override {
    return {};
  }
  Status set_before_exec(Pid, UniqueFd) override { return {}; }
  Status remove_process(Pid) override { return {}; }
  ProcessKey key_of(Pid pid) const override {
    for (const Process& process : processes_) {
      if (process.pid == raw(pid)) return process.key();
    }
    return {pid, 0};
  }
  Status start() override { return {}; }
  Status drain(EventHandler& handler, std::chrono::milliseconds timeout) override;
  Status cut(EventHandler& handler) override;
  Status stop(EventHandler& handler) override;
  Counters counters() const override;
  std::vector<WaitTotal> wait_totals() const override;
  std::vector<BlameTotal> blame_totals() const override;
  std::string_view event_name() const override { return "waits"; }

  // drain() returns early when one of these times is reached, which may be in the middle of a wait;
  // then is_at_cut() is true until cut(). What goes on is the same with any of them, and with none.
  void cut_at(std::vector<std::uint64_t> times);
  bool is_at_cut() const { return is_at_cut_; }
  // So many waits are still to come of those that drain() was called for.
  std::int64_t waits_left() const { return waits_left_; }
  std::uint64_t now() const { return now_; }
  // Parts of waits that were handed out at cuts.
  std::uint64_t divided() const { return divided_; }
  void forget_label_numbers(std::span<const std::uint64_t> numbers) override {
    for (const std::uint64_t number : numbers) told_.erase(number);
  }

  Pid first() const { return Pid{processes_.front().pid}; }
  // Waits that have ended, those that were open at the end, and who made whom wait.
  const std::map<WaitPlace, WaitSum>& ended() const { return ended_; }
  const std::map<WaitPlace, WaitSum>& open() const { return open_; }
  const std::map<std::pair<WaitPlace, Culprit>, WaitSum>& blamed() const { return blamed_; }
  std::uint64_t delivered() const { return taken_ - dropped_; }
  // What is blamed on threads under numbers of which no record has come.
  std::uint64_t unnamed_blame_ns() const;

 private:
  struct Labels {
    std::string tenant;
    std::uint64_t request = 0;  // 0: none
    bool operator==(const Labels&) const = default;
  };
  struct Process {
    std::int32_t pid = 0;
    std::uint32_t life = 1;
    std::vector<Labels> threads;
    ProcessKey key() const { return {Pid{pid}, life}; }
  };
  // What the kernel keeps a total under.
  using Key = std::tuple<ProcessKey, ls_sample_kind, std::int32_t, std::uint64_t>;
  using Who = std::tuple<ls_blame_kind, ProcessKey, std::uint64_t, std::string>;

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(double likely) {
    return likely > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < likely;
  }
  std::int32_t new_number();
  Labels new_labels();
  static std::vector<std::byte> bytes_of(const Labels& labels);
  std::uint64_t number_of(const Process& process, const Labels& labels);
  // A wait that has begun, and how it will end.
  struct Begun {
    std::size_t process = 0;
    std::size_t thread = 0;
    Labels labels;
    ls_sample_kind kind = LS_WAITING;
    std::int32_t call = LS_CALL_NONE;
    std::uint64_t number = 0;
    std::uint64_t ns = 0;
    std::uint64_t began = 0;
    std::uint64_t from = 0;  // what was before is of windows before
  };
  void begin_wait();
  bool pass_until_cut();
  void end_wait();
  void sample(const Process& process, std::size_t thread, const Labels& labels, const Key& key,
              std::uint64_t weight_ns, std::uint32_t flags, std::uint64_t number = 0);
  void blame(const WaitPlace& place, const Key& key, std::uint64_t ns);
  void change_something();
  void take_out();

  std::mt19937_64 random_;
  WaitFaults faults_;
  EventHandler* handler_ = nullptr;
  std::uint64_t now_ = 1'000'000;
  std::vector<std::uint64_t> cuts_;  // the next one is the last element
  bool is_at_cut_ = false;
  std::optional<Begun> begun_;
  std::int64_t waits_left_ = 0;
  std::uint64_t divided_ = 0;
  std::vector<Process> processes_;
  std::uint32_t lives_ = 1;
  std::set<std::uint64_t> told_;
  std::set<std::uint64_t> ever_told_;
  std::map<std::uint64_t, std::uint64_t> blamed_on_;  // by number
  std::map<Key, WaitTotal> totals_;
  std::map<std::pair<Key, Who>, WaitSum> blames_;
  std::map<ls_sample_kind, std::uint64_t> untold_ns_;
  std::map<WaitPlace, WaitSum> ended_;
  std::map<WaitPlace, WaitSum> open_;
  std::map<std::pair<WaitPlace, Culprit>, WaitSum> blamed_;
  std::uint64_t taken_ = 0;
  std::uint64_t dropped_ = 0;
  std::array<std::uint64_t, LS_OUTCOME_COUNT> outcomes_{};
};

}  // namespace labelscope::test

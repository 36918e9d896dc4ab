// Programs that are made to fill the memory of who records them: with label sets, pairs of them,
// processes and system calls without end.
#include "cli/profile/most_rows.h"

#include <malloc.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cli/profile/blame.h"
#include "cli/profile/profile_builder.h"
#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

constexpr ls_sample_kind kWaitKinds[] = {LS_WAITING, LS_RUNNABLE};
constexpr std::string_view kTenants[] = {"acme", "globex", "initech"};

// A request's labels: a tenant of few, and a number of its own.
struct Requests final : ProcessContext {
  Index module_at(Address) override { return kNoIndex; }
  Index kernel_module() override { return 0; }
  std::uint64_t address_epoch() const override { return 0; }
  std::uint64_t publisher_epoch() const override { return 0; }
  std::uint8_t publisher(std::uint8_t index) const override { return index; }
  Observation decode(std::span<const std::byte> bytes) override {
    Observation seen;
    if (bytes.empty()) return seen;
    std::uint32_t request = 0;
    std::memcpy(&request, bytes.data(), sizeof request);
    seen.outcome = LS_LABELLED;
    seen.labels = {{"request", std::to_string(request), 0},
                   {"tenant", std::string(kTenants[request % std::size(kTenants)]), 0}};
    return seen;
  }
};

// What a test does to a builder, a batch of totals at a time, as they come out of the kernel.
class Flood {
 public:
  explicit Flood(const WaitLimits& limits) : builder_(0, 1000, {}, kWaitKinds, limits) {
    before_ = used();
  }

  static std::uint64_t number_of(std::uint32_t request) { return 1'000'000 + request; }
  void name(std::uint32_t request) {
    builder_.numbered().name(number_of(request), std::as_bytes(std::span(&request, 1)), requests_);
  }
  WaitTotal& wait(std::uint64_t number, std::uint64_t ns, Pid pid = Pid{1}, int call = SYS_futex) {
    WaitTotal total;
    total.process = {pid, 1};
    total.system_call = call;
    total.labels = number;
    total.time_ns = ns;
    total.count = 1;
    total.lengths[ls_wait_bucket(ns)] = 1;
    waits_.push_back(total);
    return waits_.back();
  }
  // The wait is because of a thread with these labels.
  void blame(const WaitTotal& wait, std::uint64_t number) {
    BlameTotal total;
    total.wait = wait;
    total.kind = LS_BLAME_THREAD;
    total.process = {Pid{1}, 1};
    total.labels = number;
    blame_.push_back(total);
  }
  void sample(std::uint32_t request, std::uint64_t weight_ns, Pid pid = Pid{1}) {
    Sample sample;
    sample.process = {pid, 1};
    sample.tid = Tid{raw(pid)};
    sample.kind = LS_WAITING;
    sample.system_call = SYS_futex;
    sample.outcome = LS_LABELLED;
    sample.label_bytes = std::as_bytes(std::span(&request, 1));
    sample.weight_ns = weight_ns;
    requests_.row = row_of(pid);
    builder_.add(sample, requests_);
  }
  void take_out() {
    const FindProcessOfWaits find = [&](ProcessKey key) {
      requests_.row = row_of(key.pid);
      return process_of_waits(requests_);
    };
    builder_.add_blame(blame_, find, true);
    builder_.add_totals(waits_, find, true);
    blame_.clear();
    waits_.clear();
    most_ = std::max(most_, used() - std::min(before_, used()));
  }
  Profile take() {
    take_out();
    Profile profile = builder_.take();
    complete_blame(profile);
    return profile;
  }
  const ProfileBuilder& builder() const { return builder_; }
  std::uint64_t most_mb() const { return most_ >> 20; }

 private:
  // Numbers begin at 1.
  Index row_of(Pid pid) {
    const auto row = static_cast<Index>(raw(pid) - 1);
    while (entered_ <= row) {
      builder_.enter(Pid{static_cast<std::int32_t>(entered_ + 1)});
      ++entered_;
    }
    return row;
  }
  static std::uint64_t used() {
    const auto heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
  }

  Requests requests_;
  ProfileBuilder builder_;
  std::vector<WaitTotal> waits_;
  std::vector<BlameTotal> blame_;
  std::uint64_t before_ = 0;
  std::uint64_t most_ = 0;
  Index entered_ = 0;
};

std::string tenant_of(const Profile& profile, Index set) {
  const LabelSet& labels = profile.label_sets.at(set);
  const auto label = std::ranges::find(labels, "tenant", &Label::key);
  return label == labels.end() ? std::string() : label->value;
}

std::map<std::string, std::uint64_t> by_tenant(const Profile& profile, const auto& rows) {
  std::map<std::string, std::uint64_t> sums;
  for (const auto& row : rows) {
    if constexpr (requires { row.by; }) {
      sums[tenant_of(profile, row.label_set)] += row.time_ns;
    } else {
      sums[tenant_of(profile, row.label_set)] += row.weight_ns;
    }
  }
  return sums;
}

bool is_thorough() { return std::getenv("LABELSCOPE_THOROUGH") != nullptr; }

}  // namespace

TEST_CASE("most rows: label sets without end take little memory, and other labels are exact") {
  const std::uint32_t requests = is_thorough() ? 10'000'000 : 400'000;
  constexpr std::uint32_t kBatch = 16'384;
  WaitLimits limits;
  if (!is_thorough()) limits = {.label_sets = 4096, .totals = 8192, .blame = 16'384};
  Flood flood(limits);
  std::map<std::string, std::uint64_t> truth;
  for (std::uint32_t first = 0; first < requests; first += kBatch) {
    for (std::uint32_t i = 0; i < kBatch; ++i) {
      const std::uint32_t request = first + i;
      flood.name(request);
      const WaitTotal& wait = flood.wait(Flood::number_of(request), 1000 + i);
      truth[std::string(kTenants[request % std::size(kTenants)])] += wait.time_ns;
      flood.blame(wait, Flood::number_of(request - request % 7));
    }
    flood.take_out();
  }
  CHECK(flood.most_mb() < (is_thorough() ? 400 : 100));
  const Profile profile = flood.take();
  CHECK(by_tenant(profile, profile.rows) == truth);
  CHECK(by_tenant(profile, profile.blame) == truth);
  CHECK(profile.waits.size() <= limits.totals);
  CHECK(profile.blame.size() <= limits.blame + profile.waits.size());
}

TEST_CASE("most rows: of pairs without end those with most time have rows, and the rest has one") {
  constexpr std::uint32_t kSets = 1000;
  constexpr std::size_t kMost = 4000;
  Flood flood({.label_sets = 4096, .totals = 8192, .blame = kMost});
  std::map<std::string, std::uint64_t> truth;
  for (std::uint32_t set = 0; set < kSets; ++set) flood.name(set);
  std::uint64_t waits = 0;
  for (std::uint32_t waiter = 0; waiter < kSets; ++waiter) {
    for (std::uint32_t by = 0; by < kSets; by += 2, ++waits) {
      const bool is_long = waiter == 17 && by == 42;
      const WaitTotal& wait = flood.wait(Flood::number_of(waiter), is_long ? 5'000'000 : 10 + by);
      truth[std::string(kTenants[waiter % std::size(kTenants)])] += wait.time_ns;
      flood.blame(wait, Flood::number_of(by));
    }
    if (waiter % 16 == 0) flood.take_out();
  }
  const Profile profile = flood.take();
  CHECK(profile.blame.size() <= kMost);
  CHECK(by_tenant(profile, profile.rows) == truth);
  CHECK(by_tenant(profile, profile.blame) == truth);
  const auto longest = std::ranges::max_element(profile.blame, {}, [](const BlameRow& row) {
    return row.by.kind == LS_BLAME_THREAD ? row.time_ns : 0;
  });
  CHECK(longest->time_ns == 5'000'000);
  CHECK(tenant_of(profile, longest->label_set) == kTenants[17 % 3]);
  CHECK(tenant_of(profile, longest->by.label_set) == kTenants[42 % 3]);
  std::uint64_t left_out = 0;
  for (const BlameRow& row : profile.blame) {
    CHECK(row.by.kind != LS_BLAME_UNKNOWN);
    if (row.by.kind == LS_BLAME_MANY) left_out += row.count;
  }
  CHECK(left_out > waits / 2);
  CHECK(flood.builder().left_out().blamed_waits == left_out);
}

TEST_CASE("most rows: totals beyond the limit are exact by the labels that have few values") {
  constexpr std::uint32_t kRequests = 20'000;
  constexpr std::size_t kMost = 500;
  Flood flood({.label_sets = 400, .totals = kMost, .blame = 1000});
  std::map<std::string, std::uint64_t> truth;
  for (std::uint32_t request = 0; request < kRequests; ++request) {
    flood.name(request);
    for (const int call : {SYS_read, SYS_write}) {
      const WaitTotal& wait = flood.wait(Flood::number_of(request), 1000 + request, Pid{1}, call);
      truth[std::string(kTenants[request % std::size(kTenants)])] += wait.time_ns;
    }
    // Chance shows some far too often.
    if (request % 100 == 1) flood.sample(request, 1'000'000'000);
    if (request % 1000 == 0) flood.take_out();
  }
  const Profile profile = flood.take();
  CHECK(profile.waits.size() <= kMost);
  CHECK(by_tenant(profile, profile.rows) == truth);
  CHECK(flood.builder().left_out().waits == 0);
}

TEST_CASE("most rows: of processes without end the largest have rows, and samples show the rest") {
  constexpr std::int32_t kProcesses = 400'000;
  constexpr std::size_t kMost = 1000;
  Flood flood({.label_sets = 4096, .totals = kMost, .blame = 1000});
  flood.name(0);
  flood.name(1);
  std::uint64_t all_ns = 0;
  std::uint64_t of_first_ns = 0;
  for (std::int32_t pid = 1; pid <= kProcesses; ++pid) {
    const std::uint32_t request = pid % 4 == 0 ? 0 : 1;
    const bool is_long = pid % 1000 == 0;
    const std::uint64_t ns = is_long ? 1'000'000'000 : 1000;
    all_ns += flood.wait(Flood::number_of(request), ns, Pid{pid}).time_ns;
    if (request == 0) of_first_ns += ns;
    if (pid % 100 == 0) flood.sample(request, is_long ? ns : 100'000, Pid{pid});
    if (pid % 16'384 == 0) flood.take_out();
  }
  const Profile profile = flood.take();
  std::uint64_t rows_ns = 0;
  std::uint64_t long_rows = 0;
  for (const SampleRow& row : profile.rows) {
    rows_ns += row.weight_ns;
    long_rows += row.weight_ns >= 990'000'000 && row.weight_ns < 1'010'000'000 ? 1 : 0;
  }
  CHECK(rows_ns == all_ns);
  CHECK(profile.ledger.time.unsampled_ns == 0);
  CHECK(long_rows == kProcesses / 1000);
  CHECK(flood.builder().left_out().waits > kProcesses / 2);
  const auto sums = by_tenant(profile, profile.rows);
  const double share = static_cast<double>(sums.at("acme")) / static_cast<double>(of_first_ns);
  CHECK(share > 0.99);
  CHECK(share < 1.01);
}

TEST_CASE("most rows: system calls without end have no row for each label set") {
  constexpr std::size_t kSets = 64;
  Flood flood({.label_sets = kSets, .totals = 1000, .blame = 1000});
  for (std::uint32_t set = 0; set < kSets; ++set) flood.name(set);
  std::uint64_t all_ns = 0;
  for (int call = 0; call < 10'000; ++call) {
    for (std::uint32_t set = 0; set < kSets; ++set)
      all_ns += flood.wait(Flood::number_of(set), 10, Pid{1}, call).time_ns;
    if (call % 100 == 0) flood.take_out();
  }
  const Profile profile = flood.take();
  CHECK(profile.label_sets.size() <= 16 * kSets);
  CHECK(profile.waits.size() <= 1000);
  std::uint64_t rows_ns = profile.ledger.time.unsampled_ns;
  for (const SampleRow& row : profile.rows) rows_ns += row.weight_ns;
  CHECK(rows_ns == all_ns);
}

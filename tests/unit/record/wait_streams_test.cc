// Made-up recordings of waits (made_up_waits.h). Whatever comes, the sums must hold: samples have
// the time of the totals, totals that of the machine, and each row of blame adds up to its total,
// in the recording and in what is made of it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cli/answer/blame.h"
#include "cli/answer/selection.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/profile/blame.h"
#include "cli/profile/idle.h"
#include "cli/profile/merge.h"
#include "cli/profile/value_caps.h"
#include "cli/profile/wait_reason.h"
#include "cli/record/recorder.h"
#include "support/catch.h"
#include "unit/record/made_up_waits.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;

namespace {

constexpr ls_sample_kind kKinds[] = {LS_WAITING, LS_RUNNABLE, LS_UNINTERRUPTIBLE};

std::string value_of(const LabelSet& labels, std::string_view key) {
  const auto label = std::ranges::find(labels, key, &Label::key);
  return label == labels.end() ? std::string() : label->value;
}

// The place of a row that is a part of a WaitGroup.
struct Place {
  std::int32_t pid = 0;
  std::uint8_t value = 0;
  std::string reason;
  std::string tenant;
  auto operator<=>(const Place&) const = default;
};
using Sums = std::map<Place, std::uint64_t>;

class Places {
 public:
  explicit Places(const Profile& profile) : profile_(profile) {}
  Place of(Pid pid, std::uint8_t value, Index set, std::uint8_t outcome) const {
    Place place{raw(pid), value, {}, {}};
    if (set != kNoIndex) {
      place.reason = value_of(profile_.label_sets.at(set), kWaitKey);
      place.tenant = value_of(profile_.label_sets.at(set), "tenant");
    }
    if (is_unreadable(outcome)) place.tenant = "?";
    return place;
  }
  Place of(const WaitGroup& group) const {
    return of(profile_.pid_of(group.process), group.value, group.label_set, group.outcome);
  }
  Place of(const SampleRow& row) const {
    return of(profile_.pid_of(profile_.threads.at(row.thread)), row.value, row.label_set, row.outcome);
  }
  Place of(const WaitPlace& wait) const {
    const auto value = std::ranges::find(profile_.values, value_of_kind(wait.kind));
    REQUIRE(value != profile_.values.end());
    return {wait.pid, static_cast<std::uint8_t>(value - profile_.values.begin()),
            wait_reason(wait.kind, wait.call), wait.tenant};
  }

 private:
  const Profile& profile_;
};

void drop_zeros(auto& sums) {
  std::erase_if(sums, [](const auto& entry) { return entry.second == 0; });
}

// What holds for each profile of waits, whatever was recorded and whatever was made of it.
void check_sums(const Profile& profile) {
  REQUIRE(check_tables(profile));
  const Places places(profile);
  Sums rows;
  Sums open;
  std::uint64_t all_ns = 0;
  std::uint64_t count = 0;
  for (const SampleRow& row : profile.rows) {
    (row.flags & LS_STILL_WAITING ? open : rows)[places.of(row)] += row.weight_ns;
    all_ns += row.weight_ns;
    count += row.count;
  }
  CHECK(all_ns == profile.ledger.time.attributed_ns);
  CHECK(count == profile.ledger.written);
  Sums totals;
  std::map<WaitGroup, std::uint64_t> groups;
  for (const WaitRow& row : profile.waits) {
    totals[places.of(row)] += row.time_ns;
    groups[row] += row.time_ns;
    std::uint64_t by_length = 0;
    for (const std::uint64_t waits : row.lengths) by_length += waits;
    CHECK(by_length == row.count);
  }
  std::map<WaitGroup, std::uint64_t> blamed;
  Sums open_blamed;
  for (const BlameRow& row : profile.blame) {
    if (row.by.kind == LS_BLAME_NOBODY_YET) {
      open_blamed[places.of(row)] += row.time_ns;
    } else {
      blamed[row] += row.time_ns;
    }
  }
  drop_zeros(rows);
  drop_zeros(totals);
  drop_zeros(groups);
  drop_zeros(blamed);
  CHECK(rows == totals);
  if (!profile.has_blame) return;
  CHECK(blamed == groups);
  CHECK(open_blamed == open);
  // The matrix has the rows of the summary.
  const RowLabels labels(profile);
  for (const std::string_view key : {"tenant", "wait", "pid", "comm", "request"}) {
    if (key == "request" && profile.ledger.counters[Counter::kLabelSetsWithoutRoom] != 0) continue;
    INFO("key " << key);
    const BlameMatrix matrix = blame_matrix(profile, key);
    std::map<BlameName, std::uint64_t> lines;
    std::uint64_t whole_ns = 0;
    for (const auto& [name, line] : matrix.lines) {
      lines[name] = line.whole.time_ns;
      whole_ns += line.whole.time_ns;
      std::uint64_t parts_ns = 0;
      for (const auto& [by, amount] : line.because_of) parts_ns += amount.time_ns;
      CHECK(parts_ns == line.whole.time_ns);
    }
    std::uint64_t columns_ns = 0;
    for (const auto& [name, amount] : matrix.columns) columns_ns += amount.time_ns;
    CHECK(whole_ns == matrix.whole.time_ns);
    CHECK(columns_ns == matrix.whole.time_ns);
    std::map<BlameName, std::uint64_t> summary;
    for (const SampleRow& row : profile.rows) {
      const auto value = labels.value(row, key);
      const BlameName name = value ? BlameName{BlameName::Kind::kValue, *value}
                             : is_unreadable(row.outcome)
                                 ? BlameName{BlameName::Kind::kUnreadable}
                                 : BlameName{BlameName::Kind::kWithout};
      summary[name] += row.weight_ns;
    }
    drop_zeros(summary);
    CHECK(lines == summary);
  }
}

struct Recorded {
  Profile profile;  // of the last window
  std::vector<Profile> windows{};  // those before
  MadeUpWaits* machine = nullptr;  // of `recorder`
  std::unique_ptr<Recorder> recorder;
};

Recorded record(std::uint64_t seed, const WaitFaults& faults, const WaitLimits& limits = {},
                const std::vector<std::uint64_t>& cuts = {}) {
  auto owned = std::make_unique<MadeUpWaits>(seed, faults);
  Recorded all;
  all.machine = owned.get();
  std::mt19937_64 random(seed);
  Recorder::Options options{.timed_samples = random() % 40,
                            .kinds = kKinds,
                            .period_ns = MadeUpWaits::kPeriodNs,
                            .blame = {"tenant"}};
  options.limits = limits;
  options.plan_budget = std::chrono::hours(1);  // the same happens each time
  all.machine->cut_at(cuts);
  all.recorder = std::make_unique<Recorder>(std::move(owned), options);
  Recorder& recorder = *all.recorder;
  REQUIRE(recorder.add_before_exec(all.machine->first(), UniqueFd()));
  REQUIRE(recorder.start());
  std::vector<ModuleFile> files;
  for (std::uint64_t turns = 1 + random() % 5; turns > 0; --turns) {
    const std::chrono::milliseconds time(random() % 40);
    REQUIRE(recorder.step(time));
    while (all.machine->is_at_cut()) {
      auto window = recorder.cut(files);
      REQUIRE(window);
      all.windows.push_back(*std::move(window));
      REQUIRE(recorder.step(time));
    }
  }
  REQUIRE(recorder.stop());
  all.profile = recorder.take_profile(files, 0);
  return all;
}

std::uint64_t sum_of(const auto& sums) {
  std::uint64_t all = 0;
  for (const auto& [place, sum] : sums) all += sum.time_ns;
  return all;
}

// What each recording owes to the machine, however much of it was lost.
void check_truth(const Recorded& all) {
  const Profile& profile = all.profile;
  const Ledger& ledger = profile.ledger;
  CHECK(ledger.written == all.machine->delivered());
  CHECK(ledger.taken == ledger.written + ledger.dropped);
  std::uint64_t outcomes = 0;
  for (const std::uint64_t count : ledger.outcomes) outcomes += count;
  CHECK(outcomes == ledger.taken);
  CHECK(ledger.time.whole() == sum_of(all.machine->ended()) + sum_of(all.machine->open()));
  CHECK(ledger.time.lost_ns == 0);
  // Each kind of time has its own, but for what nothing could have.
  std::map<std::uint8_t, std::uint64_t> truth;
  const Places places(profile);
  for (const auto* waits : {&all.machine->ended(), &all.machine->open()}) {
    for (const auto& [wait, sum] : *waits) truth[places.of(wait).value] += sum.time_ns;
  }
  for (const SampleRow& row : profile.rows) {
    REQUIRE(truth[row.value] >= row.weight_ns);
    truth[row.value] -= row.weight_ns;
  }
  std::uint64_t left = 0;
  for (const auto& [value, ns] : truth) left += ns;
  CHECK(left == ledger.time.unsampled_ns);
}

// What holds if each record has come in the end: all totals are those of the machine.
void check_exact(const Recorded& all) {
  const Profile& profile = all.profile;
  const Places places(profile);
  CHECK(profile.ledger.time.unsampled_ns == 0);
  std::map<Place, WaitSum> truth;
  for (const auto& [wait, sum] : all.machine->ended()) truth[places.of(wait)] = sum;
  std::map<Place, WaitSum> waits;
  for (const WaitRow& row : profile.waits) {
    WaitSum& sum = waits[places.of(row)];
    sum.time_ns += row.time_ns;
    sum.count += row.count;
  }
  CHECK(waits == truth);
  std::map<Place, std::uint64_t> open;
  for (const auto& [wait, sum] : all.machine->open()) open[places.of(wait)] = sum.time_ns;
  std::map<Place, std::uint64_t> open_rows;
  for (const SampleRow& row : profile.rows) {
    if (row.flags & LS_STILL_WAITING) open_rows[places.of(row)] += row.weight_ns;
  }
  CHECK(open_rows == open);
  std::map<std::pair<Place, Culprit>, std::uint64_t> blamed;
  for (const auto& [pair, sum] : all.machine->blamed())
    blamed[{places.of(pair.first), pair.second}] += sum.time_ns;
  std::map<std::pair<Place, Culprit>, std::uint64_t> blame;
  for (const BlameRow& row : profile.blame) {
    if (row.by.kind == LS_BLAME_NOBODY_YET) continue;
    Culprit culprit{.kind = row.by.kind, .pid = raw(profile.pid_of(row.by.process)), .tenant = row.by.name};
    if (is_blamed_thread(row.by.kind))
      culprit.tenant = value_of(profile.label_sets.at(row.by.label_set), "tenant");
    blame[{places.of(row), culprit}] += row.time_ns;
  }
  CHECK(blame == blamed);
}

// What windows have together.
struct Together {
  Sums rows;
  Sums blamed;
  std::map<Place, std::uint64_t> counts;
  std::map<std::pair<Place, std::size_t>, std::uint64_t> lengths;
  std::uint64_t whole_ns = 0;
  std::uint64_t taken = 0;
  std::uint64_t written = 0;
  std::array<std::uint64_t, LS_OUTCOME_COUNT> outcomes{};

  void add(const Profile& window, bool with_open_samples) {
    const Places places(window);
    for (const SampleRow& row : window.rows) {
      rows[places.of(row)] += row.weight_ns;
      if ((row.flags & LS_STILL_WAITING) == 0 || with_open_samples) continue;
      taken -= row.count;
      written -= row.count;
      outcomes[row.outcome] -= row.count;
    }
    for (const BlameRow& row : window.blame) blamed[places.of(row)] += row.time_ns;
    for (const WaitRow& row : window.waits) {
      counts[places.of(row)] += row.count;
      for (std::size_t bucket = 0; bucket < row.lengths.size(); ++bucket)
        lengths[{places.of(row), bucket}] += row.lengths[bucket];
    }
    whole_ns += window.ledger.time.whole();
    taken += window.ledger.taken;
    written += window.ledger.written;
    for (std::size_t i = 0; i < outcomes.size(); ++i) outcomes[i] += window.ledger.outcomes[i];
  }
  void drop_all_zeros() {
    drop_zeros(rows);
    drop_zeros(blamed);
    drop_zeros(counts);
    drop_zeros(lengths);
  }
};

// Cuts the same stream at so many points, and compares.
void check_windows(std::uint64_t seed, const WaitFaults& faults, std::size_t points) {
  const Recorded whole = record(seed, faults);
  std::mt19937_64 random(seed + points);
  std::vector<std::uint64_t> cuts;
  const std::uint64_t begin = MadeUpWaits(seed, faults).now();
  const std::uint64_t time = whole.machine->now() - begin;
  for (std::size_t i = 0; time != 0 && i < points; ++i) cuts.push_back(begin + random() % time);
  const Recorded cut = record(seed, faults, {}, cuts);
  if (time != 0) REQUIRE(cut.windows.size() + 3 > points / 2);
  Together expected;
  expected.add(whole.profile, false);
  Together found;
  for (const Profile& window : cut.windows) {
    check_sums(window);
    found.add(window, false);
  }
  check_sums(cut.profile);
  found.add(cut.profile, false);
  expected.drop_all_zeros();
  found.drop_all_zeros();
  CHECK(found.rows == expected.rows);
  CHECK(found.blamed == expected.blamed);
  CHECK(found.counts == expected.counts);
  CHECK(found.lengths == expected.lengths);
  CHECK(found.whole_ns == expected.whole_ns);
  CHECK(found.taken == expected.taken);
  CHECK(found.written == expected.written);
  CHECK(found.outcomes == expected.outcomes);
  CHECK(cut.machine->now() == whole.machine->now());
}

Selection where(const std::string& condition) {
  Selection selection;
  auto parsed = Condition::parse(condition);
  REQUIRE(parsed);
  selection.conditions.push_back(*std::move(parsed));
  return selection;
}

// What is made of a profile has its sums, too.
void check_cuts(const Profile& profile) {
  for (const IdleMode mode : {IdleMode::kFold, IdleMode::kDrop}) {
    IdleTime idle;
    const auto shown = without_idle(profile, mode, idle);
    if (!shown) continue;
    check_sums(*shown);
    const std::uint64_t left = mode == IdleMode::kDrop ? idle.ns : 0;
    CHECK(shown->ledger.time.attributed_ns == profile.ledger.time.attributed_ns - left);
  }
  Profile capped = profile;
  cap_values({{"tenant", 1}, {"request", 2}}, capped);
  check_sums(capped);
  std::uint64_t parts_ns = 0;
  for (const char* condition : {"tenant=acme", "tenant!=acme"}) {
    Profile part = profile;
    REQUIRE(select(part, where(condition)));
    check_sums(part);
    parts_ns += part.ledger.time.attributed_ns;
  }
  CHECK(parts_ns == profile.ledger.time.attributed_ns);
  Profile twice = profile;
  REQUIRE(merge(twice, profile));
  check_sums(twice);
  CHECK(twice.ledger.time.whole() == 2 * profile.ledger.time.whole());
}

// The number of streams of each kind.
std::uint64_t streams() { return std::getenv("LABELSCOPE_THOROUGH") != nullptr ? 10'000 : 400; }

}  // namespace

TEST_CASE("wait streams: without losses, totals and blame are those of the machine") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    INFO("seed " << seed);
    const Recorded all = record(seed, {.unreadable = 0.05});
    check_truth(all);
    check_exact(all);
    check_sums(all.profile);
    check_cuts(all.profile);
  }
}

TEST_CASE("wait streams: dropped samples, and numbers that are named again, change no total") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    INFO("seed " << seed);
    const Recorded all = record(seed, {.number_forgotten = 0.2,
                                       .sample_dropped = 0.3,
                                       .unreadable = 0.05,
                                       .fork_lost = 0.2,
                                       .requests = seed % 3 == 0 ? 1000u : 2u});
    check_truth(all);
    check_exact(all);
    check_sums(all.profile);
  }
}

TEST_CASE("wait streams: of more label sets than there is room for, other labels are exact") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    INFO("seed " << seed);
    const Recorded all =
        record(seed, {.number_forgotten = 0.2, .sample_dropped = 0.2, .requests = 1000},
               {.label_sets = 16});
    check_truth(all);
    check_exact(all);
    check_sums(all.profile);
  }
}

TEST_CASE("wait streams: samples with other labels than their totals, and what is unknown") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    INFO("seed " << seed);
    const Recorded all = record(seed, {.label_set_dropped = seed % 2 == 0 ? 0.3 : 0,
                                       .number_forgotten = 0.1,
                                       .sample_dropped = 0.2,
                                       .sample_otherwise = 0.3,
                                       .unreadable = 0.1,
                                       .total_without_room = seed % 3 == 0 ? 0.3 : 0,
                                       .blame_without_room = seed % 5 == 0 ? 0.3 : 0,
                                       .blamed_too_long = seed % 7 == 0 ? 0.3 : 0,
                                       .fork_lost = 0.1,
                                       .requests = seed % 4 == 0 ? 50u : 0u});
    check_truth(all);
    check_sums(all.profile);
    check_cuts(all.profile);
  }
}

TEST_CASE("wait streams: who makes others wait is known when the number comes again") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    INFO("seed " << seed);
    const Recorded all = record(seed, {.label_set_dropped = 0.3});
    check_truth(all);
    check_sums(all.profile);
    std::uint64_t lost_ns = 0;
    for (const BlameRow& row : all.profile.blame) {
      if (is_blamed_thread(row.by.kind) && row.by.outcome == LS_UNREADABLE_LOST)
        lost_ns += row.time_ns;
    }
    CHECK(lost_ns <= all.machine->unnamed_blame_ns());
  }
}

TEST_CASE("wait streams: windows add up to the recording that is not cut, to the nanosecond") {
  for (const std::size_t points : {1U, 10U, 1000U}) {
    const std::uint64_t most = points == 1000 ? streams() / 20 : streams();
    for (std::uint64_t seed = 1; seed <= most; ++seed) {
      INFO("seed " << seed << ", " << points << " cuts");
      check_windows(seed, {.unreadable = 0.05}, points);
    }
  }
}

TEST_CASE("wait streams: and where samples are dropped, and processes come that nobody has seen") {
  for (std::uint64_t seed = 1; seed <= streams(); ++seed) {
    INFO("seed " << seed);
    check_windows(seed,
                  {.number_forgotten = 0.2,
                   .sample_dropped = 0.3,
                   .unreadable = 0.05,
                   .fork_lost = 0.2,
                   .requests = seed % 3 == 0 ? 1000u : 2u},
                  10);
  }
}

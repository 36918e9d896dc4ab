#include "cli/check/pace.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace labelscope::cli {
namespace {

using std::chrono::nanoseconds;

// A thread must run much longer than it is stopped.
constexpr nanoseconds kShortest = std::chrono::microseconds{100};
constexpr nanoseconds kLongest = std::chrono::seconds{1};

// Threads without labels are sampled at least this often, so that short-lived labels are seen. It
// takes less than a hundredth of their time.
constexpr nanoseconds kMostWithoutLabels = std::chrono::milliseconds{10};

}  // namespace

Pace::Pace(Kind kind, std::uint64_t samples, nanoseconds span) : kind_(kind) {
  const double count = static_cast<double>(std::max<std::uint64_t>(samples, 1));
  const double whole = static_cast<double>(std::max(span, 2 * kShortest).count());
  // kFromStart goes from kShortest to `span` in `count` steps, each longer than the last by the
  // same part.
  per_sample_ = kind == Kind::kEven
                    ? whole / count
                    : std::expm1(std::log(whole / static_cast<double>(kShortest.count())) / count);
}

nanoseconds Pace::pause(nanoseconds elapsed, std::uint64_t taken) {
  const double base = kind_ == Kind::kEven ? 1.0 : static_cast<double>(elapsed.count());
  const double mean = per_sample_ * base * static_cast<double>(std::max<std::uint64_t>(taken, 1));
  const double chosen = mean * std::uniform_real_distribution<double>(0.5, 1.5)(random_);
  const double most = static_cast<double>(kLongest.count());
  return std::clamp(nanoseconds(static_cast<std::int64_t>(std::min(chosen, most))), kShortest,
                    kLongest);
}

SampleTurns::SampleTurns(std::uint64_t samples, nanoseconds span)
    : samples_(samples), span_(span) {}

bool SampleTurns::is_due(Pid pid, Time now) const {
  const auto turn = turns_.find(pid);
  return turn == turns_.end() || turn->second.due <= now;
}

void SampleTurns::note(Pid pid, const Taken& taken, Time now) {
  auto known = turns_.find(pid);
  const bool begins = known == turns_.end() || known->second.program != taken.program ||
                      (taken.labelled && !known->second.labelled);
  if (begins) {
    const Pace pace(Pace::Kind::kFromStart, samples_, span_);
    known = turns_.insert_or_assign(pid, Turn{pace, now, now, false, 0, taken.program}).first;
  }
  Turn& turn = known->second;
  turn.labelled |= taken.labelled;
  if (turn.labelled) turn.taken += taken.threads;
  if (turn.taken >= samples_) {
    turn.due = Time::max();
    return;
  }
  nanoseconds pause = turn.pace.pause(now - turn.begin, taken.threads);
  if (!turn.labelled) {
    const auto threads = static_cast<std::int64_t>(std::max<std::uint64_t>(taken.threads, 1));
    pause = std::min(pause, kMostWithoutLabels * threads);
  }
  turn.due = now + pause;
}

void SampleTurns::keep_only(const std::vector<Pid>& pids) {
  const std::set<Pid> running(pids.begin(), pids.end());
  std::erase_if(turns_, [&](const auto& entry) { return running.count(entry.first) == 0; });
}

SampleTurns::Time SampleTurns::next(Time latest) const {
  for (const auto& [pid, turn] : turns_) latest = std::min(latest, turn.due);
  return latest;
}

}  // namespace labelscope::cli

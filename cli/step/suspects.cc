#include "cli/step/suspects.h"

namespace labelscope::cli {
namespace {

// All are suspected again so often. Each time costs as much as the first time. Without this limit a
// program whose labels change unseen would be stepped for ever.
constexpr unsigned kTimesAgain = 8;

}  // namespace

void Suspects::note_labels() {
  if (!active_ || has_labels_) return;
  has_labels_ = true;
  for (const MappedCode* range : code_.all()) add_range(*range);
}

void Suspects::add_range(const MappedCode& range) {
  // In a publishing library every function is a trigger already.
  if (!has_labels_ || range.file->role != CodeRole::kProgram) return;
  for (const FunctionSymbol& function : range.file->functions) {
    const Address start = function.start + range.bias;
    if (start >= range.start && start < range.end) triggers_.add(start, kSuspectTrigger);
  }
}

void Suspects::forget(Address start, Address end) {
  const auto inside = [&](Address address) { return address >= start && address < end; };
  std::erase_if(quiet_calls_, [&](const auto& entry) { return inside(entry.first); });
  std::erase_if(passes_, [&](const auto& entry) { return inside(entry.first); });
  std::erase_if(let_go_, inside);
  std::erase_if(passed_, inside);
  std::erase_if(long_, inside);
}

bool Suspects::is_worth_stepping(Address function) {
  if (code_.is_authors(function)) return true;
  triggers_.remove(function, kSuspectTrigger);
  return false;
}

void Suspects::note_pass(Address function) {
  if (++passes_[function] < kMostPasses) return;
  let_go(function);
  if (let_go_.count(function) != 0) passed_.insert(function);
}

void Suspects::note_call(Address function, bool changed) {
  if ((triggers_.at(function) & kSuspectTrigger) == 0) return;
  if (changed) {
    quiet_calls_.erase(function);
  } else if (++quiet_calls_[function] >= kQuietCalls) {
    let_go(function);
  }
}

void Suspects::let_go(Address function) {
  if ((triggers_.at(function) & kSuspectTrigger) == 0) return;
  triggers_.remove(function, kSuspectTrigger);
  quiet_calls_.erase(function);
  let_go_.insert(function);
}

void Suspects::suspect_again() {
  if (!active_ || times_again_ == kTimesAgain) return;
  ++times_again_;
  quiet_calls_.clear();
  passes_.clear();
  for (const Address function : let_go_) triggers_.add(function, kSuspectTrigger);
  let_go_.clear();
  passed_.clear();
}

}  // namespace labelscope::cli

#include "cli/step/label_watch.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace labelscope::cli {
namespace {

// Reading a few bytes more is cheaper than reading one more range.
constexpr std::size_t kJoinedGap = 64;
// So many words are remembered as written: with the variable and one more they are as many as there
// are watchpoints.
constexpr std::size_t kMaxWritten = 2;
// One call of process_vm_readv() takes at most so many ranges.
constexpr std::size_t kPiecesAtOnce = 1024;

std::vector<SetCheck::Range> join(std::vector<SetCheck::Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  std::vector<SetCheck::Range> joined;
  constexpr Address kPageMask = ~Address{4095};
  for (const SetCheck::Range& range : ranges) {
    if (!joined.empty()) {
      SetCheck::Range& last = joined.back();
      const Address end = last.start + last.size;
      // Ranges are not joined across a page boundary, because the next page may be missing.
      const bool near =
          range.start <= end ||
          (range.start - end <= kJoinedGap && (range.start & kPageMask) == ((end - 1) & kPageMask));
      if (near) {
        last.size = std::max(end, range.start + range.size) - last.start;
        continue;
      }
    }
    joined.push_back(range);
  }
  return joined;
}

// Returns 0 if it cannot be read.
Address read_pointer(const MemorySource& memory, Address address) {
  const auto value = read_value<Address>(memory, address);
  return value ? *value : 0;
}

// Reads into `out`, one piece after the other, at most kPiecesAtOnce of them. Returns the number of
// bytes, or 0 if not all could be read.
std::size_t read_pieces(Pid pid, std::span<const SetCheck::Range> pieces, std::byte* out) {
  iovec remote[kPiecesAtOnce];  // NOLINT(modernize-avoid-c-arrays): what the system call takes
  std::size_t size = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process
    remote[i] = {reinterpret_cast<void*>(pieces[i].start), pieces[i].size};
    size += pieces[i].size;
  }
  const iovec local{out, size};
  const ssize_t got = ::process_vm_readv(raw(pid), &local, 1, remote, pieces.size(), 0);
  return got == static_cast<ssize_t>(size) ? size : 0;
}

}  // namespace

bool same_state(const SetCheck& a, const SetCheck& b) {
  // Notes count, too: a set whose only element has no key has the same labels as no set at all.
  return a.set == b.set &&
         std::ranges::equal(a.diagnostics, b.diagnostics, {}, &Diagnostic::rule, &Diagnostic::rule);
}

LabelWatch::LabelWatch(Pid pid, const MemorySource& memory, Address variable,
                       const LabelSource& source, Facts facts)
    : pid_(pid), memory_(&memory), variable_(variable), source_(&source), facts_(std::move(facts)) {
  read_again();
  published_ = false;
}

void LabelWatch::read_again() {
  before_ = std::move(seen_);
  const auto facts = facts_();
  const ThreadState thread{.facts = facts.value_or(nullptr)};
  seen_ = source_->check(
      {.memory = *memory_, .variable = variable_, .thread = facts ? &thread : nullptr});
  pieces_ = join(seen_.ranges);
  if (!read_bytes(bytes_)) bytes_.clear();
  const Address before = pointer_;
  pointer_ = source_->about.updates->by_pointer ? read_pointer(*memory_, variable_) : 0;
  published_ = pointer_ != before;
}

bool LabelWatch::read_bytes(std::vector<std::byte>& out) const {
  std::size_t size = 0;
  for (const SetCheck::Range& piece : pieces_) size += piece.size;
  out.resize(size);
  std::byte* next = out.data();
  for (std::size_t first = 0; first < pieces_.size(); first += kPiecesAtOnce) {
    const std::size_t count = std::min(pieces_.size() - first, kPiecesAtOnce);
    const std::size_t bytes = read_pieces(pid_, std::span(pieces_).subspan(first, count), next);
    if (bytes == 0) return false;
    next += bytes;
  }
  return true;
}

bool LabelWatch::look(bool mapping_changed) {
  published_ = false;
  const bool may_have_come = mapping_changed && seen_.set.state == CheckedSet::State::kUnreadable;
  const bool readable = !bytes_.empty() && read_bytes(scratch_);
  if (!may_have_come && readable && scratch_ == bytes_) return false;
  if (readable) note_written();
  read_again();
  return true;
}

void LabelWatch::note_written() {
  auto at = static_cast<std::size_t>(
      std::mismatch(bytes_.begin(), bytes_.end(), scratch_.begin()).first - bytes_.begin());
  for (const SetCheck::Range& piece : pieces_) {
    if (at >= piece.size) {
      at -= piece.size;
      continue;
    }
    const Address word = (piece.start + at) & ~Address{sizeof(Address) - 1};
    std::erase(written_, word);
    written_.insert(written_.begin(), word);
    if (written_.size() > kMaxWritten) written_.pop_back();
    return;
  }
}

std::vector<Address> LabelWatch::likely_words() const {
  std::vector<Address> words{variable_};
  if (pointer_ == 0 && source_->about.updates->by_pointer) return words;
  for (const Address word : written_) {
    if (word != variable_) words.push_back(word);
  }
  const std::vector<Address> more = source_->likely_words(*memory_, variable_);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace labelscope::cli

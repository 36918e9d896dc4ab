#include "cli/profile/used_part.h"

#include <algorithm>
#include <array>
#include <utility>

namespace labelscope::cli {
namespace {

void mark(std::vector<bool>& used, Index index) {
  if (index < used.size()) used[index] = true;
}

std::vector<Index> numbers_of(const std::vector<bool>& used) {
  std::vector<Index> numbers(used.size(), kNoIndex);
  Index next = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) numbers[i] = next++;
  }
  return numbers;
}

template <class Element>
std::vector<Element> numbered(const std::vector<Element>& elements,
                              const std::vector<Index>& numbers) {
  std::vector<Element> kept;
  for (std::size_t i = 0; i < elements.size() && i < numbers.size(); ++i) {
    if (numbers[i] != kNoIndex) kept.push_back(elements[i]);
  }
  return kept;
}

}  // namespace

UsedEntries entries_in_use(const Profile& profile, std::size_t modules) {
  UsedEntries used;
  used.processes.resize(profile.processes.size());
  used.threads.resize(profile.threads.size());
  used.modules.resize(modules);
  used.locations.resize(profile.locations.size());
  used.stacks.resize(profile.stacks.size());
  used.label_sets.resize(profile.label_sets.size());
  for (const SampleRow& row : profile.rows) {
    mark(used.threads, row.thread);
    mark(used.stacks, row.stack);
    mark(used.label_sets, row.label_set);
  }
  for (const WaitRow& row : profile.waits) {
    mark(used.processes, row.process);
    mark(used.label_sets, row.label_set);
  }
  for (const BlameRow& row : profile.blame) {
    mark(used.processes, row.process);
    mark(used.label_sets, row.label_set);
    mark(used.processes, row.by.process);
    mark(used.label_sets, row.by.label_set);
  }
  for (const ThreadLedger& thread : profile.thread_ledgers.threads()) {
    mark(used.processes, thread.entry);
  }
  // The thread of an account is one with samples of that account, so it is in use by itself.
  for (std::size_t i = 0; i < used.threads.size(); ++i) {
    if (used.threads[i]) mark(used.processes, profile.threads[i].process);
  }
  for (std::size_t i = 0; i < used.stacks.size(); ++i) {
    if (!used.stacks[i]) continue;
    for (const Index frame : profile.stacks[i].frames) mark(used.locations, frame);
  }
  for (std::size_t i = 0; i < used.locations.size(); ++i) {
    if (used.locations[i]) mark(used.modules, profile.locations[i].module);
  }
  mark(used.modules, profile.program);
  return used;
}

namespace {

// All of them, in one order.
template <class Tables>
auto tables_of(Tables& tables) {
  return std::array{&tables.processes, &tables.threads,   &tables.modules,
                    &tables.locations, &tables.stacks, &tables.label_sets};
}

}  // namespace

Renumbering::Renumbering(const UsedEntries& used) {
  const auto numbers = tables_of<OfEntries<Index>>(*this);
  const auto tables = tables_of(used);
  for (std::size_t i = 0; i < tables.size(); ++i) *numbers[i] = numbers_of(*tables[i]);
}

void LastUse::note(const UsedEntries& used) {
  ++window_;
  const auto last = tables_of(last_);
  const auto tables = tables_of(used);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    // An entry that is new counts as used: its sample may have been the last of a window.
    last[i]->resize(tables[i]->size(), window_);
    for (std::size_t entry = 0; entry < tables[i]->size(); ++entry) {
      if ((*tables[i])[entry]) (*last[i])[entry] = window_;
    }
  }
}

UsedEntries LastUse::of_last(std::uint32_t windows) const {
  UsedEntries used;
  const auto tables = tables_of(used);
  const auto all = tables_of(last_);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (const std::uint32_t last : *all[i]) tables[i]->push_back(window_ - last < windows);
  }
  return used;
}

bool LastUse::is_worth(const UsedEntries& lately) {
  constexpr std::size_t kFew = 1024;
  std::size_t all = 0;
  std::size_t used = 0;
  for (const std::vector<bool>* table : tables_of(lately)) {
    all += table->size();
    used += static_cast<std::size_t>(std::ranges::count(*table, true));
  }
  return all - used > std::max(kFew, used);
}

void LastUse::keep(const Renumbering& numbers) {
  const auto last = tables_of(last_);
  const auto tables = tables_of<const OfEntries<Index>>(numbers);
  for (std::size_t i = 0; i < tables.size(); ++i) keep_numbered(*last[i], *tables[i]);
}

void renumber(Profile& profile, const Renumbering& numbers) {
  const auto change = [](Index& index, const std::vector<Index>& table) {
    index = Renumbering::of(table, index);
  };
  for (Thread& thread : profile.threads) {
    change(thread.process, numbers.processes);
    change(thread.account, numbers.threads);
  }
  for (Location& location : profile.locations) change(location.module, numbers.modules);
  for (Stack& stack : profile.stacks) {
    for (Index& frame : stack.frames) change(frame, numbers.locations);
  }
  for (SampleRow& row : profile.rows) {
    change(row.thread, numbers.threads);
    change(row.stack, numbers.stacks);
    change(row.label_set, numbers.label_sets);
  }
  for (WaitRow& row : profile.waits) {
    change(row.process, numbers.processes);
    change(row.label_set, numbers.label_sets);
  }
  for (BlameRow& row : profile.blame) {
    change(row.process, numbers.processes);
    change(row.label_set, numbers.label_sets);
    change(row.by.process, numbers.processes);
    change(row.by.label_set, numbers.label_sets);
  }
  profile.thread_ledgers.each(
      [&](ThreadLedger& thread) { change(thread.entry, numbers.processes); });
  change(profile.program, numbers.modules);
}

Profile take_window(Profile& all, const Renumbering& numbers) {
  // What describes the recording is copied; tables are too large for that.
  Profile tables;
  const auto exchange_tables = [&] {
    std::swap(tables.processes, all.processes);
    std::swap(tables.threads, all.threads);
    std::swap(tables.modules, all.modules);
    std::swap(tables.locations, all.locations);
    std::swap(tables.stacks, all.stacks);
    std::swap(tables.label_sets, all.label_sets);
    std::swap(tables.rows, all.rows);
    std::swap(tables.waits, all.waits);
    std::swap(tables.blame, all.blame);
    std::swap(tables.thread_ledgers, all.thread_ledgers);
  };
  exchange_tables();
  Profile window = all;
  exchange_tables();
  window.processes = numbered(all.processes, numbers.processes);
  window.threads = numbered(all.threads, numbers.threads);
  window.locations = numbered(all.locations, numbers.locations);
  window.stacks = numbered(all.stacks, numbers.stacks);
  window.label_sets = numbered(all.label_sets, numbers.label_sets);
  window.rows = std::exchange(all.rows, {});
  window.waits = std::exchange(all.waits, {});
  window.blame = std::exchange(all.blame, {});
  window.thread_ledgers = std::exchange(all.thread_ledgers, {});
  renumber(window, numbers);
  all.has_blame = false;
  all.ledger = {};
  all.remarks.clear();
  for (Thread& thread : all.threads) thread.account = kNoIndex;
  return window;
}

}  // namespace labelscope::cli

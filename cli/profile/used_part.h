// The part of a profile that its rows use: what a window has, and what stays in a dictionary.
//
//   rows, waits, blame --> threads ---> processes
//                      --> stacks ----> locations ---> modules
//                      --> label sets
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// For each table of a profile, something about each of its entries.
template <class Of>
struct OfEntries {
  std::vector<Of> processes;
  std::vector<Of> threads;
  std::vector<Of> modules;
  std::vector<Of> locations;
  std::vector<Of> stacks;
  std::vector<Of> label_sets;
};

// Whether it is used.
using UsedEntries = OfEntries<bool>;
// `modules`: how many there are. They may be kept apart from the profile.
UsedEntries entries_in_use(const Profile& profile, std::size_t modules);

struct Renumbering;

// When each entry was used last, by the number of the window.
class LastUse {
 public:
  // Notes what a window has used. Call it for each window.
  void note(const UsedEntries& used);
  // Returns what one of the last `windows` has used.
  UsedEntries of_last(std::uint32_t windows) const;
  // Whether so much was used by none of them that it is worth forgetting.
  static bool is_worth(const UsedEntries& lately);
  // Behind keeping these.
  void keep(const Renumbering& numbers);

 private:
  OfEntries<std::uint32_t> last_;
  std::uint32_t window_ = 0;
};

// Its number in the part; kNoIndex: it is not in it. The order stays.
struct Renumbering : OfEntries<Index> {
  explicit Renumbering(const UsedEntries& used);
  static Index of(const std::vector<Index>& table, Index index) {
    return index < table.size() ? table[index] : index;
  }
};

// Leaves the entries that have a number. `Element` may be moved.
template <class Element>
void keep_numbered(std::vector<Element>& elements, const std::vector<Index>& numbers) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < elements.size() && i < numbers.size(); ++i) {
    if (numbers[i] == kNoIndex) continue;
    if (kept != i) elements[kept] = std::move(elements[i]);
    ++kept;
  }
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(kept), elements.end());
}

// Changes what refers to entries by their numbers.
void renumber(Profile& profile, const Renumbering& numbers);

// Moves rows, waits, blame and ledgers out of `all`, with copies of what they use. All else that
// describes a recording is copied, too. The caller adds the modules, which are kept apart.
Profile take_window(Profile& all, const Renumbering& numbers);

}  // namespace labelscope::cli

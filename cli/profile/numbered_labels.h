// What the numbers of label sets mean by which the kernel adds up waits (WaitTotal::labels).
//
//   number --> label bytes --> labels --> by the rules --> one of few sets, or of very many
//              (on_label_set)  (decode)   (label_rules.h)
//
// A program may set another label for each request, and so have a million numbers in a minute. The
// bytes behind a number are kept until its first total comes out of the kernel while the recording
// goes on; from then on, only which set it is. If the sets themselves become too many, those that
// come later lose the labels with most values: then each total is right by every other label.
//
// A recording may have windows. A number that none has used for a while is forgotten, by the kernel
// first: if it comes again then, its labels are sent again.
//
//   used ......... used |  kWindowsKept  | the kernel forgets it | a window | forgotten here, too
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/profile/index_table.h"
#include "cli/profile/label_rules.h"
#include "cli/profile/profile.h"
#include "labelscope/label.h"
#include "sources/label_codec.h"

namespace labelscope::cli {

struct ProcessContext;
struct ProcessOfWaits;

class NumberedLabels {
 public:
  // Above `most_sets` label sets, new ones lose labels.
  static constexpr std::size_t kMostSets = 65'536;
  explicit NumberedLabels(const LabelRules& rules, std::size_t most_sets = kMostSets)
      : rules_(rules), most_sets_(most_sets), room_(most_sets) {}

  // What they mean is decided when a total comes, if the process has the same plan then, and
  // otherwise now. With `of_blame` it means the labels with keys of keep_for_blame() alone.
  void name(std::uint64_t number, std::span<const std::byte> label_bytes, ProcessContext& process,
            bool of_blame = false);
  void keep_for_blame(std::vector<std::string> keys) { blame_keys_ = std::move(keys); }
  // Whether there were any.
  bool has_sets_of_blame() const { return has_sets_of_blame_; }
  bool is_known(std::uint64_t number) const;

  struct Meaning {
    LabelSet labels;
    std::uint8_t outcome = 0;
  };
  // Returns what a number means that is known. With `for_good` it means that from then on.
  Meaning meaning(std::uint64_t number, const ProcessOfWaits& of, bool for_good);

  // When a number was used last, by the number of the window.
  struct Use {
    std::uint32_t window = 0;
    bool leaves = false;  // the kernel has forgotten it
  };
  struct Settled {
    Index set = kNoIndex;  // the same for all numbers whose labels are the same
    std::uint8_t outcome = 0;
    bool has_lost = false;  // some of its labels
    Use use{};
  };
  // Returns what a number means whose meaning is decided for good, or null.
  const Settled* settled(std::uint64_t number);

  // Ends a window. `in_use` may come again whenever they were used. Returns the numbers that the
  // kernel is to forget.
  std::vector<std::uint64_t> end_window(std::span<const std::uint64_t> in_use);
  // Whether the sets have other indices since the last call (Settled::set).
  bool take_renumbered() { return std::exchange(renumbered_, false); }
  // How many numbers and sets are known.
  std::size_t number_count() const {
    return named_.size() + named_before_.size() + settled_.size() + settled_before_.size();
  }
  std::size_t set_count() const { return sets_.size(); }

  // The keys of the labels that sets have lost, and how many numbers had them.
  const std::vector<std::string>& lost_keys() const { return lost_keys_; }
  std::uint64_t numbers_with_lost_keys() const { return without_room_; }
  void lose(LabelSet& labels) const;

  const MetKeys& met_keys() const { return met_keys_; }

 private:
  struct Named {
    std::vector<std::byte> label_bytes;
    std::uint64_t plan_epoch = 0;
    std::uint64_t publisher_epoch = 0;
    Observation meaning;  // at these epochs
    bool of_blame = false;
    Use use{};
  };
  using AllNamed = std::unordered_map<std::uint64_t, Named>;
  using AllSettled = std::unordered_map<std::uint64_t, Settled>;
  Index room_for(LabelSet labels, bool& has_lost);
  void touch(std::uint64_t number);
  template <class All>
  void forget_unused(All& numbers, std::uint32_t kept, std::vector<std::uint64_t>& leaving) const;
  void forget_sets();

  // The numbers that have not come among so many others are forgotten. The kernel knows far fewer,
  // and sends the labels of one that comes again.
  static constexpr std::size_t kMostNumbers = std::size_t{1} << 20;
  static constexpr std::size_t kMostNamed = std::size_t{1} << 17;
  static constexpr std::uint32_t kWindowsKept = 8;

  const LabelRules& rules_;
  std::size_t most_sets_;
  std::size_t room_;  // with so many sets, they lose other labels, too
  MetKeys met_keys_;
  // Numbers of which no total has come; there may never be one.
  AllNamed named_;
  AllNamed named_before_;
  AllSettled settled_;
  AllSettled settled_before_;
  std::vector<LabelSet> sets_;
  IndexTable known_sets_;
  std::vector<std::string> lost_keys_;
  std::vector<std::string> blame_keys_;
  bool has_sets_of_blame_ = false;
  std::uint64_t without_room_ = 0;
  std::uint32_t window_ = 0;
  bool renumbered_ = false;
};

}  // namespace labelscope::cli

// What the numbers of label sets mean by which the kernel adds up waits (WaitTotal::labels).
//
//   number --> label bytes --> labels --> by the rules --> one of few sets, or of very many
//              (on_label_set)  (decode)   (label_rules.h)
//
// A program may set another label for each request, and so have a million numbers in a minute. The
// bytes behind a number are kept until its first total comes out of the kernel while the recording
// goes on; from then on, only which set it is. If the sets themselves become too many, those that
// come later lose the labels with most values: then each total is right by every other label.
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

  struct Settled {
    Index set = kNoIndex;  // the same for all numbers whose labels are the same
    std::uint8_t outcome = 0;
  };
  // Returns what a number means whose meaning is decided for good, or null.
  const Settled* settled(std::uint64_t number);

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
  };
  using AllNamed = std::unordered_map<std::uint64_t, Named>;
  using AllSettled = std::unordered_map<std::uint64_t, Settled>;
  Index room_for(LabelSet labels);

  // The numbers that have not come among so many others are forgotten. The kernel knows far fewer,
  // and sends the labels of one that comes again.
  static constexpr std::size_t kMostNumbers = std::size_t{1} << 20;
  static constexpr std::size_t kMostNamed = std::size_t{1} << 17;

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
};

}  // namespace labelscope::cli

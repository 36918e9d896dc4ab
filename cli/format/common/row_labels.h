// This is what a row has besides its stack: the thread's labels, our own keys, and words for flags.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/format/common/rows.h"
#include "cli/profile/index_table.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

// Our own keys. If a label has the same key, the label counts.
inline constexpr std::string_view kPidKey = "pid";
inline constexpr std::string_view kThreadIdKey = "thread_id";
inline constexpr std::string_view kThreadNameKey = "thread_name";
inline constexpr std::string_view kCommKey = "comm";
// the one in which the thread itself was
inline constexpr std::string_view kFunctionKey = "function";
// What the thread did, as the name of its kind of time. Only profiles with several kinds have this
// key.
inline constexpr std::string_view kStateKey = "state";
// Returns whether the samples of one process differ in this key of ours, so that totals of waits,
// which are of a process, have no value of it.
bool is_key_of_samples(std::string_view key);
// Returns the keys that every sample has.
std::vector<std::string> keys_of_every_sample();
// Returns the keys that distinguish samples where no program sets labels. A profile may have
// neither stacks nor kinds; without a profile these are the keys that nearly all have.
std::vector<std::string> own_keys(const Profile* profile = nullptr);

inline constexpr std::string_view kNoneText = "<none>";
inline constexpr std::string_view kUnreadableText = "<unreadable>";
// Text formats write this for kNoneText of tables and of the page; --where takes both.
inline constexpr std::string_view kUnsetText = "(unset)";

// The number of flags in enum ls_sample_flag.
inline constexpr unsigned kSampleFlagCount = std::bit_width(unsigned{LS_SAMPLE_FLAGS_END} - 1);
// One word for the flag 1 << bit ("truncated-slots"); "unknown" for a bit without a flag.
std::string_view sample_flag_name(unsigned bit);
// Returns "labels|bytes|slots", as far as they were cut; empty if nothing was.
std::string truncated_words(unsigned flags);
// Returns the names of the flags in `flags`, joined with '|'.
std::string flag_words(unsigned flags);

// The flags that samples of pprof and OTLP show. The other flags say how a label set was read, not
// what is wrong with it.
inline constexpr std::uint16_t kShownFlags = LS_TRUNCATED | LS_NULL_VALUE | LS_DUPLICATE_KEY |
                                             LS_PARTLY_UNREADABLE | LS_KEY_CONFLICT | LS_STACK_CUT |
                                             LS_UNKNOWN_KEY | LS_INCOMPLETE_LABEL;

// A label as text without control characters and without bytes that are not UTF-8.
struct TextLabel {
  std::string key;
  std::string value;
};

// Looks up by row. Refers to the profile, which must pass check_tables() and outlive it.
class RowLabels {
 public:
  explicit RowLabels(const Profile& profile);

  // Null if the row has no thread, or its process is not in the profile.
  const Thread* thread(const SampleRow& row) const;
  const Process* process(const SampleRow& row) const;
  // 0 if no process is known.
  Pid pid(const SampleRow& row) const;
  // A number of those samples whose time together is exact: of those with one Thread::account, or
  // of the waits of one total (Profile::waits). kNoIndex if there is none; kExact for a wait that
  // had not ended, whose time is exact for itself.
  static constexpr Index kExact = kNoIndex - 1;
  Index account(const SampleRow& row) const;
  // Returns whether account() is of waits: a total, or all of a part of a recording.
  bool is_of_total(const SampleRow& row) const;
  // Returns the empty set if the row has no labels.
  const LabelSet& label_set(const SampleRow& row) const;
  // Returns whether formats must write the row's outcome because its labels do not show it: it is
  // unreadable, or has only the labels of its process.
  bool must_show_outcome(const SampleRow& row) const {
    return is_unreadable(row.outcome) || (row.outcome == LS_UNLABELLED && !label_set(row).empty());
  }

  // Returns the name that distinguishes a publisher's labels from another's: its file name, with
  // "#2", "#3" from the second file of that name on; its number if the profile does not know it.
  static std::string publisher_name(const Process* process, std::uint8_t publisher);

  // Returns the value of this key, or else our own value of that name; as bytes. If publishers
  // disagree, no value wins: "a@shop|b@libplugin.so".
  std::optional<std::string> value(const SampleRow& row, std::string_view key) const;
  // Our own value of that name, whatever labels there are; as bytes.
  std::optional<std::string> own_value(const SampleRow& row, std::string_view key) const;
  // The value of this key; kEmptyText, kNoneText or kUnreadableText if there is nothing else to
  // show. As bytes.
  std::string group_value(const SampleRow& row, std::string_view key) const;
  // Returns a row from which all keys of a total can be read but is_key_of_samples().
  SampleRow stand_in(const WaitRow& waits) const;
  // "key=value" for a root frame. As bytes.
  std::string group_frame(const SampleRow& row, std::string_view key) const;
  // Returns all labels of the thread. No key occurs twice or is empty:
  // docs/schema/recording-format.md, "Labels in pprof", says how keys of several publishers are
  // distinguished. `key_text` may give keys other names.
  std::vector<TextLabel> all(const SampleRow& row,
                             std::string (*key_text)(std::string_view key)) const;

 private:
  std::optional<std::string> label_value(const SampleRow& row, std::string_view key) const;

  const Profile& profile_;
  // by process, if there are totals of waits
  std::unordered_map<Index, Index> a_thread_of_;  // by process
  std::unordered_map<WaitGroup, Index, HashOfWaitGroup> waits_;  // places in Profile::waits
  LabelSet no_labels_;
};

}  // namespace labelscope::cli

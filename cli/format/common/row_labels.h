// What can be said about a row besides its stack: the thread's labels, our own keys, and words for
// flags.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/format/common/rows.h"
#include "cli/profile/profile.h"

namespace labelscope::cli {

// Our own keys. Where a label has the same key, the label counts.
inline constexpr std::string_view kPidKey = "pid";
inline constexpr std::string_view kThreadIdKey = "thread_id";
inline constexpr std::string_view kThreadNameKey = "thread_name";
inline constexpr std::string_view kCommKey = "comm";
inline constexpr std::string_view kFunctionKey = "function";  // in which the thread itself was
// What the thread did, by the name of its kind of time; of profiles with several kinds.
inline constexpr std::string_view kStateKey = "state";
// What every sample has.
std::vector<std::string> keys_of_every_sample();
// What tells samples apart where no program sets labels: of this profile, which may have neither
// stacks nor kinds; without a profile, what nearly all have.
std::vector<std::string> own_keys(const Profile* profile = nullptr);

inline constexpr std::string_view kNoneText = "<none>";
inline constexpr std::string_view kUnreadableText = "<unreadable>";
// What tables and the page call kNoneText; --where takes both.
inline constexpr std::string_view kUnsetText = "(unset)";

// Number of flags in enum ls_sample_flag.
inline constexpr unsigned kSampleFlagCount = std::bit_width(unsigned{LS_SAMPLE_FLAGS_END} - 1);
// One word for the flag 1 << bit ("truncated-slots"); "unknown" for a bit without a flag.
std::string_view sample_flag_name(unsigned bit);
// "labels|bytes|slots", as far as they were cut; empty if nothing was.
std::string truncated_words(unsigned flags);
// The names of the flags in `flags`, joined with '|'.
std::string flag_words(unsigned flags);

// Flags that samples of pprof and OTLP show; the others tell how a label set was read, not what is
// wrong with it.
inline constexpr std::uint16_t kShownFlags = LS_TRUNCATED | LS_NULL_VALUE | LS_DUPLICATE_KEY |
                                             LS_PARTLY_UNREADABLE | LS_KEY_CONFLICT | LS_STACK_CUT |
                                             LS_UNKNOWN_KEY | LS_INCOMPLETE_LABEL;

// A label as text without controls and without bytes that are no UTF-8.
struct TextLabel {
  std::string key;
  std::string value;
};

// Looks up by row. Refers to the profile, which must pass check_tables() and outlive it.
class RowLabels {
 public:
  explicit RowLabels(const Profile& profile);

  // Null where the row has none, or its process is not in the profile.
  const Thread* thread(const SampleRow& row) const;
  const Process* process(const SampleRow& row) const;
  // Thread::account; kNoIndex where there is none.
  Index account(const SampleRow& row) const;
  // The empty set where the row has none.
  const LabelSet& label_set(const SampleRow& row) const;
  // Whether its labels do not say its outcome: it is unreadable, or has those of its process alone.
  bool tells_outcome(const SampleRow& row) const {
    return is_unreadable(row.outcome) || (row.outcome == LS_UNLABELLED && !label_set(row).empty());
  }

  // By what a publisher's labels are told from another's: the name of its file, from the second
  // file of that name on with "#2", "#3"; its number if the profile does not know it.
  static std::string publisher_name(const Process* process, std::uint8_t publisher);

  // The value of this key, else our own value of that name; as bytes. Where publishers disagree, no
  // value wins: "a@shop|b@libplugin.so".
  std::optional<std::string> value(const SampleRow& row, std::string_view key) const;
  // Our own value of that name, whatever labels there are; as bytes.
  std::optional<std::string> own_value(const SampleRow& row, std::string_view key) const;
  // "key=value" for a root frame, with kEmptyText, kNoneText or kUnreadableText as value where
  // there is nothing else to show; as bytes.
  std::string group_frame(const SampleRow& row, std::string_view key) const;
  // All labels of the thread, no key twice, none empty: how keys of several publishers are told
  // apart is written down in docs/schema/recording-format.md, "Labels in pprof". `key_text` may give
  // keys other names.
  std::vector<TextLabel> all(const SampleRow& row,
                             std::string (*key_text)(std::string_view key)) const;

 private:
  std::optional<std::string> label_value(const SampleRow& row, std::string_view key) const;

  const Profile& profile_;
  std::unordered_map<std::int32_t, const Process*> processes_;
  LabelSet no_labels_;
};

}  // namespace labelscope::cli

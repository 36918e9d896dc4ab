#include "cli/report/read_recordings.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <system_error>
#include <tuple>

#include "cli/format/common/ledger_text.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/recording_reader.h"
#include "cli/host/log.h"
#include "cli/host/rights.h"
#include "cli/profile/merge.h"
#include "cli/text/escape.h"
#include "cli/text/shares.h"

namespace labelscope::cli {
namespace {

Result<std::ifstream> open(const std::string& path) {
  if (path == "-") return std::ifstream();
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    return Error{ErrorCode::kSystem, "it is a directory"};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return system_error(errno, "cannot open it");
  return file;
}

Result<ReadRecording> read(OpenedRecording& recording, const std::string& value) {
  if (recording.path == "-") return read_recording(std::cin, value);
  if (!recording.file) recording.file = open(recording.path);
  if (!*recording.file) return std::move(*recording.file).error();
  return read_recording(**recording.file, value);
}

void add(std::vector<SeenValues>& all, std::vector<SeenValues> seen) {
  all.resize(seen.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    all[i].met |= seen[i].met;
    all[i].values.merge(seen[i].values);
  }
}

// Two files with the same identity hold the same recording.
using Identity = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::string, std::string>;
Identity identity_of(const Profile& profile) {
  return {profile.start_unix_ns, profile.start_monotonic_ns, profile.duration_ns,
          profile.command_line, remarks_line(profile)};
}

}  // namespace

Result<std::vector<OpenedRecording>> open_recordings(const std::vector<std::string>& paths,
                                                     const Outputs* outputs) {
  std::vector<OpenedRecording> opened;
  const bool has_rights = ::geteuid() == 0 || has_lent_rights();
  for (const std::string& path : paths) {
    if (has_rights) {
      const UsersOwnRights own;
      opened.push_back({path, open(path)});
    } else {
      opened.push_back({path, std::nullopt});
    }
  }
  if (!has_rights) return opened;
  const auto can_name_outputs = [&] { return outputs == nullptr || outputs->can_be_named(); };
  if (Status given_up = drop_rights(0, std::nullopt, can_name_outputs); !given_up) {
    return std::move(given_up).error();
  }
  return opened;
}

ReadRecordings read_recordings(std::span<OpenedRecording> recordings, const Selection& selection,
                               const std::string& value) {
  ReadRecordings all;
  std::set<Identity> seen;
  for (OpenedRecording& opened : recordings) {
    const std::string name = opened.path == "-" ? "stdin" : escape_terminal(opened.path);
    auto recording = read(opened, value);
    if (recording) add_keys(recording->profile, all.keys);
    Status done = recording ? Status() : Status(recording.error());
    if (done && recordings.size() > 1) leave_out_usual_differences(recording->profile);
    if (done) {
      auto selected = select(recording->profile, selection);
      if (selected) {
        add(all.seen, *std::move(selected));
      } else {
        done = std::move(selected).error();
      }
    }
    if (done) {
      for (const std::string& note : recording->notes) {
        log::info(name + ": " + escape_terminal(note));
      }
      for (const std::string& lost : recording->lost) {
        log::warning(name + ": " + escape_terminal(lost));
        recording->profile.remarks.push_back("what could be read of a file: " + lost);
        all.status = kExitRuntimeError;
      }
      const bool has_start = recording->profile.start_unix_ns != 0;
      if (has_start && !seen.insert(identity_of(recording->profile)).second) {
        log::warning(name + ": the same recording as one before, so its samples count twice");
      }
      if (all.profile) {
        done = merge(*all.profile, std::move(recording->profile));
      } else {
        all.profile = std::move(recording->profile);
      }
    }
    if (!done) {
      log::error(name + ": " + escape_terminal(done.error().context));
      return {std::nullopt, status_of(done.error()), {}, {}};
    }
  }
  std::vector<std::string> asked;
  for (const Condition& condition : selection.conditions) asked.push_back(condition.key());
  warn_of_unknown_keys(asked, "--where", all.keys);
  return all;
}

bool has_no_values(const Profile& profile) {
  return profile.backend.empty() &&
         std::all_of(profile.rows.begin(), profile.rows.end(),
                     [](const SampleRow& row) { return row.weight_ns == 0; });
}

std::string no_values_text(const Profile& profile) {
  return "its values are all 0: " + count_text(profile.ledger.written, profile) + ", nothing of " +
         escape_terminal(text_of(profile.whole_value())) +
         " (--value chooses another one, where there are several)";
}

std::string why_none_is_left(const Selection& selection, const ReadRecordings& recordings) {
  for (std::size_t i = 0; i < recordings.seen.size(); ++i) {
    const auto& [met, values] = recordings.seen[i];
    const Condition& condition = selection.conditions[i];
    if (met || values.empty()) continue;
    const std::string begin = "--where " + escape_terminal(condition.text()) + ": ";
    if (!recordings.keys.contains(condition.key())) return begin + "no sample has this label";
    return begin + "no sample has such a value; there are: " + first_of(values, SeenValues::kMost);
  }
  const std::string length =
      "the recording, which is " + time_text(recordings.profile->duration_ns) + " long";
  if (selection.conditions.empty()) return "no sample is left of " + length;
  const bool timed = selection.since || selection.until;
  return std::string("no sample meets all conditions") +
         (timed ? " between --since and --until of " + length : std::string());
}

void add_keys(const Profile& profile, std::set<std::string>& keys) {
  // Every sample has these, whatever the target publishes (docs/schema/recording-format.md).
  for (std::string& key : own_keys(&profile)) keys.insert(std::move(key));
  for (const LabelSet& labels : profile.label_sets) {
    for (const Label& label : labels) keys.insert(label.key);
  }
}

std::string first_of(const std::set<std::string>& words, std::size_t most) {
  std::string text;
  std::size_t shown = 0;
  for (const std::string& word : words) {
    if (++shown > most) return text + ", ...";
    text += (text.empty() ? "" : ", ") + escape_terminal(word);
  }
  return text;
}

void warn_of_unknown_keys(const std::vector<std::string>& asked, const std::string& option,
                          const std::set<std::string>& known) {
  constexpr std::size_t kMostShown = 12;
  for (const std::string& key : asked) {
    if (known.contains(key)) continue;
    log::warning("no sample has the label " + escape_terminal(key) + " of " + option +
                 "; there are: " + first_of(known, kMostShown));
  }
}

}  // namespace labelscope::cli

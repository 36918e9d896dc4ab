// Reads recordings from files, selects samples, and adds them up. Problems of a file are reported
// here, and names of labels that no sample has.
#pragma once

#include <cstddef>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/answer/selection.h"
#include "cli/host/exit_status.h"
#include "cli/profile/profile.h"
#include "cli/report/outputs.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct ReadRecordings {
  std::optional<Profile> profile;  // empty: one could not be read, and `status` says why
  int status = kExitOk;            // kExitRuntimeError if something was lost in reading
  std::set<std::string> keys;      // keys that samples have, before any sample was left out
  std::vector<SeenValues> seen;    // one for each condition
};

// A recording that was opened, or the reason why it could not be.
struct OpenedRecording {
  std::string path;  // "-" is stdin
  std::optional<Result<std::ifstream>> file;  // nullopt: it is opened when its turn has come
};

// If labelscope has any right to give up, this opens all of them, and gives it up before a byte of
// one is read: recordings may come from anywhere. The files are opened with the user's own rights
// (rights.h). `outputs` are those that are open already; null: none. An error means that a right is
// still there.
Result<std::vector<OpenedRecording>> open_recordings(const std::vector<std::string>& paths,
                                                     const Outputs* outputs);

// `value` is that of read_recording().
ReadRecordings read_recordings(std::span<OpenedRecording> recordings, const Selection& selection,
                               const std::string& value);

// Returns whether its values are all 0, which a file of another tool may have: shares of nothing do
// not exist.
bool has_no_values(const Profile& profile);
// Returns "its values are all 0: 12 entries of contentions".
std::string no_values_text(const Profile& profile);

// Explains why the selection leaves nothing: the condition that no sample meets, and the values
// that there are.
std::string why_none_is_left(const Selection& selection, const ReadRecordings& recordings);

// Adds the keys of the profile's labels, and our own, which every sample has.
void add_keys(const Profile& profile, std::set<std::string>& keys);

// Returns "a, b, ...": the first `most` of them, escaped.
std::string first_of(const std::set<std::string>& words, std::size_t most);

// Warns of keys of `option` that no sample has, and names those that exist.
void warn_of_unknown_keys(const std::vector<std::string>& asked, const std::string& option,
                          const std::set<std::string>& known);

}  // namespace labelscope::cli

#include "cli/report/known_keys.h"

#include "cli/format/common/row_labels.h"
#include "cli/host/log.h"
#include "cli/text/escape.h"

namespace labelscope::cli {

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

// This decides which samples of a recording are wanted: by labels, and by time.
#pragma once

#include <regex.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// One condition: "tenant=42", "tenant!=42", "http.route~^/pay", "http.route!~^/pay". A sample
// without the key has the value that RenderOptions::group_by gives it ("tenant=<none>"), and values
// are compared as they are shown there.
class Condition {
 public:
  // Fails with kMalformed if the text is no condition, or its regular expression is invalid.
  static Result<Condition> parse(const std::string& text);

  const std::string& key() const { return key_; }
  const std::string& text() const { return text_; }
  bool holds(const std::string& value) const;

 private:
  Condition() = default;
  struct Free {
    void operator()(regex_t* expression) const {
      ::regfree(expression);
      delete expression;
    }
  };
  std::string text_;
  std::string key_;
  std::string value_;
  bool wanted_ = true;                   // false: written with "!"
  std::shared_ptr<regex_t> expression_;  // POSIX extended; null: compare with the value as a whole
};

struct Selection {
  std::vector<Condition> conditions;  // a sample must meet all of them
  // Both count from the start of the recording.
  std::optional<std::chrono::nanoseconds> since;
  std::optional<std::chrono::nanoseconds> until;
  bool empty() const { return conditions.empty() && !since && !until; }
};

// The values that a condition has met in the samples of the selected time.
struct SeenValues {
  static constexpr std::size_t kMost = 12;
  bool met = false;              // true if the condition holds for one of them
  std::set<std::string> values;  // those for which it does not hold, up to one more than kMost
};

// Leaves the other samples out; the ledger then counts what is left. Returns what each condition
// has met. Fails with kUnsupported if a time is selected and some samples have none.
Result<std::vector<SeenValues>> select(Profile& profile, const Selection& selection);

}  // namespace labelscope::cli

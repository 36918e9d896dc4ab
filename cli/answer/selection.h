// Which samples of a recording are wanted: by labels, and by time.
#pragma once

#include <regex.h>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// "tenant=42", "tenant!=42", "http.route~^/pay", "http.route!~^/pay". What a sample without the key
// has, and how values are shown, is as in RenderOptions::group_by: "tenant=<none>".
class Condition {
 public:
  // kMalformed: it is no condition, or the expression is none.
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
  bool wanted_ = true;                   // false: with "!"
  std::shared_ptr<regex_t> expression_;  // POSIX, extended; null: the value as a whole
};

struct Selection {
  std::vector<Condition> conditions;  // all of them
  // From the start of the recording.
  std::optional<std::chrono::nanoseconds> since;
  std::optional<std::chrono::nanoseconds> until;
  bool empty() const { return conditions.empty() && !since && !until; }
};

// What a condition has met in the samples of the time that is wanted.
struct SeenValues {
  static constexpr std::size_t kMost = 12;
  bool met = false;              // it holds for one
  std::set<std::string> values;  // for which it does not hold, up to one more than kMost
};

// Leaves the other samples out; the ledger then tells of what is left. Returns what each condition
// has met. kUnsupported: a time is wanted, and the recording has none for some samples.
Result<std::vector<SeenValues>> select(Profile& profile, const Selection& selection);

}  // namespace labelscope::cli

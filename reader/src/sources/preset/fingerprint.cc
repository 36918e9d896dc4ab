#include "sources/preset/fingerprint.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>

namespace labelscope {
namespace {

// Ignores the case of ASCII letters, as keywords do.
bool is_word(std::string_view text, std::string_view keyword) {
  return std::ranges::equal(text, keyword, [](char one, char other) {
    return one == other || (one >= 'a' && one <= 'z' && one - 'a' + 'A' == other);
  });
}
bool is_any(std::string_view text, std::initializer_list<const char*> keywords) {
  return std::ranges::any_of(keywords, [&](const char* word) { return is_word(text, word); });
}

class Fingerprint {
 public:
  Fingerprint(std::string_view statement, SqlDialect dialect) : lexer_(statement, dialect) {}

  std::string make() {
    for (SqlToken token = lexer_.next(); token.kind != SqlKind::kEnd; token = lexer_.next()) {
      add(token);
    }
    made_.resize(end_of_made());
    return std::move(made_);
  }

 private:
  // What is known of the statement: its first word, how many it has had, and whether the rest of it
  // is a value.
  struct State {
    std::string_view first;
    std::size_t words = 0;
    bool after_replace = false;
    bool after_set = false;
    bool hides = false;
    bool is_hidden = false;  // the ? for the rest is written
  };

  void add(const SqlToken& token) {
    if (token.kind == SqlKind::kGap) {
      if (!made_.empty() && made_.back() != ' ' && !state_.is_hidden) made_ += ' ';
    } else if (token.text == ";") {
      made_.resize(end_of_made());
      made_ += ';';
      state_ = {};
    } else if (state_.hides) {
      if (!state_.is_hidden) add_value();
      state_.is_hidden = true;
    } else if (token.kind == SqlKind::kValue) {
      add_value();
    } else {
      made_ += token.text;
      if (token.kind == SqlKind::kWord) see_word(token.text);
      if (token.text == "=" && state_.after_set) state_.hides = true;
    }
  }

  void see_word(std::string_view word) {
    State& state = state_;
    if (++state.words == 1) {
      state.first = word;
      state.after_set = is_word(word, "SET");
      state.hides = is_any(word, {"LISTEN", "UNLISTEN", "NOTIFY"});
      return;
    }
    const bool changes = is_any(state.first, {"CREATE", "ALTER", "DROP", "RENAME"});
    if (changes && (state.words == 2 || state.after_replace)) {
      state.hides = is_any(word, {"USER", "ROLE", "GROUP"});
    }
    state.after_replace = state.words == 3 && is_word(word, "REPLACE");
    state.after_set |= changes && is_word(word, "SET");
    if (state.after_set) state.hides |= is_word(word, "TO");
    if (is_word(state.first, "SET")) state.hides |= is_any(word, {"ROLE", "AUTHORIZATION", "ZONE"});
    if (changes || is_word(state.first, "GRANT")) state.hides |= is_word(word, "IDENTIFIED");
  }

  // A list of values is as good as one, and a sign belongs to its number.
  void add_value() {
    if (made_.ends_with('-') || made_.ends_with('+')) {
      const std::size_t end = end_of_made(1);
      if (end > 0 && std::string_view(",(=<>[").find(made_[end - 1]) != std::string_view::npos) {
        made_.pop_back();
      }
    }
    std::size_t end = end_of_made();
    if (end > 0 && made_[end - 1] == ',') {
      end = end_of_made(made_.size() - (end - 1));
      if (end > 0 && made_[end - 1] == '?') {
        made_.resize(end);
        return;
      }
    }
    made_ += '?';
  }

  // Returns the size of what is made without so many bytes at its end, and without blanks before.
  std::size_t end_of_made(std::size_t without = 0) const {
    const std::size_t last =
        std::string_view(made_).substr(0, made_.size() - without).find_last_not_of(' ');
    return last + 1;  // npos + 1 is 0
  }

  SqlLexer lexer_;
  State state_;
  std::string made_;
};

}  // namespace

std::string statement_fingerprint(std::string_view statement, SqlDialect dialect) {
  return Fingerprint(statement, dialect).make();
}

}  // namespace labelscope

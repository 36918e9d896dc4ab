// The options of one subcommand. Each is declared once: its names, where its value goes, and how a
// word becomes that value:
//
//   list.word("-d,--duration", "TIME", "How long", options.duration, parse_duration);
//
// Words are read when the whole line has been parsed, in the order of declaration: --help comes
// before any complaint.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace labelscope::cli {

// What --help shows for a command.
struct CommandTexts {
  const char* name;
  const char* about;
  const char* usage;  // its forms, one in each line
  const char* footer;
  bool takes_command = false;  // takes a program after "--"
  // resembles commands of other profilers, whose options users may type
  bool records = false;
};

// The part of the command line that CLI11 does not see.
struct CommandTail {
  std::vector<std::string> command;  // everything after the first "--"
  std::string command_line;          // all of it, as a user would type it again
};

class OptionList {
  using Words = std::vector<std::string>;

 public:
  explicit OptionList(CLI::App& command) : command_(command) {}
  OptionList(const OptionList&) = delete;
  OptionList& operator=(const OptionList&) = delete;

  // Declares files and directories, which need no option in front of them. Call it first.
  void files(const std::string& help, Words& to);
  // --help prints this title above the options that follow.
  void group(const char* title) { group_ = title; }
  // Declares a flag; given() has its value.
  void flag(const char* names, const std::string& help);
  void flag(const char* names, const std::string& help, bool& to, bool value = true);
  // Declares an option with one value, read by parse(option, word). `usual` is the word if none is
  // given; without it, `to` keeps its value.
  template <class T, class Parse>
  void word(const char* names, const std::string& type, const std::string& help, T& to, Parse parse,
            const char* usual = nullptr) {
    if constexpr (requires { parse.names(); }) choices_[names] = parse.names();
    add_word(names, type, help, usual, [&to, parse](const std::string& option, const Words& typed) {
      to = parse(option, typed.back());
    });
  }
  // The same for an option that may be repeated; it is read by parse(option, words).
  template <class T, class Parse>
  void words(const char* names, const std::string& type, const std::string& help, T& to,
             Parse parse) {
    add_words(names, type, help, [&to, parse](const std::string& option, const Words& typed) {
      to = parse(option, typed);
    });
  }

  // Call it after parsing. Throws CLI::ValidationError (refuse() of values.h).
  void read() const;
  // Returns whether the option was typed, also with an empty argument.
  bool given(const char* option) const;
  // Returns the words that an option takes, by its first long name; none if it takes any.
  std::vector<std::string> choices(const std::string& option) const;

 private:
  using Take = std::function<void(const std::string& option, const Words& typed)>;
  void add_word(const char* names, const std::string& type, const std::string& help,
                const char* usual, Take take);
  void add_words(const char* names, const std::string& type, const std::string& help, Take take);

  CLI::App& command_;
  const char* group_ = "";
  std::map<std::string, Words> choices_;  // by all names of an option, as they were declared
  std::deque<Words> words_;               // CLI11 stores typed words here
  std::vector<std::function<void()>> reads_;
};

}  // namespace labelscope::cli

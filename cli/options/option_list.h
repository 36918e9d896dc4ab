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
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace labelscope::cli {

// What --help says of a command.
struct CommandTexts {
  const char* name;
  const char* about;
  const char* usage;  // its forms, a line each
  const char* footer;
  bool takes_command = false;  // a program after "--"
  bool records = false;        // as commands of other profilers do, whose options may be typed
};

// What CLI11 does not see.
struct CommandTail {
  std::vector<std::string> command;  // everything behind the first "--"
  std::string command_line;          // all of it, as one would type it again
};

class OptionList {
  using Words = std::vector<std::string>;

 public:
  explicit OptionList(CLI::App& command) : command_(command) {}
  OptionList(const OptionList&) = delete;
  OptionList& operator=(const OptionList&) = delete;

  // Files and directories, which need no option in front of them. Declared first.
  void files(const std::string& help, Words& to);
  // What --help has above the options that follow.
  void group(const char* title) { group_ = title; }
  // For who asks given().
  void flag(const char* names, const std::string& help);
  void flag(const char* names, const std::string& help, bool& to, bool value = true);
  // With one value, by parse(option, word). `usual` is the word where none is given; without it, `to`
  // stays what it is.
  template <class T, class Parse>
  void word(const char* names, const std::string& type, const std::string& help, T& to, Parse parse,
            const char* usual = nullptr) {
    add_word(names, type, help, usual, [&to, parse](const std::string& option, const Words& typed) {
      to = parse(option, typed.back());
    });
  }
  // The same for an option that may be repeated: parse(option, words).
  template <class T, class Parse>
  void words(const char* names, const std::string& type, const std::string& help, T& to,
             Parse parse) {
    add_words(names, type, help, [&to, parse](const std::string& option, const Words& typed) {
      to = parse(option, typed);
    });
  }

  // After parsing. Throws CLI::ValidationError (refuse() of values.h).
  void read() const;
  // Also with an empty argument.
  bool given(const char* option) const;

 private:
  using Take = std::function<void(const std::string& option, const Words& typed)>;
  void add_word(const char* names, const std::string& type, const std::string& help,
                const char* usual, Take take);
  void add_words(const char* names, const std::string& type, const std::string& help, Take take);

  CLI::App& command_;
  const char* group_ = "";
  std::deque<Words> words_;  // what is typed, where CLI11 puts it
  std::vector<std::function<void()>> reads_;
};

}  // namespace labelscope::cli

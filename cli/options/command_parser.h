// What every command of labelscope brings for the command line. A new command is a class in a file
// of its own, its options in the variant below, and a line in command_line.cc.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace CLI {
class App;
}

namespace labelscope::cli {

struct CheckOptions;
struct DumpOptions;
struct InspectOptions;
struct RecordOptions;
using Options = std::variant<RecordOptions, DumpOptions, InspectOptions, CheckOptions>;

// What CLI11 does not see.
struct CommandTail {
  std::vector<std::string> command;  // everything behind the first "--"
  std::string command_line;          // all of it, as one would type it again
};

class CommandParser {
 public:
  virtual ~CommandParser() = default;
  virtual const char* name() const = 0;
  // The forms of the command, a line each, as --help shows them.
  virtual const char* usage() const = 0;
  // Adds the subcommand; once.
  virtual void add_to(CLI::App& app) = 0;
  // After parsing. Throws CLI::ValidationError (refuse() of values.h).
  virtual Options checked(const CommandTail& tail) const = 0;
  // Whether it takes a program after "--".
  virtual bool takes_command() const { return false; }
};

}  // namespace labelscope::cli

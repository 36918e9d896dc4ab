// labelscope: parse, dispatch, report what was not foreseen.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <exception>
#include <variant>

#include "cli/commands.h"
#include "cli/format/text.h"
#include "cli/host/exit_status.h"
#include "cli/host/own_process.h"
#include "cli/options/command_line.h"

namespace {

using namespace labelscope::cli;

int run(const RecordOptions& options) { return run_record(options); }
int run(const DumpOptions& options) { return run_dump(options); }
int run(const InspectOptions& options) { return run_inspect(options); }
// It may go on for hours, and what it checks is not what happens at one moment.
int run(const CheckOptions& options) {
  Precedence::own().give_back();
  return run_check(options);
}

// Where one of the three is closed, the next file that is opened would take its number, and a
// message or a table would be written into a profile. Opened the wrong way round, so that using it
// is an error as before.
void occupy_standard_streams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Precedence::own().take();
  occupy_standard_streams();
  std::setlocale(LC_CTYPE, "");  // whether a terminal shows more than ASCII
  try {
    auto parsed = parse_command_line(argc, argv);
    if (const auto* end = std::get_if<ParseEnd>(&parsed)) {
      std::fputs(end->output.c_str(), stdout);
      std::fputs(end->error.c_str(), stderr);
      const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
      if (!written) std::fprintf(stderr, "labelscope: %s\n", cannot_write("stdout", errno).c_str());
      return written ? end->status : kExitRuntimeError;
    }
    return std::visit(
        [](const auto& options) {
          log::open(options.messages.log_level);
          return run(options);
        },
        std::get<Options>(parsed));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "labelscope: internal error: %s\n", error.what());
    return kExitRuntimeError;
  }
}

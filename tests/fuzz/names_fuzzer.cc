// Fuzzes the names of a hostile file: labelscope's side and the worker's, in one process. The
// worker has its budget (budget.h); libFuzzer's own limits of memory and time detect what libdw
// does beyond it.
//
//   input = an ELF file
#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <thread>

#include "cli/symbol/file_namer.h"
#include "cli/worker_tasks.h"
#include "fuzz/fuzzed_file.h"
#include "fuzz/fuzzer_check.h"

namespace {

using namespace labelscope;
using namespace labelscope::cli;

// This is longer than libFuzzer's own limit of time.
constexpr std::chrono::hours kPatience{1};

// The worker is a thread, so that sanitizers see what it leaks or overruns.
class ThreadWorker {
 public:
  Launcher launcher() {
    return [this](std::uint64_t /*most_memory*/) -> Result<Launched> {
      int sockets[2];
      if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) std::abort();
      fuzzer_check(!thread_.joinable(), "no file ends the worker");
      thread_ = std::thread([theirs = sockets[1]] {
        Channel channel(UniqueFd(theirs), Channel::Files::kTaken);
        (void)channel.send({Message::Kind::kReady, {}, {}}, kPatience);
        serve_requests(channel, kWorkerTasks);
      });
      return Launched{0, UniqueFd(sockets[0])};
    };
  }
  ~ThreadWorker() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

// Names addresses of the file from all that it has, or from its symbol tables alone.
void name_addresses(const FuzzedFile& file, bool debug_information) {
  ThreadWorker worker;
  FileNamer namer({.launch = worker.launcher(),
                   .debug_folders = {},
                   .debug_information = debug_information,
                   .cancelled = {},
                   .most_of_a_file = kPatience,
                   .most_of_all = kPatience});
  NamedFile named(namer, std::make_shared<OpenModuleFile>(file.open()), "/fuzzed");
  if (!named.open()) {
    fuzzer_check(!named.problem().empty(), "a file that is not used has a reason");
    return;
  }
  // The code of most files is near the first address.
  std::vector<Address> addresses;
  for (Address at = 0; at < 0x4000; at += 0x101) addresses.push_back(named.first_address() + at);
  for (const bool inlined : {true, false}) {
    const auto names = named.find(addresses, inlined);
    fuzzer_check(names.size() == addresses.size(), "each address has an answer");
    fuzzer_check(named.is_usable(), "labelscope takes what its own worker says");
    for (const auto& lines : names) {
      const bool whole = lines.size() <= 1 && (lines.empty() || lines[0].line == 0);
      fuzzer_check(debug_information || whole,
                   "symbols alone give neither lines nor inlined calls");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const FuzzedFile file(data, size);
  for (const bool debug_information : {true, false}) name_addresses(file, debug_information);
  return 0;
}

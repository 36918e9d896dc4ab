// The worker: what runs in the process that looks at foreign files (worker.h is the other side).
//
//   labelscope                          worker
//     executes itself ----------------->  main() --> worker_main(): gives up its rights (seal.h)
//     a request, with descriptors ----->  the task of that name
//       <----------------------------- parts of the answer, questions (a debug file?)
//       <----------------------------- done
//     closes the socket --------------->  ends
//
// A task is a name and a function, in the list of cli/worker_tasks.h: what the worker can do more is
// one file and one line.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/worker/channel.h"

namespace labelscope::cli {

// The worker's side of one request.
class Conversation {
 public:
  explicit Conversation(Channel& channel) : channel_(channel) {}

  // Sends a part of the answer.
  void reply(std::string body);
  // Asks labelscope for something and waits.
  Message ask(std::string body);

 private:
  Channel& channel_;
};

// An error: there is no answer, and why.
using Answer = std::function<Status(Message request, Conversation& conversation)>;

struct WorkerTask {
  std::string_view name;
  // Called once for each worker; so an Answer can keep what the next request needs.
  Answer (*make)();
};

// As argv[1], it makes labelscope the worker. Then follows the most memory that it may have.
inline constexpr std::string_view kWorkerArgument = "--worker-for-foreign-files";
inline constexpr int kWorkerSocket = 3;

// Exit statuses of the worker beside 0.
inline constexpr int kWorkerMisused = 2;       // it was started by somebody else
inline constexpr int kWorkerOutOfMemory = 12;  // ENOMEM

inline bool is_worker(int argc, char** argv) {
  return argc == 3 && std::string_view(argv[1]) == kWorkerArgument;
}
// What main() returns for the worker.
int worker_main(char** argv, std::span<const WorkerTask> tasks);
// The loop alone: answers requests until labelscope closes the socket, and returns then.
void serve_requests(Channel& channel, std::span<const WorkerTask> tasks);

}  // namespace labelscope::cli

// The worker: what runs in the process that reads foreign files (worker.h is the other side).
//
//   labelscope                          worker
//     executes itself ----------------->  main() --> worker_main(): gives up its rights (seal.h)
//     a request, with descriptors ----->  the task of that name
//       <----------------------------- parts of the answer, questions (a debug file?)
//       <----------------------------- done
//     closes the socket --------------->  ends
//
// A task is a name and a function in the list of cli/worker_tasks.h. A new task is one file and one
// line.
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

// It fails if there is no answer; the error has the reason.
using Answer = std::function<Status(Message request, Conversation& conversation)>;

struct WorkerTask {
  std::string_view name;
  // Called once for each worker, so an Answer can keep what the next request needs.
  Answer (*make)();
};

// As argv[1], this makes labelscope the worker. The next argument is the most memory that it may
// have.
inline constexpr std::string_view kWorkerArgument = "--worker-for-foreign-files";
inline constexpr int kWorkerSocket = 3;

// The exit statuses of the worker besides 0.
inline constexpr int kWorkerMisused = 2;       // not started by labelscope
inline constexpr int kWorkerOutOfMemory = 12;  // equals ENOMEM

inline bool is_worker(int argc, char** argv) {
  return argc == 3 && std::string_view(argv[1]) == kWorkerArgument;
}
// main() returns this for the worker.
int worker_main(char** argv, std::span<const WorkerTask> tasks);
// The loop alone: answers requests until labelscope closes the socket.
void serve_requests(Channel& channel, std::span<const WorkerTask> tasks);

}  // namespace labelscope::cli

#include "cli/worker/worker_main.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>

#include "cli/host/own_process.h"
#include "cli/worker/seal.h"

namespace labelscope::cli {
namespace {

// labelscope always reads while it waits for an answer, or it is gone.
constexpr std::chrono::seconds kMostPatience{60};
constexpr std::chrono::milliseconds kNoLimit{-1};

// If labelscope is gone there is no one to report to, and libdw cannot be left in the middle.
[[noreturn]] void leave(int status) { _exit(status); }

void send_or_leave(Channel& channel, const Message& message) {
  if (!channel.send(message, kMostPatience)) leave(0);
}

Message receive_or_leave(Channel& channel) {
  while (true) {
    Result<std::optional<Message>> message = channel.receive(kNoLimit);
    if (!message) leave(0);
    if (*message) return std::move(**message);
  }
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += (all.empty() ? "" : "; ") + line;
  return all;
}

bool is_packet_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

}  // namespace

void Conversation::reply(std::string body) {
  send_or_leave(channel_, {Message::Kind::kReply, std::move(body), {}});
}

Message Conversation::ask(std::string body) {
  send_or_leave(channel_, {Message::Kind::kAsk, std::move(body), {}});
  Message given = receive_or_leave(channel_);
  if (given.kind != Message::Kind::kGive) leave(kWorkerMisused);
  return given;
}

void serve_requests(Channel& channel, std::span<const WorkerTask> tasks) {
  std::map<std::string_view, Answer> answers;
  for (const WorkerTask& task : tasks) answers[task.name] = task.make();
  while (true) {
    Result<std::optional<Message>> request = channel.receive(kNoLimit);
    if (!request) return;
    if (!*request) continue;
    Message message = std::move(**request);
    const std::string name = message.body.substr(0, message.body.find('\0'));
    message.body.erase(0, name.size() + 1);
    Conversation conversation(channel);
    const auto answer = answers.find(name);
    const Status status = answer == answers.end()
                              ? Error{ErrorCode::kUnsupported, "the worker knows no task " + name}
                              : answer->second(std::move(message), conversation);
    send_or_leave(channel,
                  {Message::Kind::kDone, status ? std::string() : status.error().context, {}});
  }
}

int worker_main(char** argv, std::span<const WorkerTask> tasks) {
  if (!is_packet_socket(kWorkerSocket)) {
    std::fprintf(stderr, "labelscope: %s is for labelscope itself\n", argv[1]);
    return kWorkerMisused;
  }
  Precedence::own().take();
  ::prctl(PR_SET_NAME, "labelscope-file");
  Channel channel(UniqueFd(kWorkerSocket), Channel::Files::kTaken);
  const Result<std::vector<std::string>> sealed =
      seal_this_process(std::strtoull(argv[2], nullptr, 10));
  if (!sealed) {
    send_or_leave(channel, {Message::Kind::kRefused, sealed.error().context, {}});
    return 0;
  }
  // If an allocation fails in the middle of libdw or of a task, the worker cannot continue.
  std::set_new_handler([] { leave(kWorkerOutOfMemory); });
  send_or_leave(channel, {Message::Kind::kReady, joined(*sealed), {}});
  serve_requests(channel, tasks);
  leave(0);
}

}  // namespace labelscope::cli

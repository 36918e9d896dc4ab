#include "cli/worker/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace labelscope::cli {
namespace {

using Control = std::array<char, CMSG_SPACE(sizeof(int) * kMaxFiles)>;

Error gone() { return {ErrorCode::kVanished, "the other side has closed the connection"}; }

// Returns 0 if nothing happened in this time.
Result<int> wait_for(int socket, short events, std::chrono::milliseconds timeout) {
  pollfd waiting{socket, events, 0};
  const int ready = ::poll(&waiting, 1, static_cast<int>(timeout.count()));
  if (ready < 0 && errno != EINTR) return system_error(errno, "waiting for the worker");
  return ready > 0 ? waiting.revents : 0;
}

void take_files(msghdr& header, std::vector<UniqueFd>& files) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      files.emplace_back(fd);
    }
  }
}

}  // namespace

Status Channel::send(const Message& message, std::chrono::milliseconds timeout) {
  if (message.body.size() + 1 > kMaxPacket || message.files.size() > kMaxFiles) {
    return Error{ErrorCode::kLimit, "a message is too large to be sent"};
  }
  auto kind = static_cast<std::uint8_t>(message.kind);
  std::array<iovec, 2> parts{{{&kind, sizeof kind},
                              {const_cast<char*>(message.body.data()),  // NOLINT: it is only read
                               message.body.size()}}};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  alignas(cmsghdr) Control control{};
  if (!message.files.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(sizeof(int) * message.files.size());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * message.files.size());
    for (std::size_t i = 0; i < message.files.size(); ++i) {
      const int fd = message.files[i].get();
      std::memcpy(CMSG_DATA(rights) + i * sizeof fd, &fd, sizeof fd);
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    if (::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return {};
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return gone();
    if (errno != EAGAIN && errno != EWOULDBLOCK) return system_error(errno, "sending a message");
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Error{ErrorCode::kLimit, "the other side does not read"};
    // ends early if a signal comes
    const Result<int> ready = wait_for(socket_.get(), POLLOUT, left);
    if (!ready) return ready.error();
  }
}

Result<std::optional<Message>> Channel::receive(std::chrono::milliseconds timeout) {
  const Result<int> ready = wait_for(socket_.get(), POLLIN, timeout);
  if (!ready) return ready.error();
  if (*ready == 0) return std::optional<Message>();
  std::uint8_t kind = 0;
  buffer_.resize(kMaxPacket);
  std::array<iovec, 2> parts{{{&kind, sizeof kind}, {buffer_.data(), buffer_.size()}}};
  alignas(cmsghdr) Control control{};
  msghdr header{};
  header.msg_iov = parts.data();
  header.msg_iovlen = parts.size();
  if (files_ == Files::kTaken) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  const ssize_t got = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return std::optional<Message>();
  if (got < 0 && errno == ECONNRESET) return gone();
  if (got < 0) return system_error(errno, "receiving a message");
  Message message;
  take_files(header, message.files);
  if (got == 0) return gone();
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return Error{ErrorCode::kMalformed, "a message is larger than any may be"};
  }
  if (kind < static_cast<std::uint8_t>(Message::Kind::kReady) ||
      kind > static_cast<std::uint8_t>(Message::Kind::kDone)) {
    return Error{ErrorCode::kMalformed, "a message is of a kind that is unknown"};
  }
  message.kind = static_cast<Message::Kind>(kind);
  message.body.assign(buffer_, 0, static_cast<std::size_t>(got) - 1);
  return std::optional<Message>(std::move(message));
}

}  // namespace labelscope::cli

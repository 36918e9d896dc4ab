// The wire between labelscope and its worker: packets over one socket, and descriptors with them.
//
//   packet = kind (1 byte) | body (<= kMaxPacket bytes) | <= kMaxFiles descriptors (SCM_RIGHTS)
//
// The socket is of the kind SOCK_SEQPACKET: the kernel keeps packets apart, so no length on the
// wire can be wrong. A body is a message of Protocol Buffers (protozero), which its reader checks
// as carefully as a file: a file that the worker reads may have taken control of the worker.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

// One packet fits into the kernel's default buffer for a socket (net.core.wmem_default: 208 KiB),
// with the kernel's own overhead.
inline constexpr std::size_t kMaxPacket = std::size_t{96} << 10;
inline constexpr std::size_t kMaxFiles = 2;

struct Message {
  // The worker sends kReady once, and then for each request any number of kReply and kAsk, and
  // kDone. labelscope sends kRequest, and one kGive for each kAsk.
  enum class Kind : std::uint8_t {
    // the worker has given up its rights; the body names those that it could not give up
    kReady = 1,
    kRefused,  // the worker could not, so it does nothing; the body has the reason
    kRequest,  // body: name of the task, '\0', the request itself
    kReply,    // a part of the answer
    kAsk,      // the worker needs something to continue
    kGive,     // what it asked for
    kDone,     // the end of the answer; the body is empty, or has the reason why there is none
  };
  Kind kind = Kind::kDone;
  std::string body;
  std::vector<UniqueFd> files;
};

class Channel {
 public:
  // Whether descriptors that come with packets are taken. Those that are not wanted never arrive.
  enum class Files { kTaken, kRefused };
  Channel(UniqueFd socket, Files files) : socket_(std::move(socket)), files_(files) {}

  // Waits up to `timeout` for room, because the other side may not be reading. Fails with kVanished
  // if the other side is gone, and with kLimit if the packet is too large.
  Status send(const Message& message, std::chrono::milliseconds timeout);
  // nullopt: nothing came in this time. Fails with kVanished if the other side is gone, and with
  // kMalformed if it is no message. A negative timeout waits without a limit.
  Result<std::optional<Message>> receive(std::chrono::milliseconds timeout);
  void close() { socket_.reset(); }

 private:
  UniqueFd socket_;
  Files files_;
  std::string buffer_;
};

}  // namespace labelscope::cli

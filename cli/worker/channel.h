// The wire between labelscope and its worker: packets over one socket, and descriptors beside them.
//
//   packet = kind (1 byte) | body, up to kMaxPacket bytes | up to kMaxFiles descriptors (SCM_RIGHTS)
//
// The socket is of the kind SOCK_SEQPACKET: the kernel keeps packets apart, so no length on the wire
// can lie. A body is a message of Protocol Buffers (protozero), which the one that reads it checks
// as it would check a file: the worker may be in the hands of whoever made the file that it reads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "labelscope/result.h"
#include "labelscope/unique_fd.h"

namespace labelscope::cli {

// One packet fits into the kernel's default buffer for a socket (net.core.wmem_default: 208 KiB),
// with what the kernel needs beside it.
inline constexpr std::size_t kMaxPacket = std::size_t{96} << 10;
inline constexpr std::size_t kMaxFiles = 2;

struct Message {
  // From the worker: kReady once, and then for each request any number of kReply and kAsk, and
  // kDone. To the worker: kRequest, and one kGive for each kAsk.
  enum class Kind : std::uint8_t {
    kReady = 1,  // the worker has given up its rights; the body tells what could not be given up
    kRefused,    // it has not, so it does nothing; the body tells why
    kRequest,    // body: name of the task, '\0', what is asked
    kReply,      // a part of the answer
    kAsk,        // the worker needs something to go on
    kGive,       // what it asked for
    kDone,       // the end of the answer; the body is empty, or tells why there is none
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

  // kVanished: the other side is gone. kLimit: the packet is too large. Waits for room as long as
  // `timeout`: the other side may not be reading.
  Status send(const Message& message, std::chrono::milliseconds timeout);
  // nullopt: nothing came in this time. kVanished: the other side is gone; kMalformed: what came is
  // no message. A negative timeout waits without a limit.
  Result<std::optional<Message>> receive(std::chrono::milliseconds timeout);
  void close() { socket_.reset(); }

 private:
  UniqueFd socket_;
  Files files_;
  std::string buffer_;
};

}  // namespace labelscope::cli

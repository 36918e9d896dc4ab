// Tests packets and descriptors between two ends of a socket, and malformed packets.
#include "cli/worker/channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <filesystem>
#include <iterator>

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

constexpr std::chrono::milliseconds kSoon{2000};
constexpr std::chrono::milliseconds kNow{0};

struct Pair {
  explicit Pair(Channel::Files files = Channel::Files::kTaken) {
    int sockets[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    raw = sockets[0];
    ours.emplace(UniqueFd(sockets[0]), Channel::Files::kTaken);
    theirs.emplace(UniqueFd(sockets[1]), files);
  }
  int raw = -1;
  std::optional<Channel> ours;
  std::optional<Channel> theirs;
};

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

}  // namespace

TEST_CASE("channel: a message arrives as it was sent, with its descriptors") {
  Pair pair;
  Message message{Message::Kind::kRequest, std::string("a\0b", 3), {}};
  message.files.emplace_back(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  REQUIRE(pair.ours->send(message, kSoon));
  REQUIRE(pair.ours->send({Message::Kind::kDone, std::string(kMaxPacket - 1, 'x'), {}}, kSoon));
  auto first = pair.theirs->receive(kSoon);
  REQUIRE(first);
  REQUIRE(*first);
  CHECK((*first)->kind == Message::Kind::kRequest);
  CHECK((*first)->body == message.body);
  REQUIRE((*first)->files.size() == 1);
  CHECK(::fcntl((*first)->files[0].get(), F_GETFD) == FD_CLOEXEC);
  auto second = pair.theirs->receive(kSoon);
  REQUIRE(second);
  REQUIRE(*second);
  CHECK((*second)->body.size() == kMaxPacket - 1);
  auto nothing = pair.theirs->receive(kNow);
  REQUIRE(nothing);
  CHECK_FALSE(*nothing);
}

TEST_CASE("channel: what is too large is not sent, and not taken") {
  Pair pair;
  CHECK_FALSE(pair.ours->send({Message::Kind::kDone, std::string(kMaxPacket, 'x'), {}}, kNow));
  const std::string large(kMaxPacket + 100, '\7');
  REQUIRE(::send(pair.raw, large.data(), large.size(), 0) > 0);
  const auto taken = pair.theirs->receive(kSoon);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == ErrorCode::kMalformed);
}

TEST_CASE("channel: an unknown kind is no message") {
  for (const char kind : {'\0', '\10', '\377'}) {
    Pair pair;
    REQUIRE(::send(pair.raw, &kind, 1, 0) == 1);
    CHECK_FALSE(pair.theirs->receive(kSoon));
  }
}

TEST_CASE("channel: descriptors that no request names never arrive") {
  Pair pair(Channel::Files::kRefused);
  Message message{Message::Kind::kReply, "x", {}};
  message.files.emplace_back(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  REQUIRE(pair.ours->send(message, kSoon));
  const std::size_t before = open_files();
  CHECK_FALSE(pair.theirs->receive(kSoon));
  CHECK(open_files() == before);
}

TEST_CASE("channel: the end of the other side is noticed, by both") {
  Pair pair;
  pair.ours.reset();
  const auto received = pair.theirs->receive(kSoon);
  REQUIRE_FALSE(received);
  CHECK(received.error().code == ErrorCode::kVanished);
  const Status sent = pair.theirs->send({Message::Kind::kDone, {}, {}}, kNow);
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == ErrorCode::kVanished);
}

TEST_CASE("channel: the wait for a peer that does not read has a limit") {
  Pair pair;
  Status sent;
  for (int i = 0; i < 1000 && sent; ++i) {
    sent = pair.ours->send({Message::Kind::kReply, std::string(kMaxPacket - 1, 'x'), {}},
                           std::chrono::milliseconds(20));
  }
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == ErrorCode::kLimit);
}

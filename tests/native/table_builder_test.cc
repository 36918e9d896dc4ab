// Tests in which order unwind tables are built, and what happens without a thread.
#include "bpf/unwind/table_builder.h"

#include <poll.h>
#include <sys/mman.h>

#include <csignal>
#include <future>
#include <utility>

#include "support/catch.h"
#include "support/no_threads.h"

using namespace labelscope;

TEST_CASE("table builder: files that every stack leads through come first, then what is wanted") {
  std::promise<void> has_begun;
  bool is_first = true;
  std::promise<void> all_asked;
  const std::shared_future<void> begin = all_asked.get_future().share();
  TableBuilder builder([&](UniqueFd) -> Result<UnwindTable> {
    if (std::exchange(is_first, false)) has_begun.set_value();
    begin.wait();
    return Error{ErrorCode::kNotFound, "it has no code"};
  });
  const auto ask = [&](std::uint64_t key, TableBuilder::Order order) {
    builder.ask(key, UniqueFd(::memfd_create("table_builder_test", MFD_CLOEXEC)), order);
  };
  using enum TableBuilder::Order;
  ask(1, kThen);
  has_begun.get_future().wait();
  ask(2, kThen);
  ask(3, kFirst);
  ask(4, kThen);
  ask(5, kFirst);
  ask(6, kThen);
  builder.prefer(6);
  builder.prefer(3);
  builder.prefer(7);
  all_asked.set_value();
  REQUIRE(builder.wait(std::chrono::seconds(60)));
  std::vector<std::uint64_t> order;
  for (const TableBuilder::Built& built : builder.take()) order.push_back(built.key);
  CHECK(order == std::vector<std::uint64_t>{1, 3, 5, 6, 2, 4});
}

TEST_CASE("table builder: without a thread a file has an error, and the next one tries again") {
  TableBuilder builder([](UniqueFd) -> Result<UnwindTable> {
    return Error{ErrorCode::kNotFound, "it has no code"};
  });
  const auto ask = [&](std::uint64_t key) {
    builder.ask(key, UniqueFd(::memfd_create("table_builder_test", MFD_CLOEXEC)));
  };
  sigset_t before;
  REQUIRE(::pthread_sigmask(SIG_SETMASK, nullptr, &before) == 0);
  {
    const NoThreads no_threads;
    ask(1);
  }
  sigset_t after;
  REQUIRE(::pthread_sigmask(SIG_SETMASK, nullptr, &after) == 0);
  CHECK(sigismember(&after, SIGINT) == sigismember(&before, SIGINT));
  pollfd ready{builder.ready_fd(), POLLIN, 0};
  CHECK(::poll(&ready, 1, 0) == 1);
  const std::vector<TableBuilder::Built> refused = builder.take();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].key == 1);
  REQUIRE_FALSE(refused[0].table);
  CHECK(refused[0].table.error().context.find("thread") != std::string::npos);
  CHECK(builder.is_idle());

  ask(2);
  REQUIRE(builder.wait(std::chrono::seconds(60)));
  const std::vector<TableBuilder::Built> built = builder.take();
  REQUIRE(built.size() == 1);
  CHECK(built[0].table.error().code == ErrorCode::kNotFound);
}

// Tests in which order unwind tables are built.
#include "bpf/unwind/table_builder.h"

#include <sys/mman.h>

#include <future>
#include <utility>

#include "support/catch.h"

using namespace labelscope;

TEST_CASE("table builder: files that nearly every stack leads through come first") {
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
  all_asked.set_value();
  REQUIRE(builder.wait(std::chrono::seconds(60)));
  std::vector<std::uint64_t> order;
  for (const TableBuilder::Built& built : builder.take()) order.push_back(built.key);
  CHECK(order == std::vector<std::uint64_t>{1, 3, 5, 2, 4});
}

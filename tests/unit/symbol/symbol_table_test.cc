// Tests which symbol covers an address, on hand-written assembly (probe.cc).
#include "loaded_module.h"
#include "probe.h"
#include "support/catch.h"

using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): a test of this namespace

namespace {

std::string name_at(std::uint64_t address) {
  Profile profile = symbolize_addresses(module_at(address), {address});
  const std::vector<SourceLine>& lines = profile.locations[0].lines;
  return lines.empty() ? "" : lines.back().function.str();
}

const auto kUnsized = reinterpret_cast<std::uint64_t>(&probe_unsized);
const auto kSized = reinterpret_cast<std::uint64_t>(&probe_sized);

}  // namespace

TEST_CASE("symbol_table: a symbol without size reaches to the next one") {
  CHECK(name_at(kUnsized) == "probe_unsized");
  CHECK(name_at(kUnsized + 63) == "probe_unsized");
}

TEST_CASE("symbol_table: a label inside a function is not its name") {
  CHECK(name_at(kSized) == "probe_sized");
  CHECK(name_at(kSized + 40) == "probe_sized");
}

TEST_CASE("symbol_table: behind the end of a function its name ends") {
  // The label probe_padding is there and has no size.
  CHECK(name_at(kSized + 63) == "probe_sized");
  CHECK(name_at(kSized + 64) == "probe_padding");
  CHECK(name_at(kSized + 128) == "probe_end");
}

TEST_CASE("symbol_table: a local label belongs to the function without a size in front of it") {
  const auto loops = reinterpret_cast<std::uint64_t>(&probe_loops);
  CHECK(name_at(loops) == "probe_loops");
  CHECK(name_at(loops + 32) == "probe_loops");
  CHECK(name_at(loops + 63) == "probe_loops");
  CHECK(name_at(loops + 64) == "probe_many");
}

TEST_CASE("symbol_table: any number of labels inside a function leaves it its name") {
  const auto many = reinterpret_cast<std::uint64_t>(&probe_many);
  CHECK(name_at(many) == "probe_many");
  CHECK(name_at(many + 399) == "probe_many");
}

TEST_CASE("symbol_table: a name that begins with a dollar sign is a name") {
  const auto swift = reinterpret_cast<std::uint64_t>(&probe_swift);
  CHECK(name_at(swift + 1) == "$s5probe4nameyyF");
  CHECK(name_at(swift + 63) == "$s5probe4nameyyF");
}

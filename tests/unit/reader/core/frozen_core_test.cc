// Reads a core file that a kernel wrote (testdata/README.md says how). Every machine must always
// read the same from it.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>

#include "labelscope/plan.h"
#include "sampling/snapshot.h"
#include "support/catch.h"
#include "support/truth.h"
#include "unit/reader/elf_bytes.h"
#include "unit/reader/made_core.h"

namespace labelscope::test {
namespace {

std::string unpacked(const std::string& name) {
  gzFile file = ::gzopen(testdata_path(name).c_str(), "rb");
  REQUIRE(file != nullptr);
  std::string bytes;
  std::array<char, 65536> piece;
  for (int got = 0; (got = ::gzread(file, piece.data(), piece.size())) > 0;) {
    bytes.append(piece.data(), static_cast<std::size_t>(got));
  }
  ::gzclose(file);
  REQUIRE_FALSE(bytes.empty());
  return bytes;
}

std::vector<TruthThread> frozen_truth(const std::string& stem) {
  std::ifstream file(testdata_path("cores/" + stem + ".jsonl"));
  std::vector<TruthThread> threads;
  for (std::string line; std::getline(file, line);) {
    auto thread = parse_truth_thread(nlohmann::json::parse(line));
    REQUIRE(thread);
    threads.push_back(*std::move(thread));
  }
  REQUIRE(threads.size() == 6);
  return threads;
}

LabelSet sorted(LabelSet labels) {
  std::sort(labels.begin(), labels.end());
  return labels;
}

// Checks the core whose file names begin with `stem`.
void check_frozen_core(const std::string& stem) {
  const TempFolder folder;
  const std::string executable = folder.path() + "/crasher";
  write_file(executable, unpacked("cores/" + stem + ".gz"));
  const std::string core_path = folder.path() + "/core";
  write_file(core_path, unpacked("cores/" + stem + ".core.gz"));
  const auto core = CoreFile::open(core_path, {executable, {"/nonexistent"}, {}});
  if (!core) FAIL(core.error().context);
  CHECK((*core)->comm() == "crasher");
  auto plan = Planner().plan(**core);
  REQUIRE(plan);
  const auto snapshot = snapshot_core(**core, *plan, {});
  REQUIRE(snapshot);
  const std::vector<TruthThread> truth = frozen_truth(stem);
  REQUIRE(snapshot->threads.size() == truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    INFO(truth[i].kind << " thread");
    const ThreadSnapshot& thread = snapshot->threads[i];
    const LabelSet& labels = truth[i].variables.at(0).labels;
    CHECK(thread.tid == truth[i].tid);
    CHECK(thread.thread_pointer == truth[i].thread_pointer);
    CHECK(thread.signal == (truth[i].kind == "victim" ? SIGSEGV : 0));
    CHECK(thread.seen.outcome == (labels.empty() ? LS_UNLABELLED : LS_LABELLED));
    CHECK(sorted(thread.seen.labels) == sorted(labels));
  }
}

}  // namespace

TEST_CASE(
    "core_file: a frozen core of x86-64 and its executable still give every thread's labels") {
  check_frozen_core("crasher");
}

TEST_CASE("core_file: a frozen core of Linux 5.10, which lost thread pointers, has them all") {
  check_frozen_core("crasher-x86_64");
}

TEST_CASE("core_file: a frozen core of aarch64 gives every thread's labels on every machine") {
  check_frozen_core("crasher-aarch64");
}

}  // namespace labelscope::test

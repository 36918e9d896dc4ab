// Compares the time to build a table in the worker with that in this process:
// labelscope_table_bench FILE [TIMES]
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "cli/unwind/table_worker.h"
#include "cli/worker_tasks.h"

using namespace labelscope;       // NOLINT(google-build-using-namespace): a program of this project
using namespace labelscope::cli;  // NOLINT(google-build-using-namespace): the same

namespace {

using Build = std::function<Result<UnwindTable>(UniqueFd)>;

// Prints the median of `times` builds.
void measure(const char* what, const char* path, int times, const Build& build) {
  std::vector<double> taken;
  std::size_t rows = 0;
  for (int i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto table = build(UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)));
    taken.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
    if (!table) {
      std::fprintf(stderr, "%s: %s\n", path, table.error().context.c_str());
      std::exit(1);  // NOLINT(concurrency-mt-unsafe): there is one thread
    }
    rows = table->rows.size();
  }
  std::sort(taken.begin(), taken.end());
  std::printf("%-14s %8.1f ms, median of %d (%.1f to %.1f), %zu rows\n", what,
              taken[taken.size() / 2], times, taken.front(), taken.back(), rows);
}

}  // namespace

int main(int argc, char** argv) {
  if (is_worker(argc, argv)) return worker_main(argv, kWorkerTasks);
  if (argc < 2) {
    std::fprintf(stderr, "usage: labelscope_table_bench FILE [TIMES]\n");
    return 2;
  }
  const int times = argc > 2 ? std::max(1, std::atoi(argv[2])) : 5;  // NOLINT(cert-err34-c)
  {
    TableWorker tables;
    measure("worker", argv[1], times, [&](UniqueFd file) { return tables.build(std::move(file)); });
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const long with_worker = usage.ru_maxrss;
  measure("here", argv[1], times,
          [](UniqueFd file) { return build_unwind_table(std::move(file)); });
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const long worker = usage.ru_maxrss;
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("peak memory: %ld KiB and %ld KiB of the worker; built here: %ld KiB\n", with_worker,
              worker, usage.ru_maxrss);
  return 0;
}

// Compares the time to build a table in the worker with that in this process, or the tables of
// files with those that libdw alone leads to:
//
//   labelscope_table_bench FILE [TIMES]
//   labelscope_table_bench --here FILE         without the worker, for callgrind
//   labelscope_table_bench --compare FILE...
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>

#include "cli/unwind/table_worker.h"
#include "cli/worker_tasks.h"
#include "support/same_table.h"

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

// Returns the status of the program: 1 if a table differs.
int compare(int count, char** paths) {
  int same = 0;
  int refused = 0;
  int differ = 0;
  for (const char* path : std::span(paths, static_cast<std::size_t>(count))) {
    const auto open = [&] { return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC)); };
    UnwindTableLimits limits;
    limits.only_libdw = true;
    const auto table = build_unwind_table(open());
    const auto by_libdw = build_unwind_table(open(), limits);
    if (!table && !by_libdw && table.error().context == by_libdw.error().context) {
      ++refused;
    } else if (table && by_libdw && same_table(*table, *by_libdw)) {
      ++same;
    } else {
      ++differ;
      std::printf("%s differs\n", path);
    }
  }
  std::printf("%d tables are the same, %d files have none, %d differ\n", same, refused, differ);
  return differ == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (is_worker(argc, argv)) return worker_main(argv, kWorkerTasks);
  if (argc < 2) {
    std::fprintf(stderr, "usage: labelscope_table_bench [--here | --compare] FILE...\n");
    return 2;
  }
  if (std::strcmp(argv[1], "--compare") == 0) return compare(argc - 2, argv + 2);
  if (argc > 2 && std::strcmp(argv[1], "--here") == 0) {
    measure("here", argv[2], 1, [](UniqueFd file) { return build_unwind_table(std::move(file)); });
    return 0;
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

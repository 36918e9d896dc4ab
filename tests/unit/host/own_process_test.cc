// Tests what labelscope asks of the kernel for itself.
#include "cli/host/own_process.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "process/proc_fs.h"
#include "support/catch.h"

using namespace labelscope;

// FDSize is how many descriptors the kernel's table has room for.
TEST_CASE("own process: there is room for thousands of files before there is a second thread") {
  cli::raise_file_limit();
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(limit.rlim_cur == limit.rlim_max);
  const auto status = read_proc_file("/proc/self/status");
  REQUIRE(status);
  CHECK(std::stoull(std::string(status_field(*status, "FDSize"))) >=
        std::min<rlim_t>(limit.rlim_cur, 4096));
}

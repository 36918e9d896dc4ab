// What a benchmark is compared with: ratios and rates, each with its aim.
#pragma once

#include <string_view>

namespace labelscope::bench {

enum class Bound { kAtMost, kAtLeast };

// Prints "<what>: <value> (aim: at most <aim>): reached", and appends the same, tab-separated, to
// the file that LABELSCOPE_BENCH_AIMS names, if it is set. scripts/bench.sh prints all of them at
// the end.
void report_aim(std::string_view what, double value, Bound bound, double aim);

}  // namespace labelscope::bench

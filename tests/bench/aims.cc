// Prints each aim on one line.
#include "aims.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace labelscope::bench {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Four digits are enough to distinguish ratios, and rates are large numbers.
std::string as_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, number < 100 ? "%.4g" : "%.0f", number);
  return text;
}

}  // namespace

void report_aim(std::string_view what, double value, Bound bound, double aim) {
  const bool reached = bound == Bound::kAtMost ? value <= aim : value >= aim;
  const char* words = bound == Bound::kAtMost ? "at most" : "at least";
  const char* verdict = reached ? "reached" : "not reached";
  const std::string name(what);
  std::printf("%s: %s (aim: %s %s): %s\n", name.c_str(), as_text(value).c_str(), words,
              as_text(aim).c_str(), verdict);
  std::fflush(stdout);
  const char* path = std::getenv("LABELSCOPE_BENCH_AIMS");
  if (path == nullptr) return;
  std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path, "ae"));
  if (file == nullptr) {
    std::fprintf(stderr, "the aims cannot be added to %s\n", path);
    std::exit(1);
  }
  std::fprintf(file.get(), "%s\t%s\t%s %s\t%s\n", name.c_str(), as_text(value).c_str(), words,
               as_text(aim).c_str(), verdict);
}

}  // namespace labelscope::bench

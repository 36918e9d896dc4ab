// Threads that set labels in every way and end, one after the other. Valgrind and the sanitizers
// check it; by itself it checks that the process does not grow.
//
//  thread_churn <threads> [most KiB to grow by]
#include <sys/resource.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <thread>

#include "customlabels/customlabels.h"
#include "customlabels/labels.hpp"
#include "customlabels/otel_context.h"
#include "customlabels/pprof.hpp"
#include "customlabels/thread_context.h"

namespace {

namespace cl = customlabels;
namespace labels = customlabels::labels;

custom_labels_string_t raw(std::string_view text) {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}

void end_with_own_labels() {
  cl::set("tenant", "acme");
  cl::set_trace(1, 2);
  const cl::Scope scope("route", "/pay");
  cl::set("tenant", "globex");
}

void end_with_installed_set(custom_labels_labelset_t* set) {
  custom_labels_replace(set);
  cl::set("on", "top");
  custom_labels_replace(set);
}

void end_with_a_set_of_its_own() {
  custom_labels_labelset_t* set = custom_labels_new(1);
  custom_labels_set(set, raw("a"), raw("1"), nullptr);
  custom_labels_replace(set);
  custom_labels_set(set, raw("b"), raw("2"), nullptr);
  custom_labels_free(set);
}

void set_at_thread_end() { cl::set("at", "end"); }
struct LabelsAtThreadEnd {
  ~LabelsAtThreadEnd() { set_at_thread_end(); }
  int touched = 0;
};

void run_thread(unsigned long number, custom_labels_labelset_t* set,
                const labels::Context& context) {
  thread_local LabelsAtThreadEnd at_end;
  thread_context_put(number, 1);
  otel_context_set(static_cast<std::uint8_t>(number), &number, sizeof(number));
  const otel_process_attribute_t service = {"service.name", number % 2 == 0 ? "even" : "odd"};
  otel_process_context_publish(&service, 1);
  switch (number % 5) {
    case 0:
      return end_with_own_labels();
    case 1:
      return end_with_installed_set(set);
    case 2:
      return end_with_a_set_of_its_own();
    case 3:
      return labels::Do(context, [] { cl::set("in", "context"); });
    default:
      at_end.touched = 1;
  }
}

long most_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Tools that watch every allocation add memory of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kWatched = true;
#else
constexpr bool kWatched = false;
#endif

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: thread_churn <threads> [most KiB to grow by]\n");
    return 2;
  }
  const unsigned long threads = std::strtoul(argv[1], nullptr, 10);
  const long most = argc > 2 ? std::strtol(argv[2], nullptr, 10) : LONG_MAX;
  // Before that, the allocator and the thread library still grow.
  const unsigned long warm = threads / 10;
  custom_labels_labelset_t* set = custom_labels_new(1);
  custom_labels_set(set, raw("shared"), raw("set"), nullptr);
  const labels::Context context = labels::Context().with(labels::Labels("job", "import"));
  long before = 0;
  for (unsigned long i = 0; i < threads; ++i) {
    if (i == warm) before = most_kilobytes();
    std::thread(run_thread, i, set, std::cref(context)).join();
  }
  custom_labels_free(set);
  const long grown = most_kilobytes() - before;
  std::printf("%lu threads; the process grew by %ld KiB after the first %lu\n", threads, grown,
              warm);
  return grown > most && !kWatched ? 1 : 0;
}

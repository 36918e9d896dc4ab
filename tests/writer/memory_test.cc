// Tests the writer's use of the heap: once for each thread, never again, and never in signal
// handlers. It is counted in malloc itself: this program's malloc replaces that of the process.
#include <malloc.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <thread>

#include "customlabels/customlabels.h"
#include "customlabels/labels.hpp"
#include "customlabels/otel_context.h"
#include "customlabels/pprof.hpp"
#include "customlabels/thread_context.h"
#include "support/catch.h"
#include "writer/label_steps.h"

namespace {

thread_local std::size_t requests = 0;
thread_local std::size_t requested_bytes = 0;

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define CAN_COUNT 0
#else
#define CAN_COUNT 1
// These are glibc's own names for the functions that are replaced here.
extern "C" {
void* __libc_malloc(std::size_t size);                           // NOLINT: its name
void* __libc_calloc(std::size_t count, std::size_t size);        // NOLINT
void* __libc_realloc(void* old, std::size_t size);               // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t size);  // NOLINT

#define REPLACEMENT __attribute__((visibility("default")))
REPLACEMENT void* malloc(std::size_t size) {
  ++requests;
  requested_bytes += size;
  return __libc_malloc(size);
}
REPLACEMENT void* calloc(std::size_t count, std::size_t size) {
  ++requests;
  requested_bytes += count * size;
  return __libc_calloc(count, size);
}
REPLACEMENT void* realloc(void* old, std::size_t size) {
  ++requests;
  requested_bytes += size;
  return __libc_realloc(old, size);
}
REPLACEMENT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++requests;
  requested_bytes += size;
  return __libc_memalign(alignment, size);
}
REPLACEMENT int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = aligned_alloc(alignment, size);
  return *out == nullptr ? 12 : 0;
}
}
#endif

namespace {

namespace cl = customlabels;

// Counts the calling thread's requests since this was made.
class Requests {
 public:
  Requests() : count_(requests), bytes_(requested_bytes) {}
  std::size_t count() const { return requests - count_; }
  std::size_t bytes() const { return requested_bytes - bytes_; }

 private:
  std::size_t count_;
  std::size_t bytes_;
};

struct Counted : NoLabels {
  Counted() {
    if (CAN_COUNT == 0) skip_test("a sanitizer replaces malloc itself");
    // This shows that the counter counts.
    const Requests counter;
    custom_labels_free(custom_labels_new(1));
    REQUIRE(counter.count() > 0);
  }
};

struct Taken {
  std::size_t count = 0;
  std::size_t bytes = 0;
};

// Returns what the act takes on a new thread; `before` is not counted.
Taken taken_by(
    const std::function<void()>& act, const std::function<void()>& before = [] {}) {
  Taken taken;
  std::thread([&] {
    before();
    const Requests counter;
    act();
    taken = {counter.count(), counter.bytes()};
  }).join();
  return taken;
}

void prepare() { cl::prepare(); }

custom_labels_string_t raw(std::string_view text) {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}

void change_own_labels() {
  cl::set("tenant", "acme");
  cl::set_trace(1, 2);
  const cl::Scope scope{{"route", "/pay"}, {"job", "import"}};
  cl::update({{"route", "/cart"}, {"tenant", "globex"}});
  cl::remove("job");
  cl::clear_trace();
  cl::clear();
}

std::size_t requests_in_handler = 0;
bool labels_in_handler = false;

void on_signal(int) {
  const Requests counter;
  change_own_labels();
  cl::set("in", "handler");
  labels_in_handler = cl::labels::Label("in").has_value();
  requests_in_handler = counter.count();
}

}  // namespace

TEST_CASE_METHOD(Counted, "memory: a thread's first label takes its memory in one piece") {
  const Taken taken = taken_by([] { cl::set("tenant", "acme"); });
  CHECK(taken.count == 1);
  CHECK(taken.bytes == CUSTOM_LABELS_THREAD_MEMORY);
  // A writer that changes its set in place takes half of this.
  CHECK(taken.bytes <= std::size_t{2} * 4184);
  CHECK(taken_by(prepare).bytes == CUSTOM_LABELS_THREAD_MEMORY);
}

TEST_CASE_METHOD(Counted, "memory: a thread that only looks takes none") {
  const auto look = [] {
    custom_labels_current();
    cl::remove("tenant");
    cl::clear();
    cl::clear_trace();
    cl::labels::Label("tenant");
  };
  CHECK(taken_by(look).count == 0);
}

TEST_CASE_METHOD(Counted, "memory: after the first label no call for a thread's labels takes any") {
  const std::vector<LabelStep> steps = label_steps();
  const auto run = [&] {
    for (const LabelStep& step : steps) step.act();
  };
  CHECK(taken_by(run, prepare).count == 0);
  CHECK(taken_by(change_own_labels, prepare).count == 0);
}

TEST_CASE_METHOD(Counted, "memory: Do takes none, and neither does adopting a context") {
  namespace labels = cl::labels;
  const labels::Context context = labels::Context().with(labels::Labels("tenant", "acme"));
  const auto act = [&] {
    labels::Do(labels::Labels("route", "/pay"), [] { labels::Label("route"); });
    labels::Do(context, [] { labels::Do(labels::Labels("job", "import"), [] {}); });
    labels::ForLabels(context, [](std::string_view, std::string_view) { return true; });
  };
  CHECK(taken_by(act, prepare).count == 0);
}

TEST_CASE_METHOD(Counted, "memory: installing and reading a set takes none") {
  custom_labels_labelset_t* set = custom_labels_new(2);
  custom_labels_set(set, raw("tenant"), raw("acme"), nullptr);
  const auto act = [set] {
    custom_labels_replace(set);
    custom_labels_get(custom_labels_current(), raw("tenant"));
    custom_labels_count(set);
    custom_labels_at(set, 0);
    custom_labels_replace(nullptr);
  };
  CHECK(taken_by(act).count == 0);
  custom_labels_free(set);
}

TEST_CASE_METHOD(Counted, "memory: what a set takes it gives back") {
  const auto act = [] {
    for (int i = 0; i < 1000; ++i) {
      custom_labels_labelset_t* set = custom_labels_new(0);
      for (const char* key : {"a", "b", "c"}) custom_labels_set(set, raw(key), raw("v"), nullptr);
      custom_labels_labelset_t* copy = custom_labels_clone(set);
      custom_labels_replace(copy);
      custom_labels_delete(copy, raw("b"));
      custom_labels_replace(nullptr);
      custom_labels_free(copy);
      custom_labels_free(set);
    }
  };
  act();
  const std::size_t before = mallinfo2().uordblks;
  act();
  CHECK(mallinfo2().uordblks == before);
}

TEST_CASE_METHOD(Counted, "memory: nothing is taken in a signal handler") {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  REQUIRE(sigaction(SIGUSR1, &action, nullptr) == 0);
  cl::prepare();
  REQUIRE(raise(SIGUSR1) == 0);
  CHECK(labels_in_handler);
  CHECK(requests_in_handler == 0);
}

TEST_CASE_METHOD(Counted, "memory: the trace context takes none, the first time neither") {
  const auto act = [] {
    thread_context_put(1, 2);
    thread_context_set_tag(0, 1);
    thread_context_clear();
  };
  CHECK(taken_by(act).count == 0);
}

TEST_CASE_METHOD(Counted,
                 "memory: OpenTelemetry's contexts take none, those of the process neither") {
  const auto act = [] {
    constexpr std::uint8_t kTrace[16] = {1};
    constexpr std::uint8_t kSpan[8] = {1};
    const otel_process_attribute_t service = {"service.name", "shop"};
    std::uint8_t route = 0;
    otel_process_context_publish(&service, 1);
    otel_process_context_key("http.route", &route);
    otel_context_attach(kTrace, kSpan, 1, nullptr, 0);
    otel_context_set(route, "/pay", 4);
    otel_context_remove(route);
    otel_context_detach();
  };
  CHECK(taken_by(act).count == 0);
}

// Tests calls in signal handlers: they are refused where they would damage another call, and
// otherwise work as anywhere.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>

#include "support/catch.h"
#include "writer/c_api/c_labels.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kDeadline = std::chrono::seconds(30);
constexpr int kEnough = 20;

std::atomic<int> refused;
std::atomic<int> done;
std::atomic<int> wrong;

// A scope that could not be entered.
custom_labels_saved_t refused_scope;

// Any handler may do this: label its own work, and take the label back.
void label_own_work(int) {
  const custom_labels_labelset_t* found = custom_labels_current_set;
  custom_labels_saved_t saved;
  const custom_labels_label_t label = raw("handler", "yes");
  const custom_labels_result_t result = custom_labels_thread_enter(&saved, &label, 1);
  if (result == CUSTOM_LABELS_BUSY) {
    if (custom_labels_current_set != found) ++wrong;
    if (set("handler", "yes") != CUSTOM_LABELS_BUSY) ++wrong;
    if (custom_labels_thread_set_trace(1, 2) != CUSTOM_LABELS_BUSY) ++wrong;
    if (custom_labels_thread_clear() != CUSTOM_LABELS_BUSY) ++wrong;
    if (custom_labels_thread_remove("a", 1) != CUSTOM_LABELS_BUSY) ++wrong;
    if (custom_labels_thread_leave(&saved) != CUSTOM_LABELS_BUSY) ++wrong;
    custom_labels_labelset_t* current = custom_labels_current();
    if (current != nullptr && custom_labels_clear(current) != EBUSY) ++wrong;
    if (custom_labels_current_set != found) ++wrong;
    refused_scope = saved;
    ++refused;
    return;
  }
  const custom_labels_label_t* own = custom_labels_get(custom_labels_current(), raw("handler"));
  if (result != CUSTOM_LABELS_SET || own == nullptr) ++wrong;
  custom_labels_thread_leave(&saved);
  ++done;
}

custom_labels_labelset_t* handlers_set = nullptr;

// A scheduler in a handler may do this: install another set and put back the former one.
void switch_sets(int) {
  custom_labels_labelset_t* found = custom_labels_replace(handlers_set);
  if (custom_labels_get(custom_labels_current(), raw("h")) == nullptr) ++wrong;
  custom_labels_replace(found);
  ++done;
}

class Interrupts {
 public:
  explicit Interrupts(void (*handler)(int)) {
    refused = done = wrong = 0;
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    REQUIRE(sigaction(SIGPROF, &action, nullptr) == 0);
    sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGPROF;
    REQUIRE(timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0);
    const itimerspec every = {{0, 50'000}, {0, 50'000}};
    REQUIRE(timer_settime(timer_, 0, &every, nullptr) == 0);
  }
  ~Interrupts() { timer_delete(timer_); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  timer_t timer_{};
};

}  // namespace

TEST_CASE_METHOD(Unlabelled, "signal: a call within a call is refused, one between calls is not") {
  REQUIRE(custom_labels_thread_prepare() == CUSTOM_LABELS_SET);
  bool as_set = true;
  {
    Interrupts interrupts(label_own_work);
    const Clock::time_point end = Clock::now() + kDeadline;
    while ((refused < kEnough || done < kEnough) && as_set && wrong == 0 && Clock::now() < end) {
      for (char i = 'a'; i < 'z' && as_set; ++i) {
        const std::string_view value(&i, 1);
        as_set = set("a", value) >= 0 && set("b", value) >= 0 &&
                 view(custom_labels_get(custom_labels_current(), raw("a"))->value) == value;
        custom_labels_thread_remove("b", 1);
      }
    }
  }
  CHECK(as_set);
  CHECK(wrong == 0);
  CHECK(refused >= kEnough);
  CHECK(done >= kEnough);
  CHECK(current_labels() == Labels{{"a", "y"}});
  CHECK(custom_labels_thread_leave(&refused_scope) == CUSTOM_LABELS_BUSY);
  CHECK(current_labels() == Labels{{"a", "y"}});
}

TEST_CASE_METHOD(
    Unlabelled,
    "signal: a handler that installs a set and puts back what it found changes nothing") {
  SetObject in_handler(Labels{{"h", "1"}});
  SetObject object(Labels{{"a", "start"}});
  handlers_set = in_handler.get();
  bool as_set = true;
  for (const bool own : {true, false}) {
    custom_labels_replace(own ? nullptr : object.get());
    Interrupts interrupts(switch_sets);
    const Clock::time_point end = Clock::now() + kDeadline;
    while (done < 500 && as_set && wrong == 0 && Clock::now() < end) {
      for (char i = 'a'; i < 'z' && as_set; ++i) {
        const std::string_view value(&i, 1);
        if (own)
          as_set = set("a", value) >= 0;
        else
          as_set = custom_labels_set(object.get(), raw("a"), raw(value), nullptr) == 0 &&
                   custom_labels_current() == object.get();
        as_set = as_set && current_labels() == Labels{{"a", std::string(value)}};
      }
    }
    CHECK(as_set);
    CHECK(wrong == 0);
    CHECK(done >= 500);
  }
}

// Tests labels with the functions of runtime/pprof: Do, Labels, Label, ForLabels, and contexts that
// are passed on.
#include "customlabels/pprof.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "writer/labels.h"

namespace cl = customlabels;
namespace labels = customlabels::labels;
using labels::Context;
using labels::Do;

namespace {

Labels labels_of(const Context& context) {
  Labels all;
  labels::ForLabels(context, [&](std::string_view key, std::string_view value) {
    all.emplace_back(key, value);
    return true;
  });
  std::sort(all.begin(), all.end());
  return all;
}

Context context_of(const std::string& key, const std::string& value) {
  return Context().with(labels::Labels(key, value));
}

}  // namespace

TEST_CASE_METHOD(NoLabels, "pprof: Do adds its labels for the call, and takes them away again") {
  cl::set("tenant", "before");
  Do(labels::Labels("tenant", "acme", "route", "/pay"), [] {
    CHECK(current_labels() == Labels{{"route", "/pay"}, {"tenant", "acme"}});
    Do(labels::Labels("job", "import"), [] {
      CHECK(current_labels() == Labels{{"job", "import"}, {"route", "/pay"}, {"tenant", "acme"}});
    });
    CHECK(current_labels() == Labels{{"route", "/pay"}, {"tenant", "acme"}});
  });
  CHECK(current_labels() == Labels{{"tenant", "before"}});
}

TEST_CASE_METHOD(NoLabels, "pprof: of equal keys in one list the last counts") {
  Do(labels::Labels("k", "1", "l", "2", "k", "3"), [] {
    CHECK(current_labels() == Labels{{"k", "3"}, {"l", "2"}});
  });
}

TEST_CASE_METHOD(NoLabels,
                 "pprof: Do returns what the function returns, references and nothing too") {
  int number = 7;
  CHECK(Do(labels::Labels("k", "v"), [] { return std::string("result"); }) == "result");
  int& same = Do(labels::Labels("k", "v"), [&]() -> int& { return number; });
  CHECK(&same == &number);
  auto owned = Do(labels::Labels("k", "v"), [] { return std::make_unique<int>(3); });
  CHECK(*owned == 3);
  static_assert(std::is_void_v<decltype(Do(labels::Labels("k", "v"), [] {}))>);
}

TEST_CASE_METHOD(NoLabels, "pprof: an exception takes the labels away") {
  cl::set("tenant", "before");
  CHECK_THROWS_AS(
      Do(labels::Labels("tenant", "acme"), [] { throw std::runtime_error("the request failed"); }),
      std::runtime_error);
  CHECK(current_labels() == Labels{{"tenant", "before"}});
  const Context context = context_of("a", "1");
  CHECK_THROWS_AS(Do(context, [] { throw std::runtime_error("the task failed"); }),
                  std::runtime_error);
  CHECK(current_labels() == Labels{{"tenant", "before"}});
}

TEST_CASE_METHOD(NoLabels, "pprof: a list keeps the temporaries that it is made of") {
  const std::string lvalue = "an lvalue, longer than any small string";
  const auto list = labels::Labels(std::string("a key from far away, not small"), lvalue, "k2",
                                   std::string_view("view"), "number", std::to_string(1234567890));
  // A dangling view would find these instead.
  std::vector<std::string> other(100, std::string(40, 'x'));
  Do(list, [&] {
    CHECK(current_labels() == Labels{{"a key from far away, not small", lvalue},
                                     {"k2", "view"},
                                     {"number", "1234567890"}});
  });
  static_assert(std::is_same_v<labels::detail::Stored<std::string>, std::string>);
  static_assert(std::is_same_v<labels::detail::Stored<const std::string&>, std::string_view>);
  static_assert(std::is_same_v<labels::detail::Stored<const char*>, std::string_view>);
}

TEST_CASE_METHOD(NoLabels, "pprof: keys and values are bytes, with zeros and without an end") {
  const std::string_view key("k\0y", 3);
  Do(labels::Labels(key, std::string_view("\xff\0\n", 3)), [&] {
    CHECK(labels::Label(key) == std::string_view("\xff\0\n", 3));
    CHECK_FALSE(labels::Label("k"));
  });
}

TEST_CASE_METHOD(NoLabels,
                 "pprof: labels that cannot be set do not keep the function from running") {
  const char* null = nullptr;
  const std::string ten_megabytes(10 << 20, 'x');
  cl::set("tenant", "before");
  int calls = 0;
  const auto unchanged = [&] {
    ++calls;
    CHECK(current_labels() == Labels{{"tenant", "before"}});
  };
  Do(labels::Labels("", "no key"), unchanged);
  Do(labels::Labels(null, "no key"), unchanged);
  Do(labels::Labels("k", "v", "", "all or none"), unchanged);
  Do(labels::Labels("span-id", "not ours to set"), unchanged);
  Do(labels::Labels("1", "", "2", "", "3", "", "4", "", "5", "", "6", "", "7", "", "8", ""),
     unchanged);
  CHECK(calls == 5);
  Do(labels::Labels("k", null), [] { CHECK(labels::Label("k") == ""); });
  Do(labels::Labels("k", ten_megabytes),
     [] { CHECK(labels::Label("k") == std::string(CUSTOM_LABELS_THREAD_MAX_VALUE, 'x')); });
  Do(labels::Labels(), unchanged);
}

TEST_CASE_METHOD(NoLabels,
                 "pprof: Label finds a value, an empty one too, or says that there is none") {
  CHECK_FALSE(labels::Label("k"));
  cl::replace({{"k", "v"}, {"empty", ""}});
  CHECK(labels::Label("k") == "v");
  CHECK(labels::Label("empty") == "");
  CHECK_FALSE(labels::Label("other"));
  CHECK_FALSE(labels::Label(""));
}

TEST_CASE_METHOD(NoLabels, "pprof: ForLabels shows every label, until its callback ends it") {
  cl::replace({{"a", "1"}, {"b", "2"}, {"c", "3"}});
  Labels seen;
  labels::ForLabels([&](std::string_view key, std::string_view value) {
    seen.emplace_back(key, value);
    return true;
  });
  std::sort(seen.begin(), seen.end());
  CHECK(seen == Labels{{"a", "1"}, {"b", "2"}, {"c", "3"}});
  int calls = 0;
  labels::ForLabels([&](std::string_view, std::string_view) { return ++calls < 2; });
  CHECK(calls == 2);
}

TEST_CASE_METHOD(NoLabels, "pprof: a context holds the labels of when it was captured") {
  cl::replace({{"a", "1"}, {"b", "2"}});
  const Context context = Context::capture();
  cl::replace({{"c", "3"}});
  CHECK(labels_of(context) == Labels{{"a", "1"}, {"b", "2"}});
  CHECK(labels::Label(context, "a") == "1");
  CHECK_FALSE(labels::Label(context, "c"));
  Do(context, [] { CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}}); });
  CHECK(current_labels() == Labels{{"c", "3"}});
}

TEST_CASE_METHOD(NoLabels, "pprof: a context carries the trace context too") {
  cl::set_trace(12, 34);
  cl::set("a", "1");
  const Context context = Context::capture();
  cl::clear_trace();
  Do(context, [] {
    CHECK(current_labels() == Labels{{"a", "1"}, {"root-span-id", "34"}, {"span-id", "12"}});
  });
  CHECK(current_labels() == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(NoLabels, "pprof: the empty context takes the labels away for the call") {
  CHECK(Context().empty());
  CHECK(Context::capture().empty());
  CHECK_FALSE(labels::Label(Context(), "a"));
  CHECK(labels_of(Context()).empty());
  cl::set("a", "1");
  CHECK_FALSE(Context::capture().empty());
  Do(Context(), [] { CHECK(custom_labels_current_set == nullptr); });
  CHECK(current_labels() == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(NoLabels, "pprof: with makes another context and leaves the first as it was") {
  const Context first = context_of("a", "1");
  const Context second = first.with(labels::Labels("a", "2", "b", "3"));
  CHECK(labels_of(first) == Labels{{"a", "1"}});
  CHECK(labels_of(second) == Labels{{"a", "2"}, {"b", "3"}});
  CHECK(labels_of(first.with(labels::Labels(static_cast<const char*>(nullptr), "x"))) ==
        Labels{{"a", "1"}});
}

TEST_CASE_METHOD(NoLabels, "pprof: a context is not bound to the limits of a thread's own labels") {
  const std::string long_value(100'000, 'v');
  Context context;
  for (int i = 0; i < 50; ++i)
    context = context.with(labels::Labels(std::to_string(i), long_value));
  Do(context, [&] {
    CHECK(current_labels().size() == 50);
    CHECK(labels::Label("49") == long_value);
  });
  CHECK(custom_labels_current_set == nullptr);
}

TEST_CASE_METHOD(NoLabels, "pprof: a context without memory for its labels is not made") {
  const std::string_view beyond_memory("v", SIZE_MAX / 2);
  const Context context = context_of("a", "1");
  CHECK_THROWS_AS(context.with(labels::Labels("b", beyond_memory)), std::bad_alloc);
  CHECK_THROWS_AS(Context().with(labels::Labels("b", beyond_memory)), std::bad_alloc);
  CHECK(labels_of(context) == Labels{{"a", "1"}});
  CHECK(labels_of(context.with(labels::Labels("b", "2", nullptr, "3"))) == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(NoLabels, "pprof: labels within a context come on top of it and go with it") {
  cl::set("own", "1");
  const Context context = context_of("a", "1");
  Do(context, [] {
    cl::set("b", "2");
    CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}});
    Do(labels::Labels("a", "3"), [] { CHECK(current_labels() == Labels{{"a", "3"}, {"b", "2"}}); });
    CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}});
    cl::clear();
    CHECK(current_labels().empty());
  });
  CHECK(current_labels() == Labels{{"own", "1"}});
  CHECK(labels_of(context) == Labels{{"a", "1"}});
  Do(context, labels::Labels("c", "4"), [] {
    CHECK(current_labels() == Labels{{"a", "1"}, {"c", "4"}});
  });
}

TEST_CASE_METHOD(NoLabels, "pprof: contexts nest, the same one too") {
  const Context outer = context_of("o", "1");
  const Context inner = context_of("i", "2");
  Do(outer, [&] {
    Do(inner, [&] {
      Do(outer, [] { CHECK(current_labels() == Labels{{"o", "1"}}); });
      CHECK(current_labels() == Labels{{"i", "2"}});
    });
    Do(outer, [] { CHECK(current_labels() == Labels{{"o", "1"}}); });
    CHECK(current_labels() == Labels{{"o", "1"}});
  });
  CHECK(custom_labels_current_set == nullptr);
}

TEST_CASE_METHOD(NoLabels, "pprof: a context that is let go of while it is adopted stays whole") {
  auto context = std::make_unique<Context>(context_of("a", "1"));
  const labels::Adopted adopted(*context);
  context.reset();
  const std::vector<Context> others(100, context_of("b", "2"));
  CHECK(current_labels() == Labels{{"a", "1"}});
}

TEST_CASE_METHOD(NoLabels, "pprof: many threads adopt one context at once") {
  const Context context = context_of("job", "import");
  std::vector<Labels> seen(8);
  std::vector<std::thread> threads;
  threads.reserve(seen.size());
  for (Labels& one : seen) {
    threads.emplace_back([&context, &one] {
      for (int i = 0; i < 1000; ++i) Do(context, labels::Labels("n", std::to_string(i)), [] {});
      Do(context, [&] { one = current_labels(); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Labels& one : seen) CHECK(one == Labels{{"job", "import"}});
}

TEST_CASE_METHOD(NoLabels,
                 "pprof: Inherit gives a thread, a task or a callback its creator's labels") {
  std::function<Labels(int)> task;
  Labels in_thread;
  Labels after_thread;
  Do(labels::Labels("tenant", "acme"), [&] {
    task = labels::Inherit([](int) { return current_labels(); });
    std::thread([&, work = labels::Inherit([&] { in_thread = current_labels(); })]() mutable {
      work();
      after_thread = current_labels();
    }).join();
  });
  CHECK(in_thread == Labels{{"tenant", "acme"}});
  CHECK(after_thread.empty());
  cl::set("other", "labels");
  CHECK(task(1) == Labels{{"tenant", "acme"}});
  CHECK(current_labels() == Labels{{"other", "labels"}});
}

TEST_CASE_METHOD(NoLabels,
                 "pprof: labels and contexts work while a thread ends, and leave nothing") {
  static Labels in_scope;
  static Labels in_context;
  struct AtThreadEnd {
    Context context = context_of("job", "cleanup");
    ~AtThreadEnd() {
      Do(labels::Labels("at", "end"), [] { in_scope = current_labels(); });
      Do(context, [] { in_context = current_labels(); });
    }
  };
  std::thread([] {
    thread_local AtThreadEnd at_end;
    cl::set("tenant", at_end.context.empty() ? "" : "acme");
  }).join();
  CHECK(in_scope == Labels{{"at", "end"}, {"tenant", "acme"}});
  CHECK(in_context == Labels{{"job", "cleanup"}});
}

TEST_CASE_METHOD(NoLabels,
                 "pprof: a forked child may adopt its parent's contexts and go on in them") {
  const Context context = context_of("job", "import");
  const labels::Adopted adopted(context);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool right = current_labels() == Labels{{"job", "import"}};
    Do(labels::Labels("who", "child"), [&] {
      right &= current_labels() == Labels{{"job", "import"}, {"who", "child"}};
    });
    Do(context, [&] { right &= current_labels() == Labels{{"job", "import"}}; });
    _exit(right ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(current_labels() == Labels{{"job", "import"}});
}

TEST_CASE_METHOD(
    NoLabels, "pprof: values that are not UTF-8 arrive as they are, long ones cut at the limit") {
  const std::string broken(300, '\x80');
  Do(labels::Labels("k", "\xff\xfe", "long", broken), [&] {
    CHECK(labels::Label("k") == "\xff\xfe");
    CHECK(labels::Label("long") == broken.substr(0, CUSTOM_LABELS_THREAD_MAX_VALUE));
  });
}

TEST_CASE_METHOD(NoLabels, "pprof: what Inherit returns is called as the function is") {
  auto count = labels::Inherit([calls = 0]() mutable { return ++calls; });
  CHECK(count() == 1);
  CHECK(count() == 2);
  const auto add = labels::Inherit([](int a, int b) { return a + b; });
  CHECK(add(2, 3) == 5);
  auto owner = labels::Inherit([owned = std::make_unique<int>(4)] { return *owned; });
  const auto moved = std::move(owner);
  CHECK(moved() == 4);
  static_assert(std::is_invocable_v<decltype(add), int, int>);
  static_assert(!std::is_invocable_v<decltype(add), std::string>);
}

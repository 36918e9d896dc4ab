// Tests the scope guard: the former labels are back on every way out.
#include <cstring>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

#include "customlabels/labels.hpp"
#include "support/catch.h"
#include "writer/labels.h"

namespace cl = customlabels;

// A scope belongs to the stack of its thread, and entering it never throws.
static_assert(!std::is_copy_constructible_v<cl::Scope> && !std::is_move_constructible_v<cl::Scope>);
static_assert(!std::is_copy_assignable_v<cl::Scope> && !std::is_move_assignable_v<cl::Scope>);
static_assert(std::is_nothrow_constructible_v<cl::Scope, std::initializer_list<cl::Label>> &&
              std::is_nothrow_destructible_v<cl::Scope>);

TEST_CASE_METHOD(NoLabels, "scope: labels are there within it and gone after it") {
  {
    const cl::Scope scope{{"tenant", "acme"}, {"route", "/pay"}};
    CHECK(scope.result() == CUSTOM_LABELS_SET);
    CHECK(current_labels() == Labels{{"route", "/pay"}, {"tenant", "acme"}});
  }
  CHECK(custom_labels_current_set == nullptr);
}

TEST_CASE_METHOD(NoLabels,
                 "scope: a value that it covers is back, and an absent key is absent again") {
  cl::set("tenant", "before");
  {
    const cl::Scope scope{{"tenant", "acme"}, {"route", "/pay"}};
    CHECK(current_labels() == Labels{{"route", "/pay"}, {"tenant", "acme"}});
  }
  CHECK(current_labels() == Labels{{"tenant", "before"}});
}

TEST_CASE_METHOD(NoLabels, "scope: an exception restores the labels") {
  cl::set("tenant", "before");
  try {
    const cl::Scope scope("tenant", "acme");
    throw std::runtime_error("the request failed");
  } catch (const std::runtime_error&) {
    CHECK(current_labels() == Labels{{"tenant", "before"}});
  }
}

TEST_CASE_METHOD(NoLabels, "scope: scopes nest to any depth, with changes on each level") {
  cl::set("depth", "none");
  const auto descend = [](const auto& self, int depth) -> void {
    const Labels before = current_labels();
    {
      const cl::Scope scope("depth", std::to_string(depth));
      cl::set("level " + std::to_string(depth % 5),
              std::string(static_cast<std::size_t>(depth), 'x'));
      if (depth % 7 == 0) cl::remove("level 3");
      if (depth < 20) self(self, depth + 1);
      CHECK(with(current_labels(), "depth", std::to_string(depth)) == current_labels());
    }
    CHECK(current_labels() == before);
  };
  descend(descend, 0);
  CHECK(current_labels() == Labels{{"depth", "none"}});
}

TEST_CASE_METHOD(NoLabels,
                 "scope: clearing and setting within it does not spoil what it restores") {
  cl::replace({{"a", "1"}, {"b", "2"}});
  {
    const cl::Scope scope("c", "3");
    cl::clear();
    cl::set("d", "4");
    cl::set("e", "5");
  }
  CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}});
  {
    const cl::Scope scope{};
    cl::clear();
    cl::set("d", "4");
  }
  CHECK(current_labels() == Labels{{"a", "1"}, {"b", "2"}});
}

TEST_CASE_METHOD(NoLabels,
                 "scope: one that is refused has the labels from before, and restores them") {
  cl::set("tenant", "before");
  {
    const cl::Scope scope("", "no key");
    CHECK(scope.result() == CUSTOM_LABELS_INVALID);
    CHECK(current_labels() == Labels{{"tenant", "before"}});
    cl::set("tenant", "within");
  }
  CHECK(current_labels() == Labels{{"tenant", "before"}});
}

TEST_CASE_METHOD(NoLabels, "scope: a function may return one, and an optional may hold one") {
  const auto enter = [](const char* tenant) { return cl::Scope{{"tenant", tenant}}; };
  {
    const cl::Scope returned = enter("acme");
    CHECK(current_labels() == Labels{{"tenant", "acme"}});
    std::optional<cl::Scope> sometimes;
    CHECK(current_labels() == Labels{{"tenant", "acme"}});
    sometimes.emplace("route", "/pay");
    CHECK(current_labels() == Labels{{"route", "/pay"}, {"tenant", "acme"}});
    sometimes.reset();
    CHECK(current_labels() == Labels{{"tenant", "acme"}});
  }
  CHECK(custom_labels_current_set == nullptr);
}

TEST_CASE_METHOD(
    NoLabels,
    "scope: a saved set that is moved, or taken to another thread, brings its own labels") {
  cl::replace({{"a", "1"}, {"b", ""}});
  custom_labels_saved_t first;
  custom_labels_thread_enter(&first, nullptr, 0);
  custom_labels_saved_t moved;
  std::memcpy(&moved, &first, sizeof(moved));
  std::memset(&first, 0xff, sizeof(first));
  Labels on_other_thread;
  std::thread([&] {
    custom_labels_thread_leave(&moved);
    on_other_thread = current_labels();
  }).join();
  CHECK(on_other_thread == Labels{{"a", "1"}, {"b", ""}});
  cl::set("a", "2");
  cl::set("c", "3");
  CHECK(custom_labels_thread_leave(&moved) == CUSTOM_LABELS_SET);
  CHECK(current_labels() == Labels{{"a", "1"}, {"b", ""}});
}

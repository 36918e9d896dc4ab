// Tests the scope of OpenTelemetry's thread context: what readers find within it, and that the
// context from before is back on every way out.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "customlabels/otel_context.hpp"
#include "support/catch.h"

namespace oc = otel_context;

// A scope belongs to the stack of its thread, and entering it never throws.
static_assert(!std::is_copy_constructible_v<oc::Scope> && !std::is_move_constructible_v<oc::Scope>);
static_assert(!std::is_copy_assignable_v<oc::Scope> && !std::is_move_assignable_v<oc::Scope>);
static_assert(std::is_nothrow_constructible_v<oc::Scope, const oc::TraceId&, const oc::SpanId&, int,
                                              std::initializer_list<oc::Attribute>>);
static_assert(std::is_nothrow_destructible_v<oc::Scope>);

namespace {

constexpr oc::TraceId kTrace = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constexpr oc::SpanId kOuter = {0xa1};
constexpr oc::SpanId kInner = {0xa2};

struct NoContext {
  NoContext() { otel_context_detach(); }
  ~NoContext() { otel_context_detach(); }
};

// The bytes of the record that a reader uses, or nothing.
std::optional<std::string> current() {
  const otel_context_record_t* record = otel_context_current();
  if (record == nullptr) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(record),
                     offsetof(otel_context_record_t, attributes) + record->attributes_size);
}

// The same as the format describes it: IDs, valid, flags, size, and entries of key, length, value.
std::string record(const oc::SpanId& span, char flags, std::string_view entries) {
  std::string bytes(kTrace.begin(), kTrace.end());
  bytes.append(span.begin(), span.end());
  bytes += '\1';
  bytes += flags;
  bytes += static_cast<char>(entries.size() % 256);
  bytes += static_cast<char>(entries.size() / 256);
  return bytes.append(entries);
}

}  // namespace

TEST_CASE_METHOD(NoContext, "otel scope: the context is there within it and gone after it") {
  {
    const oc::Scope scope(kTrace, kOuter, 1, {{0, "/pay"}, {7, ""}});
    CHECK(scope.result() == OTEL_CONTEXT_OK);
    CHECK(current() == record(kOuter, 1, std::string_view("\0\4/pay\7\0", 8)));
  }
  CHECK(current() == std::nullopt);
}

TEST_CASE_METHOD(NoContext, "otel scope: the outer span is back, with what was set in its scope") {
  const oc::Scope outer(kTrace, kOuter, 1, {{0, "/pay"}});
  otel_context_set(3, "acme", 4);
  const std::string before = record(kOuter, 1, std::string_view("\0\4/pay\3\4acme", 12));
  REQUIRE(current() == before);
  {
    const oc::Scope inner(kTrace, kInner, 0);
    CHECK(current() == record(kInner, 0, ""));
    otel_context_set(9, "inner", 5);
  }
  CHECK(current() == before);
  {
    const oc::Scope inner(kTrace, kInner, 0);
    otel_context_detach();
  }
  CHECK(current() == before);
}

TEST_CASE_METHOD(NoContext, "otel scope: an exception restores the context") {
  const oc::Scope outer(kTrace, kOuter, 1);
  try {
    const oc::Scope inner(kTrace, kInner, 1);
    throw std::runtime_error("the request failed");
  } catch (const std::runtime_error&) {
    CHECK(current() == record(kOuter, 1, ""));
  }
}

TEST_CASE_METHOD(NoContext, "otel scope: a full record and one of 256 attributes come back whole") {
  const std::string value(255, 'x');
  const oc::Scope outer(kTrace, kOuter, 1, {{0, value}, {1, value}, {2, value.substr(0, 96)}});
  REQUIRE(outer.result() == OTEL_CONTEXT_OK);
  const auto full = current();
  REQUIRE(full->size() == sizeof(otel_context_record_t));
  { const oc::Scope inner(kTrace, kInner, 1); }
  CHECK(current() == full);
  otel_context_detach();
  for (int key = 0; key < 256; key++)
    REQUIRE(otel_context_set(static_cast<uint8_t>(key), "", 0) == OTEL_CONTEXT_OK);
  const auto many = current();
  { const oc::Scope inner(kTrace, kInner, 1); }
  CHECK(current() == many);
}

TEST_CASE_METHOD(NoContext, "otel scope: one that is refused has the context from before") {
  const oc::Scope outer(kTrace, kOuter, 1);
  {
    const oc::Scope inner(kTrace, kInner, 1, {{0, "a"}, {0, "b"}});
    CHECK(inner.result() == OTEL_CONTEXT_DUPLICATE_KEY);
    CHECK(current() == record(kOuter, 1, ""));
    otel_context_set(1, "x", 1);
  }
  CHECK(current() == record(kOuter, 1, std::string_view("\1\1x", 3)));
  const oc::Scope half(kTrace, oc::SpanId{}, 1);
  CHECK(half.result() == OTEL_CONTEXT_HALF_ID);
}

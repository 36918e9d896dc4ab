// This is the C++ interface of libotelcontext (C++17): a guard under which the calling thread works
// for a span, as the scopes of OpenTelemetry's tracers are.
//
//   otel_context::Scope scope(trace_id, span_id, 1, {{route, "/pay"}});
//   serve(request);  // profiled under the span; the context from before is back afterwards
//
// customlabels/otel_context.h says what readers see, what each result means, and what the limits
// are.
#pragma once

#if __cplusplus < 201703L
#error \
    "customlabels/otel_context.hpp needs C++17 (-std=c++17); customlabels/otel_context.h is for C and older C++"
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "customlabels/otel_context.h"

namespace otel_context {

using Result = otel_context_result_t;
using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

// An Attribute is a view: it owns nothing, and the library copies what it points to.
struct Attribute {
  std::uint8_t key;  // from otel_process_context_key
  std::string_view value;
};

// Puts a context in place of the thread's own. On every exit from the scope, also by an exception,
// the context from before is back, or none if there was none. Each of the two is one store, so that
// a reader finds the one context or the other. A Scope stays on its thread and on the stack: it has
// room for a record (640 bytes), allocates nothing, and can be neither copied nor moved.
class Scope {
 public:
  Scope(const TraceId& trace_id, const SpanId& span_id, std::uint8_t trace_flags,
        std::initializer_list<Attribute> attributes = {}) noexcept {
    remember();
    Raw raw;
    for (const Attribute& each : attributes)
      if (!raw.add(each.key, each.value.data(), each.value.size())) return;
    result_ = attach(trace_id.data(), span_id.data(), trace_flags, raw);
  }
  ~Scope() {
    if (result_ != OTEL_CONTEXT_OK) return;
    if (!had_context_) {
      otel_context_detach();
      return;
    }
    Raw raw;
    const std::uint8_t* entry = before_.attributes;
    for (std::size_t left = before_.attributes_size; left >= 2 && left - 2 >= entry[1];) {
      if (!raw.add(entry[0], entry + 2, entry[1])) break;
      left -= 2U + entry[1];
      entry += 2U + entry[1];
    }
    attach(before_.trace_id, before_.span_id, before_.trace_flags, raw);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The result of entering the scope. If it failed, the scope has the context from before.
  Result result() const noexcept { return result_; }

 private:
  struct Raw {
    std::array<otel_context_attribute_t, OTEL_CONTEXT_MAX_KEYS> attributes;  // only `count` are set
    std::size_t count = 0;

    bool add(std::uint8_t key, const void* value, std::size_t size) noexcept {
      if (count == attributes.size()) return false;
      attributes[count++] = {key, value, size};
      return true;
    }
  };

  static Result attach(const std::uint8_t* trace_id, const std::uint8_t* span_id,
                       std::uint8_t trace_flags, const Raw& raw) noexcept {
    return otel_context_attach(trace_id, span_id, trace_flags, raw.attributes.data(), raw.count);
  }

  // The record may be one of another writer, which hides it by `valid`, and whose size is checked.
  void remember() noexcept {
    const otel_context_record_t* record = otel_context_current();
    had_context_ = record != nullptr && record->valid == 1 &&
                   record->attributes_size <= sizeof(record->attributes);
    if (!had_context_) return;
    std::memcpy(&before_, record,
                offsetof(otel_context_record_t, attributes) + record->attributes_size);
  }

  otel_context_record_t before_;  // only as much of it is set as the record had
  bool had_context_ = false;
  Result result_ = OTEL_CONTEXT_FULL;  // for more attributes than there are keys
};

}  // namespace otel_context

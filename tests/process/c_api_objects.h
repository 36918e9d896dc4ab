// The handles of the C API as objects, for its tests.
#pragma once

#include <memory>
#include <string>

#include "labelscope/ids.h"
#include "labelscope/labelscope.h"
#include "support/catch.h"
#include "support/rights.h"

namespace labelscope::test {

template <class T, void (*release)(T*)>
struct Releaser {
  void operator()(T* object) const { release(object); }
};
template <class T, void (*release)(T*)>
using Owned = std::unique_ptr<T, Releaser<T, release>>;

using OwnedTarget = Owned<ls_target, ls_close>;
using OwnedPlan = Owned<ls_plan, ls_free_plan>;
using OwnedThreads = Owned<ls_thread_list, ls_free_threads>;
using OwnedObservation = Owned<ls_observation, ls_free_observation>;
using OwnedExplanation = Owned<ls_explanation, ls_free_explanation>;

inline std::string text_of(ls_bytes bytes) {
  REQUIRE(bytes.data != nullptr);
  CHECK(bytes.data[bytes.size] == '\0');
  return {bytes.data, bytes.size};
}

inline void require_ok(ls_error_code code, const ls_error& error) {
  INFO(error.text);
  REQUIRE(code == LS_OK);
  REQUIRE(error.code == LS_OK);
}

inline OwnedTarget open_process(Pid pid) {
  skip_without_ptrace();
  ls_target* target = nullptr;
  ls_error error;
  require_ok(ls_open_process(raw(pid), &target, &error), error);
  return OwnedTarget(target);
}

inline OwnedPlan make_plan(ls_target* target) {
  ls_plan* plan = nullptr;
  ls_error error;
  require_ok(ls_make_plan(target, &plan, &error), error);
  return OwnedPlan(plan);
}

inline OwnedObservation read_thread(const ls_target* target, const ls_plan* plan, Tid tid) {
  ls_observation* seen = nullptr;
  ls_error error;
  require_ok(ls_read_thread(target, plan, raw(tid), &seen, &error), error);
  return OwnedObservation(seen);
}

inline bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace labelscope::test

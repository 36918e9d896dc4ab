// Tests the C API used wrongly: each call returns an error with a code and a text, and does nothing
// else.
#include <unistd.h>

#include <cstring>
#include <memory>
#include <stdexcept>

#include "c_api/boundary.h"
#include "labelscope/label.h"
#include "process/c_api_objects.h"
#include "support/rivals.h"

namespace labelscope::test {

TEST_CASE("c_api: an error has a code and a text, and leaves null behind") {
  ls_target* target = reinterpret_cast<ls_target*>(1);
  ls_error error;
  CHECK(ls_open_process(0, &target, &error) == LS_ERROR_VANISHED);
  CHECK(target == nullptr);
  CHECK(error.code == LS_ERROR_VANISHED);
  CHECK(std::strlen(error.text) > 0);
  target = reinterpret_cast<ls_target*>(1);
  CHECK(ls_open_core("/no/such/core", nullptr, &target, &error) == LS_ERROR_NOT_FOUND);
  CHECK(target == nullptr);
  CHECK(mentions(error.text, "/no/such/core"));
  CHECK(ls_open_core("/no/such/core", nullptr, &target, nullptr) == LS_ERROR_NOT_FOUND);
}

TEST_CASE("c_api: a thread of another process is not taken for one of the target") {
  const TargetProcess process = start_rivals(RivalSet::kLibraryAndCopy);
  const OwnedTarget target = open_process(process.pid());
  const OwnedPlan plan = make_plan(target.get());
  ls_observation* seen = nullptr;
  ls_explanation* explanation = nullptr;
  ls_error error;
  CHECK(ls_read_thread(target.get(), plan.get(), ::getppid(), &seen, &error) == LS_ERROR_NOT_FOUND);
  CHECK(ls_explain_thread(target.get(), plan.get(), ::getppid(), &explanation, &error) ==
        LS_ERROR_NOT_FOUND);
  CHECK(ls_read_thread(target.get(), plan.get(), -1, &seen, &error) == LS_ERROR_NOT_FOUND);
  CHECK(seen == nullptr);
}

TEST_CASE("c_api: null pointers are errors, or nothing") {
  ls_error error;
  ls_target* target = nullptr;
  ls_plan* plan = nullptr;
  ls_thread_list* threads = nullptr;
  ls_observation* seen = nullptr;
  ls_explanation* explanation = nullptr;
  CHECK(ls_open_process(1, nullptr, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_open_core(nullptr, nullptr, &target, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_open_core("/core", nullptr, nullptr, nullptr) == LS_ERROR_ARGUMENT);
  CHECK(ls_make_plan(nullptr, &plan, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_list_threads(nullptr, &threads, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_read_thread(nullptr, nullptr, 1, &seen, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_read_thread_at(nullptr, nullptr, 1, nullptr, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_explain_plan(nullptr, &explanation, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_explain_thread(nullptr, nullptr, 1, &explanation, &error) == LS_ERROR_ARGUMENT);
  ls_preset* preset = nullptr;
  ls_snapshot* snapshot = nullptr;
  ls_plan_state state = LS_PLAN_GOOD;
  CHECK(ls_read_preset(nullptr, &preset, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_read_preset("redis", nullptr, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_parse_preset(nullptr, 7, &preset, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_want_variable(nullptr, "a:u8", &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_want_variable(nullptr, nullptr, nullptr) == LS_ERROR_ARGUMENT);
  CHECK(ls_want_preset(nullptr, nullptr, nullptr, 0, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_read_threads(nullptr, nullptr, nullptr, &snapshot, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_check_plan(nullptr, nullptr, &state, &error) == LS_ERROR_ARGUMENT);
  CHECK(ls_check_plan(nullptr, nullptr, nullptr, nullptr) == LS_ERROR_ARGUMENT);
  ls_close(nullptr);
  ls_free_preset(nullptr);
  ls_free_snapshot(nullptr);
  ls_free_inspection(nullptr);
  ls_free_plan(nullptr);
  ls_free_threads(nullptr);
  ls_free_observation(nullptr);
  ls_free_explanation(nullptr);
  CHECK(ls_target_pid(nullptr) == 0);
  CHECK(ls_thread_count(nullptr) == 0);
  CHECK(ls_publisher_count(nullptr) == 0);
  CHECK(ls_finding_count(nullptr) == 0);
  CHECK(ls_label_count(nullptr) == 0);
  CHECK(ls_observed_outcome(nullptr) == LS_UNREADABLE_VANISHED);
  CHECK(ls_explanation_line_count(nullptr) == 0);
}

TEST_CASE("c_api: what is asked of a null handle is empty") {
  CHECK(ls_preset_name(nullptr).size == 0);
  CHECK(ls_preset_label_count(nullptr) == 0);
  CHECK(ls_preset_label_key(nullptr, 0).size == 0);
  CHECK(ls_preset_label_is_private(nullptr, 0) == 0);
  CHECK(ls_publisher_named(nullptr, 0).size == 0);
  CHECK(ls_publisher_program(nullptr, 0) == nullptr);
  CHECK(ls_publisher_program_number(nullptr, 0) == 0);
  CHECK(ls_finding_wanted(nullptr, 0) == LS_NOT_WANTED);
  CHECK(ls_attribute_count(nullptr) == 0);
  CHECK(ls_attribute_key(nullptr, 0).size == 0);
  CHECK(ls_attribute_value(nullptr, 0).size == 0);
  CHECK(ls_context_time(nullptr) == 0);
  CHECK(ls_context_is_of_parent(nullptr) == 0);
  CHECK(ls_context_schema(nullptr).size == 0);
  CHECK(ls_context_key_count(nullptr) == 0);
  CHECK(ls_context_key(nullptr, 0).size == 0);
  CHECK(ls_snapshot_thread_count(nullptr) == 0);
  CHECK(ls_snapshot_thread_id(nullptr, 0) == 0);
  CHECK(ls_snapshot_thread_name(nullptr, 0).size == 0);
  CHECK(ls_snapshot_thread_state(nullptr, 0) == '?');
  CHECK(ls_snapshot_observation(nullptr, 0) == nullptr);
  CHECK(ls_snapshot_problem(nullptr, 0).size == 0);
  CHECK(ls_snapshot_vanished(nullptr) == 0);
  CHECK(ls_snapshot_is_incomplete(nullptr) == 0);
  CHECK(ls_inspected_verdict(nullptr) == LS_VERDICT_NOTHING);
  CHECK(ls_inspected_source(nullptr) == LS_SOURCE_CUSTOM_LABELS);
  CHECK(ls_inspected_source_name(nullptr).size == 0);
  CHECK(ls_inspected_build_id(nullptr).size == 0);
  CHECK(ls_inspected_finding_count(nullptr) == 0);
  CHECK(ls_inspected_finding_name(nullptr, 0).size == 0);
  CHECK(ls_inspected_finding_fix(nullptr, 0).size == 0);
  CHECK(ls_inspected_preset_fit(nullptr, 0) == LS_PRESET_OTHER_FILE);
  CHECK(ls_inspected_preset_variant(nullptr, 0).size == 0);
}

TEST_CASE("c_api: options of another size are refused unless what is new in them is unused") {
  ls_target* target = nullptr;
  ls_error error;
  struct Newer {
    ls_core_options known;
    std::uint64_t option_of_the_future;
  } newer{};
  newer.known.size = sizeof(newer);
  CHECK(ls_open_core("/no/such/core", &newer.known, &target, &error) == LS_ERROR_NOT_FOUND);
  newer.option_of_the_future = 1;
  CHECK(ls_open_core("/no/such/core", &newer.known, &target, &error) == LS_ERROR_ARGUMENT);
  newer.known.size = sizeof(newer.known) - 1;
  CHECK(ls_open_core("/no/such/core", &newer.known, &target, &error) == LS_ERROR_ARGUMENT);
  // Options that were shorter are those of an older program. The first ones had these members.
  newer.known.size = offsetof(ls_core_options, file_directory_count) + sizeof(std::size_t);
  CHECK(ls_open_core("/no/such/core", &newer.known, &target, &error) == LS_ERROR_NOT_FOUND);
  newer.known.size = SIZE_MAX;
  CHECK(ls_open_core("/no/such/core", &newer.known, &target, &error) == LS_ERROR_ARGUMENT);
  newer.known.size = sizeof(newer.known);
  newer.known.sysroot_count = 1;  // a count for a null list
  CHECK(ls_open_core("/no/such/core", &newer.known, &target, &error) == LS_ERROR_ARGUMENT);
}

TEST_CASE("c_api: no exception passes, and a long text is cut") {
  int* out = nullptr;
  ls_error error;
  const auto throwing = [&](auto thrown) {
    return c_api::hand_out(&out, &error, [&]() -> Result<std::unique_ptr<int>> { throw thrown; });
  };
  CHECK(throwing(std::bad_alloc()) == LS_ERROR_NO_MEMORY);
  CHECK(throwing(std::runtime_error("unforeseen")) == LS_ERROR_INTERNAL);
  CHECK(mentions(error.text, "unforeseen"));
  CHECK(throwing(7) == LS_ERROR_INTERNAL);
  CHECK(out == nullptr);
  const std::string longer(std::size_t{2} * LS_ERROR_TEXT_SIZE, 'x');
  CHECK(c_api::fail(&error, Error{ErrorCode::kLimit, longer}) == LS_ERROR_LIMIT);
  CHECK(std::strlen(error.text) == LS_ERROR_TEXT_SIZE - 1);
}

TEST_CASE("c_api: outcomes have names, also those of a later version") {
  for (unsigned outcome = 0; outcome <= LS_OUTCOME_COUNT; ++outcome) {
    CHECK(std::string(ls_outcome_name(outcome)) == outcome_name(outcome));
    CHECK(std::string(ls_outcome_text(outcome)) == outcome_text(outcome));
  }
  CHECK(ls_api_version() == LS_API_VERSION);
}

}  // namespace labelscope::test

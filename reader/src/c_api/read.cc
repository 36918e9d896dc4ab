// This is the part of the C API for one thread's labels and the outcome of reading them.

#include <unistd.h>

#include <algorithm>
#include <span>

#include "c_api/boundary.h"
#include "c_api/objects.h"
#include "labelscope/observe.h"
#include "labelscope/stopped_thread.h"
#include "ptrace/holding.h"
#include "sources/label_codec.h"

namespace labelscope::c_api {
namespace {

std::string thread_text(Tid tid) { return "thread " + std::to_string(raw(tid)); }

// Recipes of one process mean nothing in another.
bool has_thread(const LiveProcess& process, Tid tid) {
  const std::string folder =
      "/proc/" + std::to_string(raw(process.pid())) + "/task/" + std::to_string(raw(tid));
  return ::access(folder.c_str(), F_OK) == 0;
}

Status with_core_thread(const CoreFile& core, Tid tid, const HeldThreadUse& use) {
  const std::vector<CoreThread>& threads = core.threads();
  auto found =
      std::ranges::find_if(threads, [&](const CoreThread& thread) { return thread.tid == tid; });
  if (found == threads.end()) {
    return Error{ErrorCode::kNotFound, "the core has no " + thread_text(tid)};
  }
  // If the thread pointer is 0, the outcome says that there is none.
  use({found->thread_pointer.value_or(0), tid, &found->registers, nullptr,
       raw(tid) == raw(core.pid()), found->name},
      core.memory());
  return {};
}

Observation observe_with(const ls_plan& plan, const ThreadState& thread,
                         const MemorySource& memory) {
  const bool by_thread_pointer =
      std::ranges::none_of(plan.recipes, [](const ls_tls_recipe& recipe) {
        return recipe.kind == LS_IN_REGISTER || recipe.kind == LS_AT_ADDRESS ||
               recipe.kind == LS_FIRST_THREAD_AT_ADDRESS;
      });
  if (thread.thread_pointer == 0 && by_thread_pointer)
    return {LS_UNREADABLE_NO_THREAD_POINTER, 0, {}};
  ThreadState state = thread;
  state.facts = plan.plan.facts.get();
  state.presets = &plan.plan.presets;
  Observation seen = observe(plan.recipes, state, memory);
  if (plan.may_miss_publisher && seen.outcome == LS_UNLABELLED) {
    return {LS_UNREADABLE_NO_RECIPE, 0, {}};
  }
  return seen;
}

Result<std::unique_ptr<ls_observation>> read_at(const ls_target& target, const ls_plan& plan,
                                                Address thread_pointer) {
  auto observation = std::make_unique<ls_observation>();
  observation->seen = observe_with(plan, {thread_pointer}, target.get().memory());
  observation->thread_pointer = thread_pointer;
  return observation;
}

Result<std::unique_ptr<ls_observation>> read_thread(const ls_target& target, const ls_plan& plan,
                                                    Tid tid) {
  auto observation = std::make_unique<ls_observation>();
  auto held = with_held_thread(target, plan, tid,
                               [&](const ThreadState& thread, const MemorySource& memory) {
                                 observation->seen = observe_with(plan, thread, memory);
                                 observation->thread_pointer = thread.thread_pointer;
                               });
  if (!held) return std::move(held).error();
  observation->held = *held;
  return observation;
}

Result<std::unique_ptr<ls_observation>> decode(std::span<const std::byte> bytes,
                                               const ls_plan* plan) {
  auto labels = open_labels(bytes);
  if (!labels) return std::move(labels).error();
  auto observation = std::make_unique<ls_observation>();
  observation->seen = observation_of(*labels, plan == nullptr ? Meanings() : plan->plan.meanings());
  return observation;
}

}  // namespace

Result<std::chrono::nanoseconds> with_held_thread(const ls_target& target, const ls_plan& plan,
                                                  Tid tid, const HeldThreadUse& use) {
  if (target.core) {
    if (Status same = check_program(target, plan); !same) return std::move(same).error();
    if (Status status = with_core_thread(*target.core, tid, use); !status) {
      return std::move(status).error();
    }
    return std::chrono::nanoseconds{0};
  }
  if (!has_thread(*target.process, tid)) {
    return Error{ErrorCode::kNotFound, "process " + std::to_string(raw(target.process->pid())) +
                                           " has no " + thread_text(tid)};
  }
  const Holding holding;
  auto stopped = StoppedThread::stop(tid);
  if (!stopped) return std::move(stopped).error();
  // This is checked while the thread is held, when the process cannot execute another program any
  // more.
  if (Status same = check_program(target, plan); !same) return std::move(same).error();
  auto thread_pointer = stopped->thread_pointer();
  if (!thread_pointer) return std::move(thread_pointer).error();
  auto registers = stopped->registers();
  if (!registers) return std::move(registers).error();
  const std::string name = target.process->thread_name(tid);
  use({*thread_pointer, target.process->number_inside(tid), &*registers, nullptr,
       raw(tid) == raw(target.process->pid()), name},
      target.process->memory());
  return stopped->held();
}

}  // namespace labelscope::c_api

using namespace labelscope;         // NOLINT(google-build-using-namespace): C functions have none
using namespace labelscope::c_api;  // NOLINT(google-build-using-namespace): the same

ls_error_code ls_read_thread(const ls_target* target, const ls_plan* plan, int32_t tid,
                             ls_observation** observation, ls_error* error) {
  return answer("ls_read_thread: an argument is NULL", target != nullptr && plan != nullptr,
                observation, error, [&] { return read_thread(*target, *plan, Tid{tid}); });
}

ls_error_code ls_read_thread_at(const ls_target* target, const ls_plan* plan,
                                uint64_t thread_pointer, ls_observation** observation,
                                ls_error* error) {
  return answer("ls_read_thread_at: an argument is NULL", target != nullptr && plan != nullptr,
                observation, error, [&] { return read_at(*target, *plan, thread_pointer); });
}

ls_error_code ls_decode_labels(const void* bytes, size_t size, ls_observation** observation,
                               ls_error* error) {
  return ls_decode_labels_of(nullptr, bytes, size, observation, error);
}

ls_error_code ls_decode_labels_of(const ls_plan* plan, const void* bytes, size_t size,
                                  ls_observation** observation, ls_error* error) {
  return answer("ls_decode_labels: an argument is NULL", bytes != nullptr, observation, error, [&] {
    return decode({static_cast<const std::byte*>(bytes), size}, plan);
  });
}

void ls_free_observation(ls_observation* observation) { delete observation; }

enum ls_outcome ls_observed_outcome(const ls_observation* observation) {
  return observation == nullptr ? LS_UNREADABLE_VANISHED : observation->seen.outcome;
}

uint32_t ls_observed_flags(const ls_observation* observation) {
  return observation == nullptr ? 0 : observation->seen.flags;
}

uint64_t ls_observed_thread_pointer(const ls_observation* observation) {
  return observation == nullptr ? 0 : observation->thread_pointer;
}

uint64_t ls_observed_hold_time(const ls_observation* observation) {
  return observation == nullptr ? 0 : static_cast<uint64_t>(observation->held.count());
}

size_t ls_label_count(const ls_observation* observation) {
  return observation == nullptr ? 0 : observation->seen.labels.size();
}

ls_bytes ls_label_key(const ls_observation* observation, size_t label) {
  if (label >= ls_label_count(observation)) return no_bytes();
  return bytes_of(observation->seen.labels[label].key);
}

ls_bytes ls_label_value(const ls_observation* observation, size_t label) {
  if (label >= ls_label_count(observation)) return no_bytes();
  return bytes_of(observation->seen.labels[label].value);
}

size_t ls_label_publisher(const ls_observation* observation, size_t label) {
  if (label >= ls_label_count(observation)) return LS_NO_PUBLISHER;
  return observation->seen.labels[label].publisher;
}

// Both functions return views of string literals, which end with a NUL.
const char* ls_outcome_name(unsigned outcome) { return outcome_name(outcome).data(); }
const char* ls_outcome_text(unsigned outcome) { return outcome_text(outcome).data(); }

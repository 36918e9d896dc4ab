// This is the part of the C API that opens processes and cores, and lists their threads.
#include "labelscope/target.h"

#include "c_api/boundary.h"
#include "c_api/objects.h"
#include "process/proc_fs.h"

namespace labelscope::c_api {
namespace {

// The size of ls_core_options in the first version of labelscope.h.
constexpr std::size_t kFirstCoreOptions = 48;

CoreOptions translate_core(const ls_core_options& given) {
  CoreOptions options;
  if (given.executable != nullptr) options.executable = given.executable;
  options.sysroots.assign(given.sysroots, given.sysroots + given.sysroot_count);
  options.file_directories.assign(given.file_directories,
                                  given.file_directories + given.file_directory_count);
  return options;
}

// Returns nothing if the thread has ended; reading it then reports that.
std::string thread_name(Pid pid, Tid tid) {
  return read_proc_line("/proc/" + std::to_string(raw(pid)) + "/task/" + std::to_string(raw(tid)) +
                        "/comm");
}

Result<std::unique_ptr<ls_thread_list>> list_threads(const ls_target& target) {
  auto list = std::make_unique<ls_thread_list>();
  if (target.core) {
    for (const CoreThread& thread : target.core->threads()) {
      list->threads.push_back({thread.tid, thread.name});
    }
    return list;
  }
  auto tids = target.process->threads();
  if (!tids) return std::move(tids).error();
  for (Tid tid : *tids) list->threads.push_back({tid, thread_name(target.process->pid(), tid)});
  return list;
}

}  // namespace
}  // namespace labelscope::c_api

using namespace labelscope;         // NOLINT(google-build-using-namespace): C functions have none
using namespace labelscope::c_api;  // NOLINT(google-build-using-namespace): the same

ls_error_code ls_open_process(int32_t pid, ls_target** target, ls_error* error) {
  if (target == nullptr) return fail(error, LS_ERROR_ARGUMENT, "ls_open_process: target is NULL");
  return hand_out(target, error, [&]() -> Result<std::unique_ptr<ls_target>> {
    auto process = LiveProcess::open(Pid{pid});
    if (!process) return std::move(process).error();
    auto opened = std::make_unique<ls_target>();
    opened->process = *std::move(process);
    return opened;
  });
}

ls_error_code ls_open_core(const char* path, const ls_core_options* options, ls_target** target,
                           ls_error* error) {
  if (target == nullptr) return fail(error, LS_ERROR_ARGUMENT, "ls_open_core: target is NULL");
  *target = nullptr;
  if (path == nullptr) return fail(error, LS_ERROR_ARGUMENT, "ls_open_core: path is NULL");
  const auto known = read_options(options, kFirstCoreOptions);
  if (!known) {
    return fail(error, LS_ERROR_ARGUMENT,
                "ls_open_core: options.size must be sizeof(ls_core_options), and options that this "
                "version does not know must be 0");
  }
  if (!is_list(known->sysroots, known->sysroot_count) ||
      !is_list(known->file_directories, known->file_directory_count)) {
    return fail(error, LS_ERROR_ARGUMENT,
                "ls_open_core: a list of paths has a null pointer, or more than 4096 entries");
  }
  return hand_out(target, error, [&]() -> Result<std::unique_ptr<ls_target>> {
    auto core = CoreFile::open(path, translate_core(*known));
    if (!core) return std::move(core).error();
    auto opened = std::make_unique<ls_target>();
    opened->core = *std::move(core);
    // A core file that contradicts itself is only found out when it is planned.
    if (auto mappings = opened->core->mappings()) opened->code = mapped_code(*mappings);
    return opened;
  });
}

void ls_close(ls_target* target) { delete target; }

int32_t ls_target_pid(const ls_target* target) {
  if (target == nullptr) return 0;
  return raw(target->process ? target->process->pid() : target->core->pid());
}

ls_error_code ls_list_threads(const ls_target* target, ls_thread_list** threads, ls_error* error) {
  if (threads == nullptr) return fail(error, LS_ERROR_ARGUMENT, "ls_list_threads: threads is NULL");
  *threads = nullptr;
  if (target == nullptr) return fail(error, LS_ERROR_ARGUMENT, "ls_list_threads: target is NULL");
  return hand_out(threads, error, [&] { return list_threads(*target); });
}

void ls_free_threads(ls_thread_list* threads) { delete threads; }

size_t ls_thread_count(const ls_thread_list* threads) {
  return threads == nullptr ? 0 : threads->threads.size();
}

int32_t ls_thread_id(const ls_thread_list* threads, size_t index) {
  if (threads == nullptr || index >= threads->threads.size()) return 0;
  return raw(threads->threads[index].tid);
}

ls_bytes ls_thread_name(const ls_thread_list* threads, size_t index) {
  if (threads == nullptr || index >= threads->threads.size()) return no_bytes();
  return bytes_of(threads->threads[index].name);
}

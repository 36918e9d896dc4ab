#include "cli/unwind/table_worker.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "cli/host/own_process.h"
#include "cli/unwind/table_key.h"
#include "cli/unwind/table_messages.h"
#include "unwind_table/copied_module.h"

namespace labelscope::cli {
namespace {

using Kind = Worker::Outcome::Kind;

constexpr std::size_t kMostShown = 8;
constexpr std::chrono::seconds kLongestStop{2};

// The worker has inherited labelscope's precedence. The tables of a program, its loader and its C
// library take less time than this; all further ones must not delay other programs.
void give_back_precedence() {
  constexpr std::chrono::seconds kMostFirst{1};
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  if (std::chrono::seconds(used.tv_sec) >= kMostFirst) Precedence::forgo();
}

Status answer_table(Message message, Conversation& conversation) {
  give_back_precedence();
  if (message.files.empty()) return Error{ErrorCode::kNotFound, "the worker has no file"};
  {
    const Result<UnwindTable> table = build_unwind_table(std::move(message.files.front()));
    if (!table) return table.error();
    send_table(*table, [&](std::string body) { conversation.reply(std::move(body)); });
  }
  // The worker stays for the next file, which may come in an hour or never.
  ::malloc_trim(0);
  return {};
}

// Returns the path by which the file was opened, from the kernel.
std::string path_of(const UniqueFd& file) {
  const std::string link = "/proc/self/fd/" + std::to_string(file.get());
  std::string path(PATH_MAX, '\0');
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  path.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return path.empty() ? "a file" : named_copy(path);
}

}  // namespace

Answer make_table_task() { return answer_table; }

void TableWorker::stop() {
  stopped_ = true;  // makes a running build end soon
  const std::unique_lock lock(use_, kLongestStop);
  if (lock) worker_.end();
}

void TableWorker::begin() {
  const std::lock_guard lock(use_);
  if (!cache_ || cache_->is_empty()) worker_.begin();
}

Result<UnwindTable> TableWorker::build(UniqueFd file) {
  const std::lock_guard lock(use_);
  if (stopped_) return Error{ErrorCode::kSystem, "labelscope was asked to stop"};
  const std::string key = cache_ ? table_key_of(file) : std::string();
  if (!key.empty()) {
    if (auto known = cache_->find(key)) return *std::move(known);
  }
  const UniqueFd same(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  Result<UnwindTable> table = ask_worker(std::move(file), same);
  if (std::exchange(generation_, worker_.generation()) != worker_.generation()) {
    may_be_controlled_ = false;
  }
  may_be_controlled_ |= key.empty();
  // The file may have been written meanwhile.
  const bool is_kept = table && !may_be_controlled_ && table_key_of(same) == key;
  if (is_kept) cache_->keep(key, *table);
  return table;
}

// `same` is another descriptor of the file, for its name; it is invalid if there could be none.
Result<UnwindTable> TableWorker::ask_worker(UniqueFd file, const UniqueFd& same) {
  TableReader reader;
  Worker::Request request;
  request.task = kTableTask;
  // Without another descriptor the name has to be found out while this one is there.
  const std::string path = same.valid() ? std::string() : path_of(file);
  const auto path_at_last = [&] { return same.valid() ? path_of(same) : path; };
  request.files.push_back(std::move(file));
  request.deadline = Worker::Clock::now() + patience_;
  request.on_reply = [&](std::string_view body) { return reader.take(body); };
  const Worker::Outcome outcome = worker_.ask(std::move(request));
  if (outcome.kind == Kind::kAnswered) {
    Result<UnwindTable> table = reader.finish();
    if (table) return table;
    worker_.end();
    note_failure(path_at_last(), table.error().context);
    return table;
  }
  if (outcome.kind != Kind::kCancelled) note_failure(path_at_last(), outcome.why);
  return Error{outcome.kind == Kind::kNoAnswer ? ErrorCode::kMalformed : ErrorCode::kSystem,
               outcome.why};
}

void TableWorker::note_failure(const std::string& path, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failures_.files.size() == kMostShown) {
    ++failures_.more;
  } else {
    failures_.files.push_back(path + ": " + why);
  }
}

TableWorker::Failures TableWorker::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

}  // namespace labelscope::cli

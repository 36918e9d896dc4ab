#include "cli/symbol/file_namer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cerrno>

#include "cli/names/demangle.h"
#include "cli/text/text.h"
#include "elf/elf_image.h"

namespace labelscope::cli {
namespace {

using Kind = Worker::Outcome::Kind;
using std::chrono::milliseconds;

// This is twice what an address takes in the largest programs.
constexpr std::chrono::milliseconds kTimeForEachAddress{1};
// A debug file and one that several share, from as many places as may have them; again, where the
// worker got more memory for them.
constexpr unsigned kMostQuestions = 3 * 2 * (kMostRefusedFiles + 1);
constexpr unsigned kMostLargerWorkers = 2;
// Files up to this size fit into the usual memory of a worker.
constexpr off_t kSmall = off_t{256} << 20;
// For larger files the worker gets as much more as they have on the disk, up to this; holes do not
// count.
constexpr std::uint64_t kMostMemory = std::uint64_t{8} << 30;

std::uint64_t memory_of_machine() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return kWorkerMemory;
  return std::uint64_t{info.totalram} * info.mem_unit;
}

std::uint64_t extra_memory(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_size <= kSmall) return 0;
  return std::uint64_t{512} * static_cast<std::uint64_t>(std::max<blkcnt_t>(status.st_blocks, 0));
}

std::uint64_t bounded_memory(std::uint64_t wanted) {
  const std::uint64_t most =
      std::max(kWorkerMemory, std::min(kMostMemory, memory_of_machine() / 2));
  return std::min(wanted, most);
}

UniqueFd duplicate(const UniqueFd& file) {
  return UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
}

std::string seconds(FileNamer::Duration time) {
  return seconds_text(std::chrono::duration_cast<milliseconds>(time));
}

FileKey key_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
}

}  // namespace

FileNamer::FileNamer(Options options)
    : options_(std::move(options)),
      debug_files_(
          options_.debug_folders, [this] { return cancelled(); }, options_.downloading),
      worker_(options_.launch, [this] { return cancelled(); }),
      left_(options_.most_of_all) {}

FileNamer::~FileNamer() = default;

std::optional<FileKey> file_key(const ModuleFile& file) {
  struct stat status {};
  if (file == nullptr || !file->valid() || ::fstat(file->get(), &status) != 0) return std::nullopt;
  return key_of(status);
}

void FileNamer::end_early() {
  early_ = false;
  early_generation_ = worker_.is_running() ? worker_.generation() : 0;
}

// A worker that has files of early requests may fail for want of memory or time that these have
// taken.
bool FileNamer::may_be_due_to_others(const Worker::Outcome& outcome) {
  const bool failed =
      outcome.kind == Kind::kDied || outcome.kind == Kind::kLate || outcome.kind == Kind::kGarbage;
  if (!failed || early_generation_ == 0 || early_generation_ != worker_.generation()) return false;
  early_generation_ = 0;
  return true;
}

void FileNamer::refill() { left_ = options_.most_of_all; }

// Both the time of the file and that of all files limit it.
Worker::Outcome FileNamer::ask(Worker::Request request, Duration& left) {
  if (early_) {
    request.deadline = Worker::Clock::now() + options_.most_of_a_file;
    return worker_.ask(std::move(request));
  }
  if (left_ <= Duration::zero()) {
    return {Kind::kNoWorker, "the files before it took more than " + seconds(options_.most_of_all)};
  }
  auto start = Worker::Clock::now();
  request.deadline = start + std::min(left, left_);
  if (request.on_ask) {
    request.on_ask = [&start, inner = std::move(request.on_ask)](std::string_view body) {
      const auto asked = Worker::Clock::now();
      Result<Message> given = inner(body);
      start += Worker::Clock::now() - asked;
      return given;
    };
  }
  Worker::Outcome outcome = worker_.ask(std::move(request));
  const Duration taken = Worker::Clock::now() - start;
  left -= taken;
  left_ -= taken;
  return outcome;
}

Result<std::vector<FunctionSymbol>> FileNamer::functions(const UniqueFd& file) {
  FunctionsReader reader;
  Worker::Request request;
  request.task = kFunctionsTask;
  request.files.push_back(duplicate(file));
  if (!request.files.back().valid()) return system_error(errno, "no descriptor");
  request.memory = bounded_memory(kWorkerMemory + extra_memory(file.get()));
  request.on_reply = [&](std::string_view body) { return reader.take(body); };
  Duration left = options_.most_of_a_file;
  const Worker::Outcome outcome = ask(std::move(request), left);
  if (outcome.kind == Kind::kAnswered) return std::move(reader.functions);
  if (outcome.kind == Kind::kNoAnswer) return Error{ErrorCode::kMalformed, outcome.why};
  if (trouble_.empty() && outcome.kind != Kind::kCancelled) trouble_ = outcome.why;
  return Error{ErrorCode::kSystem, outcome.why};
}

Result<std::vector<FunctionSymbol>> FileNamer::all_functions(const UniqueFd& file,
                                                             const std::string& path) {
  const auto image = ElfImage::open(duplicate(file));
  if (!image || image->has_symtab() || image->build_id().empty()) return functions(file);
  WantedDebugFile wanted;
  wanted.build_id = image->build_id();
  const DebugFiles::DebugFile found = debug_files_.find(wanted, path, file, nullptr);
  if (!found.file.valid()) return functions(file);
  const auto debug_image = ElfImage::open(duplicate(found.file));
  const bool is_its = debug_image && debug_image->build_id() == image->build_id();
  if (is_its) {
    auto named = functions(found.file);
    if (named && !named->empty()) return named;
  }
  return functions(file);
}

std::string FileNamer::demangled(const std::string& name) {
  std::string demangled;
  Worker::Request request;
  request.task = kDemangleTask;
  request.body = name;
  request.on_reply = [&](std::string_view body) {
    demangled = body;
    return Status();
  };
  if (name.size() > kMaxPacket / 2) return name;
  Duration left = options_.most_of_a_file;
  return ask(std::move(request), left).kind == Kind::kAnswered ? demangled : name;
}

NamedFile::NamedFile(FileNamer& namer, ModuleFile file, std::string path, std::string_view task,
                     std::uint64_t first_bytes)
    : namer_(namer),
      file_(std::move(file)),
      path_(std::move(path)),
      task_(task),
      first_bytes_(first_bytes),
      number_(++namer.last_number_),
      from_(namer.options_.debug_information ? NamesFrom::kDebugInformation : NamesFrom::kSymbols),
      left_(namer.options_.most_of_a_file) {
  struct stat status {};
  if (file_ == nullptr || ::fstat(file_->get(), &status) != 0) {
    unusable_ = true;
    problem_ = "the file could not be opened";
    return;
  }
  if (!S_ISREG(status.st_mode)) {
    unusable_ = true;
    problem_ = "the file cannot be used: it is not a regular file";
    return;
  }
  key_ = key_of(status);
  memory_ = bounded_memory(kWorkerMemory + extra_memory(file_->get()));
  if (const auto known = namer_.troubles_.find(key_); known != namer_.troubles_.end()) {
    problem_ = known->second.why;
    unusable_ = !known->second.own_symbols_work;
    from_ = NamesFrom::kOwnSymbols;
  }
}

NamedFile::~NamedFile() {
  // There is nothing to close if the worker that had the file has ended, or is about to.
  if (!opened_ || unusable_ || known_to_ != namer_.worker_.generation() || namer_.cancelled()) {
    return;
  }
  NamesRequest close;
  close.file = number_;
  close.close = true;
  Worker::Request request;
  request.task = task_;
  request.body = encode(close);
  request.on_reply = [](std::string_view) { return Status(); };
  namer_.ask(std::move(request), left_);
}

bool NamedFile::is_about(const ModuleFile& file) const { return file_key(file) == key_; }

bool NamedFile::open() {
  if (opened_ || unusable_) return opened_ && !unusable_;
  std::vector<std::vector<SourceLine>> none;
  while (!ask({}, true, none)) {
    if (unusable_ || namer_.cancelled()) return false;
  }
  return true;
}

std::vector<std::vector<SourceLine>> NamedFile::find(std::span<const Address> addresses,
                                                     bool inlined) {
  std::vector<std::vector<SourceLine>> names;
  const auto more = addresses.size() * kTimeForEachAddress;
  left_ += more;
  if (!namer_.early_) namer_.left_ += more;
  while (!unusable_ && !namer_.cancelled()) {
    names.clear();
    if (ask(addresses, inlined, names)) return names;
  }
  names.assign(addresses.size(), {});
  return names;
}

// Returns false if it must be asked again, unless the file is unusable now or labelscope must stop.
bool NamedFile::ask(std::span<const Address> addresses, bool inlined,
                    std::vector<std::vector<SourceLine>>& names) {
  NamesRequest asked;
  asked.file = number_;
  asked.inlined = inlined;
  asked.from = from_;
  asked.first_bytes = first_bytes_;
  asked.later = namer_.early_;
  asked.addresses.assign(addresses.begin(), addresses.end());
  NamesReader reader(addresses.size());
  Worker::Request request;
  request.task = task_;
  request.memory = memory_;
  request.on_reply = [&](std::string_view body) { return reader.take(body); };
  request.on_ask = [this](std::string_view body) { return give(body); };
  // The worker may have ended since; the next one has no files.
  if (known_to_ != namer_.worker_.generation() || known_to_ == 0 || !namer_.worker_.is_running()) {
    asked.open = true;
    questions_ = 0;
    request.files.push_back(duplicate(*file_));
    if (!request.files.back().valid()) {
      unusable_ = true;
      problem_ = "the file cannot be used: " + system_error(errno, "no descriptor").context;
      return false;
    }
  }
  request.body = encode(asked);
  wants_more_memory_ = false;
  Worker::Outcome outcome = namer_.ask(std::move(request), left_);
  if (outcome.kind == Kind::kAnswered) {
    const Status complete = reader.check_complete();
    if (complete && (reader.remarks.opened || !asked.open)) {
      known_to_ = namer_.worker_.generation();
      opened_ = true;
      names = std::move(reader.names);
      NamesRemarks& now = reader.remarks;
      if (!asked.open) {
        now.build_id = remarks_.build_id;
        now.first_address = remarks_.first_address;
        now.has_lines = remarks_.has_lines;
      }
      remarks_ = std::move(now);
      if (!remarks_.left_out.empty() && from_ != NamesFrom::kOwnSymbols)
        problem_ = remarks_.left_out;
      return true;
    }
    namer_.worker_.end();
    outcome = {Kind::kGarbage,
               complete ? "it does not say what it was asked" : complete.error().context};
  }
  note_trouble(outcome);
  return false;
}

std::string NamedFile::nameless() const {
  if (!remarks_.stripped) return remarks_.nameless;
  return remarks_.nameless + "; " + namer_.debug_files_.remedy(remarks_.build_id, path_, *file_, file_->root.get());
}

void NamedFile::note_trouble(const Worker::Outcome& outcome) {
  if (outcome.kind == Kind::kCancelled) return;
  if (wants_more_memory_) return;  // the next request has another worker
  if (namer_.early_) {
    unusable_ = true;
    problem_ = outcome.why;
    return;
  }
  if (namer_.may_be_due_to_others(outcome)) {
    left_ = std::max(left_, namer_.options_.most_of_a_file);
    return;
  }
  if (outcome.kind == Kind::kNoAnswer) {
    unusable_ = true;
    problem_ = "the file cannot be used: " + outcome.why;
    return;
  }
  if (outcome.kind == Kind::kNoWorker) {
    unusable_ = true;
    problem_ = "its names were not looked up: " + outcome.why;
    return;
  }
  std::string why = outcome.why;
  if (outcome.kind == Kind::kLate)
    why += " (more than " + seconds(namer_.options_.most_of_a_file) + ")";
  if (task_ != kNamesTask) {
    unusable_ = true;
    problem_ = "the process that looked at it did not come to an end, " + why;
  } else if (from_ != NamesFrom::kOwnSymbols) {
    left_ = std::max(left_, namer_.options_.most_of_a_file / 2);
    problem_ = std::string(from_ == NamesFrom::kSymbols ? "symbols outside of the file were"
                                                        : "its debug information was") +
               " left out: the process that looked at it did not come to an end with it, " + why;
    from_ = NamesFrom::kOwnSymbols;
  } else {
    unusable_ = true;
    problem_ += "; neither with its symbols alone, " + why;
  }
  namer_.troubles_[key_] = {!unusable_, problem_};
}

// Handles the worker's question, which is foreign bytes like its answers.
Result<Message> NamedFile::give(std::string_view body) {
  Result<WantedDebugFile> wanted = decode_wanted_debug_file(body);
  if (!wanted) return wanted.error();
  if (++questions_ > kMostQuestions) {
    return Error{ErrorCode::kMalformed, "it asks for more debug files than a file can have"};
  }
  const auto servers = namer_.early_ ? DebugFiles::Servers::kNot : DebugFiles::Servers::kToo;
  DebugFiles::DebugFile found =
      namer_.debug_files_.find(*wanted, path_, *file_, file_->root.get(), servers);
  skipped_servers_ |= found.skipped_servers;
  Message given{Message::Kind::kGive, std::move(found.text), {}};
  if (!found.file.valid()) return given;
  const std::uint64_t memory = bounded_memory(memory_ + extra_memory(found.file.get()));
  if (memory > memory_ && larger_workers_ < kMostLargerWorkers) {
    memory_ = memory;
    ++larger_workers_;
    wants_more_memory_ = true;
    return Error{ErrorCode::kLimit, "its debug file needs a worker with more memory"};
  }
  given.files.push_back(std::move(found.file));
  return given;
}

}  // namespace labelscope::cli

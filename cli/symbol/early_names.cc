#include "cli/symbol/early_names.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/host/own_process.h"

namespace labelscope::cli {
namespace {

using std::chrono::milliseconds;

// So many addresses are asked for at once: the end of the recording waits for a request.
constexpr std::size_t kAtOnce = 64;
// finish() waits between so long and so long for the request that the worker is busy with.
constexpr milliseconds kLeastPatience{20};
constexpr std::chrono::seconds kMostPatience{5};
// It asks this often whether the user has cancelled.
constexpr milliseconds kBetweenAskingEarly{20};
// The memory of names that may become useless if their files change.
constexpr std::size_t kMostText = std::size_t{64} << 20;
// These descriptors are in addition to those of the recording, which has most of the limit.
constexpr rlim_t kPartOfLimit = 16;
constexpr std::size_t kMostFiles = 4096;

std::size_t most_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return std::min<rlim_t>(limit.rlim_cur / kPartOfLimit, kMostFiles);
}

bool is_wanted(const ProfileModule& module) {
  return module.kind == ProfileModule::Kind::kFile && module.path.starts_with('/');
}

// The memory that names take at most: lines of one answer share their texts.
std::size_t text_of(const std::vector<SourceLine>& lines) {
  std::size_t size = lines.size() * sizeof(SourceLine);
  for (const SourceLine& line : lines) {
    size += line.function.size() + line.system_name.size() + line.file.size();
  }
  return size;
}

}  // namespace

EarlyNames::EarlyNames(FileNamer& namer) : namer_(namer), most_files_(most_files()) {
  namer_.begin_early();
  namer_.set_cancelled([this] { return cancelled_.load(); });
  // Not by start_deaf_thread(): the worker that this thread starts would block all signals, too.
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    busy_ = false;
    over_ = true;  // all names are found at the end
  }
}

EarlyNames::~EarlyNames() {
  finish([] { return true; });
  {
    const std::unique_lock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  // Nothing is asked any more, not even to close a file.
  namer_.set_cancelled([] { return true; });
  files_.clear();
  namer_.end();
  namer_.set_cancelled({});
}

bool EarlyNames::look_at(std::span<const Location> locations,
                         std::span<const ProfileModule> modules,
                         std::span<const ModuleFile> files, std::span<const FileState> states) {
  if (seen_ == locations.size()) return true;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  if (over_) return true;
  for (; seen_ < locations.size(); ++seen_) {
    const Location& location = locations[seen_];
    if (!is_code(location.kind)) continue;
    if (location.module >= modules.size() || location.module >= files.size()) continue;
    const ProfileModule& module = modules[location.module];
    for (std::size_t i = of_module_.size(); i <= location.module; ++i) {
      const FileState mapped = i < states.size() ? states[i] : FileState();
      of_module_.push_back(is_wanted(modules[i]) ? file_of(modules[i], files[i], mapped) : nullptr);
    }
    Wanted* wanted = of_module_[location.module];
    if (wanted != nullptr) wanted->addresses.push_back(location.address - module.load_bias);
  }
  changed_.notify_all();
  return true;
}

EarlyNames::Wanted* EarlyNames::file_of(const ProfileModule& module, const ModuleFile& file,
                                        const FileState& mapped) {
  const std::optional<FileKey> key = file_key(file);
  if (!key || mapped.is_outdated(*file)) return nullptr;
  if (const auto known = files_.find(*key); known != files_.end()) return known->second.get();
  if (files_.size() == most_files_) return nullptr;
  auto own = std::make_shared<OpenModuleFile>(::fcntl(file->get(), F_DUPFD_CLOEXEC, 3));
  if (!own->valid()) return nullptr;
  own->root = file->root;
  auto wanted = std::make_unique<Wanted>();
  wanted->file = std::move(own);
  wanted->key = *key;
  wanted->path = module.path;
  return files_.emplace(*key, std::move(wanted)).first->second.get();
}

void EarlyNames::run() {
  // The worker has the precedence of labelscope for when the user waits, and steps back until then.
  namer_.begin();
  Precedence::forgo();
  std::unique_lock lock(mutex_);
  busy_ = false;
  changed_.notify_all();
  // The worker ends with the thread that has started it, so this one stays.
  while (!ends_) {
    Wanted* wanted = over_ ? nullptr : next();
    if (wanted == nullptr) {
      changed_.wait(lock);
      continue;
    }
    name_some(*wanted, lock);
  }
}

EarlyNames::Wanted* EarlyNames::next() {
  for (const auto& [key, wanted] : files_) {
    if (!wanted->addresses.empty() && !wanted->refused) return wanted.get();
  }
  return nullptr;
}

void EarlyNames::name_some(Wanted& wanted, std::unique_lock<std::mutex>& lock) {
  std::vector<Address>& all = wanted.addresses;
  const std::size_t count = std::min(all.size(), kAtOnce);
  std::vector<Address> asked(all.end() - static_cast<std::ptrdiff_t>(count), all.end());
  all.resize(all.size() - count);
  std::erase_if(asked, [&](Address address) { return wanted.found.names.contains(address); });
  std::sort(asked.begin(), asked.end());
  asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
  if (asked.empty()) return;

  busy_ = true;
  busy_since_ = Clock::now();
  lock.unlock();
  if (wanted.found.file == nullptr) {
    wanted.found.file = std::make_unique<NamedFile>(namer_, wanted.file, wanted.path);
  }
  std::vector<std::vector<SourceLine>> names = wanted.found.file->find(asked, true);
  // What the worker has read may be of another build otherwise.
  const bool same = wanted.found.file->is_about(wanted.file) && file_key(wanted.file) == wanted.key;
  const bool whole = wanted.found.file->is_whole() && same && !cancelled_;
  std::size_t text = 0;
  for (const auto& lines : names) text += text_of(lines);
  lock.lock();
  busy_ = false;
  text_ += text;
  if (!whole) {
    wanted.refused = true;
    // Whoever is next would have another worker. It is better to find out whose fault it is when
    // the recording is over.
    over_ |= !wanted.found.file->is_usable();
  } else {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      wanted.found.names.emplace(asked[i], std::move(names[i]));
    }
    named_ += asked.size();
  }
  over_ |= text_ > kMostText;
  changed_.notify_all();
}

std::size_t EarlyNames::named() const {
  const std::unique_lock lock(mutex_);
  return named_;
}

std::size_t EarlyNames::waiting() const {
  const std::unique_lock lock(mutex_);
  std::size_t count = 0;
  for (const auto& [key, wanted] : files_) count += wanted->refused ? 0 : wanted->addresses.size();
  return over_ && !busy_ ? 0 : count + (busy_ ? 1 : 0);
}

void EarlyNames::finish(const std::function<bool()>& cancelled) {
  std::unique_lock lock(mutex_);
  over_ = true;
  const auto now = Clock::now();
  const auto patience =
      std::clamp<Clock::duration>(now - busy_since_, kLeastPatience, kMostPatience);
  while (busy_) {
    cancelled_ = cancelled_ || Clock::now() - now >= patience || (cancelled && cancelled());
    changed_.wait_for(lock, kBetweenAskingEarly);
  }
  namer_.end_early();
}

const EarlyNames::Names* EarlyNames::names_of(Index module) const {
  const Wanted* wanted = module < of_module_.size() ? of_module_[module] : nullptr;
  return wanted == nullptr || wanted->found.names.empty() ? nullptr : &wanted->found.names;
}

std::unique_ptr<EarlyNames::File> EarlyNames::take(const ModuleFile& file) {
  const auto entry = files_.find(file_key(file).value_or(FileKey()));
  if (entry == files_.end()) return nullptr;
  Wanted& wanted = *entry->second;
  // It may have changed before it was opened.
  const bool usable = !wanted.refused && wanted.found.file && wanted.found.file->is_about(file);
  return usable ? std::make_unique<File>(std::move(wanted.found)) : nullptr;
}

}  // namespace labelscope::cli

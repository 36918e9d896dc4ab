// One file for each table, HASH.table; while it is written, it has a suffix of its own. Nothing
// else is in the folder, and no file with another name is ever removed.
//
//   head      what labelscope made it, the lengths of all that follows, and their checksum
//   key       by which the table is known; the name of the file is its hash
//   messages  as a worker sends them, each behind its length
#include "cli/unwind/table_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "cli/host/output_file.h"
#include "cli/unwind/table_messages.h"

namespace labelscope::cli {
namespace {

constexpr std::string_view kMagic = "labelscope unwind table 1\n";
// The largest real file has a table of 4 MiB.
constexpr std::uint64_t kMostOfATable = std::uint64_t{64} << 20;
constexpr std::size_t kMostProblems = 8;
constexpr std::size_t kHashDigits = 16;

struct Head {
  char magic[32];
  // The labelscope that has made the table: another one may make another table of the same file.
  std::uint64_t maker[5];
  std::uint64_t key_size;
  std::uint64_t messages_size;
  std::uint64_t checksum;  // of key and messages
};

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Head head_of(std::string_view key, std::string_view messages) {
  Head head{};
  kMagic.copy(head.magic, sizeof head.magic);
  struct stat own {};
  if (::stat("/proc/self/exe", &own) == 0) {
    const std::uint64_t maker[] = {own.st_dev, own.st_ino, static_cast<std::uint64_t>(own.st_size),
                                   static_cast<std::uint64_t>(own.st_ctim.tv_sec),
                                   static_cast<std::uint64_t>(own.st_ctim.tv_nsec)};
    std::ranges::copy(maker, head.maker);
  }
  head.key_size = key.size();
  head.messages_size = messages.size();
  const auto crc = [](uLong before, std::string_view bytes) {
    return ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  };
  head.checksum = crc(crc(0, key), messages);
  return head;
}

// This is FNV-1a. Two keys with one hash take turns in one file.
std::string name_of(std::string_view key) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : key) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  std::array<char, 24> name{};
  std::snprintf(name.data(), name.size(), "%016llx.table", static_cast<unsigned long long>(hash));
  return name.data();
}

// Returns whether name_of() makes such a name, for a table or for one that is being written.
// Versions before this one wrote under the number of their process.
bool is_own_name(std::string_view name) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kKind = ".table";
  const auto skip_hex = [&](std::size_t most) {
    const std::size_t count = std::min(name.find_first_not_of(kHex), name.size());
    const bool fits = count > 0 && count <= most;
    name.remove_prefix(count);
    return fits;
  };
  if (name.find('.') != kHashDigits || !skip_hex(kHashDigits) || !name.starts_with(kKind)) {
    return false;
  }
  name.remove_prefix(kKind.size());
  if (name.empty()) return true;
  if (name.front() != '.') return false;
  name.remove_prefix(1);
  return skip_hex(kHashDigits) && name.empty();
}

Error unusable(std::string why) { return {ErrorCode::kMalformed, std::move(why)}; }

// Returns why others than the user could have written what is there, or nothing.
std::string why_not_own(const struct stat& status) {
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it";
  return {};
}

Result<std::string> read_whole(int fd, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got = ::read(fd, &bytes[filled], size - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "it cannot be read");
    if (got == 0) return unusable("it is shorter than it was");
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

// Reads the messages, each behind its length.
Result<UnwindTable> decode(std::string_view messages) {
  TableReader reader;
  while (!messages.empty()) {
    std::uint32_t size = 0;
    if (messages.size() < sizeof size) return unusable("it ends within a length");
    std::memcpy(&size, messages.data(), sizeof size);
    messages.remove_prefix(sizeof size);
    if (size > messages.size()) return unusable("it ends within a message");
    if (Status taken = reader.take(messages.substr(0, size)); !taken) {
      return std::move(taken).error();
    }
    messages.remove_prefix(size);
  }
  return reader.finish();
}

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

// Calls `use` with the name of each entry until it returns false. Fails if the folder cannot be
// listed.
Status for_each_name(const UniqueFd& folder, const std::function<bool(const std::string&)>& use) {
  const int copy = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const Folder listed(copy < 0 ? nullptr : ::fdopendir(copy), &::closedir);
  if (!listed) {
    const int why = errno;
    if (copy >= 0) ::close(copy);
    return system_error(why, "it cannot be listed");
  }
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(listed.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && !use(name)) return {};
  }
  return errno == 0 ? Status() : system_error(errno, "it cannot be listed");
}

}  // namespace

std::string TableCache::usual_folder() {
  const auto below = [](const char* variable, const char* rest) -> std::string {
    const char* folder = ::getenv(variable);
    return folder != nullptr && folder[0] == '/' ? std::string(folder) + rest : std::string();
  };
  std::string chosen = below("XDG_CACHE_HOME", "/labelscope");
  if (!chosen.empty()) return chosen;
  return ::geteuid() == 0 ? "/var/cache/labelscope" : below("HOME", "/.cache/labelscope");
}

Result<std::unique_ptr<TableCache>> TableCache::open(const std::string& folder,
                                                     std::uint64_t most_bytes) {
  constexpr mode_t kOwn = S_IRWXU;
  if (::mkdir(folder.c_str(), kOwn) != 0 && errno == ENOENT) {
    // ~/.cache may not be there yet.
    static_cast<void>(::mkdir(folder.substr(0, folder.rfind('/')).c_str(), kOwn));
    static_cast<void>(::mkdir(folder.c_str(), kOwn));
  }
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return system_error(errno, folder);
  if (const std::string why = why_not_own(status); !why.empty()) {
    return Error{ErrorCode::kPermission, folder + ": " + why};
  }
  // Old tables are removed from it, so nothing else may be there that could be taken for one.
  std::string other;
  const Status listed = for_each_name(fd, [&other](const std::string& name) {
    if (!is_own_name(name)) other = name;
    return other.empty();
  });
  if (!listed) return Error{listed.error().code, folder + ": " + listed.error().context};
  if (!other.empty()) {
    return Error{ErrorCode::kUnsupported,
                 folder + ": it has other files (" + other +
                     "), and tables are kept in a folder of their own only"};
  }
  return std::unique_ptr<TableCache>(new TableCache(folder, std::move(fd), most_bytes));
}

std::optional<UnwindTable> TableCache::find(const std::string& key) {
  const std::string name = name_of(key);
  auto table = read(name, key);
  if (table) {
    ++found_;
    return *std::move(table);
  }
  if (table.error().code == ErrorCode::kNotFound) return std::nullopt;
  note(folder_ + "/" + name + ": " + table.error().context);
  ::unlinkat(fd_.get(), name.c_str(), 0);
  return std::nullopt;
}

// Fails with kNotFound if there is none.
Result<UnwindTable> TableCache::read(const std::string& name, const std::string& key) {
  const UniqueFd file(
      ::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return Error{ErrorCode::kNotFound, "it is not there"};
  if (!file.valid() && errno == ELOOP) return unusable("it is a symbolic link");
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return system_error(errno, "open");
  if (!S_ISREG(status.st_mode)) return unusable("it is no regular file");
  if (std::string why = why_not_own(status); !why.empty()) return unusable(std::move(why));
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < sizeof(Head) || size > kMostOfATable) return unusable("it has an impossible size");
  auto bytes = read_whole(file.get(), size);
  if (!bytes) return std::move(bytes).error();
  Head head{};
  std::memcpy(&head, bytes->data(), sizeof head);
  const std::string_view rest = std::string_view(*bytes).substr(sizeof head);
  if (head.key_size > rest.size() || head.messages_size != rest.size() - head.key_size) {
    return unusable("it is not whole");
  }
  const std::string_view its_key = rest.substr(0, head.key_size);
  const std::string_view messages = rest.substr(head.key_size);
  const Head expected = head_of(its_key, messages);
  if (head.checksum != expected.checksum) return unusable("its checksum is wrong");
  // Neither is a fault: another labelscope has made it, or another file has this hash.
  if (std::memcmp(&head, &expected, sizeof head) != 0 || its_key != key) {
    return Error{ErrorCode::kNotFound, "it is another one"};
  }
  static_cast<void>(::futimens(file.get(), nullptr));  // what was used last is removed last
  return decode(messages);
}

void TableCache::keep(const std::string& key, const UnwindTable& table) {
  std::string messages;
  send_table(table, [&](const std::string& body) {
    append(messages, static_cast<std::uint32_t>(body.size()));
    messages += body;
  });
  const Head head = head_of(key, messages);
  std::string bytes;
  bytes.reserve(sizeof head + key.size() + messages.size());
  append(bytes, head);
  bytes += key;
  bytes += messages;
  if (bytes.size() > std::min(kMostOfATable, most_bytes_)) return;
  make_room(bytes.size());
  if (Status written = write(name_of(key), bytes); !written) {
    note(folder_ + ": no table can be kept: " + written.error().context);
  }
}

// A reader sees the whole file or none.
Status TableCache::write(const std::string& name, std::string_view bytes) {
  const std::string unfinished = name + "." + random_suffix();
  const UniqueFd file(::openat(fd_.get(), unfinished.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                               S_IRUSR | S_IWUSR));
  if (!file.valid()) return system_error(errno, "open");
  Status status;
  while (!bytes.empty()) {
    const ssize_t done = ::write(file.get(), bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      status = system_error(done < 0 ? errno : ENOSPC, "write");
      break;
    }
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  if (status && ::renameat(fd_.get(), unfinished.c_str(), fd_.get(), name.c_str()) != 0) {
    status = system_error(errno, "rename");
  }
  if (!status) ::unlinkat(fd_.get(), unfinished.c_str(), 0);
  return status;
}

bool TableCache::is_empty() const {
  bool empty = true;
  const Status listed = for_each_name(fd_, [&empty](const std::string&) { return empty = false; });
  return empty || !listed;
}

// Removes what was not used for the longest time, until there is room. Tables that another
// labelscope had no time to finish are the oldest sooner or later.
void TableCache::make_room(std::uint64_t bytes) {
  if (bytes_ && *bytes_ + bytes <= most_bytes_) {
    *bytes_ += bytes;
    return;
  }
  struct Kept {
    timespec used;
    std::uint64_t size;
    std::string name;
  };
  std::vector<Kept> all;
  std::uint64_t sum = bytes;
  const Status listed = for_each_name(fd_, [&](const std::string& name) {
    struct stat status {};
    if (!is_own_name(name) ||
        ::fstatat(fd_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      return true;
    }
    all.push_back({status.st_mtim, static_cast<std::uint64_t>(status.st_size), name});
    sum += all.back().size;
    return true;
  });
  if (!listed) note(folder_ + ": " + listed.error().context);
  std::ranges::sort(all, [](const Kept& a, const Kept& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Kept& oldest : all) {
    if (sum <= most_bytes_) break;
    if (::unlinkat(fd_.get(), oldest.name.c_str(), 0) == 0) sum -= oldest.size;
  }
  bytes_ = sum;
}

void TableCache::note(std::string problem) {
  const std::lock_guard lock(mutex_);
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(problem));
}

std::vector<std::string> TableCache::problems() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

}  // namespace labelscope::cli

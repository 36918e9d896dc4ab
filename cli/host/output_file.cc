// OutputFile: writes to a file without a name (O_TMPFILE), which linkat() names at the end. If the
// file system cannot do that, writes under a hidden name, and then renames.
#include "cli/host/output_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <streambuf>

#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr mode_t kMode = 0666;  // minus the umask, as for any program

// The new file may be read only by users who may read the replaced one. Only root can give a file
// to another user. If the group cannot be kept, it gets no more rights than others have.
bool take_owner_and_mode(int fd, const struct stat& replaced) {
  constexpr mode_t kAll = 0777;
  constexpr mode_t kOfGroup = 0070;
  mode_t mode = replaced.st_mode & kAll;
  const bool has_group = ::fchown(fd, -1, replaced.st_gid) == 0;
  if (!has_group) mode &= ~kOfGroup | ((mode & 07) << 3);
  // Set the mode first: changing a file of another user needs one more privilege.
  if (::fchmod(fd, mode) != 0) return false;
  return ::fchown(fd, replaced.st_uid, -1) == 0 || errno == EPERM;
}

// A stream buffer that writes to a descriptor and remembers the errno of the first failure.
class FdBuffer final : public std::streambuf {
 public:
  explicit FdBuffer(int fd) : fd_(fd) { setp(buffer_.data(), buffer_.data() + buffer_.size()); }
  int first_errno() const { return first_errno_; }
  std::uint64_t written() const { return written_; }

 protected:
  int_type overflow(int_type c) override {
    if (!flush()) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }
  int sync() override { return flush() ? 0 : -1; }

 private:
  bool flush() {
    const char* at = pbase();
    while (at < pptr() && first_errno_ == 0) {
      ssize_t done = ::write(fd_, at, static_cast<std::size_t>(pptr() - at));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) {
        first_errno_ = errno;
        break;
      }
      at += done;
      written_ += static_cast<std::uint64_t>(done);
    }
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return first_errno_ == 0;
  }
  int fd_;
  int first_errno_ = 0;
  std::uint64_t written_ = 0;
  std::array<char, 1 << 16> buffer_;
};

std::string directory_of(const std::string& path) {
  std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string hidden_name(const std::string& path) {
  std::size_t slash = path.rfind('/');
  std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, name) + "." + path.substr(name) + "." + random_suffix() + ".tmp";
}

Error exists(const std::string& path) {
  return Error{ErrorCode::kSystem, path + " exists already; give another name, or --overwrite"};
}

}  // namespace

std::string random_suffix() {
  std::uint64_t number = 0;
  // This fails only while a machine starts. Then the number is not random, but still of this run.
  if (::getrandom(&number, sizeof number, 0) != sizeof number) {
    number =
        static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) ^
        static_cast<std::uint64_t>(::getpid()) << 40;
  }
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

OutputFile::OutputFile(std::string path, UniqueFd fd, Kind kind, std::string temporary,
                       bool overwrite)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      kind_(kind),
      temporary_(std::move(temporary)),
      overwrite_(overwrite) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      kind_(other.kind_),
      temporary_(std::exchange(other.temporary_, {})),
      overwrite_(other.overwrite_),
      of_other_user_(other.of_other_user_),
      size_(other.size_) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<OutputFile> OutputFile::open(const std::string& path, bool overwrite) {
  if (path == "-") {
    UniqueFd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!out.valid()) return system_error(errno, "stdout");
    return OutputFile(path, std::move(out), Kind::kDirect, "", overwrite);
  }
  struct stat found {};
  const bool replaces = ::stat(path.c_str(), &found) == 0;
  if (!replaces) {
    // A symbolic link whose target is missing occupies the name, too.
    if (!overwrite && ::lstat(path.c_str(), &found) == 0) return exists(path);
  } else {
    if (S_ISDIR(found.st_mode)) return Error{ErrorCode::kSystem, path + " is a directory"};
    if (!S_ISREG(found.st_mode)) {
      // Without O_NONBLOCK, opening a pipe without a reader waits for ever, also after Ctrl-C.
      UniqueFd direct(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
      if (!direct.valid() && errno == ENXIO && S_ISFIFO(found.st_mode)) {
        return Error{ErrorCode::kSystem,
                     "no process reads the pipe " + path + "; start its reader first"};
      }
      if (!direct.valid()) return system_error(errno, path);
      ::fcntl(direct.get(), F_SETFL, O_WRONLY);  // write() may wait from here on
      return OutputFile(path, std::move(direct), Kind::kDirect, "", overwrite);
    }
    if (!overwrite) return exists(path);
  }
  const mode_t mode = replaces ? 0600 : kMode;
  Kind kind = Kind::kUnnamed;
  std::string temporary;
  UniqueFd fd(::open(directory_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  if (!fd.valid()) {
    kind = Kind::kTemporary;
    temporary = hidden_name(path);
    fd.reset(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  }
  if (!fd.valid() && errno == ENOENT) {
    // In the kernel's own folders no file can be made.
    const std::string folder = directory_of(path);
    const bool is_there = ::access(folder.c_str(), F_OK) == 0;
    return Error{ErrorCode::kSystem,
                 cannot_write(path, 0) +
                     (is_there ? ": no file can be made in the folder " : ": there is no folder ") +
                     folder};
  }
  if (!fd.valid() && (errno == EACCES || errno == EROFS)) {
    return Error{ErrorCode::kSystem, cannot_write(path, errno) + " in the folder " +
                                         directory_of(path) + "; name a file elsewhere with -o"};
  }
  // This says what raises the limit, if too many files are open.
  if (!fd.valid()) {
    return Error{ErrorCode::kSystem, system_error(errno, cannot_write(path, 0)).context};
  }
  OutputFile file(path, std::move(fd), kind, std::move(temporary), overwrite);
  file.of_other_user_ = replaces && found.st_uid != ::geteuid();
  if (replaces && !take_owner_and_mode(file.fd_.get(), found)) {
    return system_error(errno, "cannot give " + path + " the mode that it has now");
  }
  return file;
}

bool OutputFile::can_be_named() const {
  if (kind_ == Kind::kDirect) return true;
  return !of_other_user_ &&
         ::faccessat(AT_FDCWD, directory_of(path_).c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

Status OutputFile::write(const std::function<Status(std::ostream&)>& render) {
  FdBuffer buffer(fd_.get());
  std::ostream stream(&buffer);
  Status status = render(stream);
  stream.flush();
  size_ = buffer.written();
  const std::string name = path_ == "-" ? "stdout" : path_;
  if (buffer.first_errno() != 0) {
    status = Error{ErrorCode::kSystem, cannot_write(name, buffer.first_errno())};
  } else if (status && !stream) {
    status = Error{ErrorCode::kSystem, cannot_write(name, 0)};
  }
  if (status) status = publish();
  if (!status) give_up();
  return status;
}

// An incomplete file is of no use, and the next file needs its room on the disk.
void OutputFile::give_up() {
  if (kind_ == Kind::kDirect) return;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  fd_.reset();
}

Status OutputFile::publish() {
  if (kind_ == Kind::kDirect) return {};
  if (kind_ == Kind::kUnnamed) {
    std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
    // linkat() cannot replace a file. To overwrite, the file first gets a hidden name, and is then
    // renamed over the old one.
    std::string name = overwrite_ ? hidden_name(path_) : path_;
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return errno == EEXIST ? exists(path_)
                             : Error{ErrorCode::kSystem, cannot_write(path_, errno)};
    }
    if (!overwrite_) return {};
    temporary_ = name;
  }
  unsigned flags = overwrite_ ? 0 : RENAME_NOREPLACE;
  int failed = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags);
  // NFS and most FUSE file systems refuse RENAME_NOREPLACE. There, link() fails if the name exists;
  // then the hidden name is removed.
  if (failed != 0 && errno == EINVAL && flags != 0) {
    failed = ::link(temporary_.c_str(), path_.c_str());
    if (failed == 0) ::unlink(temporary_.c_str());
  }
  if (failed != 0) {
    return errno == EEXIST ? exists(path_) : Error{ErrorCode::kSystem, cannot_write(path_, errno)};
  }
  temporary_.clear();
  return {};
}

}  // namespace labelscope::cli

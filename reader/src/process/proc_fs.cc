#include "process/proc_fs.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "labelscope/unique_fd.h"

namespace labelscope {

namespace {

Status read_pieces(const std::string& path, std::size_t most,
                   const std::function<Status(std::string_view)>& take) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return system_error(errno, path);
  std::array<char, 65536> buffer;
  for (std::size_t left = most; left != 0;) {
    ssize_t got = ::read(fd.get(), buffer.data(), std::min(buffer.size(), left));
    if (got < 0) return system_error(errno, path);
    if (got == 0) return {};
    left -= static_cast<std::size_t>(got);
    Status status = take({buffer.data(), static_cast<std::size_t>(got)});
    if (!status) return status;
  }
  return {};
}

}  // namespace

Result<std::string> read_proc_file(const std::string& path, std::size_t most) {
  std::string text;
  Status status = read_pieces(path, most, [&](std::string_view piece) -> Status {
    text += piece;
    return {};
  });
  if (!status) return std::move(status).error();
  return text;
}

Status read_proc_pieces(const std::string& path,
                        const std::function<Status(std::string_view)>& take) {
  return read_pieces(path, SIZE_MAX, take);
}

std::string read_proc_line(const std::string& path) {
  auto text = read_proc_file(path);
  if (!text) return {};
  if (text->ends_with('\n')) text->pop_back();
  return *std::move(text);
}

void for_each_mount(std::string_view mountinfo, const std::function<void(const Mount&)>& use) {
  const auto take = [](std::string_view& text, char end) {
    const std::string_view taken = text.substr(0, text.find(end));
    text.remove_prefix(std::min(taken.size() + 1, text.size()));
    return taken;
  };
  while (!mountinfo.empty()) {
    std::string_view line = take(mountinfo, '\n');
    constexpr std::string_view kBeforeType = " - ";
    const std::size_t end = line.find(kBeforeType);
    if (end == std::string_view::npos) continue;
    std::string_view behind = line.substr(end + kBeforeType.size());
    Mount mount;
    mount.type = take(behind, ' ');
    take(behind, ' ');
    mount.options = take(behind, ' ');
    mount.id = take(line, ' ');
    take(line, ' ');
    mount.device = take(line, ' ');
    mount.root = take(line, ' ');
    mount.folder = take(line, ' ');
    use(mount);
  }
}

std::string proc_path(Tid tid, const char* name) {
  return "/proc/" + std::to_string(raw(tid)) + "/" + name;
}

std::optional<std::uint64_t> find_auxiliary(std::span<const std::byte> vector, std::uint64_t type) {
  for (; vector.size() >= sizeof(Elf64_auxv_t); vector = vector.subspan(sizeof(Elf64_auxv_t))) {
    Elf64_auxv_t entry;
    std::memcpy(&entry, vector.data(), sizeof entry);
    if (entry.a_type == AT_NULL) break;
    if (entry.a_type == type) return entry.a_un.a_val;
  }
  return std::nullopt;
}

// The name in the first line may contain anything but newlines, so a field starts after one.
std::string_view status_field(std::string_view status, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  std::size_t at = status.find(start);
  if (at == std::string_view::npos) return {};
  status.remove_prefix(at + start.size());
  status = status.substr(0, status.find('\n'));
  status.remove_prefix(std::min(status.find_first_not_of(" \t"), status.size()));
  return status;
}

// The text is "17 (name) S ppid pgrp session tty tpgid flags ...". The name may hold anything,
// parentheses too.
std::optional<ThreadStat> parse_thread_stat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      close + 2 >= text.size()) {
    return std::nullopt;
  }
  ThreadStat stat;
  stat.name = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 2);
  stat.state = text.front();
  // As proc(5) counts them, the state is the third.
  constexpr int kState = 3;
  constexpr int kFlags = 9;
  constexpr int kThreads = 20;
  constexpr int kArguments = 48;
  for (int field = kState + 1; field <= kArguments; ++field) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return stat;
    text.remove_prefix(space + 1);
    std::uint64_t* const value = field == kFlags       ? &stat.flags
                                 : field == kThreads   ? &stat.threads
                                 : field == kArguments ? &stat.arguments
                                                       : nullptr;
    if (value != nullptr) std::from_chars(text.data(), text.data() + text.size(), *value);
  }
  return stat;
}

std::optional<ThreadStat> read_thread_stat(const std::string& path) {
  auto text = read_proc_file(path);
  return text ? parse_thread_stat(*text) : std::nullopt;
}

std::optional<ThreadStat> read_thread_stat(Tid tid) {
  return read_thread_stat(proc_path(tid, "task/") + std::to_string(raw(tid)) + "/stat");
}

}  // namespace labelscope

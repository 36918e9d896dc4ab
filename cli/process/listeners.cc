#include "cli/process/listeners.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>

#include "process/proc_fs.h"

namespace labelscope::cli {
namespace {

// A process can make this file as long as it wants.
constexpr std::size_t kMostTable = std::size_t{16} << 20;

struct Listener {
  std::uint16_t port;
  std::uint64_t inode;
};

// A line is "SL LOCAL:PORT REMOTE:PORT STATE QUEUES TIMER RETRANSMITS UID TIMEOUT INODE ...", the
// port and the state in hexadecimal digits.
std::optional<Listener> parse_listener(std::string_view line) {
  constexpr std::string_view kListens = "0A";
  std::array<std::string_view, 10> fields;
  for (std::string_view& field : fields) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    field = line.substr(0, line.find(' '));
    line.remove_prefix(field.size());
  }
  if (fields[3] != kListens) return std::nullopt;
  const std::size_t colon = fields[1].rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = whole_number<std::uint16_t>(fields[1].substr(colon + 1), 16);
  const auto inode = whole_number<std::uint64_t>(fields[9]);
  if (!port || !inode) return std::nullopt;
  return Listener{*port, *inode};
}

// Returns the inode of "socket:[4242]".
std::optional<std::uint64_t> inode_of_socket(std::string_view file) {
  constexpr std::string_view kSocket = "socket:[";
  if (!file.starts_with(kSocket) || !file.ends_with(']')) return std::nullopt;
  file.remove_prefix(kSocket.size());
  file.remove_suffix(1);
  return whole_number<std::uint64_t>(file);
}

}  // namespace

void Listeners::read() {
  all_.emplace();
  std::set<std::string> namespaces;
  for (const Pid pid : processes_.pids()) {
    const std::string folder = processes_.folder_of(pid);
    if (!namespaces.insert(link_target(folder + "ns/net")).second) continue;
    for (const char* file : {"net/tcp", "net/tcp6"}) {
      const auto text = read_proc_file(folder + file, kMostTable);
      std::string_view rest = text ? std::string_view(*text) : std::string_view();
      while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (const auto one = parse_listener(line)) (*all_)[one->port].insert(one->inode);
      }
    }
  }
}

const Listeners::Inodes& Listeners::sockets(std::uint16_t port) {
  if (!all_) read();
  return (*all_)[port];
}

bool Listeners::are_held_by(Pid pid, std::uint16_t port) {
  const Inodes& inodes = sockets(port);
  if (inodes.empty()) return false;
  const auto files = processes_.open_files(pid);
  if (!files) {
    if (errno == EACCES) ++unseen_;
    return false;
  }
  return std::ranges::any_of(*files, [&](const std::string& file) {
    const auto inode = inode_of_socket(file);
    return inode && inodes.contains(*inode);
  });
}

std::vector<int> Listeners::nearest(std::uint16_t port, std::size_t most) {
  if (!all_) read();
  std::vector<int> ports;
  for (const auto& [one, inodes] : *all_) {
    if (!inodes.empty()) ports.push_back(one);
  }
  std::ranges::sort(ports, {}, [&](int one) { return std::tuple(std::abs(one - port), one); });
  ports.resize(std::min(ports.size(), most));
  std::ranges::sort(ports);
  return ports;
}

}  // namespace labelscope::cli

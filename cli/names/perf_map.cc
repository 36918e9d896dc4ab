#include "cli/names/perf_map.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>
#include <numeric>
#include <queue>

#include "cli/names/dwarf_names.h"
#include "cli/names/names_messages.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// Takes a number in hexadecimal and the spaces behind it.
bool take_number(std::string_view& line, Address& number) {
  if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
  const auto [rest, problem] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  line.remove_prefix(static_cast<std::size_t>(rest - line.data()));
  if (problem != std::errc() || !line.starts_with(' ')) return false;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return true;
}

}  // namespace

Result<PerfMap> PerfMap::read(int fd, const Limits& limits) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error(errno, "cannot stat the file");
  // What the process appends after this does not count.
  const auto whole = static_cast<std::size_t>(status.st_size);
  const std::size_t wanted = std::min(whole, limits.bytes);
  std::string text(wanted, '\0');
  std::size_t size = 0;
  while (size < wanted) {
    const ssize_t got =
        ::pread(fd, text.data() + size, wanted - size, static_cast<off_t>(whole - wanted + size));
    if (got < 0) return system_error(errno, "cannot read the file");
    if (got == 0) break;  // the file has become shorter
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return parse(std::move(text), limits, wanted < whole);
}

PerfMap PerfMap::parse(std::string text, const Limits& limits, bool left_out) {
  PerfMap map;
  map.text_ = std::move(text);
  const std::string_view all = map.text_;
  if (left_out)
    map.left_out_ = "only its last " + with_thousands(limits.bytes >> 20) + " MiB count";
  // The first line may be only its end, and the last one only its beginning, because it is being
  // written.
  std::size_t at = left_out ? std::min(all.find('\n'), all.size()) : 0;
  for (std::size_t end = 0; (end = all.find('\n', at)) != std::string_view::npos; at = end + 1) {
    if (map.functions_.size() == limits.lines) {
      map.left_out_ = "only its first " + with_thousands(limits.lines) + " lines count";
      break;
    }
    map.add_line(all.substr(at, end - at));
  }
  map.lay_out();
  return map;
}

bool PerfMap::add_line(std::string_view line) {
  Function function;
  Address size = 0;
  if (!take_number(line, function.start) || !take_number(line, size)) return false;
  if (size == 0 || __builtin_add_overflow(function.start, size, &function.end)) return false;
  if (line.empty()) return false;
  function.name = static_cast<std::uint32_t>(line.data() - text_.data());
  function.size = static_cast<std::uint32_t>(std::min(line.size(), kMaxDwarfText));
  functions_.push_back(function);
  return true;
}

// Goes from place to place and finds the last line among the functions that cover it.
void PerfMap::lay_out() {
  std::vector<std::uint32_t> order(functions_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return functions_[a].start < functions_[b].start;
  });
  std::priority_queue<std::uint32_t> here;  // the last line is on top
  Address at = 0;
  for (auto next = order.begin(); next != order.end() || !here.empty();) {
    if (here.empty()) at = functions_[*next].start;
    for (; next != order.end() && functions_[*next].start <= at; ++next) here.push(*next);
    while (!here.empty() && functions_[here.top()].end <= at) here.pop();
    if (here.empty()) continue;
    parts_.push_back({at, here.top()});
    at = functions_[here.top()].end;
    if (next != order.end()) at = std::min(at, functions_[*next].start);
  }
}

std::string_view PerfMap::find(Address address) const {
  const auto after =
      std::upper_bound(parts_.begin(), parts_.end(), address,
                       [](Address wanted, const Part& part) { return wanted < part.start; });
  if (after == parts_.begin()) return {};
  const Function& function = functions_[std::prev(after)->function];
  if (address >= function.end) return {};
  return std::string_view(text_).substr(function.name, function.size);
}

namespace {

class PerfMapTask {
 public:
  Status answer(Message message, Conversation& conversation) {
    const Result<NamesRequest> request = decode_names_request(message.body);
    if (!request) return request.error();
    auto known = maps_.find(request->file);
    if (known == maps_.end()) {
      if (!request->open || message.files.empty()) {
        return Error{ErrorCode::kNotFound, "the worker does not have the file"};
      }
      Result<PerfMap> map = PerfMap::read(message.files.front().get());
      if (!map) return map.error();
      known = maps_.emplace(request->file, *std::move(map)).first;
    }
    NamesWriter writer([&](std::string body) { conversation.reply(std::move(body)); });
    for (const Address address : request->addresses) {
      const std::string name(known->second.find(address));
      writer.add(name.empty() ? std::vector<SourceLine>()
                              : std::vector<SourceLine>{{name, name, "", 0}});
    }
    NamesRemarks remarks;
    remarks.opened = request->open;
    remarks.nameless = "none of the " + with_thousands(known->second.lines()) +
                       " lines of its perf map is about the address";
    remarks.left_out = known->second.left_out();
    writer.finish(remarks);
    if (request->close) maps_.erase(known);
    return {};
  }

 private:
  std::map<std::uint64_t, PerfMap> maps_;
};

}  // namespace

Answer make_perf_map_task() {
  return [task = std::make_shared<PerfMapTask>()](Message message, Conversation& conversation) {
    return task->answer(std::move(message), conversation);
  };
}

}  // namespace labelscope::cli

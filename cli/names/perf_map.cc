#include "cli/names/perf_map.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>
#include <set>

#include "cli/names/dwarf_names.h"
#include "cli/names/names_messages.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// So many functions that came to one place are looked at.
constexpr int kMostOwners = 16;

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

Result<PerfMap> PerfMap::read(int fd, const Limits& limits, std::uint64_t first) {
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
  const std::uint64_t skipped = whole - wanted;
  if (first != UINT64_MAX) first = first < skipped ? 0 : first - skipped;
  return parse(std::move(text), limits, wanted < whole, first);
}

PerfMap PerfMap::parse(std::string text, const Limits& limits, bool left_out, std::uint64_t first) {
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
    if (end < first) map.at_first_ = static_cast<std::uint32_t>(map.functions_.size());
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

std::string_view PerfMap::name_of(std::uint32_t function) const {
  return std::string_view(text_).substr(functions_[function].name, functions_[function].size);
}

// Of the functions that lie `here`, in the order of their lines.
PerfMap::Part PerfMap::owner(Address start, const std::set<std::uint32_t>& here) const {
  if (here.empty()) return {start};
  Part part{start, *here.rbegin()};
  const auto later = here.lower_bound(at_first_);
  if (later == here.end()) return part;
  // Nobody before: then the first that came.
  part.function = later == here.begin() ? *later : *std::prev(later);
  // A function that was compiled again has a line of its own each time. A hostile map has them
  // without end.
  int looked_at = 0;
  for (auto at = later; at != here.end() && looked_at < kMostOwners && !part.reused; ++at) {
    part.reused = name_of(*at) != name_of(part.function);
    ++looked_at;
  }
  return part;
}

// From place to place where a function starts or ends: which of those that lie here counts?
void PerfMap::lay_out() {
  struct Place {
    Address at;
    std::uint32_t function;
    bool starts;
  };
  std::vector<Place> places;
  places.reserve(2 * functions_.size());
  for (std::uint32_t i = 0; i < functions_.size(); ++i) {
    places.push_back({functions_[i].start, i, true});
    places.push_back({functions_[i].end, i, false});
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.at < b.at; });
  std::set<std::uint32_t> here;
  for (std::size_t i = 0; i < places.size();) {
    const Address at = places[i].at;
    for (; i < places.size() && places[i].at == at; ++i) {
      if (places[i].starts) {
        here.insert(places[i].function);
      } else {
        here.erase(places[i].function);
      }
    }
    parts_.push_back(owner(at, here));
  }
}

PerfMap::Match PerfMap::look_up(Address address) const {
  const auto after =
      std::upper_bound(parts_.begin(), parts_.end(), address,
                       [](Address wanted, const Part& part) { return wanted < part.start; });
  if (after == parts_.begin()) return {};
  const Part& part = *std::prev(after);
  if (part.function == kNobody) return {};
  return {name_of(part.function), part.reused};
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
      Result<PerfMap> map = PerfMap::read(message.files.front().get(), request->first_bytes);
      if (!map) return map.error();
      known = maps_.emplace(request->file, *std::move(map)).first;
    }
    NamesWriter writer([&](std::string body) { conversation.reply(std::move(body)); });
    std::size_t reused = 0;
    for (const Address address : request->addresses) {
      const PerfMap::Match found = known->second.look_up(address);
      const std::string name(found.name);
      reused += found.reused ? 1 : 0;
      writer.add(name.empty() ? std::vector<SourceLine>()
                              : std::vector<SourceLine>{
                                    {name + (found.reused ? " [reused]" : ""), name, "", 0}});
    }
    NamesRemarks remarks;
    remarks.opened = request->open;
    remarks.nameless = "none of the " + with_thousands(known->second.lines()) +
                       " lines of its perf map is about the address";
    remarks.left_out = known->second.left_out();
    if (reused != 0) {
      remarks.left_out += (remarks.left_out.empty() ? "" : "; ");
      remarks.left_out +=
          "code of several functions lay at one address, one after the other, while it was "
          "recorded: their time is under the first, marked [reused]";
    }
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

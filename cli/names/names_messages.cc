#include "cli/names/names_messages.h"

#include <algorithm>
#include <climits>
#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>

#include "base/malformed.h"
#include "cli/names/dwarf_names.h"
#include "cli/worker/fields.h"

namespace labelscope::cli {
namespace {

using protozero::pbf_builder;
using protozero::pbf_message;

// The fields of each message. Both sides are the same program: a number may change at any time.
enum class Request : protozero::pbf_tag_type {
  kFile = 1,
  kOpen,
  kFrom,
  kInlined,
  kClose,
  kAddresses,
  kFirstBytes,
  kLater
};
enum class Wanted : protozero::pbf_tag_type { kAlternate = 1, kBuildId, kLink, kRefused };
enum class Reply : protozero::pbf_tag_type {
  kString = 1,
  kNumbers,
  kOpened,
  kBuildId,
  kFirstAddress,
  kHasLines,
  kNameless,
  kLeftOut,
  kStripped
};

// The room that a packet needs besides strings and numbers, and how much larger those get on the
// wire.
constexpr std::size_t kRoom = 4096;
constexpr std::size_t kMostPending = kMaxPacket - kRoom;
constexpr std::size_t kNumberSize = 5;
constexpr std::size_t kStringHead = 8;
constexpr std::size_t kMaxSentence = 1024;
static_assert(kMaxDwarfText + kStringHead <= kMostPending, "the longest string fits into a packet");

bool is_hex(const std::string& text) {
  return text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::string encode(const NamesRequest& request) {
  std::string body;
  pbf_builder<Request> builder(body);
  builder.add_uint64(Request::kFile, request.file);
  builder.add_uint64(Request::kOpen, request.open ? 1 : 0);
  builder.add_uint64(Request::kFrom, static_cast<std::uint64_t>(request.from));
  builder.add_uint64(Request::kInlined, request.inlined ? 1 : 0);
  builder.add_uint64(Request::kClose, request.close ? 1 : 0);
  builder.add_uint64(Request::kFirstBytes, request.first_bytes);
  builder.add_uint64(Request::kLater, request.later ? 1 : 0);
  std::vector<std::uint64_t> numbers;
  for (const Address address : request.addresses) numbers.push_back(address);
  builder.add_packed_fixed64(Request::kAddresses, numbers.begin(), numbers.end());
  return body;
}

Result<NamesRequest> decode_names_request(std::string_view body) {
  NamesRequest request;
  const Status read = read_fields<Request>(body, [&](pbf_message<Request>& message) {
    Field<Request> field(message);
    switch (message.tag()) {
      case Request::kFile:
        request.file = field.number();
        break;
      case Request::kOpen:
        request.open = field.number() != 0;
        break;
      case Request::kFrom:
        request.from = static_cast<NamesFrom>(std::min<std::uint64_t>(
            field.number(), static_cast<std::uint64_t>(NamesFrom::kOwnSymbols)));
        break;
      case Request::kInlined:
        request.inlined = field.number() != 0;
        break;
      case Request::kClose:
        request.close = field.number() != 0;
        break;
      case Request::kFirstBytes:
        request.first_bytes = field.number();
        break;
      case Request::kLater:
        request.later = field.number() != 0;
        break;
      case Request::kAddresses:
        for (const std::uint64_t address : field.packed_fixed64()) {
          request.addresses.push_back(address);
        }
        break;
      default:
        message.skip();
    }
  });
  if (!read) return read.error();
  return request;
}

std::string encode(const WantedDebugFile& wanted) {
  std::string body;
  pbf_builder<Wanted> builder(body);
  builder.add_uint64(Wanted::kAlternate, wanted.alternate ? 1 : 0);
  builder.add_bytes(Wanted::kBuildId, wanted.build_id);
  builder.add_bytes(Wanted::kLink, wanted.link);
  builder.add_uint64(Wanted::kRefused, wanted.refused);
  return body;
}

Result<WantedDebugFile> decode_wanted_debug_file(std::string_view body) {
  WantedDebugFile wanted;
  const Status read = read_fields<Wanted>(body, [&](pbf_message<Wanted>& message) {
    Field<Wanted> field(message);
    switch (message.tag()) {
      case Wanted::kAlternate:
        wanted.alternate = field.number() != 0;
        break;
      case Wanted::kBuildId:
        wanted.build_id = field.text(2 * kMaxBuildId + 1);
        break;
      case Wanted::kLink:
        wanted.link = field.text(PATH_MAX);
        break;
      case Wanted::kRefused:
        wanted.refused =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(field.number(), kMostRefusedFiles));
        break;
      default:
        message.skip();
    }
  });
  if (!read) return read.error();
  const bool possible = wanted.build_id.size() <= 2 * kMaxBuildId &&
                        wanted.build_id.size() % 2 == 0 && is_hex(wanted.build_id) &&
                        wanted.link.size() < PATH_MAX &&
                        wanted.link.find('\0') == std::string::npos;
  if (!possible) return malformed("it asks for a debug file that cannot be");
  return wanted;
}

std::uint32_t NamesWriter::number_of(const SharedText& text, Numbered& last) {
  if (text.empty()) return 0;
  if (text.size() > kMaxAnswerText - text_) {
    left_out_text_ = true;
    return 0;
  }
  text_ += text.size();
  if (text.is_copy_of(last.text)) return last.number;
  last.text = text;
  const auto known = known_.find(text);
  if (known != known_.end()) return last.number = known->second;
  if (size_ + text.size() + kStringHead > kMostPending) flush();
  size_ += text.size() + kStringHead;
  const auto number = static_cast<std::uint32_t>(known_.size() + 1);
  strings_.push_back(known_.emplace(text, number).first->first);
  return last.number = number;
}

void NamesWriter::add(const std::vector<SourceLine>& lines) {
  const std::size_t count = std::min(lines.size(), kMaxLines);
  std::vector<std::uint32_t> numbers{static_cast<std::uint32_t>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    const SourceLine& line = lines[lines.size() - count + i];
    numbers.insert(
        numbers.end(),
        {number_of(line.function, last_function_), number_of(line.system_name, last_symbol_),
         number_of(line.file, last_file_), static_cast<std::uint32_t>(std::max(line.line, 0))});
  }
  if (size_ + numbers.size() * kNumberSize > kMostPending) flush();
  size_ += numbers.size() * kNumberSize;
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
}

void NamesWriter::flush() {
  std::string body;
  pbf_builder<Reply> builder(body);
  for (const std::string_view text : strings_) {
    builder.add_bytes(Reply::kString, text.data(), text.size());
  }
  builder.add_packed_uint32(Reply::kNumbers, numbers_.begin(), numbers_.end());
  send_(std::move(body));
  strings_.clear();
  numbers_.clear();
  size_ = 0;
}

void NamesWriter::finish(const NamesRemarks& remarks) {
  flush();
  std::string body;
  pbf_builder<Reply> builder(body);
  if (remarks.opened) {
    builder.add_uint64(Reply::kOpened, 1);
    builder.add_bytes(Reply::kBuildId, remarks.build_id);
    builder.add_uint64(Reply::kFirstAddress, remarks.first_address);
    builder.add_uint64(Reply::kHasLines, remarks.has_lines ? 1 : 0);
  }
  builder.add_bytes(Reply::kNameless, remarks.nameless.substr(0, kMaxSentence));
  builder.add_bytes(Reply::kLeftOut, remarks.left_out.substr(0, kMaxSentence));
  builder.add_uint64(Reply::kStripped, remarks.stripped ? 1 : 0);
  send_(std::move(body));
}

Status NamesReader::take(std::string_view body) {
  Status added;
  const Status read = read_fields<Reply>(body, [&](pbf_message<Reply>& message) {
    Field<Reply> field(message);
    switch (message.tag()) {
      case Reply::kString:
        strings_.emplace_back(field.text(kMaxDwarfText));
        sent_text_ += strings_.back().size();
        break;
      case Reply::kNumbers: {
        std::vector<std::uint32_t> numbers;
        for (const std::uint32_t number : field.packed_uint32()) numbers.push_back(number);
        if (added) added = add(numbers);
        break;
      }
      case Reply::kOpened:
        remarks.opened = field.number() != 0;
        break;
      case Reply::kBuildId:
        remarks.build_id = field.text(2 * kMaxBuildId);
        break;
      case Reply::kFirstAddress:
        remarks.first_address = field.number();
        break;
      case Reply::kHasLines:
        remarks.has_lines = field.number() != 0;
        break;
      case Reply::kNameless:
        remarks.nameless = field.text(kMaxSentence);
        break;
      case Reply::kLeftOut:
        remarks.left_out = field.text(kMaxSentence);
        break;
      case Reply::kStripped:
        remarks.stripped = field.number() != 0;
        break;
      default:
        message.skip();
    }
  });
  if (!read) return read.error();
  // Empty strings use memory, too, and one string may be the name of all functions.
  if (sent_text_ > kMaxAnswerText || text_ > kMaxAnswerText ||
      strings_.size() > 3 * kMaxLines * kMaxAddresses) {
    return malformed("it sends more text than any answer has");
  }
  if (!is_hex(remarks.build_id)) return malformed("it sends a build ID that is none");
  return added;
}

// `numbers` has, for each address, the number of its lines, and for each line the numbers of
// function, symbol and file, and the line.
Status NamesReader::add(const std::vector<std::uint32_t>& numbers) {
  for (std::size_t at = 0; at < numbers.size() && text_ <= kMaxAnswerText;) {
    const std::size_t count = numbers[at++];
    if (names.size() == asked_) return malformed("it names more addresses than were asked for");
    if (count > kMaxLines || count * 4 > numbers.size() - at) {
      return malformed("it sends an address with an impossible number of lines");
    }
    std::vector<SourceLine>& lines = names.emplace_back();
    for (std::size_t i = 0; i < count; ++i, at += 4) {
      if (std::max({numbers[at], numbers[at + 1], numbers[at + 2]}) >= strings_.size()) {
        return malformed("it refers to a name that it has not sent");
      }
      for (std::size_t text = at; text < at + 3; ++text) text_ += strings_[numbers[text]].size();
      if (text_ > kMaxAnswerText) break;
      SourceLine& line = lines.emplace_back();
      line.function = strings_[numbers[at]];
      line.system_name = strings_[numbers[at + 1]];
      line.file = strings_[numbers[at + 2]];
      line.line = numbers[at + 3] > INT_MAX ? 0 : static_cast<int>(numbers[at + 3]);
    }
  }
  return {};
}

Status NamesReader::check_complete() const {
  if (names.size() == asked_) return {};
  return malformed("it names fewer addresses than were asked for");
}

}  // namespace labelscope::cli

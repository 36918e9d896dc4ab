// The messages between labelscope and the worker about the names in one file, as bytes
// (worker/channel.h). Each decoder checks what can be checked without knowing the request;
// NamesReader checks the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/profile/profile.h"
#include "cli/worker/channel.h"
#include "cli/worker/worker_main.h"
#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

inline constexpr std::string_view kNamesTask = "names";

// The limit of one request. The descriptor of the file comes with the first request for it.
inline constexpr std::size_t kMaxAddresses = 512;
// The limit of all names and paths that answer one request. Each counts as often as it is referred
// to; C++ with many templates has a tenth.
inline constexpr std::size_t kMaxAnswerText = std::size_t{16} << 20;
// The limit of calls inlined into each other, with the function that holds them; optimized Rust
// reaches 40.
inline constexpr std::size_t kMaxLines = 129;
inline constexpr std::size_t kMaxBuildId = 64;  // in bytes

// Where names come from.
enum class NamesFrom : std::uint8_t {
  kDebugInformation,  // debug information, which has inlined calls and lines, and symbol tables
  kSymbols,           // symbol tables alone, also that of the debug file
  kOwnSymbols,        // the symbol tables of the file itself, by libelf alone
};

struct NamesRequest {
  std::uint64_t file = 0;  // labelscope's number for the file
  bool open = false;
  NamesFrom from = NamesFrom::kDebugInformation;
  bool inlined = true;
  bool close = false;  // close it after the answer
  bool later = false;  // nobody waits for the answer: other programs go first
  // Of a perf map: so long it was when its code had the first sample.
  std::uint64_t first_bytes = UINT64_MAX;
  std::vector<Address> addresses;  // link-time addresses
};
std::string encode(const NamesRequest& request);
Result<NamesRequest> decode_names_request(std::string_view body);

// A file may lie in so many places where it is not the right one; gdb(1) looks into as many.
inline constexpr std::uint32_t kMostRefusedFiles = 8;

// A debug file that the worker asks for.
struct WantedDebugFile {
  bool alternate = false;  // the one that dwz(1) has made for several files (.gnu_debugaltlink)
  std::string build_id;    // lower-case hex; empty: unknown
  std::string link;        // the name in the file; empty: none
  // So many that were found are not the right one: what lies in the next place?
  std::uint32_t refused = 0;
};
std::string encode(const WantedDebugFile& wanted);
// Fails with kMalformed if no file can have such a build ID or name.
Result<WantedDebugFile> decode_wanted_debug_file(std::string_view body);

// Facts about a file besides names. Strings are bytes that the file chose, or sentences.
struct NamesRemarks {
  bool opened = false;  // if true, the next three are set
  std::string build_id;
  Address first_address = 0;
  bool has_lines = false;
  std::string nameless;   // why some addresses have no name
  bool stripped = false;  // a debug file would help
  std::string left_out;   // what was left out of the debug information, and why
};

// Makes the replies. A string goes over the wire once for each request; lines refer to it by
// number.
class NamesWriter {
 public:
  using Send = std::function<void(std::string body)>;
  explicit NamesWriter(Send send) : send_(std::move(send)) {}

  void add(const std::vector<SourceLine>& lines);
  // Sends the last reply.
  void finish(const NamesRemarks& remarks);
  bool has_left_out_text() const { return left_out_text_; }

 private:
  struct Numbered {
    SharedText text;
    std::uint32_t number = 0;
  };
  std::uint32_t number_of(const SharedText& text, Numbered& last);
  void flush();

  Send send_;
  std::unordered_map<std::string, std::uint32_t> known_;
  std::size_t text_ = 0;
  bool left_out_text_ = false;
  // Strings that are not sent yet.
  std::vector<std::string_view> strings_;
  // Those of the line before: most lines have copies of them.
  Numbered last_function_, last_symbol_, last_file_;
  std::vector<std::uint32_t> numbers_;
  std::size_t size_ = 0;
};

// Takes the replies to a request for `asked` addresses.
class NamesReader {
 public:
  explicit NamesReader(std::size_t asked) : asked_(asked) {}

  // Fails with kMalformed if it cannot be the answer.
  Status take(std::string_view body);
  // Call it after the last reply: checks that there are as many answers as addresses.
  Status check_complete() const;
  NamesRemarks remarks;
  std::vector<std::vector<SourceLine>> names;

 private:
  Status add(const std::vector<std::uint32_t>& numbers);

  std::size_t asked_;
  std::vector<SharedText> strings_{SharedText()};
  std::size_t sent_text_ = 0;
  std::size_t text_ = 0;  // each string counts once for each reference
};

// The worker's task of naming addresses: it opens a file at the first request for it, and names
// addresses until labelscope says that there are no more.
Answer make_names_task();

}  // namespace labelscope::cli

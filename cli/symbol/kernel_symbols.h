// The kernel's own symbol table, /proc/kallsyms. Parsing is pure, so that frozen text can be
// tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct KernelSymbol {
  std::string name;         // as the kernel names it
  std::string_view module;  // "ext4", "bpf"; empty for the kernel proper
};

class KernelSymbols {
 public:
  // Takes the whole text of /proc/kallsyms. Fails with kPermission if every address is zero
  // (kernel.kptr_restrict or a missing capability), and with kMalformed if no line could be
  // understood.
  static Result<KernelSymbols> parse(std::string_view text);
  // The same in pieces: the whole text, twice as long as the names, is never in memory.
  Status add(std::string_view piece);
  static Result<KernelSymbols> finish(KernelSymbols symbols);

  // Returns the function that covers `address`; nullopt past the last symbol, in data, or far away
  // from any. The view lives as long as this object.
  std::optional<KernelSymbol> find(Address address) const;

  // Returns the number of lines that are no symbol in the known form; they were left out.
  std::size_t malformed_lines() const { return malformed_lines_; }

 private:
  // A kernel has a hundred thousand symbols, so each byte counts. Half of them are the padding in
  // front of a function: "__pfx_" and the function's name, which both share.
  struct Entry {
    Address address = 0;
    std::uint32_t name = 0;  // its place in text_
    std::uint16_t name_size = 0;
    std::uint8_t module_size = 0;    // of the module's name, behind the symbol's
    std::uint8_t badness : 7 {};     // of its type: the best function has the least; 0 is data
    std::uint8_t is_padding : 1 {};  // the name has kPadding in front
  };
  // Text in pieces: one that grows as a whole would be there twice while it does.
  class Text {
   public:
    std::uint32_t add(std::string_view name, std::string_view module);
    std::string_view at(std::uint32_t place, std::size_t size) const {
      if (size == 0) return {};  // which may be behind the last piece
      return {pieces_[place / kPiece].get() + place % kPiece, size};
    }

   private:
    // The longest name and module fit.
    static constexpr std::uint32_t kPiece = std::uint32_t{128} << 10;
    std::vector<std::unique_ptr<char[]>> pieces_;  // NOLINT(modernize-avoid-c-arrays)
    std::uint32_t used_ = kPiece;                  // of the last piece
  };
  bool less(const Entry& a, const Entry& b) const;
  bool add_line(std::string_view line);
  std::string name_of(const Entry& entry) const;
  bool is_padding_of(const Entry& entry, std::string_view name, std::string_view module) const;

  Text text_;
  std::deque<Entry> entries_;
  std::string rest_;  // the beginning of a line whose end is in the next piece
  std::size_t bytes_ = 0;
  std::size_t lines_ = 0;
  bool has_addresses_ = false;  // not all are zero
  std::size_t malformed_lines_ = 0;
};

// Reads and parses /proc/kallsyms. Fails with kPermission if the kernel refuses.
Result<KernelSymbols> read_kernel_symbols();

// The same on a thread of its own, without precedence. It takes a tenth of a second, for
// most of which the kernel prints its 200,000 names. If the system refuses a thread, the first
// get() reads them.
std::shared_future<Result<KernelSymbols>> begin_reading_kernel_symbols();

}  // namespace labelscope::cli

// The kernel's own symbol table, /proc/kallsyms. Parsing is pure, so that frozen text can be
// tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/ids.h"
#include "labelscope/result.h"

namespace labelscope::cli {

struct KernelSymbol {
  std::string_view name;    // as the kernel names it
  std::string_view module;  // "ext4", "bpf"; empty for the kernel proper
};

class KernelSymbols {
 public:
  // Takes the whole text of /proc/kallsyms. Fails with kPermission if every address is zero
  // (kernel.kptr_restrict or a missing capability), and with kMalformed if no line could be
  // understood.
  static Result<KernelSymbols> parse(std::string text);

  // Returns the function that covers `address`; nullopt past the last symbol, in data, or far away
  // from any. The views live as long as this object.
  std::optional<KernelSymbol> find(Address address) const;

  // Returns the number of lines that are no symbol in the known form; they were left out.
  std::size_t malformed_lines() const { return malformed_lines_; }

 private:
  // An entry has offsets into text_ and not views, because text_ may move.
  struct Entry {
    Address address = 0;
    std::uint32_t name = 0;
    std::uint32_t module = 0;
    std::uint16_t name_size = 0;
    std::uint16_t module_size = 0;
    char type = 0;
  };
  bool less(const Entry& a, const Entry& b) const;
  bool add_line(std::string_view line, std::size_t offset);

  std::string text_;
  std::vector<Entry> entries_;
  std::size_t malformed_lines_ = 0;
};

// Reads /proc/kallsyms. Fails with kPermission if the kernel refuses.
Result<std::string> read_kallsyms();

// Reads and parses it on a thread of its own, without precedence. It takes a tenth of a second, for
// most of which the kernel prints its 200,000 names.
std::shared_future<Result<KernelSymbols>> begin_reading_kernel_symbols();

}  // namespace labelscope::cli

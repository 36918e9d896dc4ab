// The kernel's own symbol table, /proc/kallsyms. Parsing is pure, so that frozen text can be
// tested.
#pragma once

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
  std::string_view name;    // as the kernel has it
  std::string_view module;  // "ext4", "bpf"; empty for the kernel proper
};

class KernelSymbols {
 public:
  // Takes the whole text of /proc/kallsyms. kPermission: every address is zero
  // (kernel.kptr_restrict or a missing capability); kMalformed: no line could be understood.
  static Result<KernelSymbols> parse(std::string text);

  // The function that covers `address`; nullopt past the last symbol, in data, or far away from
  // any. The views live as long as this object.
  std::optional<KernelSymbol> find(Address address) const;

  // Lines that are no symbol in the known form; they were left out.
  std::size_t malformed_lines() const { return malformed_lines_; }

 private:
  // Offsets into text_ and not views: text_ may move.
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

// Reads /proc/kallsyms. kPermission when the kernel refuses.
Result<std::string> read_kallsyms();

// Reads and parses it on a thread of its own, without precedence. It takes a tenth of a second, for
// most of which the kernel prints its 200,000 names.
std::shared_future<Result<KernelSymbols>> begin_reading_kernel_symbols();

}  // namespace labelscope::cli

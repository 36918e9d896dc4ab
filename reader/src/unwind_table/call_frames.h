// CallFrames has the functions that call frame information describes, and the description of each
// place in them.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "labelscope/result.h"
#include "unwind_table/call_frame_image.h"
#include "unwind_table/frame_program.h"

namespace labelscope {

struct DescribedFunction {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t entry = 0;   // where in the section its entry is
  std::uint32_t common = 0;  // the number of its common entry (CIE)
};

class CallFrames {
 public:
  // Fails with kMalformed if libdw does not accept it.
  static Result<CallFrames> open(std::shared_ptr<CallFrameImage> image);

  // Returns the functions sorted, none twice. Entries whose code is not known are left out.
  const std::vector<DescribedFunction>& functions() const { return functions_; }
  // Returns the number of such entries.
  std::uint64_t damaged() const { return damaged_; }

  // What functions share that refer to the same common entry.
  struct Common {
    CommonFrame factors;
    bool augmented = false;     // its functions have data in front of their instructions
    std::uint8_t encoding = 0;  // of their addresses
    std::uint64_t offset = 0;   // where in the section it is
  };
  std::size_t common_entries() const { return common_.size(); }
  const CommonFrame& common(const DescribedFunction& function) const {
    return common_[function.common].factors;
  }
  // Returns the instructions of a function; nothing if at() would not find its entry.
  std::optional<std::span<const std::byte>> instructions(const DescribedFunction& function) const;

  struct FrameFreer {
    void operator()(Dwarf_Frame* frame) const;
  };
  using Frame = std::unique_ptr<Dwarf_Frame, FrameFreer>;
  // Returns the state at a place in a function; null if no entry leads there, or if it cannot be
  // read.
  Frame at(std::uint64_t address) const;
  // Forgets the entries that at() has read. libdw keeps them all in a tree, in which it takes ever
  // longer to find one. No frame may be left.
  void forget();

 private:
  struct ElfCloser {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  struct CfiEnder {
    void operator()(Dwarf_CFI* cfi) const { dwarf_cfi_end(cfi); }
  };
  struct Section {
    std::uint64_t offset = 0;  // offset in the image
    std::uint64_t size = 0;
    std::uint64_t address = 0;
    std::span<std::byte> header;  // .eh_frame_hdr, if that led here
    std::uint64_t header_address = 0;
  };
  CallFrames() = default;
  Result<Section> find_section() const;
  void list_functions(const Section& section);
  // Returns the number of the common entry, or nothing if its encoding is not known.
  std::optional<std::uint32_t> add_common(const Dwarf_CIE& entry, std::uint64_t at);
  // Returns what the entry of a function describes, which refers to common entry `number`; nothing
  // if that cannot be decoded. `field` is the address of its first field.
  std::optional<DescribedFunction> function_of(const Dwarf_FDE& entry, std::uint32_t number,
                                               std::uint64_t field) const;
  void replace_empty(const Section& section, std::span<const DescribedFunction> empty) const;
  bool search_table_leads_to(const DescribedFunction& function) const;

  std::shared_ptr<CallFrameImage> image_;
  std::unique_ptr<Elf, ElfCloser> elf_;
  std::unique_ptr<Dwarf_CFI, CfiEnder> cfi_;  // ends before its file does
  std::vector<DescribedFunction> functions_;
  std::uint64_t damaged_ = 0;
  bool has_search_table_ = false;
  std::vector<Common> common_;
  Section section_;
};

}  // namespace labelscope

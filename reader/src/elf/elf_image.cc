// ElfImage: where the answers in an ELF file come from.
//
//   ELF header -> program headers -> PT_DYNAMIC -> DT_GNU_HASH, DT_SYMTAB, DT_RELA, ...
//       |               |                          as a loader finds them (dynamic_tables.h)
//       |               +-> PT_TLS, PT_NOTE        read here
//       +-> section headers -> .symtab             may be missing (static_symbols.h)
//
// The file may be hostile and of any size, and a process may have thousands of files open. So every
// read and every loop here has a bound, and an image keeps nothing but its members. libelf is not
// used, because it keeps whole tables, and some hundred bytes for each section that a file claims
// to have.
#include "labelscope/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "elf/dynamic_tables.h"
#include "elf/elf_note.h"
#include "elf/loaded_file.h"
#include "elf/static_symbols.h"

namespace labelscope {
namespace {

Error malformed(std::string what) { return Error{ErrorCode::kMalformed, std::move(what)}; }

// The kernel takes no more than 64 KiB of program headers.
constexpr std::size_t kMaxProgramHeaders = 65536 / sizeof(Elf64_Phdr);
// The end of all user addresses of both processors (57-bit addresses).
constexpr std::uint64_t kAddressEnd = 1ULL << 57;
constexpr std::uint64_t kMaxTlsAlignment = 1ULL << 30;
constexpr std::uint64_t kMaxTlsBytes = 1ULL << 40;
constexpr std::uint64_t kMaxNoteBytes = 1ULL << 20;
// The largest browsers have 20 MiB of relocations.
constexpr std::uint64_t kMaxRelocationBytes = 256ULL << 20;
// In an honest file: one for each thread-local variable at most.
constexpr std::size_t kMaxTlsRelocations = 65536;
// Relocations are read in pieces.
constexpr std::size_t kRelocationsAtOnce = 2048;

}  // namespace

class ElfImage::Impl {
 public:
  static Result<std::unique_ptr<Impl>> open(UniqueFd fd);
  Status read_program_headers();

  // Hands out the table in pieces.
  template <class Use>
  Status for_relocations(std::uint64_t table, std::uint64_t size, Use use) const;
  Status add_relocations(std::uint64_t table, std::uint64_t size, std::string_view name,
                         std::size_t& seen, std::vector<TlsRelocation>& found) const;

  // Whether the loader copies the symbol's value from another file's symbol of the same name.
  Result<bool> is_copy(const ElfSymbol& symbol) const;

  LoadedFile file;
  Elf64_Ehdr header{};
  Machine machine{};
  bool position_independent = false;
  bool has_interpreter = false;
  std::vector<Elf64_Phdr> notes;
  std::optional<TlsSegment> tls;
  std::optional<Elf64_Phdr> relro;
  std::optional<std::uint64_t> dynamic_address;
  std::optional<std::uint64_t> headers_address;
  DynamicTables tables;
};

Result<std::unique_ptr<ElfImage::Impl>> ElfImage::Impl::open(UniqueFd fd) {
  auto impl = std::make_unique<Impl>();
  impl->file.fd = std::move(fd);
  Elf64_Ehdr& header = impl->header;
  if (!impl->file.read_offset(0, std::as_writable_bytes(std::span(&header, 1))) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return malformed("not an ELF file");
  }
  if (header.e_ident[EI_CLASS] == ELFCLASS32) {
    return Error{ErrorCode::kUnsupported, "a 32-bit ELF file: only 64-bit programs have labels"};
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return Error{ErrorCode::kUnsupported, "not a 64-bit little-endian ELF file"};
  }
  if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64) {
    return Error{ErrorCode::kUnsupported, "neither x86-64 nor aarch64"};
  }
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN) {
    return Error{ErrorCode::kUnsupported, "neither an executable nor a shared object"};
  }
  impl->machine = header.e_machine == EM_X86_64 ? Machine::kX86_64 : Machine::kAarch64;
  impl->position_independent = header.e_type == ET_DYN;
  if (Status status = impl->read_program_headers(); !status) {
    return std::move(status).error();
  }
  return impl;
}

Status ElfImage::Impl::read_program_headers() {
  const std::size_t count = header.e_phnum;
  if (count == 0) return malformed("no program headers");
  if (count > kMaxProgramHeaders) return malformed("more program headers than the kernel takes");
  std::vector<Elf64_Phdr> headers(count);
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !file.read_offset(header.e_phoff, std::as_writable_bytes(std::span(headers)))) {
    return malformed("the program headers cannot be read");
  }
  const std::uint64_t headers_size = count * sizeof(Elf64_Phdr);
  std::optional<Elf64_Phdr> dynamic;
  for (const Elf64_Phdr& ph : headers) {
    if (ph.p_type == PT_LOAD) {
      if (ph.p_memsz > kAddressEnd || ph.p_vaddr > kAddressEnd - ph.p_memsz ||
          ph.p_filesz > ph.p_memsz) {
        return malformed("a PT_LOAD segment contradicts itself");
      }
      file.loads.push_back({ph.p_vaddr, ph.p_offset, ph.p_filesz, ph.p_memsz,
                            (ph.p_flags & PF_X) != 0, (ph.p_flags & PF_W) != 0});
      const std::uint64_t within = header.e_phoff - ph.p_offset;
      if (header.e_phoff >= ph.p_offset && headers_size <= ph.p_filesz &&
          within <= ph.p_filesz - headers_size) {
        headers_address = ph.p_vaddr + within;
      }
    } else if (ph.p_type == PT_TLS) {
      const std::uint64_t align = ph.p_align == 0 ? 1 : ph.p_align;
      if ((align & (align - 1)) != 0 || align > kMaxTlsAlignment || ph.p_memsz > kMaxTlsBytes) {
        return malformed("the PT_TLS segment has an impossible size or alignment");
      }
      tls = TlsSegment{ph.p_vaddr, ph.p_memsz, align};
    } else if (ph.p_type == PT_DYNAMIC) {
      dynamic = ph;
    } else if (ph.p_type == PT_GNU_RELRO) {
      relro = ph;
    } else if (ph.p_type == PT_INTERP) {
      has_interpreter = true;
    } else if (ph.p_type == PT_NOTE) {
      notes.push_back(ph);
    }
  }
  if (file.loads.empty()) return malformed("nothing to load");
  if (!dynamic) return {};
  dynamic_address = dynamic->p_vaddr;
  // In a file that has only debug information, p_filesz is 0: it has no such tables.
  auto read = DynamicTables::read(file, dynamic->p_offset, dynamic->p_filesz);
  if (!read) return std::move(read).error();
  tables = *read;
  return {};
}

namespace {

std::optional<TlsRelocationKind> tls_kind(Machine machine, std::uint64_t type) {
  if (machine == Machine::kX86_64) {
    switch (type) {
      case R_X86_64_TLSDESC:
        return TlsRelocationKind::kTlsDesc;
      case R_X86_64_DTPMOD64:
        return TlsRelocationKind::kDtpMod;
      case R_X86_64_TPOFF64:
        return TlsRelocationKind::kTpOff;
      default:
        return std::nullopt;
    }
  }
  switch (type) {
    case R_AARCH64_TLSDESC:
      return TlsRelocationKind::kTlsDesc;
    case R_AARCH64_TLS_DTPMOD:
      return TlsRelocationKind::kDtpMod;
    case R_AARCH64_TLS_TPREL:
      return TlsRelocationKind::kTpOff;
    default:
      return std::nullopt;
  }
}

}  // namespace

template <class Use>
Status ElfImage::Impl::for_relocations(std::uint64_t table, std::uint64_t size, Use use) const {
  if (table == 0 || size == 0) return {};
  if (!file.holds(table, size)) return malformed("a relocation table lies outside the file");
  if (size > kMaxRelocationBytes) {
    return Error{ErrorCode::kLimit, "more than 256 MiB of relocations"};
  }
  std::vector<Elf64_Rela> piece;
  for (std::uint64_t left = size / sizeof(Elf64_Rela); left != 0; left -= piece.size()) {
    piece.resize(std::min<std::uint64_t>(left, kRelocationsAtOnce));
    Status status = file.read(table, std::as_writable_bytes(std::span(piece)));
    if (!status) return status;
    table += piece.size() * sizeof(Elf64_Rela);
    if (status = use(std::span<const Elf64_Rela>(piece)); !status) return status;
  }
  return {};
}

Status ElfImage::Impl::add_relocations(std::uint64_t table, std::uint64_t size,
                                       std::string_view name, std::size_t& seen,
                                       std::vector<TlsRelocation>& found) const {
  return for_relocations(table, size, [&](std::span<const Elf64_Rela> piece) -> Status {
    for (const Elf64_Rela& rela : piece) {
      auto kind = tls_kind(machine, ELF64_R_TYPE(rela.r_info));
      if (!kind) continue;
      if (++seen > kMaxTlsRelocations) {
        return Error{ErrorCode::kLimit, "more than 65536 thread-local relocations"};
      }
      const std::uint64_t index = ELF64_R_SYM(rela.r_info);
      if (index != 0) {
        auto sym = tables.symbol(file, index);
        if (!sym) return std::move(sym).error();
        auto same = tables.named(file, *sym, name);
        if (!same) return std::move(same).error();
        if (!*same) continue;
      }
      found.push_back({*kind, rela.r_offset, rela.r_addend, index != 0});
    }
    return {};
  });
}

// A program may use a library's variable as if it were its own. Then it has room for a copy, and
// exports that (a copy relocation). The loader copies the library's value there, and from then on
// the library uses the copy, too.
Result<bool> ElfImage::Impl::is_copy(const ElfSymbol& symbol) const {
  // The loader copies only into writable memory. Most symbols that we ask for are constant, so this
  // is the quick answer.
  const bool in_writable =
      symbol.type != STT_TLS &&
      std::any_of(file.loads.begin(), file.loads.end(), [&](const LoadSegment& load) {
        return load.writable && symbol.value >= load.vaddr &&
               symbol.value - load.vaddr < load.memory_size;
      });
  if (!symbol.defined || !in_writable) return false;
  const std::uint64_t copy = machine == Machine::kX86_64 ? R_X86_64_COPY : R_AARCH64_COPY;
  bool found = false;
  // Compares the address and not the name: then it does not matter in which table the symbol is.
  const Status status =
      for_relocations(tables.rela, tables.rela_size, [&](std::span<const Elf64_Rela> piece) {
        found |= std::any_of(piece.begin(), piece.end(), [&](const Elf64_Rela& rela) {
          return ELF64_R_TYPE(rela.r_info) == copy && rela.r_offset == symbol.value;
        });
        return Status();
      });
  if (!status) return status.error();
  return found;
}

ElfImage::ElfImage(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ElfImage::ElfImage(ElfImage&&) noexcept = default;
ElfImage& ElfImage::operator=(ElfImage&&) noexcept = default;
ElfImage::~ElfImage() = default;

Result<ElfImage> ElfImage::open(UniqueFd file) {
  auto impl = Impl::open(std::move(file));
  if (!impl) return std::move(impl).error();
  return ElfImage(*std::move(impl));
}

Machine ElfImage::machine() const { return impl_->machine; }
bool ElfImage::position_independent() const { return impl_->position_independent; }
bool ElfImage::executable() const {
  if (!impl_->position_independent || impl_->tables.is_pie) return true;
  return impl_->has_interpreter && !impl_->tables.has_soname;
}
std::optional<std::uint64_t> load_bias_at(const std::vector<LoadSegment>& segments,
                                          std::uint64_t start, std::uint64_t file_offset) {
  constexpr std::uint64_t kPage = 4096;
  for (const LoadSegment& load : segments) {
    const std::uint64_t first = load.file_offset & ~(kPage - 1);
    if (!load.executable || file_offset < first ||
        file_offset >= load.file_offset + load.file_size) {
      continue;
    }
    return start - (file_offset - load.file_offset + load.vaddr);
  }
  return std::nullopt;
}

const std::vector<LoadSegment>& ElfImage::load_segments() const { return impl_->file.loads; }
const std::optional<TlsSegment>& ElfImage::tls() const { return impl_->tls; }
std::optional<std::uint64_t> ElfImage::dynamic_address() const { return impl_->dynamic_address; }
std::optional<std::uint64_t> ElfImage::program_headers_address() const {
  return impl_->headers_address;
}

Result<std::optional<ElfSymbol>> ElfImage::find_dynamic_symbol(std::string_view name) const {
  const LoadedFile& file = impl_->file;
  auto index = impl_->tables.look_up(file, name);
  if (!index) return std::move(index).error();
  if (!*index) return std::optional<ElfSymbol>{};
  auto sym = impl_->tables.symbol(file, **index);
  if (!sym) return std::move(sym).error();
  ElfSymbol symbol = to_symbol(*sym, **index, SymbolTable::kDynamic);
  auto copy = impl_->is_copy(symbol);
  if (!copy) return std::move(copy).error();
  if (*copy) symbol.defined = false;
  return std::optional(symbol);
}

Status ElfImage::read(std::uint64_t vaddr, std::span<std::byte> out) const {
  for (const LoadSegment& load : impl_->file.loads) {
    if (vaddr < load.vaddr || vaddr - load.vaddr >= load.memory_size) continue;
    const std::uint64_t within = vaddr - load.vaddr;
    if (out.size() > load.memory_size - within) break;
    const std::uint64_t in_file = load.file_size > within ? load.file_size - within : 0;
    const std::size_t stored = std::min<std::uint64_t>(in_file, out.size());
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(stored), out.end(), std::byte{0});
    return stored == 0 ? Status() : impl_->file.read(vaddr, out.first(stored));
  }
  return malformed("an address outside of every segment");
}

bool ElfImage::stays_writable(std::uint64_t vaddr) const {
  const auto& relro = impl_->relro;
  if (relro && vaddr >= relro->p_vaddr && vaddr - relro->p_vaddr < relro->p_memsz) return false;
  const auto& loads = impl_->file.loads;
  return std::any_of(loads.begin(), loads.end(), [&](const LoadSegment& load) {
    return load.writable && vaddr >= load.vaddr && vaddr - load.vaddr < load.memory_size;
  });
}

bool ElfImage::has_dynamic_symbols() const { return impl_->tables.symbols != 0; }

bool ElfImage::has_symtab() const {
  const auto symbols = StaticSymbols::find(impl_->file, impl_->header);
  return symbols && symbols->has_value();
}

Result<std::optional<ElfSymbol>> ElfImage::find_symtab_symbol(std::string_view name) const {
  auto symbols = StaticSymbols::find(impl_->file, impl_->header);
  if (!symbols) return std::move(symbols).error();
  if (!*symbols) return std::optional<ElfSymbol>();
  auto found = (*symbols)->look_up(impl_->file, name);
  if (!found || !*found) return found;
  auto copy = impl_->is_copy(**found);
  if (!copy) return std::move(copy).error();
  if (*copy) found->reset();
  return found;
}

Result<std::vector<TlsRelocation>> ElfImage::tls_relocations(std::string_view name) const {
  std::vector<TlsRelocation> found;
  const DynamicTables& tables = impl_->tables;
  std::size_t seen = 0;
  Status status = impl_->add_relocations(tables.rela, tables.rela_size, name, seen, found);
  if (status) {
    status = impl_->add_relocations(tables.plt_rela, tables.plt_rela_size, name, seen, found);
  }
  if (!status) return std::move(status).error();
  return found;
}

std::string ElfImage::build_id() const {
  for (const Elf64_Phdr& note : impl_->notes) {
    if (note.p_filesz > kMaxNoteBytes) continue;
    std::vector<std::byte> content(note.p_filesz);
    if (!impl_->file.read_offset(note.p_offset, content)) continue;
    if (std::string id = find_build_id(content, note.p_align); !id.empty()) return id;
  }
  return {};
}

}  // namespace labelscope

// ElfImage finds its answers in these parts of an ELF file:
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
#include "elf/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/malformed.h"
#include "elf/elf_note.h"
#include "elf/static_symbols.h"

namespace labelscope {
namespace {

// The kernel takes no more than 64 KiB of program headers.
constexpr std::size_t kMaxProgramHeaders = 65536 / sizeof(Elf64_Phdr);
// The end of all user addresses of both processors (57-bit addresses).
constexpr std::uint64_t kAddressEnd = 1ULL << 57;
constexpr std::uint64_t kMaxTlsAlignment = 1ULL << 30;
constexpr std::uint64_t kMaxTlsBytes = 1ULL << 40;
constexpr std::uint64_t kMaxNoteBytes = 1ULL << 20;
// A linked file has a few dozen sections, with names of a few hundred bytes together.
constexpr std::size_t kMaxNamedSections = 4096;
constexpr std::size_t kMaxSectionNames = 1 << 18;
// The largest browsers have 20 MiB of relocations.
constexpr std::uint64_t kMaxRelocationBytes = 256ULL << 20;
// At most so many symbols are looked at for functions, and so many are read at once.
constexpr std::uint64_t kMaxExportedFunctions = 65536;
constexpr std::uint64_t kSymbolsAtOnce = 1024;
// The largest programs have some hundred initializers that are functions.
constexpr std::uint64_t kMaxLoaderFunctions = 4096;
// An honest file has at most one for each thread-local variable.
constexpr std::size_t kMaxTlsRelocations = 65536;
// Relocations are read in pieces.
constexpr std::size_t kRelocationsAtOnce = 2048;

// The relocation that is the load bias plus its addend.
std::uint64_t relative_type(Machine machine) {
  return machine == Machine::kX86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
}

std::optional<TlsRelocationKind> tls_kind(Machine machine, std::uint64_t type) {
  const auto is = [&](std::uint64_t x86_64, std::uint64_t aarch64) {
    return type == (machine == Machine::kX86_64 ? x86_64 : aarch64);
  };
  if (is(R_X86_64_TLSDESC, R_AARCH64_TLSDESC)) return TlsRelocationKind::kTlsDesc;
  if (is(R_X86_64_DTPMOD64, R_AARCH64_TLS_DTPMOD)) return TlsRelocationKind::kDtpMod;
  if (is(R_X86_64_TPOFF64, R_AARCH64_TLS_TPREL)) return TlsRelocationKind::kTpOff;
  return std::nullopt;
}

bool in_writable_segment(const LoadedFile& file, std::uint64_t vaddr) {
  return std::ranges::any_of(file.loads, [&](const LoadSegment& load) {
    return load.writable && vaddr >= load.vaddr && vaddr - load.vaddr < load.memory_size;
  });
}

}  // namespace

Result<ElfImage> ElfImage::open(UniqueFd file) {
  ElfImage image;
  image.file_.fd = std::move(file);
  if (Status status = image.read_headers(); !status) return std::move(status).error();
  return image;
}

Status ElfImage::read_headers() {
  file_.keep_first_page();
  if (!file_.read_offset(0, std::as_writable_bytes(std::span(&header_, 1))) ||
      std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) {
    return malformed("not an ELF file");
  }
  const Elf64_Ehdr& header = header_;
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
  machine_ = header.e_machine == EM_X86_64 ? Machine::kX86_64 : Machine::kAarch64;
  position_independent_ = header.e_type == ET_DYN;
  return read_program_headers();
}

Status ElfImage::read_program_headers() {
  const std::size_t count = header_.e_phnum;
  if (count == 0) return malformed("no program headers");
  if (count > kMaxProgramHeaders) return malformed("more program headers than the kernel takes");
  std::vector<Elf64_Phdr> headers(count);
  if (header_.e_phentsize != sizeof(Elf64_Phdr) ||
      !file_.read_offset(header_.e_phoff, std::as_writable_bytes(std::span(headers)))) {
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
      file_.loads.push_back({ph.p_vaddr, ph.p_offset, ph.p_filesz, ph.p_memsz,
                             (ph.p_flags & PF_X) != 0, (ph.p_flags & PF_W) != 0});
      const std::uint64_t within = header_.e_phoff - ph.p_offset;
      if (header_.e_phoff >= ph.p_offset && headers_size <= ph.p_filesz &&
          within <= ph.p_filesz - headers_size) {
        headers_address_ = ph.p_vaddr + within;
      }
    } else if (ph.p_type == PT_TLS) {
      const std::uint64_t align = ph.p_align == 0 ? 1 : ph.p_align;
      if ((align & (align - 1)) != 0 || align > kMaxTlsAlignment || ph.p_memsz > kMaxTlsBytes) {
        return malformed("the PT_TLS segment has an impossible size or alignment");
      }
      tls_ = TlsSegment{ph.p_vaddr, ph.p_memsz, align};
    } else if (ph.p_type == PT_DYNAMIC) {
      dynamic = ph;
    } else if (ph.p_type == PT_GNU_RELRO) {
      relro_ = ph;
    } else if (ph.p_type == PT_INTERP) {
      has_interpreter_ = true;
    } else if (ph.p_type == PT_NOTE) {
      notes_.push_back(ph);
    }
  }
  if (file_.loads.empty()) return malformed("nothing to load");
  if (!dynamic) return {};
  dynamic_address_ = dynamic->p_vaddr;
  // In a file that has only debug information, p_filesz is 0: it has no such tables.
  auto read = DynamicTables::read(file_, dynamic->p_offset, dynamic->p_filesz);
  if (!read) return std::move(read).error();
  tables_ = *read;
  return {};
}

template <class Use>
Status ElfImage::for_relocations(std::uint64_t table, std::uint64_t size, Use use) const {
  if (table == 0 || size == 0) return {};
  if (!file_.holds(table, size)) return malformed("a relocation table lies outside the file");
  if (size > kMaxRelocationBytes) {
    return Error{ErrorCode::kLimit, "more than 256 MiB of relocations"};
  }
  std::vector<Elf64_Rela> piece;
  for (std::uint64_t left = size / sizeof(Elf64_Rela); left != 0; left -= piece.size()) {
    piece.resize(std::min<std::uint64_t>(left, kRelocationsAtOnce));
    Status status = file_.read(table, std::as_writable_bytes(std::span(piece)));
    if (!status) return status;
    table += piece.size() * sizeof(Elf64_Rela);
    if (status = use(std::span<const Elf64_Rela>(piece)); !status) return status;
  }
  return {};
}

// A program may use a library's variable as if it were its own. Then it has room for a copy, and
// exports that (a copy relocation). The loader copies the library's value there, and from then on
// the library uses the copy, too.
Result<bool> ElfImage::is_copy(const ElfSymbol& symbol) const {
  // The loader copies only into writable memory. Most symbols that are asked for are constant, so
  // this is the quick answer.
  if (!symbol.defined || symbol.type == STT_TLS || !in_writable_segment(file_, symbol.value)) {
    return false;
  }
  const std::uint64_t copy = machine_ == Machine::kX86_64 ? R_X86_64_COPY : R_AARCH64_COPY;
  bool found = false;
  // The address is compared and not the name, so it does not matter in which table the symbol is.
  const Status status =
      for_relocations(tables_.rela, tables_.rela_size, [&](std::span<const Elf64_Rela> piece) {
        found |= std::ranges::any_of(piece, [&](const Elf64_Rela& rela) {
          return ELF64_R_TYPE(rela.r_info) == copy && rela.r_offset == symbol.value;
        });
        return Status();
      });
  if (!status) return status.error();
  return found;
}

bool ElfImage::executable() const {
  if (!position_independent_ || tables_.is_pie) return true;
  return has_interpreter_ && !tables_.has_soname;
}

Result<std::optional<ElfSymbol>> ElfImage::find_dynamic_symbol(std::string_view name) const {
  auto index = tables_.look_up(file_, name);
  if (!index) return std::move(index).error();
  if (!*index) return std::optional<ElfSymbol>{};
  auto sym = tables_.symbol(file_, **index);
  if (!sym) return std::move(sym).error();
  ElfSymbol symbol = to_symbol(*sym, **index, SymbolTable::kDynamic);
  auto copy = is_copy(symbol);
  if (!copy) return std::move(copy).error();
  if (*copy) symbol.defined = false;
  return std::optional(symbol);
}

Status ElfImage::read(std::uint64_t vaddr, std::span<std::byte> out) const {
  for (const LoadSegment& load : file_.loads) {
    if (vaddr < load.vaddr || vaddr - load.vaddr >= load.memory_size) continue;
    const std::uint64_t within = vaddr - load.vaddr;
    if (out.size() > load.memory_size - within) break;
    const std::uint64_t in_file = load.file_size > within ? load.file_size - within : 0;
    const std::size_t stored = std::min<std::uint64_t>(in_file, out.size());
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(stored), out.end(), std::byte{0});
    return stored == 0 ? Status() : file_.read(vaddr, out.first(stored));
  }
  return malformed("an address outside of every segment");
}

bool ElfImage::stays_writable(std::uint64_t vaddr) const {
  if (relro_ && vaddr >= relro_->p_vaddr && vaddr - relro_->p_vaddr < relro_->p_memsz) return false;
  return in_writable_segment(file_, vaddr);
}

bool ElfImage::has_symtab() const {
  const auto symbols = StaticSymbols::find(file_, header_);
  return symbols && symbols->has_value();
}

Result<std::optional<ElfSymbol>> ElfImage::find_symtab_symbol(std::string_view name) const {
  auto symbols = StaticSymbols::find(file_, header_);
  if (!symbols) return std::move(symbols).error();
  if (!*symbols) return std::optional<ElfSymbol>();
  auto found = (*symbols)->look_up(file_, name);
  if (!found || !*found) return found;
  auto copy = is_copy(**found);
  if (!copy) return std::move(copy).error();
  if (*copy) found->reset();
  return found;
}

Result<std::vector<ElfSymbol>> ElfImage::find_symtab_variables(std::string_view name,
                                                               std::uint8_t type) const {
  auto symbols = StaticSymbols::find(file_, header_);
  if (!symbols) return std::move(symbols).error();
  if (!*symbols) return std::vector<ElfSymbol>();
  return (*symbols)->look_up_variables(file_, name, type);
}

std::vector<std::string> ElfImage::thread_local_names() const {
  std::vector<std::string> names;
  for (const std::uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
    const auto symbols = StaticSymbols::find(file_, header_, type);
    if (symbols && *symbols) (*symbols)->list_thread_locals(file_, names);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::uint64_t> ElfImage::exported_functions() const {
  std::vector<std::uint64_t> functions;
  if (tables_.symbols == 0 || tables_.strings < tables_.symbols) return functions;
  const std::uint64_t count =
      std::min((tables_.strings - tables_.symbols) / sizeof(Elf64_Sym), kMaxExportedFunctions);
  std::vector<Elf64_Sym> some;
  for (std::uint64_t done = 0; done < count; done += some.size()) {
    some.resize(std::min(kSymbolsAtOnce, count - done));
    if (!file_.read(tables_.symbols + done * sizeof(Elf64_Sym),
                    std::as_writable_bytes(std::span(some)))) {
      break;
    }
    for (const Elf64_Sym& symbol : some) {
      const bool function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
      if (function && symbol.st_shndx != SHN_UNDEF) functions.push_back(symbol.st_value);
    }
  }
  return functions;
}

std::vector<std::uint64_t> ElfImage::symtab_functions() const {
  const auto table = StaticSymbols::find(file_, header_);
  if (!table || !*table) return {};
  return (*table)->functions(file_);
}

std::vector<std::uint64_t> ElfImage::loader_functions() const {
  struct Array {
    std::uint64_t start;
    std::vector<std::uint64_t> functions;
  };
  Array arrays[] = {{tables_.init_array, {}}, {tables_.fini_array, {}}};
  const std::uint64_t sizes[] = {tables_.init_array_size, tables_.fini_array_size};
  for (std::size_t i = 0; i < std::size(arrays); ++i) {
    auto& functions = arrays[i].functions;
    functions.resize(
        std::min<std::uint64_t>(sizes[i] / sizeof(std::uint64_t), kMaxLoaderFunctions));
    if (!read(arrays[i].start, std::as_writable_bytes(std::span(functions)))) functions.clear();
  }
  // In a file that may be loaded anywhere, the relocations have the addresses.
  const auto use = [&](std::span<const Elf64_Rela> piece) {
    for (const Elf64_Rela& rela : piece) {
      if (ELF64_R_TYPE(rela.r_info) != relative_type(machine_)) continue;
      for (Array& array : arrays) {
        const std::uint64_t offset = rela.r_offset - array.start;
        if (offset % sizeof(std::uint64_t) != 0) continue;
        if (const std::uint64_t index = offset / sizeof(std::uint64_t);
            index < array.functions.size()) {
          array.functions[index] = static_cast<std::uint64_t>(rela.r_addend);
        }
      }
    }
    return Status();
  };
  if (position_independent_ && !for_relocations(tables_.rela, tables_.rela_size, use)) return {};
  std::vector<std::uint64_t> all = {tables_.init, tables_.fini};
  for (const Array& array : arrays) {
    all.insert(all.end(), array.functions.begin(), array.functions.end());
  }
  std::erase_if(all, [](std::uint64_t each) { return each == 0 || each == UINT64_MAX; });
  return all;
}

Result<std::vector<TlsRelocation>> ElfImage::tls_relocations(std::string_view name) const {
  std::vector<TlsRelocation> found;
  std::size_t seen = 0;
  const auto add = [&](std::span<const Elf64_Rela> piece) -> Status {
    for (const Elf64_Rela& rela : piece) {
      auto kind = tls_kind(machine_, ELF64_R_TYPE(rela.r_info));
      if (!kind) continue;
      if (++seen > kMaxTlsRelocations) {
        return Error{ErrorCode::kLimit, "more than 65536 thread-local relocations"};
      }
      const std::uint64_t index = ELF64_R_SYM(rela.r_info);
      if (index != 0) {
        auto sym = tables_.symbol(file_, index);
        if (!sym) return std::move(sym).error();
        auto same = tables_.named(file_, *sym, name);
        if (!same) return std::move(same).error();
        if (!*same) continue;
      }
      found.push_back({*kind, rela.r_offset, rela.r_addend, index != 0});
    }
    return {};
  };
  Status status = for_relocations(tables_.rela, tables_.rela_size, add);
  if (status) status = for_relocations(tables_.plt_rela, tables_.plt_rela_size, add);
  if (!status) return std::move(status).error();
  return found;
}

std::optional<std::uint64_t> ElfImage::section_address(std::string_view name) const {
  if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shstrndx >= header_.e_shnum ||
      header_.e_shnum > kMaxNamedSections) {
    return std::nullopt;
  }
  std::vector<Elf64_Shdr> sections(header_.e_shnum);
  if (!file_.read_offset(header_.e_shoff, std::as_writable_bytes(std::span(sections)))) {
    return std::nullopt;
  }
  const Elf64_Shdr& names = sections[header_.e_shstrndx];
  if (names.sh_size > kMaxSectionNames) return std::nullopt;
  std::string text(names.sh_size, '\0');
  if (!file_.read_offset(names.sh_offset, std::as_writable_bytes(std::span(text)))) {
    return std::nullopt;
  }
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name >= text.size() || (section.sh_flags & SHF_ALLOC) == 0) continue;
    if (std::string_view(text.c_str() + section.sh_name) == name) return section.sh_addr;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ElfImage::pointer_at(std::uint64_t vaddr) const {
  std::uint64_t value = 0;
  if (!read(vaddr, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  if (!position_independent_) return value;
  const Status done =
      for_relocations(tables_.rela, tables_.rela_size, [&](std::span<const Elf64_Rela> piece) {
        for (const Elf64_Rela& rela : piece) {
          if (rela.r_offset != vaddr || ELF64_R_TYPE(rela.r_info) != relative_type(machine_)) {
            continue;
          }
          value = static_cast<std::uint64_t>(rela.r_addend);
        }
        return Status();
      });
  return done ? std::optional(value) : std::nullopt;
}

template <class Use>
void ElfImage::for_notes(Use use) const {
  for (const Elf64_Phdr& note : notes_) {
    if (note.p_filesz > kMaxNoteBytes) continue;
    std::vector<std::byte> content(note.p_filesz);
    if (file_.read_offset(note.p_offset, content)) use(std::span<const std::byte>(content), note);
  }
}

bool ElfImage::has_note(std::string_view owner) const {
  bool found = false;
  for_notes([&](std::span<const std::byte> content, const Elf64_Phdr& note) {
    found |= has_note_of(content, note.p_align, owner);
  });
  return found;
}

std::string ElfImage::build_id() const {
  std::string id;
  for_notes([&](std::span<const std::byte> content, const Elf64_Phdr& note) {
    if (id.empty()) id = find_build_id(content, note.p_align);
  });
  return id;
}

}  // namespace labelscope

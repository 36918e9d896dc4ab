// ElfImage over libelf. libelf checks and translates the structures; which bytes to look at is
// decided here, from the program headers alone.
//
// Everything below starts from three facts: PT_LOAD maps link-time addresses to file offsets,
// PT_DYNAMIC lists link-time addresses of tables, and a table's length is either told (DT_RELASZ)
// or bounded by the file. elf_getdata_rawchunk refuses what lies outside the file, so no offset is
// trusted twice.
#include "labelscope/elf_image.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <array>

#include "elf_hash.h"

namespace labelscope {
namespace {

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};

Error malformed(std::string what) { return Error{ErrorCode::kMalformed, std::move(what)}; }

// Where PT_DYNAMIC says the tables are; 0 = not there.
struct DynamicTables {
  std::uint64_t gnu_hash = 0, hash = 0, symbols = 0, strings = 0, strings_size = 0;
  std::uint64_t rela = 0, rela_size = 0, plt_rela = 0, plt_rela_size = 0;
};

}  // namespace

class ElfImage::Impl {
 public:
  static Result<std::unique_ptr<Impl>> open(UniqueFd file);

  // `size` bytes at a link-time address, translated as `type`. Fails outside the file.
  Result<Elf_Data*> chunk(std::uint64_t vaddr, std::uint64_t size, Elf_Type type) const {
    for (const LoadSegment& load : loads) {
      if (vaddr < load.vaddr || vaddr - load.vaddr >= load.file_size) continue;
      std::uint64_t within = vaddr - load.vaddr;
      if (size > load.file_size - within) break;
      Elf_Data* data = elf_getdata_rawchunk(
          elf.get(), static_cast<std::int64_t>(load.file_offset + within), size, type);
      if (data != nullptr && data->d_size == size) return data;
      break;
    }
    return malformed("a table lies outside the file");
  }

  Result<std::uint32_t> word(std::uint64_t vaddr) const {
    auto data = chunk(vaddr, 4, ELF_T_WORD);
    if (!data) return std::move(data).error();
    return *static_cast<const std::uint32_t*>((*data)->d_buf);
  }

  Result<GElf_Sym> symbol(std::uint64_t index) const {
    auto data = chunk(tables.symbols + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym), ELF_T_SYM);
    if (!data) return std::move(data).error();
    GElf_Sym sym;
    if (gelf_getsym(*data, 0, &sym) == nullptr) return malformed("a symbol cannot be read");
    return sym;
  }

  // Whether symbol `sym` of the dynamic table has this name.
  Result<bool> named(const GElf_Sym& sym, std::string_view name) const {
    if (sym.st_name >= tables.strings_size || tables.strings_size - sym.st_name <= name.size())
      return false;
    auto data = chunk(tables.strings + sym.st_name, name.size() + 1, ELF_T_BYTE);
    if (!data) return std::move(data).error();
    const char* text = static_cast<const char*>((*data)->d_buf);
    return std::string_view(text, name.size()) == name && text[name.size()] == '\0';
  }

  Result<std::optional<std::uint32_t>> look_up_gnu(std::string_view name) const;
  Result<std::optional<std::uint32_t>> look_up_sysv(std::string_view name) const;
  Status add_relocations(std::uint64_t table, std::uint64_t size, std::string_view name,
                         std::vector<TlsRelocation>& found) const;
  Status read_dynamic(const GElf_Phdr& header);

  UniqueFd fd;
  std::unique_ptr<Elf, ElfCloser> elf;
  Machine machine{};
  bool position_independent = false;
  std::vector<LoadSegment> loads;
  std::vector<GElf_Phdr> notes;
  std::optional<TlsSegment> tls;
  std::optional<std::uint64_t> dynamic_address;
  std::optional<std::uint64_t> headers_address;
  DynamicTables tables;
};

Result<std::unique_ptr<ElfImage::Impl>> ElfImage::Impl::open(UniqueFd file) {
  static const bool ready = elf_version(EV_CURRENT) != EV_NONE;
  if (!ready) return Error{ErrorCode::kUnsupported, "libelf does not know this version of ELF"};
  auto impl = std::make_unique<Impl>();
  impl->fd = std::move(file);
  impl->elf.reset(elf_begin(impl->fd.get(), ELF_C_READ, nullptr));
  GElf_Ehdr header;
  if (impl->elf == nullptr || elf_kind(impl->elf.get()) != ELF_K_ELF ||
      gelf_getehdr(impl->elf.get(), &header) == nullptr) {
    return malformed("not an ELF file");
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

  std::size_t count = 0;
  if (elf_getphdrnum(impl->elf.get(), &count) != 0 || count == 0)
    return malformed("no program headers");
  std::optional<GElf_Phdr> dynamic;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr ph;
    if (gelf_getphdr(impl->elf.get(), static_cast<int>(i), &ph) == nullptr) {
      return malformed("the program headers cannot be read");
    }
    if (ph.p_type == PT_LOAD) {
      if (ph.p_vaddr + ph.p_memsz < ph.p_vaddr || ph.p_filesz > ph.p_memsz) {
        return malformed("a PT_LOAD segment contradicts itself");
      }
      impl->loads.push_back(
          {ph.p_vaddr, ph.p_offset, ph.p_filesz, ph.p_memsz, (ph.p_flags & PF_X) != 0});
      std::uint64_t headers_end = header.e_phoff + count * sizeof(Elf64_Phdr);
      if (header.e_phoff >= ph.p_offset && headers_end <= ph.p_offset + ph.p_filesz) {
        impl->headers_address = ph.p_vaddr + (header.e_phoff - ph.p_offset);
      }
    } else if (ph.p_type == PT_TLS) {
      std::uint64_t align = ph.p_align == 0 ? 1 : ph.p_align;
      if ((align & (align - 1)) != 0 || align > (1U << 30) || ph.p_memsz > (1ULL << 40)) {
        return malformed("the PT_TLS segment has an impossible size or alignment");
      }
      impl->tls = TlsSegment{ph.p_vaddr, ph.p_memsz, align};
    } else if (ph.p_type == PT_DYNAMIC) {
      dynamic = ph;
    } else if (ph.p_type == PT_NOTE) {
      impl->notes.push_back(ph);
    }
  }
  if (impl->loads.empty()) return malformed("nothing to load");
  if (dynamic) {
    impl->dynamic_address = dynamic->p_vaddr;
    if (Status status = impl->read_dynamic(*dynamic); !status) return std::move(status).error();
  }
  return impl;
}

Status ElfImage::Impl::read_dynamic(const GElf_Phdr& header) {
  Elf_Data* data = elf_getdata_rawchunk(elf.get(), static_cast<std::int64_t>(header.p_offset),
                                        header.p_filesz, ELF_T_DYN);
  if (data == nullptr) {
    // A file of debug information only keeps the header and not the section: nothing to look up
    // there.
    return header.p_filesz == 0 ? Status{}
                                : Status{malformed("the dynamic section lies outside the file")};
  }
  for (std::size_t i = 0; i < data->d_size / sizeof(Elf64_Dyn); ++i) {
    GElf_Dyn dyn;
    if (gelf_getdyn(data, static_cast<int>(i), &dyn) == nullptr || dyn.d_tag == DT_NULL) break;
    switch (dyn.d_tag) {
      case DT_GNU_HASH:
        tables.gnu_hash = dyn.d_un.d_ptr;
        break;
      case DT_HASH:
        tables.hash = dyn.d_un.d_ptr;
        break;
      case DT_SYMTAB:
        tables.symbols = dyn.d_un.d_ptr;
        break;
      case DT_STRTAB:
        tables.strings = dyn.d_un.d_ptr;
        break;
      case DT_STRSZ:
        tables.strings_size = dyn.d_un.d_val;
        break;
      case DT_RELA:
        tables.rela = dyn.d_un.d_ptr;
        break;
      case DT_RELASZ:
        tables.rela_size = dyn.d_un.d_val;
        break;
      case DT_JMPREL:
        tables.plt_rela = dyn.d_un.d_ptr;
        break;
      case DT_PLTRELSZ:
        tables.plt_rela_size = dyn.d_un.d_val;
        break;
      default:
        break;
    }
  }
  return {};
}

// GNU hash table: {nbuckets, first symbol, bloom words, bloom shift}, bloom[], buckets[], chains[].
Result<std::optional<std::uint32_t>> ElfImage::Impl::look_up_gnu(std::string_view name) const {
  auto header = chunk(tables.gnu_hash, 16, ELF_T_WORD);
  if (!header) return std::move(header).error();
  const auto* words = static_cast<const std::uint32_t*>((*header)->d_buf);
  std::uint64_t buckets = words[0];
  std::uint32_t first = words[1];
  std::uint64_t bloom_size = words[2];
  std::uint32_t shift = words[3];
  if (buckets == 0) return std::optional<std::uint32_t>{};
  if (bloom_size == 0 || (bloom_size & (bloom_size - 1)) != 0 || shift >= 32) {
    return malformed("the GNU hash table's header is impossible");
  }
  std::uint32_t hash = gnu_hash(name);
  std::uint64_t bloom_at = tables.gnu_hash + 16;
  auto bloom = chunk(bloom_at + 8 * ((hash / 64) & (bloom_size - 1)), 8, ELF_T_XWORD);
  if (!bloom) return std::move(bloom).error();
  std::uint64_t bits = *static_cast<const std::uint64_t*>((*bloom)->d_buf);
  if (((bits >> (hash % 64)) & (bits >> ((hash >> shift) % 64)) & 1) == 0) {
    return std::optional<std::uint32_t>{};
  }
  std::uint64_t buckets_at = bloom_at + 8 * bloom_size;
  auto bucket = word(buckets_at + 4 * (hash % buckets));
  if (!bucket) return std::move(bucket).error();
  if (*bucket < first) return std::optional<std::uint32_t>{};
  std::uint64_t chains_at = buckets_at + 4 * buckets;
  // The chain ends at an odd word or, in a hostile file, at the end of the segment: chunk() fails
  // there.
  for (std::uint64_t index = *bucket; index <= UINT32_MAX; ++index) {
    auto chain = word(chains_at + 4 * (index - first));
    if (!chain) return std::move(chain).error();
    if ((*chain | 1) == (hash | 1)) {
      auto sym = symbol(index);
      if (!sym) return std::move(sym).error();
      auto same = named(*sym, name);
      if (!same) return std::move(same).error();
      if (*same) return std::optional<std::uint32_t>(static_cast<std::uint32_t>(index));
    }
    if ((*chain & 1) != 0) break;
  }
  return std::optional<std::uint32_t>{};
}

// System V hash table: {nbucket, nchain}, buckets[], chains[]; 0 ends a chain.
Result<std::optional<std::uint32_t>> ElfImage::Impl::look_up_sysv(std::string_view name) const {
  auto header = chunk(tables.hash, 8, ELF_T_WORD);
  if (!header) return std::move(header).error();
  const auto* words = static_cast<const std::uint32_t*>((*header)->d_buf);
  std::uint64_t buckets = words[0];
  std::uint64_t chains = words[1];
  if (buckets == 0) return std::optional<std::uint32_t>{};
  auto index = word(tables.hash + 8 + 4 * (sysv_hash(name) % buckets));
  if (!index) return std::move(index).error();
  for (std::uint64_t steps = 0; *index != 0; ++steps) {
    if (steps > chains || *index >= chains) return malformed("a hash chain does not end");
    auto sym = symbol(*index);
    if (!sym) return std::move(sym).error();
    auto same = named(*sym, name);
    if (!same) return std::move(same).error();
    if (*same) return std::optional<std::uint32_t>(*index);
    index = word(tables.hash + 8 + 4 * (buckets + *index));
    if (!index) return std::move(index).error();
  }
  return std::optional<std::uint32_t>{};
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

ElfSymbol to_symbol(const GElf_Sym& sym, std::uint32_t index, SymbolTable table) {
  ElfSymbol out;
  out.value = sym.st_value;
  out.size = sym.st_size;
  out.index = index;
  out.type = GELF_ST_TYPE(sym.st_info);
  out.binding = GELF_ST_BIND(sym.st_info);
  out.visibility = GELF_ST_VISIBILITY(sym.st_other);
  out.defined = sym.st_shndx != SHN_UNDEF;
  out.table = table;
  return out;
}

}  // namespace

Status ElfImage::Impl::add_relocations(std::uint64_t table, std::uint64_t size,
                                       std::string_view name,
                                       std::vector<TlsRelocation>& found) const {
  if (table == 0 || size == 0) return {};
  auto data = chunk(table, size, ELF_T_RELA);
  if (!data) return std::move(data).error();
  for (std::size_t i = 0; i < size / sizeof(Elf64_Rela); ++i) {
    GElf_Rela rela;
    if (gelf_getrela(*data, static_cast<int>(i), &rela) == nullptr) {
      return malformed("a relocation cannot be read");
    }
    auto kind = tls_kind(machine, GELF_R_TYPE(rela.r_info));
    if (!kind) continue;
    std::uint64_t index = GELF_R_SYM(rela.r_info);
    bool by_name = false;
    if (index != 0) {
      auto sym = symbol(index);
      if (!sym) return std::move(sym).error();
      auto same = named(*sym, name);
      if (!same) return std::move(same).error();
      if (!*same) continue;
      by_name = true;
    }
    found.push_back({*kind, rela.r_offset, rela.r_addend, by_name});
  }
  return {};
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
const std::vector<LoadSegment>& ElfImage::load_segments() const { return impl_->loads; }
const std::optional<TlsSegment>& ElfImage::tls() const { return impl_->tls; }
std::optional<std::uint64_t> ElfImage::dynamic_address() const { return impl_->dynamic_address; }
std::optional<std::uint64_t> ElfImage::program_headers_address() const {
  return impl_->headers_address;
}

Result<std::optional<ElfSymbol>> ElfImage::find_dynamic_symbol(std::string_view name) const {
  const DynamicTables& tables = impl_->tables;
  if (tables.symbols == 0 || (tables.gnu_hash == 0 && tables.hash == 0))
    return std::optional<ElfSymbol>{};
  auto index = tables.gnu_hash != 0 ? impl_->look_up_gnu(name) : impl_->look_up_sysv(name);
  if (!index) return std::move(index).error();
  if (!*index) return std::optional<ElfSymbol>{};
  auto sym = impl_->symbol(**index);
  if (!sym) return std::move(sym).error();
  return std::optional(to_symbol(*sym, **index, SymbolTable::kDynamic));
}

Result<std::optional<ElfSymbol>> ElfImage::find_symtab_symbol(std::string_view name) const {
  Elf* elf = impl_->elf.get();
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_SYMTAB) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) return malformed("the symbol table lies outside the file");
    std::size_t count = data->d_size / sizeof(Elf64_Sym);
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Sym sym;
      if (gelf_getsym(data, static_cast<int>(i), &sym) == nullptr) break;
      const char* text = elf_strptr(elf, header.sh_link, sym.st_name);
      if (text != nullptr && name == text) {
        return std::optional(to_symbol(sym, static_cast<std::uint32_t>(i), SymbolTable::kSymtab));
      }
    }
  }
  return std::optional<ElfSymbol>{};
}

Result<std::vector<TlsRelocation>> ElfImage::tls_relocations(std::string_view name) const {
  std::vector<TlsRelocation> found;
  const DynamicTables& tables = impl_->tables;
  Status status = impl_->add_relocations(tables.rela, tables.rela_size, name, found);
  if (status) status = impl_->add_relocations(tables.plt_rela, tables.plt_rela_size, name, found);
  if (!status) return std::move(status).error();
  return found;
}

std::string ElfImage::build_id() const {
  static constexpr char kHex[] = "0123456789abcdef";
  for (const GElf_Phdr& note : impl_->notes) {
    Elf_Data* data =
        elf_getdata_rawchunk(impl_->elf.get(), static_cast<std::int64_t>(note.p_offset),
                             note.p_filesz, note.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (data == nullptr) continue;
    GElf_Nhdr header;
    std::size_t name_at = 0;
    std::size_t content_at = 0;
    std::size_t offset = 0;
    while ((offset = gelf_getnote(data, offset, &header, &name_at, &content_at)) > 0) {
      const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
      std::string_view owner(static_cast<const char*>(data->d_buf) + name_at, header.n_namesz);
      if (header.n_type != NT_GNU_BUILD_ID || owner != std::string_view("GNU\0", 4)) continue;
      std::string id;
      for (std::size_t i = 0; i < std::min<std::size_t>(header.n_descsz, 64); ++i) {
        id += kHex[bytes[content_at + i] >> 4];
        id += kHex[bytes[content_at + i] & 15];
      }
      return id;
    }
  }
  return {};
}

}  // namespace labelscope

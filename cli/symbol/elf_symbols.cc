// One Dwfl for each file. This opens the Elf, and not libdwfl: libdwfl would map the file, and if
// the owner truncates a mapped file, SIGBUS kills the reader.
#include "cli/symbol/elf_symbols.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "labelscope/section_count.h"
#include "labelscope/text.h"

namespace labelscope::cli {
namespace {

// A file up to this size is read, not mapped. libelf reads only the sections that it needs.
constexpr off_t kMaxRead = off_t{256} << 20;
// A larger file is mapped if only root and we can change it. Otherwise it is read up to this size.
constexpr off_t kMaxUntrusted = off_t{2} << 30;
constexpr std::size_t kMaxBuildId = 64;

std::string elf_problem() {
  const char* text = elf_errmsg(-1);
  return text != nullptr ? text : "unknown error of libelf";
}

std::string dwfl_problem() {
  const char* text = dwfl_errmsg(-1);
  return text != nullptr ? text : "unknown error of libdwfl";
}

Result<Elf*> open_elf(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return system_error(errno, "cannot stat the file");
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kUnsupported, "it is not a regular file"};
  bool ours = status.st_uid == 0 || status.st_uid == ::geteuid();
  bool trusted = ours && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!trusted && status.st_size > kMaxUntrusted) {
    return Error{ErrorCode::kLimit, "it is larger than 2 GiB and other users can change it"};
  }
  if (Status sections = check_section_count(fd); !sections) return std::move(sections).error();
  elf_version(EV_CURRENT);
  bool map = trusted && status.st_size > kMaxRead;
  Elf* elf = elf_begin(fd, map ? ELF_C_READ_MMAP_PRIVATE : ELF_C_READ, nullptr);
  if (elf == nullptr)
    return Error{ErrorCode::kMalformed, "libelf cannot read it: " + elf_problem()};
  return elf;
}

struct Extent {
  Address start = 0;
  Address end = 0;
  Address first = 0;
};

// The range of addresses that the file asks for. `start` is rounded as in libdwfl; so addresses in
// the Dwfl are link-time addresses.
Result<Extent> loaded_extent(Elf* elf) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) {
    return Error{ErrorCode::kMalformed, "its program headers cannot be read: " + elf_problem()};
  }
  std::optional<Extent> extent;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) {
      return Error{ErrorCode::kMalformed, "its program headers cannot be read: " + elf_problem()};
    }
    if (header.p_type != PT_LOAD) continue;
    Address end = 0;
    if (__builtin_add_overflow(header.p_vaddr, header.p_memsz, &end)) {
      return Error{ErrorCode::kMalformed, "a segment of it does not fit into the address space"};
    }
    Address align = header.p_align == 0 ? 1 : header.p_align;
    if (!extent) extent = Extent{header.p_vaddr & (~align + 1), end, header.p_vaddr};
    extent->end = std::max(extent->end, end);
  }
  if (!extent || extent->start >= extent->end) {
    return Error{ErrorCode::kMalformed, "it has no segment to load"};
  }
  return *extent;
}

bool has_section(Elf* elf, GElf_Word type) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && header.sh_type == type) return true;
  }
  return false;
}

}  // namespace

ElfSymbols::ElfSymbols(Elf* elf, std::string name, DebugFiles& debug_files)
    : elf_(elf), name_(std::move(name)), debug_files_(debug_files) {}

ElfSymbols::~ElfSymbols() {
  scopes_.reset();
  table_.reset();
  dwfl_.reset();
  if (!elf_given_) elf_end(elf_);
}

Result<std::unique_ptr<ElfSymbols>> ElfSymbols::open(int fd, const std::string& path,
                                                     DebugFiles& debug_files) {
  Result<Elf*> elf = open_elf(fd);
  if (!elf) return std::move(elf).error();
  return load(std::unique_ptr<ElfSymbols>(new ElfSymbols(*elf, path, debug_files)));
}

Result<std::unique_ptr<ElfSymbols>> ElfSymbols::open_image(std::span<const std::byte> image,
                                                           const std::string& name,
                                                           DebugFiles& debug_files) {
  elf_version(EV_CURRENT);
  std::vector<char> copy(image.size());
  if (!image.empty()) std::memcpy(copy.data(), image.data(), image.size());
  Elf* elf = elf_memory(copy.data(), copy.size());
  if (elf == nullptr)
    return Error{ErrorCode::kMalformed, "libelf cannot read it: " + elf_problem()};
  auto symbols = std::unique_ptr<ElfSymbols>(new ElfSymbols(elf, name, debug_files));
  symbols->image_ = std::move(copy);
  return load(std::move(symbols));
}

Result<std::unique_ptr<ElfSymbols>> ElfSymbols::load(std::unique_ptr<ElfSymbols> symbols) {
  Status status = symbols->report();
  if (!status) return std::move(status).error();
  return symbols;
}

int ElfSymbols::find_elf(Dwfl_Module* /*module*/, void** userdata, const char* /*module_name*/,
                         Dwarf_Addr /*base*/, char** file_name, Elf** elf) {
  auto* self = static_cast<ElfSymbols*>(*userdata);
  *file_name = ::strdup(self->name_.c_str());
  *elf = self->elf_;
  self->elf_given_ = true;
  return -1;  // no descriptor for libdwfl to close
}

int ElfSymbols::find_debuginfo(Dwfl_Module* module, void** userdata, const char* module_name,
                               Dwarf_Addr base, const char* file_name, const char* debug_link,
                               GElf_Word crc, char** debug_file) {
  auto* self = static_cast<ElfSymbols*>(*userdata);
  void* search = &self->debug_files_;
  return DebugFiles::find(module, &search, module_name, base, file_name, debug_link, crc,
                          debug_file);
}

Status ElfSymbols::report() {
  if (elf_kind(elf_) != ELF_K_ELF) return Error{ErrorCode::kMalformed, "it is not an ELF file"};
  Result<Extent> extent = loaded_extent(elf_);
  if (!extent) return std::move(extent).error();
  first_address_ = extent->first;
  const void* id = nullptr;
  ssize_t id_size = dwelf_elf_gnu_build_id(elf_, &id);
  if (id_size > 0 && static_cast<std::size_t>(id_size) <= kMaxBuildId) {
    build_id_ = hex_bytes({static_cast<const std::byte*>(id), static_cast<std::size_t>(id_size)});
  }
  has_symtab_ = has_section(elf_, SHT_SYMTAB);

  callbacks_.find_elf = &ElfSymbols::find_elf;
  callbacks_.find_debuginfo = &ElfSymbols::find_debuginfo;
  dwfl_.reset(dwfl_begin(&callbacks_));
  if (dwfl_ == nullptr) return Error{ErrorCode::kSystem, "libdwfl cannot start: " + dwfl_problem()};
  debug_files_.watch_downloads(dwfl_.get());
  dwfl_report_begin(dwfl_.get());
  module_ = dwfl_report_module(dwfl_.get(), "module", extent->start, extent->end);
  void** userdata = nullptr;
  if (module_ == nullptr || dwfl_report_end(dwfl_.get(), nullptr, nullptr) != 0 ||
      dwfl_module_info(module_, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
          nullptr) {
    return Error{ErrorCode::kMalformed, "libdwfl refuses it: " + dwfl_problem()};
  }
  *userdata = this;
  if (dwfl_module_getelf(module_, &bias_) == nullptr) {
    return Error{ErrorCode::kMalformed, "libdwfl refuses it: " + dwfl_problem()};
  }
  if (Dwarf* dwarf = dwfl_module_getdwarf(module_, &dwarf_bias_); dwarf != nullptr) {
    scopes_.emplace(dwarf, debug_files_.cancelled());
  }
  dwfl_module_getsymtab(module_);  // finds the debug file, if the file itself has no symbol table
  const char* debug_file = nullptr;
  dwfl_module_info(module_, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &debug_file);
  has_debug_file_ = debug_file != nullptr;
  table_.emplace(module_, code_ranges(elf_, bias_), has_symtab_ || has_debug_file_);
  return {};
}

std::vector<SourceLine> ElfSymbols::find(Address link_address, bool inlined) {
  Address address = link_address + bias_;
  std::vector<SourceLine> lines;
  if (scopes_) lines = scopes_->find(address - dwarf_bias_, inlined);
  // The name that the linker and other tools use. DWARF has the source name for clones and aliases.
  std::string_view symbol = table_->find(address);
  if (!symbol.empty()) {
    if (lines.empty()) lines.emplace_back();
    lines.back().system_name = symbol;
    lines.back().function.clear();
  }
  return lines;
}

std::string ElfSymbols::why_nameless() const {
  static const std::string remedy =
      "install its debug symbols (the -dbgsym or -debuginfo package) or set DEBUGINFOD_URLS";
  std::string reason;
  if (has_symtab_ || has_debug_file_ || scopes_) {
    reason = "no symbol covers the address (padding or hand-written assembly)";
  } else if (!table_->empty()) {
    reason = "the file is stripped, only its exported functions have names: " + remedy;
  } else {
    reason = "the file has no symbol table and no debug information: " + remedy;
  }
  if (scopes_ && scopes_->has_skeletons())
    reason += "; its split debug information (.dwo) is not read";
  if (!debug_files_.problem().empty()) reason += "; " + debug_files_.problem();
  return reason;
}

}  // namespace labelscope::cli

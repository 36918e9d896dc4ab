// One Dwfl for each file. This opens the Elf, and not libdwfl: libdwfl would map the file, and if
// the owner truncates a mapped file, SIGBUS kills the worker.
#include "cli/names/elf_symbols.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/names/foreign_elf.h"
#include "cli/names/packed_symbols.h"
#include "unwind_table/frame_rules.h"

namespace labelscope::cli {
namespace {

// As gdb(1) calls it.
constexpr const char* kSignalFrame = "<signal handler called>";

std::string dwfl_problem() {
  const char* text = dwfl_errmsg(-1);
  return text != nullptr ? text : "unknown error of libdwfl";
}

// Declared as libdw does it: clang does not take the standard attribute as a part of the type.
__attribute__((noreturn)) void out_of_memory() {
  if (const std::new_handler handler = std::get_new_handler()) handler();
  std::abort();
}

}  // namespace

ElfSymbols::~ElfSymbols() = default;

Result<std::unique_ptr<ElfSymbols>> ElfSymbols::open(UniqueFd file, const Options& options,
                                                     const FindDebugFile& find_debug_file) {
  Result<Elf*> elf = open_elf(file.get());
  if (!elf) return std::move(elf).error();
  std::unique_ptr<ElfSymbols> symbols(new ElfSymbols(options));
  symbols->file_ = std::move(file);
  symbols->elf_.reset(*elf);
  symbols->finder_ = &find_debug_file;
  const Status status = symbols->load();
  symbols->finder_ = nullptr;
  if (!status) return status.error();
  return symbols;
}

int ElfSymbols::find_elf(Dwfl_Module* /*module*/, void** userdata, const char* /*module_name*/,
                         Dwarf_Addr /*base*/, char** file_name, Elf** elf) {
  auto* self = static_cast<ElfSymbols*>(*userdata);
  *file_name = ::strdup("file");  // otherwise libdwfl would look for it
  // This is a second reference, which libdwfl ends.
  *elf = elf_begin(self->file_.get(), ELF_C_READ, self->elf_.get());
  return -1;  // libdwfl has no descriptor to close
}

int ElfSymbols::find_debuginfo(Dwfl_Module* /*module*/, void** userdata,
                               const char* /*module_name*/, Dwarf_Addr /*base*/,
                               const char* /*file_name*/, const char* debug_link, GElf_Word crc,
                               char** debug_file) {
  const int fd = static_cast<ElfSymbols*>(*userdata)->find_debug_file(debug_link, crc);
  if (fd >= 0) *debug_file = ::strdup("debug file");
  return fd;
}

void ElfSymbols::remark(const std::string& what) {
  remarks_ += (remarks_.empty() ? "" : "; ") + what;
}

void ElfSymbols::remark_packing(Elf* elf) {
  if (from_ != NamesFrom::kDebugInformation) return;
  const char* packing = unknown_packing(elf);
  if (packing == nullptr) return;
  remark(std::string("its debug information is packed with ") + packing +
         ", which libelf here cannot unpack, so inlined calls and lines are missing (objcopy "
         "--decompress-debug-sections makes a file that can be read)");
}

// Opens one file after the other, until one is the right one. Returns nothing if none is, after it
// has reported what it found.
std::optional<ElfSymbols::Opened> ElfSymbols::find_right_file(
    WantedDebugFile wanted, const std::string& what,
    const std::function<bool(Elf*, const UniqueFd&)>& is_right) {
  std::string why_not;
  const auto refuse = [&](const std::string& why) {
    why_not += (why_not.empty() ? "" : ", ") + why;
  };
  for (; finder_ != nullptr && wanted.refused <= kMostRefusedFiles; ++wanted.refused) {
    FoundDebugFile found = (*finder_)(wanted);
    if (!found.file.valid()) {
      if (!found.text.empty()) refuse(found.text);
      break;
    }
    Result<Elf*> opened = open_elf(found.file.get());
    if (!opened) {
      refuse(found.text + " cannot be used: " + opened.error().context);
      continue;
    }
    std::unique_ptr<Elf, EndElf> elf(*opened);
    if (!is_right(elf.get(), found.file)) {
      refuse(found.text + " is of another build");
      continue;
    }
    if (!budget_.spend(Cost::kUnpackedBytes, packed_size(elf.get(), from_))) return std::nullopt;
    remark_packing(elf.get());
    return Opened{std::move(found.file), std::move(elf)};
  }
  if (!why_not.empty() || wanted.alternate) {
    remark(what + (why_not.empty() ? "" : ": ") + why_not);
  }
  return std::nullopt;
}

// libdwfl asks for the debug file, perhaps twice, and for the alternate one, which find_alternate()
// handles. libdwfl checks nothing, and would unpack a packed file.
int ElfSymbols::find_debug_file(const char* debug_link, GElf_Word crc) {
  const bool alternate = debug_link != nullptr && debug_link_ != debug_link;
  if (alternate || std::exchange(asked_for_debug_file_, true)) return -1;
  auto found = find_right_file({false, build_id_, debug_link_}, "its debug file was not found",
                               [&](Elf* elf, const UniqueFd& file) {
                                 const std::string its = build_id_of(elf);
                                 if (has_other_code(elf_.get(), elf)) return false;
                                 if (!build_id_.empty() && !its.empty()) return build_id_ == its;
                                 return debug_link != nullptr && checksum_of(file.get()) == crc;
                               });
  return found ? found->file.release() : -1;
}

// The alternate file is DWARF that several files share. libdw would open any path that the file
// names.
void ElfSymbols::find_alternate(Dwarf* dwarf) {
  const char* name = nullptr;
  const void* id = nullptr;
  const ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
  if (size <= 0 || static_cast<std::size_t>(size) > kMaxBuildId) return;
  const std::string build_id =
      hex_bytes({static_cast<const std::byte*>(id), static_cast<std::size_t>(size)});
  constexpr const char* kMissing = "the debug information that it shares with others is missing";
  auto found =
      find_right_file({true, build_id, dwarf_text(name)}, kMissing,
                      [&](Elf* elf, const UniqueFd&) { return build_id_of(elf) == build_id; });
  if (!found) return;
  alternate_.reset(dwarf_begin_elf(found->elf.get(), DWARF_C_READ, nullptr));
  if (!alternate_) return remark(std::string(kMissing) + ": libdw refuses it");
  dwarf_new_oom_handler(alternate_.get(), out_of_memory);
  alternate_file_ = std::move(found->file);
  alternate_elf_ = std::move(found->elf);
  dwarf_setalt(dwarf, alternate_.get());
}

Status ElfSymbols::load() {
  Result<LoadedExtent> extent = loaded_extent(elf_.get());
  if (!extent) return std::move(extent).error();
  first_address_ = extent->first;
  build_id_ = build_id_of(elf_.get());
  has_symtab_ = has_section(elf_.get(), SHT_SYMTAB);
  GElf_Word crc = 0;
  if (const char* link = dwelf_elf_gnu_debuglink(elf_.get(), &crc)) debug_link_ = dwarf_text(link);
  if (from_ == NamesFrom::kOwnSymbols ||
      !budget_.spend(Cost::kUnpackedBytes, packed_size(elf_.get(), from_))) {
    table_.emplace(elf_.get(), code_ranges(elf_.get(), 0), has_symtab_, budget_);
    read_go_functions();
    return {};
  }
  remark_packing(elf_.get());
  Status status = report_module(extent->start, extent->end);
  if (status) read_go_functions();
  return status;
}

void ElfSymbols::read_go_functions() {
  if (has_symtab_ || has_debug_file_) return;
  auto file = ElfImage::open(UniqueFd(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0)));
  auto functions =
      file ? GoFunctions::read(*file, [this] { return !budget_.spend(Cost::kSymbols, 0); })
           : Result<GoFunctions>(file.error());
  if (functions) {
    go_.emplace(*std::move(functions));
  } else if (file && functions.error().code != ErrorCode::kNotFound) {
    remark(functions.error().context);
  }
}

Status ElfSymbols::report_module(Address start, Address end) {
  callbacks_.find_elf = &ElfSymbols::find_elf;
  callbacks_.find_debuginfo = &ElfSymbols::find_debuginfo;
  dwfl_.reset(dwfl_begin(&callbacks_));
  if (dwfl_ == nullptr) return Error{ErrorCode::kSystem, "libdwfl cannot start: " + dwfl_problem()};
  dwfl_report_begin(dwfl_.get());
  module_ = dwfl_report_module(dwfl_.get(), "module", start, end);
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
  const bool read = from_ == NamesFrom::kDebugInformation;
  if (Dwarf* dwarf = read ? dwfl_module_getdwarf(module_, &dwarf_bias_) : nullptr) {
    dwarf_new_oom_handler(dwarf, out_of_memory);
    find_alternate(dwarf);
    scopes_.emplace(dwarf, budget_);
  }
  const Result<bool> packed =
      has_symtab_ ? Result<bool>(false) : check_packed_symbols(elf_.get(), budget_);
  if (!packed) {
    if (packed.error().code != ErrorCode::kLimit) remark(packed.error().context);
    table_.emplace(elf_.get(), code_ranges(elf_.get(), 0), has_symtab_, budget_);
    return {};
  }
  has_symtab_ = has_symtab_ || *packed;
  dwfl_module_getsymtab(module_);  // finds the debug file, if the file itself has no symbol table
  const char* debug_file = nullptr;
  dwfl_module_info(module_, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &debug_file);
  has_debug_file_ = debug_file != nullptr;
  table_.emplace(module_, code_ranges(elf_.get(), bias_), has_symtab_ || has_debug_file_, budget_);
  return {};
}

std::vector<SourceLine> ElfSymbols::find(Address link_address, bool inlined) {
  Address address = link_address + bias_;
  std::vector<SourceLine> lines;
  if (scopes_) lines = scopes_->find(address - dwarf_bias_, inlined);
  // The name that the linker and other tools use. DWARF has the source name for clones, and decides
  // between aliases that are equally good.
  const std::string_view by_source =
      lines.empty() ? "" : std::string_view(lines.back().system_name);
  std::string_view symbol = table_->find(address, by_source);
  if (symbol == kPlt) {
    if (!plt_) plt_.emplace(elf_.get(), budget_);
    if (const std::string_view name = plt_->find(link_address); !name.empty()) symbol = name;
  }
  // Names live as long as their table.
  const auto go = symbol.empty() && go_ ? go_->find(link_address) : std::nullopt;
  if (go) symbol = go->name;
  if (!symbol.empty()) {
    if (lines.empty()) lines.emplace_back();
    lines.back().system_name = symbol;
    lines.back().function = {};
  }
  if (!lines.empty() && !lines.back().system_name.empty()) return lines;
  if (returns_from_signal(link_address)) {
    lines.assign(1, SourceLine{kSignalFrame, kSignalFrame, "", 0});
    return lines;
  }
  if (const std::optional<Address> start = start_of_function(link_address)) {
    if (lines.empty()) lines.emplace_back();
    lines.back().function = "+" + hex(*start);
  }
  return lines;
}

const CallFrames* ElfSymbols::frames() {
  if (!std::exchange(asked_for_frames_, true)) {
    auto image = CallFrameImage::from_file(UniqueFd(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0)));
    auto found = image ? CallFrames::open(*std::move(image)) : Result<CallFrames>(image.error());
    if (found) frames_.emplace(*std::move(found));
  }
  return frames_ ? &*frames_ : nullptr;
}

// What a signal handler returns to: code of the libc that calls rt_sigreturn(2). The caller of its
// frame is what the signal has interrupted. glibc has no symbol for it, and its call frame
// information begins one byte before it, since unwinders look for the call in front of a return
// address.
bool ElfSymbols::returns_from_signal(Address link_address) {
  const CallFrames* known = frames();
  const CallFrames::Frame frame = known != nullptr ? known->at(link_address) : nullptr;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  bool signal = false;
  const int return_address =
      frame == nullptr ? -1 : dwarf_frame_info(frame.get(), &start, &end, &signal);
  GElf_Ehdr header;
  if (return_address < 0 || !signal || gelf_getehdr(elf_.get(), &header) == nullptr) return false;
  const Machine machine = header.e_machine == EM_X86_64 ? Machine::kX86_64 : Machine::kAarch64;
  return is_signal_frame(frame.get(), machine, static_cast<unsigned>(return_address));
}

std::optional<Address> ElfSymbols::start_of_function(Address link_address) {
  if (frames() == nullptr) return std::nullopt;
  const std::vector<DescribedFunction>& all = frames_->functions();
  auto after = std::upper_bound(
      all.begin(), all.end(), link_address,
      [](Address address, const DescribedFunction& each) { return address < each.start; });
  if (after == all.begin() || link_address >= std::prev(after)->end) return std::nullopt;
  return std::prev(after)->start;
}

bool ElfSymbols::is_stripped() const { return !has_symtab_ && !has_debug_file_ && !scopes_; }

std::string ElfSymbols::why_nameless() const {
  if (!is_stripped()) return "no symbol covers the address (padding or hand-written assembly)";
  const bool exports = !table_->empty();
  if (!exports && !go_) {
    return std::string("the file has no symbol table") +
           (from_ == NamesFrom::kDebugInformation ? " and no debug information" : "");
  }
  return std::string("the file is stripped (no .symtab), only its ") +
         (exports ? "exported functions" : "") + (exports && go_ ? " and " : "") +
         (go_ ? "functions in Go" : "") + " have names";
}

std::string ElfSymbols::left_out() const {
  std::string text = remarks_;
  const auto add = [&](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "" : "; ") + more;
  };
  if (scopes_ && scopes_->has_skeletons()) {
    add("its split debug information (.dwo, .dwp) is not read, so inlined calls are missing (built "
        "with -g and without -gsplit-dwarf, the file has them)");
  }
  add(budget_.left_out());
  return text;
}

}  // namespace labelscope::cli

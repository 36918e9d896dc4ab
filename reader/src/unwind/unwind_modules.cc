// UnwindModules takes call frame information from files, and from memory where there is no file.
#include "unwind/unwind_modules.h"

#include <libelf.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "unwind/call_frame_check.h"

namespace labelscope {
namespace {

// Programs have some hundred modules. One with more modules than this only wants to waste our time.
constexpr std::size_t kMaxModules = 4096;
// So much call frame information is taken from all files together, and so much again from memory.
constexpr std::uint64_t kMaxBytes = 1ULL << 30;

int find_no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                       GElf_Word, char**) {
  return -1;
}

}  // namespace

std::string hex_address(Address address) {
  char text[24];
  const int length =
      std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return {text, static_cast<std::size_t>(length)};
}

// The module's name for libdwfl: what it is, and where. While name and place stay the same, libdwfl
// keeps what it has found in the module.
std::string UnwindModules::name_of(const char* source, const FileId& file, const Range& range) {
  return std::string(source) + ":" + std::to_string(file.major) + ":" + std::to_string(file.minor) +
         ":" + std::to_string(file.inode) + "@" + hex_address(range.start) + "-" +
         hex_address(range.end);
}

Status UnwindModules::open_dwfl() {
  if (dwfl_) return {};
  if (elf_version(EV_CURRENT) == EV_NONE) {
    return Error{ErrorCode::kUnsupported, "libelf does not know this version of ELF"};
  }
  // libdwfl keeps the address of these.
  static const Dwfl_Callbacks callbacks{&UnwindModules::find_image, &find_no_debug_file, nullptr,
                                        nullptr};
  dwfl_.reset(dwfl_begin(&callbacks));
  if (!dwfl_) return Error{ErrorCode::kSystem, std::string("libdwfl: ") + dwfl_errmsg(-1)};
  return {};
}

Status UnwindModules::load(const Target& target) {
  if (Status status = open_dwfl(); !status) return status;
  auto mappings = target.mappings();
  if (!mappings) return std::move(mappings).error();
  note_code(*mappings);
  // libdwfl still refers to the bytes of the old modules, and keeps those that have not changed.
  const ByName before = std::exchange(modules_, {});
  add_files(target, *mappings);
  add_from_memory(target, *mappings, before);
  report();
  return {};
}

void UnwindModules::note_code(const std::vector<Mapping>& mappings) {
  code_.clear();
  for (const Mapping& mapping : mappings) {
    if (mapping.executable) code_.push_back({mapping.start, mapping.end});
  }
  std::sort(code_.begin(), code_.end(),
            [](const Range& a, const Range& b) { return a.start < b.start; });
  Address last = 0;
  for (const Range& range : code_) last = std::max(last, range.end - 1);
  code_mask_ = last == 0 ? 0 : ~Address{0} >> std::countl_zero(last);
}

// A signature is above the bits of an address, of which there may be 39, 48 or 52. code_mask_ has
// all bits that addresses of this process's code have. So only these bits of `value` are tried: if
// they are an address in code, `value` was that address with a signature.
Address UnwindModules::unsigned_code(Address value) const {
  const Address address = value & code_mask_;
  return address != value && is_code(address) ? address : value;
}

bool UnwindModules::is_code(Address address) const {
  auto after = std::upper_bound(code_.begin(), code_.end(), address,
                                [](Address at, const Range& range) { return at < range.start; });
  return after != code_.begin() && address < std::prev(after)->end;
}

bool UnwindModules::covers(Address address) const {
  return std::any_of(modules_.begin(), modules_.end(), [&](const auto& module) {
    return address >= module.second.start && address < module.second.end;
  });
}

std::shared_ptr<CallFrameImage> UnwindModules::image_of(const Target& target, const Module& module,
                                                        const std::vector<Mapping>& mappings) {
  auto known = images_->find(module.file);
  if (known != images_->end()) return known->second;
  std::uint64_t size = 0;
  for (const auto& [file, image] : *images_) size += image ? image->bytes().size() : 0;
  if (size > kMaxBytes) return nullptr;
  std::shared_ptr<CallFrameImage>& image = (*images_)[module.file];
  const Mapping* mapping = find_mapping(mappings, module.start);
  if (mapping == nullptr) return nullptr;
  auto file = target.open_file(*mapping);
  if (!file) return nullptr;
  if (auto made = CallFrameImage::from_file(*std::move(file))) image = *std::move(made);
  return image;
}

// Bounds the modules whose call frame information has no table: report() lets libdw read all
// entries of these.
bool UnwindModules::takes(const CallFrameImage& image) const {
  std::size_t entries = image.entries_without_table();
  if (entries == 0) return true;
  for (const auto& [name, mapped] : modules_) entries += mapped.image->entries_without_table();
  return entries <= CallFrameEntries::kMostWithoutTable;
}

void UnwindModules::add_files(const Target& target, const std::vector<Mapping>& mappings) {
  const ModuleList list = list_modules(
      target, mappings, [](const FileId&) { return true; }, [](const Module&) { return false; });
  for (const Module& module : list.modules) {
    if (modules_.size() >= kMaxModules) return;
    auto image = image_of(target, module, mappings);
    if (!image || !takes(*image)) continue;
    const Address start = module.load_bias + image->first_page();
    modules_[name_of("file", module.file, {start, module.end})] = {image, start, module.end};
  }
}

// Adds the modules whose file cannot be opened, and the vDSO, which has no file.
void UnwindModules::add_from_memory(const Target& target, const std::vector<Mapping>& mappings,
                                    const ByName& before) {
  std::uint64_t size = 0;  // many mappings may lead to the same memory, and each is copied
  for (std::size_t i = 0; i < mappings.size() && modules_.size() < kMaxModules; ++i) {
    const Mapping& first = mappings[i];
    if (!first.readable || !(first.path == "[vdso]" || (first.file && first.file_offset == 0))) {
      continue;
    }
    Range range{first.start, first.end};
    bool executable = first.executable;
    for (std::size_t next = i + 1;
         next < mappings.size() && first.file && mappings[next].file == first.file &&
         mappings[next].file_offset != 0;
         ++next) {
      range.end = mappings[next].end;
      executable |= mappings[next].executable;
    }
    if (!executable || covers(first.start)) continue;
    if (size > kMaxBytes) return;
    const std::string name = name_of("memory", first.file, range);
    std::shared_ptr<CallFrameImage> image;
    if (auto same = before.find(name); same != before.end()) {
      modules_[name] = same->second;
      image = same->second.image;
    } else if (auto made = CallFrameImage::from_memory(target.memory(), first.start);
               made && takes(**made)) {
      image = *std::move(made);
      modules_[name] = {image, range.start, range.end};
    }
    if (image) size += image->bytes().size();
  }
}

// Modules that libdwfl already has under the same name and place stay as they are.
void UnwindModules::report() {
  dwfl_report_begin(dwfl_.get());
  std::vector<Dwfl_Module*> reported;
  for (auto& [name, mapped] : modules_) {
    Dwfl_Module* module = dwfl_report_module(dwfl_.get(), name.c_str(), mapped.start, mapped.end);
    if (module == nullptr) continue;
    void** user = nullptr;
    dwfl_module_info(module, &user, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    *user = &mapped;
    reported.push_back(module);
  }
  dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  for (Dwfl_Module* module : reported) {
    // libdw finds and parses the tables now. To ask for an address that does not exist makes it
    // read tables without an index to their end.
    Dwarf_Addr bias = 0;
    for (Dwarf_CFI* frames :
         {dwfl_module_eh_cfi(module, &bias), dwfl_module_dwarf_cfi(module, &bias)}) {
      Dwarf_Frame* frame = nullptr;
      if (frames != nullptr && dwarf_cfi_addrframe(frames, UINT64_MAX, &frame) == 0) {
        std::free(frame);  // NOLINT: libdw allocates it with malloc
      }
    }
  }
  dwfl_addrmodule(dwfl_.get(), 0);  // sorts its modules by address
  std::erase_if(*images_, [](const auto& image) { return image.second.use_count() == 1; });
}

int UnwindModules::find_image(Dwfl_Module*, void** user, const char*, Dwarf_Addr, char**,
                              Elf** elf) {
  auto* mapped = static_cast<Mapped*>(*user);
  if (mapped == nullptr) return -1;
  std::span<std::byte> bytes = mapped->image->bytes();
  *elf = elf_memory(reinterpret_cast<char*>(bytes.data()), bytes.size());  // NOLINT: bytes
  return -1;                                                               // no descriptor
}

}  // namespace labelscope

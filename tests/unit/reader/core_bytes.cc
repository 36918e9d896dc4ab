// CoreBytes writes ELF header, program headers, notes and memory in the kernel's order.
#include "core_bytes.h"

#include <algorithm>

namespace labelscope::test {
namespace {

constexpr std::uint64_t kPage = 4096;
std::uint64_t page_down(std::uint64_t value) { return value & ~(kPage - 1); }
std::uint64_t page_up(std::uint64_t value) { return page_down(value + kPage - 1); }

template <class T>
void put(std::string& bytes, std::size_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

}  // namespace

CoreBytes::CoreBytes(Machine machine) : machine_(machine) {}

void CoreBytes::add_note(const std::string& owner, std::uint32_t type, const std::string& content) {
  const auto padded = [](std::string bytes) {
    bytes.resize((bytes.size() + 3) & ~std::size_t{3});
    return bytes;
  };
  const std::string name = owner + '\0';
  const Elf64_Nhdr header{static_cast<Elf64_Word>(name.size()),
                          static_cast<Elf64_Word>(content.size()), type};
  notes_ += bytes_of(header) + padded(name) + padded(content);
}

void CoreBytes::add_thread(const MadeThread& thread) {
  const bool x86 = machine_ == Machine::kX86_64;
  // This is struct elf_prstatus: 112 bytes, the registers, and an int with its padding.
  std::string status(112 + (x86 ? 27 : 34) * 8 + 8, '\0');
  put(status, 12, thread.signal);
  put(status, 32, thread.tid);
  const auto put_register = [&](std::size_t index, std::uint64_t value) {
    put(status, 112 + index * 8, value);
  };
  put_register(x86 ? 16 : 32, thread.pc);
  put_register(x86 ? 19 : 31, thread.sp);
  if (x86) put_register(21, thread.thread_pointer);
  add_note("CORE", NT_PRSTATUS, status);
  add_note("CORE", NT_FPREGSET, std::string(512, '\x7f'));
  if (!x86) add_note("LINUX", NT_ARM_TLS, bytes_of(thread.thread_pointer));
}

void CoreBytes::add_process(std::int32_t pid, const std::string& comm,
                            const std::string& arguments) {
  std::string info(136, '\0');
  put(info, 24, pid);
  info.replace(40, comm.size(), comm);
  info.replace(56, arguments.size(), arguments);
  add_note("CORE", NT_PRPSINFO, info);
}

void CoreBytes::add_auxv(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& entries) {
  std::string vector;
  for (const auto& [type, value] : entries) vector += bytes_of(type) + bytes_of(value);
  add_note("CORE", NT_AUXV, vector + std::string(16, '\0'));
}

void CoreBytes::add_files(const std::vector<MadeFile>& files) {
  std::string table = bytes_of(std::uint64_t{files.size()}) + bytes_of(kPage);
  for (const MadeFile& file : files) {
    table += bytes_of(file.start) + bytes_of(file.end) + bytes_of(file.page);
  }
  for (const MadeFile& file : files) table += file.path + '\0';
  add_note("CORE", NT_FILE, table);
}

void CoreBytes::add_memory(Address start, const std::string& content, std::uint64_t size,
                           std::uint32_t flags) {
  Segment segment{{}, content};
  segment.header.p_type = PT_LOAD;
  segment.header.p_flags = flags;
  segment.header.p_vaddr = start;
  segment.header.p_filesz = content.size();
  segment.header.p_memsz = std::max<std::uint64_t>(size, content.size());
  segments_.push_back(std::move(segment));
}

void CoreBytes::add_library(const std::string& path, const std::string& file, Address bias,
                            const std::vector<std::pair<std::uint64_t, std::string>>& changes,
                            bool first_page, bool writable_pages) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr ph;
    std::memcpy(&ph, file.data() + header.e_phoff + i * sizeof ph, sizeof ph);
    if (ph.p_type != PT_LOAD) continue;
    const std::uint64_t vaddr = page_down(ph.p_vaddr);
    const std::uint64_t size = page_up(ph.p_vaddr + ph.p_memsz) - vaddr;
    std::string content = file.substr(page_down(ph.p_offset), size);
    content.resize(size);
    for (const auto& [at, bytes] : changes) {
      if (at >= vaddr && at < vaddr + size) content.replace(at - vaddr, bytes.size(), bytes);
    }
    const bool writable = (ph.p_flags & PF_W) != 0;
    if (writable && !writable_pages) content.clear();
    if (!writable) content.resize(first_page && ph.p_offset == 0 ? kPage : 0);
    add_memory(bias + vaddr, content, size, ph.p_flags);
    loaded_.push_back({bias + vaddr, bias + vaddr + size, page_down(ph.p_offset) / kPage, path});
  }
}

std::string CoreBytes::bytes() const {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_CORE;
  header.e_machine = machine_ == Machine::kX86_64 ? EM_X86_64 : EM_AARCH64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<Elf64_Half>(segments_.size() + 1);

  Elf64_Phdr note{};
  note.p_type = PT_NOTE;
  note.p_offset = sizeof header + (segments_.size() + 1) * sizeof note;
  note.p_filesz = notes_.size();
  std::string headers = bytes_of(note);
  std::string contents;
  for (Segment segment : segments_) {
    segment.header.p_offset = note.p_offset + notes_.size() + contents.size();
    headers += bytes_of(segment.header);
    contents += segment.content;
  }
  if (!count_in_section_) return bytes_of(header) + headers + notes_ + contents;
  Elf64_Shdr section{};
  section.sh_info = static_cast<Elf64_Word>(segments_.size() + 1);
  header.e_phnum = PN_XNUM;
  header.e_shoff = note.p_offset + notes_.size() + contents.size();
  header.e_shentsize = sizeof section;
  header.e_shnum = 1;
  return bytes_of(header) + headers + notes_ + contents + bytes_of(section);
}

}  // namespace labelscope::test

// This reads a core file's notes: the threads with their registers, the process's name, the
// auxiliary vector and which files were mapped where. Kernel and debuggers write different sets of
// notes in different orders; what is missing stays empty.
//
//   NT_PRSTATUS   one for each thread; the notes up to the next belong to the same thread
//   NT_ARM_TLS    the thread pointer on aarch64 (on x86-64 it is among the registers)
//   NT_PRPSINFO   the process: pid, name, command line
//   NT_AUXV       the auxiliary vector
//   NT_FILE       mapped files (kernels since 3.7, gdb since 7.6)
//
// Sources: the kernel's include/linux/elfcore.h (struct elf_prstatus, struct elf_prpsinfo) and
// fs/binfmt_elf.c (fill_files_note).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/core_layout.h"
#include "elf/loaded_file.h"
#include "labelscope/core_file.h"

namespace labelscope {

// Memory that has a file behind it.
struct MappedRange {
  Address start = 0;
  Address end = 0;
  std::uint64_t file_offset = 0;
  std::string path;
};

struct CoreNotes {
  std::vector<CoreThread> threads;  // in the order of the core: the thread that died is first
  std::optional<Pid> pid;
  std::string comm;
  std::string command_line;
  std::optional<Address> program_headers;  // AT_PHDR
  std::optional<Address> entry;            // AT_ENTRY
  std::optional<Address> executable_name;  // AT_EXECFN: address of the name it was started by
  std::optional<Address> loader;           // AT_BASE: load bias of the program interpreter
  std::optional<Address> vdso;             // AT_SYSINFO_EHDR: the kernel's own object
  std::vector<MappedRange> files;
  std::size_t count = 0;  // number of all notes that were looked at, needed or not
  bool cut = false;       // set if the file, or a note, ends too early; what came before is here
};

// Adds what is in one range of notes. Fails with kLimit or kMalformed at a note that no kernel
// writes.
Status read_core_notes(const LoadedFile& file, const NoteRange& range, Machine machine,
                       CoreNotes& notes);

// These decode the contents of single notes.
Result<CoreThread> decode_prstatus(Machine machine, std::span<const std::byte> content);
Status decode_prpsinfo(std::span<const std::byte> content, CoreNotes& notes);
void decode_auxv(std::span<const std::byte> content, CoreNotes& notes);
Result<std::vector<MappedRange>> decode_file_table(std::span<const std::byte> content);

}  // namespace labelscope

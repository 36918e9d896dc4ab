// A trace is what planning saw on its way, kept only if the caller asks for it (explain.h).
// Planner::plan() fills it while it plans. Strings that came from the target are bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/elf_types.h"
#include "labelscope/finding.h"
#include "labelscope/ids.h"
#include "labelscope/inspect.h"

namespace labelscope {

// How code reaches a variable, mostly a thread-local one ("ELF Handling For Thread-Local Storage"),
// as planning found it in a process.
enum class AccessModel {
  kLocalExec,       // in the main executable: a constant of the linker
  kInitialExec,     // offset from the thread pointer in a GOT slot
  kTlsDescStatic,   // TLS descriptor whose argument is that offset
  kTlsDescDynamic,  // TLS descriptor that leads to {module ID, offset}
  kGeneralDynamic,  // {module ID, offset} in two GOT slots
  kLinkMap,         // by what the loader recorded about the module; there is no usable relocation
  kRegister,        // in a register, not in memory
  kGlobal,          // no thread-local variable: the process has one, which its first thread uses
  kTitle,           // the text that the process has in the place of its first argument
  kPreset,          // by the program of a preset
  kUnresolved,      // not known, or not known yet
};
std::string_view access_model_name(AccessModel model);

// One relocation that was tried, and the words in the slot that it names, in the running process.
struct SlotTrace {
  TlsRelocation relocation;
  Address address = 0;               // address of the slot, at run time
  std::vector<std::uint64_t> words;  // one or two; empty if they could not be read
  std::string taken_for;             // a clause: what the words are, or why they do not help
  bool used = false;                 // true if the recipe comes from here
};

// What the loader itself recorded about a module (glibc only).
struct LoaderRecordTrace {
  std::uint32_t module_id = 0;
  std::uint64_t generation = 0;
  std::optional<std::int64_t> static_offset;  // offset of the block from the thread pointer
};

// One loaded module that has symbols of one label source.
struct ModuleTrace {
  std::string path;
  Address load_bias = 0;
  // What planning found in the file; `executable` means the main executable, `version_value` is the
  // word in the target's memory.
  FileInspection file;
  std::vector<SlotTrace> slots;             // in the order in which they were tried
  std::optional<LoaderRecordTrace> record;  // present if it was asked for
  std::optional<std::size_t> publisher;     // index in ProcessPlan::publishers
  std::string shares_with;                  // path of the earlier publisher of the same variable
  std::optional<Finding> refused;           // why it is no publisher
  std::string named{};                      // Publisher::named
};

struct MainExecutableTrace {
  std::string path;  // empty if it is not known
  bool has_dynamic_symbols = false;
  bool has_symtab = false;
};

struct PlanTrace {
  std::vector<ModuleTrace> modules;  // by address
  std::size_t without_symbols = 0;   // modules without symbols of any source
  std::string libc;                  // a clause about the libc; empty if it made no difference
  MainExecutableTrace main_executable;
};

}  // namespace labelscope

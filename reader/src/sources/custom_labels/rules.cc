// These are the rules of Custom Labels ABI v1: about a file (platform and name, the two symbols,
// how the variable is reached), and about a label set in memory.
//
// Compilers that write TLS descriptors:
//
//            x86-64                                                   aarch64
//   gcc      with -mtls-dialect=gnu2, all versions in use             always
//   clang    the same since version 19 (llvm-project pull request     always
//            83136); before, its driver refuses the option
//   rustc    no                                                       always
//
// Linkers with the option --export-dynamic-symbol: GNU ld since 2.35, lld since 11.
#include "sources/custom_labels/rules.h"

#include "findings/check_rule.h"

namespace labelscope::abi_v1 {
namespace {

using enum Severity;
using enum CheckDepth;
using enum RuleSubject;

// These are headings of the ABI.
constexpr const char* kPlatforms = "Supported platforms";
constexpr const char* kSymbols = "Exposed symbols";
constexpr const char* kVersion = "custom_labels_abi_version";
constexpr const char* kCurrentSet = "custom_labels_current_set";
constexpr const char* kData = "Interpretation of data";
constexpr const char* kDescription = "Description";

// These are texts that several rules share.
constexpr const char* kExport =
    "Define it without static and with default visibility; name it in the version script if there "
    "is one; link an executable with an option that exports it.";
constexpr const char* kExportGcc =
    "Executable: -Wl,--export-dynamic-symbol=custom_labels_abi_version "
    "-Wl,--export-dynamic-symbol=custom_labels_current_set, or -rdynamic for all symbols; not "
    "-static, which has no dynamic symbols. Library: __attribute__((visibility(\"default\"))) "
    "where -fvisibility=hidden is in use.";
constexpr const char* kExportRust =
    "Define both symbols in a C file that the build script compiles, and print "
    "cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=... for each of them. In a cdylib "
    "rustc's own version script hides what C defines: make the C file a libcustomlabels.so "
    "instead, and link with that.";
constexpr const char* kExportCmake =
    "Executable: set_target_properties(app PROPERTIES ENABLE_EXPORTS ON), or "
    "target_link_options(app PRIVATE -Wl,--export-dynamic-symbol=...). "
    "labelscope::customlabels_static brings these options.";
constexpr const char* kAsGcc = "As for gcc, all versions.";
constexpr const char* kThreadLocalRust =
    "Define it in C: #[thread_local] is not stable, and thread_local! makes no symbol of this "
    "name.";
constexpr const char* kVersionDefinition =
    "C: const uint32_t custom_labels_abi_version = 1; C++: extern \"C\" const uint32_t "
    "custom_labels_abi_version = 1; also within extern \"C\" { }, where const alone makes the "
    "symbol local.";
constexpr const char* kVersionRust = "#[no_mangle] pub static custom_labels_abi_version: u32 = 1;";
constexpr const char* kVariableDefinition =
    "__thread custom_labels_labelset_t* custom_labels_current_set;";
constexpr const char* kRustPointers =
    "#[repr(C)] structures with raw pointers; an empty Vec's pointer dangles, which is fine only "
    "with a length of 0.";
constexpr const char* kFences =
    "Between two stores whose order counts: atomic_signal_fence(memory_order_seq_cst), or an "
    "atomic store with memory_order_release. volatile on one of them is not enough.";

constexpr Rule kRules[] = {
    {{kPlatform, "LS001", "platform", kPlatforms, kError, kStatic, kFile},
     {.title = "the file is for Linux on x86-64 or aarch64",
      .requirement = "The process runs on Linux, on x86-64 or aarch64.",
      .reason =
          "The structures are defined with the pointers and sizes of these 64-bit little-endian "
          "processors, and readers know the thread pointer of no other.",
      .fix = "Leave the two symbols out of builds for other platforms.",
      .fix_gcc = "#if defined(__linux__) && (defined(__x86_64__) && defined(__LP64__) || "
                 "defined(__aarch64__)) around the definitions.",
      .fix_clang = kAsGcc,
      .fix_rust =
          "#[cfg(all(target_os = \"linux\", target_pointer_width = \"64\", any(target_arch = "
          "\"x86_64\", target_arch = \"aarch64\")))]",
      .fix_cmake =
          "Add the source file only if CMAKE_SYSTEM_NAME is Linux and CMAKE_SYSTEM_PROCESSOR "
          "matches ^(x86_64|aarch64)$."}},
    {{kLoadedAtStartup, "LS002", "loaded-at-startup", kSymbols, kError, kLive, kFile},
     {.title = "the library is loaded when the program starts",
      .requirement =
          "The file that has the symbols is the main executable or among the libraries that are "
          "loaded at startup. (customlabels.node is left out of this: Node.js loads addons in no "
          "other way.)",
      .reason =
          "A reader may look for publishers once, when it first sees the process. What dlopen "
          "brings later is not found, and its variable may lie in memory that is allocated for "
          "each thread.",
      .fix = "Link the program with the library instead of opening it with dlopen, or put it into "
             "LD_PRELOAD.",
      .fix_gcc = "-lcustomlabels, with -Wl,--no-as-needed in front of it if only plug-ins call it.",
      .fix_clang = kAsGcc,
      .fix_rust = "cargo:rustc-link-lib=dylib=customlabels, in the crate of the executable.",
      .fix_cmake = "target_link_libraries(app PRIVATE labelscope::customlabels)"}},
    {{kLibraryFileName, "LS003", "library-file-name", kSymbols, kError, kStatic, kFile},
     {.title = "a library's file name is one that readers look for",
      .requirement =
          "The file name of a library matches libcustomlabels.*\\.so$ or customlabels\\.node$.",
      .reason =
          "Readers choose by the name which files they open at all: a library of another name, "
          "such as one with a version number behind .so, is passed over.",
      .fix =
          "Name the file libcustomlabels.so or libcustomlabels-ANYTHING.so: the file itself, not "
          "a link to it.",
      .fix_gcc = "-shared -Wl,-soname,libcustomlabels.so -o libcustomlabels.so",
      .fix_clang = kAsGcc,
      .fix_rust = "[lib] name = \"customlabels\" with crate-type = [\"cdylib\"].",
      .fix_cmake =
          "set_target_properties(lib PROPERTIES OUTPUT_NAME customlabels), without VERSION and "
          "SOVERSION."}},
    {{kVersionExported, "LS010", "version-exported", kVersion, kError, kStatic, kFile},
     {.title = "custom_labels_abi_version is a dynamic symbol",
      .requirement = "The file exports a dynamic symbol that is called custom_labels_abi_version.",
      .reason =
          "It is what readers look for first, in each file's dynamic symbols: without it the file "
          "does not publish labels. A symbol table that strip removes is no substitute.",
      .fix = kExport,
      .fix_gcc = kExportGcc,
      .fix_clang = "As for gcc, all versions; lld has the same options.",
      .fix_rust = kExportRust,
      .fix_cmake = kExportCmake}},
    {{kVersionSize, "LS011", "version-size", kVersion, kError, kStatic, kFile},
     {.title = "custom_labels_abi_version has 4 bytes",
      .requirement = "The symbol custom_labels_abi_version has a size of 4 bytes.",
      .reason = "Readers take a symbol of another size for something else.",
      .fix = "Declare it as uint32_t; in assembly, .size custom_labels_abi_version, 4.",
      .fix_gcc = kVersionDefinition,
      .fix_clang = kAsGcc,
      .fix_rust = kVersionRust}},
    {{kVersionValue, "LS012", "version-value", kVersion, kError, kStatic, kFile},
     {.title = "custom_labels_abi_version is 1",
      .requirement = "custom_labels_abi_version has the value 1.",
      .reason =
          "With any other value nothing of the ABI applies, so readers must leave the process "
          "alone.",
      .fix = "Initialize it with 1 where it is defined: the value is in the file, not set at run "
             "time.",
      .fix_gcc = kVersionDefinition,
      .fix_clang = kAsGcc,
      .fix_rust = kVersionRust}},
    {{kVersionConstant, "LS013", "version-constant", kVersion, kNote, kStatic, kFile},
     {.title = "custom_labels_abi_version lies in read-only memory",
      .requirement =
          "The value of custom_labels_abi_version is constant. It may lie in memory that can be "
          "written, as long as nothing writes to it.",
      .reason = "In such memory it can change after a reader has seen it, by mistake or by a stray "
                "pointer, and then labels disappear.",
      .fix = "Declare it const, so that it goes into .rodata; in C++ together with extern \"C\" in "
             "the same declaration, because const alone makes a symbol local there.",
      .fix_gcc = kVersionDefinition,
      .fix_clang = kAsGcc,
      .fix_rust = "static, not static mut, and without interior mutability."}},
    {{kVersionKind, "LS014", "version-kind", kVersion, kError, kStatic, kFile},
     {.title = "custom_labels_abi_version is a data object",
      .requirement =
          "custom_labels_abi_version is data with a constant value: neither a function nor "
          "thread-local.",
      .reason =
          "Readers take the symbol's value for the address of four bytes. That of a thread-local "
          "symbol is an offset, that of a function leads to instructions.",
      .fix = "Define it as a plain constant, without __thread and not as a function.",
      .fix_gcc = kVersionDefinition,
      .fix_clang = kAsGcc,
      .fix_rust = kVersionRust}},
    {{kCurrentSetExported, "LS020", "current-set-exported", kCurrentSet, kError, kStatic, kFile},
     {.title = "custom_labels_current_set is a dynamic symbol",
      .requirement = "The file exports a dynamic symbol that is called custom_labels_current_set.",
      .reason =
          "Readers find the variable by its name among the dynamic symbols; without it they know "
          "that there are labels, and not where.",
      .fix = kExport,
      .fix_gcc = kExportGcc,
      .fix_clang =
          "As for gcc, all versions; but not with -femulated-tls, which makes a symbol of another "
          "name.",
      .fix_rust = kExportRust,
      .fix_cmake = kExportCmake}},
    {{kCurrentSetThreadLocal, "LS021", "current-set-thread-local", kCurrentSet, kError, kStatic,
      kFile},
     {.title = "custom_labels_current_set is thread-local",
      .requirement = "custom_labels_current_set is a thread-local object.",
      .reason =
          "A plain variable is one for all threads: there is no offset from the thread pointer to "
          "it, and its labels would be everybody's.",
      .fix = "Declare it __thread (C), thread_local (C11, C++) or with the symbol type @tls_object "
             "(assembly).",
      .fix_gcc = kVariableDefinition,
      .fix_clang = kAsGcc,
      .fix_rust = kThreadLocalRust}},
    {{kCurrentSetSize, "LS022", "current-set-size", kCurrentSet, kError, kStatic, kFile},
     {.title = "custom_labels_current_set has the size of a pointer",
      .requirement =
          "custom_labels_current_set is a pointer to a label set: 8 bytes on both platforms.",
      .reason = "A symbol of another size is something else under this name, such as the label set "
                "itself.",
      .fix = "Declare it as a pointer; in assembly, .size custom_labels_current_set, 8.",
      .fix_gcc = kVariableDefinition,
      .fix_clang = kAsGcc,
      .fix_rust = kThreadLocalRust}},
    {{kCurrentSetAligned, "LS023", "current-set-aligned", kCurrentSet, kWarning, kStatic, kFile},
     {.title = "custom_labels_current_set is aligned as a pointer",
      .requirement = "custom_labels_current_set is a pointer, aligned to 8 bytes as one.",
      .reason =
          "A pointer across the border of two cache lines is not written in one piece: a reader "
          "of another processor can see half of the old one and half of the new one.",
      .fix = "Do not put it into a packed structure or under #pragma pack; in assembly, .balign 8.",
      .fix_gcc = "No __attribute__((packed)) and no aligned attribute below 8.",
      .fix_clang = kAsGcc,
      .fix_rust = kThreadLocalRust}},
    {{kExecutableStaticOffset, "LS030", "executable-static-offset", kCurrentSet, kError, kStatic,
      kFile},
     {.title = "in an executable, the variable is at a fixed distance from the thread pointer",
      .requirement =
          "In the main executable custom_labels_current_set lies in the static thread-local "
          "block, at an offset that the file alone determines.",
      .reason =
          "Readers compute the address from the symbol's value and the PT_TLS segment. Outside of "
          "that segment they read some other memory of the thread.",
      .fix =
          "Let the linker lay out the thread-local data: no custom linker script without PT_TLS, "
          "no tool that cuts segments.",
      .fix_gcc = "The default for executables; no option is needed.",
      .fix_clang = "The default, all versions; not -femulated-tls.",
      .fix_rust = kThreadLocalRust}},
    {{kLibraryTlsDescriptor, "LS031", "library-tls-descriptor", kCurrentSet, kError, kStatic,
      kFile},
     {.title = "in a library, the variable is reached through a TLS descriptor",
      .requirement =
          "In a library there is a relocation of type R_X86_64_TLSDESC or R_AARCH64_TLSDESC for "
          "custom_labels_current_set.",
      .reason =
          "The slot of that relocation is where readers get the variable's place from. With other "
          "access models, such as the default of gcc on x86-64, there is no such slot.",
      .fix =
          "Compile the file that defines and uses the variable for TLS descriptors, as "
          "position-independent code and with the global-dynamic model; use the variable in that "
          "file.",
      .fix_gcc =
          "x86-64: -fPIC -ftls-model=global-dynamic -mtls-dialect=gnu2. aarch64: the same with "
          "-mtls-dialect=desc (the default). No tls_model attribute on the variable.",
      .fix_clang =
          "x86-64: clang 19 or newer, with -mtls-dialect=gnu2; clang 18 and older cannot, so "
          "compile this one file with gcc. aarch64: all versions do so by default, without an "
          "option.",
      .fix_rust =
          "x86-64: rustc cannot. Define and use the variable in a C file, which the build script "
          "compiles with gcc, or with clang 19 or newer: "
          "cc::Build::new().flag(\"-mtls-dialect=gnu2\"). aarch64: the default.",
      .fix_cmake = "target_compile_options(lib PRIVATE -ftls-model=global-dynamic "
                   "$<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-mtls-dialect=gnu2>), with "
                   "POSITION_INDEPENDENT_CODE ON."}},
    {{kDescriptorNamed, "LS032", "descriptor-named", kCurrentSet, kWarning, kStatic, kFile},
     {.title = "the TLS descriptor's relocation names custom_labels_current_set",
      .requirement =
          "custom_labels_current_set is accessible through a relocation for a TLS descriptor.",
      .reason =
          "Readers that look for a relocation with the symbol's name do not find one that has "
          "only an offset in the module's thread-local block. It arises where the linker knows "
          "that the definition cannot be replaced.",
      .fix = "Give the variable default visibility, and link without -Bsymbolic.",
      .fix_gcc =
          "visibility(\"default\"), not \"protected\"; no -Wl,-Bsymbolic with lld (GNU ld and "
          "gold keep the name).",
      .fix_clang = "As for gcc, all versions that have TLS descriptors.",
      .fix_cmake =
          "No -Wl,-Bsymbolic in LINK_OPTIONS; C_VISIBILITY_PRESET default for this file."}},
    {{kSetReadable, "LS040", "set-readable", kData, kError, kLive, kThread},
     {.title = "the label set is in memory that can be read",
      .requirement = "custom_labels_current_set points to a label set, or is null.",
      .reason =
          "A pointer to memory that is not mapped makes the thread's labels unreadable; to memory "
          "that was freed, wrong.",
      .fix = "Set the pointer to null, or to the next set, before the old one is freed.",
      .fix_rust = kRustPointers}},
    {{kStorageReadable, "LS041", "storage-readable", kData, kError, kLive, kThread},
     {.title = "the array of labels is in memory that can be read",
      .requirement = "storage points to an array of count labels.",
      .reason =
          "Readers follow storage for count elements of 32 bytes. A null or freed array, or a "
          "count beyond its end, makes the whole set unreadable.",
      .fix = "Fill an element before count includes it; when the array moves, publish the new one "
             "before the old one is freed.",
      .fix_rust = kRustPointers}},
    {{kKeyReadable, "LS042", "key-readable", kData, kError, kLive, kThread},
     {.title = "every key is in memory that can be read",
      .requirement = "key.buf points to key.len bytes, or is null.",
      .reason =
          "A key that leads nowhere makes the set unreadable, or shows what the memory is used "
          "for now.",
      .fix = "Copy keys into memory that lives as long as the set does.",
      .fix_rust = kRustPointers}},
    {{kValueReadable, "LS043", "value-readable", kData, kError, kLive, kThread},
     {.title = "every value is in memory that can be read",
      .requirement = "value.buf points to value.len bytes.",
      .reason =
          "A value that leads nowhere makes the set unreadable, or shows what the memory is used "
          "for now.",
      .fix = "Copy values into memory that lives as long as the set does.",
      .fix_rust = kRustPointers}},
    {{kValueNotNull, "LS044", "value-not-null", kData, kError, kLive, kThread},
     {.title = "a label with a key has a value",
      .requirement = "If key.buf is not null, value.buf is not null either.",
      .reason =
          "What readers make of it is undefined: some show an empty value, some drop the label, "
          "some the set.",
      .fix = "Set key.buf to null first when a label is removed; for an empty value let value.buf "
             "point anywhere, with len 0.",
      .fix_rust =
          "An empty slice's as_ptr() is not null; an Option of one that is None has no pointer."}},
    {{kKeysUnique, "LS045", "keys-unique", kData, kNote, kLive, kThread},
     {.title = "a key occurs once",
      .requirement = "An element whose key is that of an earlier element is ignored.",
      .reason =
          "It is legal: the first one counts. But it costs readers time and a place among the "
          "labels that they keep, and readers exist that take the last one.",
      .fix = "Replace the label of that key instead of adding another."}},
    {{kKeyNotNull, "LS046", "key-not-null", kData, kNote, kLive, kThread},
     {.title = "an element has a key",
      .requirement = "An element whose key.buf is null is ignored.",
      .reason =
          "It is legal, and how a label is removed in place. But each such element costs readers "
          "time, and one of the places that some of them look at.",
      .fix = "Close the gap with the next update, or use the element again."}},
    {{kDataAligned, "LS047", "data-aligned", kData, kWarning, kLive, kThread},
     {.title = "the set and its array are aligned to 8 bytes",
      .requirement =
          "The structures are those of C, whose pointers and sizes are aligned to 8 bytes.",
      .reason = "Fields at other addresses are not written in one piece, and in C reading them is "
                "undefined.",
      .fix = "Allocate with malloc or as objects of their types, not at any offset of a buffer.",
      .fix_rust = "#[repr(C)], not #[repr(C, packed)]."}},
    {{kReaderLimits, "LS048", "reader-limits", kData, kWarning, kLive, kThread},
     {.title = "the set is no larger than what readers keep",
      .requirement = "The ABI has no limit of its own.",
      .reason =
          "Readers that interrupt a thread have: past some number of labels or of bytes they cut "
          "the set. labelscope looks at 128 elements and keeps 64 labels and 4096 bytes; others "
          "keep less, the smallest known 10 labels with 25 bytes of a key and 53 of a value.",
      .fix = "Keep to 64 labels in at most 128 elements, with 4096 bytes of keys and values "
             "together; put the most important labels first."}},
    {{kTextWithNul, "LS049", "text-without-nul", kData, kNote, kLive, kThread},
     {.title = "a key or value does not end with a zero byte",
      .requirement = "key.buf and value.buf point to len bytes: there is no terminator.",
      .reason =
          "Any bytes are legal. But one zero byte more makes another value: acme and acme with a "
          "NUL are two rows of a table, and no filter for the one finds the other.",
      .fix = "Take strlen(text) for len, not sizeof of an array or strlen(text) + 1.",
      .fix_rust = "str::len() or CStr::to_bytes(), not to_bytes_with_nul()."}},
    {{kTornUpdate, "LS050", "torn-update", kDescription, kError, kStep, kThread},
     {.title = "at every instruction a reader sees the old set or the new one",
      .requirement =
          "A program that interrupts the thread at any moment can read its label set: the one "
          "before an update, or the one after it.",
      .reason = "A sample that falls between two instructions of the update shows labels that the "
                "thread never had: half of a value, a key with another key's value, or nothing.",
      .fix =
          "Build the new set aside and publish it with one store of a pointer; or, in place, make "
          "each store by itself lead from one complete set to another.",
      .fix_gcc = kFences,
      .fix_clang = kFences,
      .fix_rust = "std::sync::atomic::compiler_fence(Ordering::SeqCst) between the stores, or an "
                  "AtomicPtr for the pointer."}},
    {{kCapacityHoldsCount, "LS051", "capacity-holds-count", kData, kNote, kLive, kThread},
     {.title = "capacity is not less than count",
      .requirement = "The ABI gives capacity no meaning for readers.",
      .reason =
          "Readers do not look at it. But a writer whose array has fewer places than labels does "
          "not know its own set, and will write past the end of the array, or has exchanged two "
          "fields.",
      .fix =
          "Set capacity to the number of places in the array, or to count where nothing grows."}},
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

}  // namespace labelscope::abi_v1

// Rules about an ELF file: platform and name, the two symbols, how the variable is reached.
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
#include "check/check_rule_texts.h"

namespace labelscope {
namespace {

constexpr const char* kPlatforms = "Supported platforms";
constexpr const char* kSymbols = "Exposed symbols";
constexpr const char* kVersion = "custom_labels_abi_version";
constexpr const char* kCurrentSet = "custom_labels_current_set";

// Both symbols are exported in the same way.
constexpr const char* kExport =
    "Define it without static and with default visibility; name it in the version script if there "
    "is one; link an executable with an option that exports it.";
constexpr const char* kExportGcc =
    "Executable: -Wl,--export-dynamic-symbol=custom_labels_abi_version "
    "-Wl,--export-dynamic-symbol=custom_labels_current_set, or -rdynamic for all symbols; not "
    "-static, which has no dynamic symbols. Library: __attribute__((visibility(\"default\"))) "
    "where -fvisibility=hidden is in use.";
constexpr const char* kExportClang = "As for gcc, all versions; lld has the same options.";
constexpr const char* kExportRust =
    "Define both symbols in a C file that the build script compiles, and print "
    "cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=... for each of them. In a cdylib "
    "rustc's own version script hides what C defines: make the C file a libcustomlabels.so "
    "instead, and link with that.";
constexpr const char* kExportCmake =
    "Executable: set_target_properties(app PROPERTIES ENABLE_EXPORTS ON), or "
    "target_link_options(app PRIVATE -Wl,--export-dynamic-symbol=...). "
    "labelscope::customlabels_static brings these options.";
constexpr const char* kThreadLocalRust =
    "Define it in C: #[thread_local] is not stable, and thread_local! makes no symbol of this "
    "name.";
constexpr const char* kVersionDefinition =
    "C: const uint32_t custom_labels_abi_version = 1; "
    "C++: extern \"C\" const uint32_t custom_labels_abi_version = 1; also within extern \"C\" { }, "
    "where const alone makes the symbol local.";
constexpr const char* kVersionRust = "#[no_mangle] pub static custom_labels_abi_version: u32 = 1;";

constexpr Rule kRules[] = {
    {RuleId::kPlatform, "LS001", "platform", "the file is for Linux on x86-64 or aarch64",
     kPlatforms, Severity::kError, CheckDepth::kStatic,
     "The process runs on Linux, on x86-64 or aarch64.",
     "The structures are defined with the pointers and sizes of these 64-bit little-endian "
     "processors, and readers know the thread pointer of no other.",
     "Leave the two symbols out of builds for other platforms.",
     "#if defined(__linux__) && (defined(__x86_64__) && defined(__LP64__) || defined(__aarch64__)) "
     "around the definitions.",
     "As for gcc, all versions.",
     "#[cfg(all(target_os = \"linux\", target_pointer_width = \"64\", any(target_arch = "
     "\"x86_64\", target_arch = \"aarch64\")))]",
     "Add the source file only if CMAKE_SYSTEM_NAME is Linux and CMAKE_SYSTEM_PROCESSOR matches "
     "^(x86_64|aarch64)$."},
    {RuleId::kLoadedAtStartup, "LS002", "loaded-at-startup",
     "the library is loaded when the program starts", kSymbols, Severity::kError, CheckDepth::kLive,
     "The file that has the symbols is the main executable or among the libraries that are loaded "
     "at startup. (customlabels.node is left out of this: Node.js loads addons in no other way.)",
     "A reader may look for publishers once, when it first sees the process. What dlopen brings "
     "later is not found, and its variable may lie in memory that is allocated for each thread.",
     "Link the program with the library instead of opening it with dlopen, or put it into "
     "LD_PRELOAD.",
     "-lcustomlabels, with -Wl,--no-as-needed in front of it if only plug-ins call it.",
     "As for gcc, all versions.",
     "cargo:rustc-link-lib=dylib=customlabels, in the crate of the executable.",
     "target_link_libraries(app PRIVATE labelscope::customlabels)"},
    {RuleId::kLibraryFileName, "LS003", "library-file-name",
     "a library's file name is one that readers look for", kSymbols, Severity::kError,
     CheckDepth::kStatic,
     "The file name of a library matches libcustomlabels.*\\.so$ or customlabels\\.node$.",
     "Readers choose by the name which files they open at all: a library of another name, such as "
     "one with a version number behind .so, is passed over.",
     "Name the file libcustomlabels.so or libcustomlabels-ANYTHING.so: the file itself, not a link "
     "to it.",
     "-shared -Wl,-soname,libcustomlabels.so -o libcustomlabels.so", "As for gcc, all versions.",
     "[lib] name = \"customlabels\" with crate-type = [\"cdylib\"].",
     "set_target_properties(lib PROPERTIES OUTPUT_NAME customlabels), without VERSION and "
     "SOVERSION."},
    {RuleId::kVersionExported, "LS010", "version-exported",
     "custom_labels_abi_version is a dynamic symbol", kVersion, Severity::kError,
     CheckDepth::kStatic,
     "The file exports a dynamic symbol that is called custom_labels_abi_version.",
     "It is what readers look for first, in each file's dynamic symbols: without it the file does "
     "not publish labels. A symbol table that strip removes is no substitute.",
     kExport, kExportGcc, kExportClang, kExportRust, kExportCmake},
    {RuleId::kVersionSize, "LS011", "version-size", "custom_labels_abi_version has 4 bytes",
     kVersion, Severity::kError, CheckDepth::kStatic,
     "The symbol custom_labels_abi_version has a size of 4 bytes.",
     "Readers take a symbol of another size for something else.",
     "Declare it as uint32_t; in assembly, .size custom_labels_abi_version, 4.", kVersionDefinition,
     "As for gcc, all versions.", kVersionRust, nullptr},
    {RuleId::kVersionValue, "LS012", "version-value", "custom_labels_abi_version is 1", kVersion,
     Severity::kError, CheckDepth::kStatic, "custom_labels_abi_version has the value 1.",
     "With any other value nothing of the ABI applies, so readers must leave the process alone.",
     "Initialize it with 1 where it is defined: the value is in the file, not set at run time.",
     kVersionDefinition, "As for gcc, all versions.", kVersionRust, nullptr},
    {RuleId::kVersionConstant, "LS013", "version-constant",
     "custom_labels_abi_version lies in read-only memory", kVersion, Severity::kWarning,
     CheckDepth::kStatic, "The value of custom_labels_abi_version is constant.",
     "In memory that can be written it can change after a reader has seen it, by mistake or by a "
     "stray pointer, and then labels disappear.",
     "Declare it const, so that it goes into .rodata; in C++ together with extern \"C\" in the "
     "same declaration, because const alone makes a symbol local there.",
     kVersionDefinition, "As for gcc, all versions.",
     "static, not static mut, and without interior mutability.", nullptr},
    {RuleId::kVersionKind, "LS014", "version-kind", "custom_labels_abi_version is a data object",
     kVersion, Severity::kError, CheckDepth::kStatic,
     "custom_labels_abi_version is data with a constant value: neither a function nor "
     "thread-local.",
     "Readers take the symbol's value for the address of four bytes. That of a thread-local symbol "
     "is an offset, that of a function leads to instructions.",
     "Define it as a plain constant, without __thread and not as a function.", kVersionDefinition,
     "As for gcc, all versions.", kVersionRust, nullptr},
    {RuleId::kCurrentSetExported, "LS020", "current-set-exported",
     "custom_labels_current_set is a dynamic symbol", kCurrentSet, Severity::kError,
     CheckDepth::kStatic,
     "The file exports a dynamic symbol that is called custom_labels_current_set.",
     "Readers find the variable by its name among the dynamic symbols; without it they know that "
     "there are labels, and not where.",
     kExport, kExportGcc,
     "As for gcc, all versions; but not with -femulated-tls, which makes a symbol of another name.",
     kExportRust, kExportCmake},
    {RuleId::kCurrentSetThreadLocal, "LS021", "current-set-thread-local",
     "custom_labels_current_set is thread-local", kCurrentSet, Severity::kError,
     CheckDepth::kStatic, "custom_labels_current_set is a thread-local object.",
     "A plain variable is one for all threads: there is no offset from the thread pointer to it, "
     "and its labels would be everybody's.",
     "Declare it __thread (C), thread_local (C11, C++) or with the symbol type @tls_object "
     "(assembly).",
     "__thread custom_labels_labelset_t* custom_labels_current_set;", "As for gcc, all versions.",
     kThreadLocalRust, nullptr},
    {RuleId::kCurrentSetSize, "LS022", "current-set-size",
     "custom_labels_current_set has the size of a pointer", kCurrentSet, Severity::kError,
     CheckDepth::kStatic,
     "custom_labels_current_set is a pointer to a label set: 8 bytes on both platforms.",
     "A symbol of another size is something else under this name, such as the label set itself.",
     "Declare it as a pointer; in assembly, .size custom_labels_current_set, 8.",
     "__thread custom_labels_labelset_t* custom_labels_current_set;", "As for gcc, all versions.",
     kThreadLocalRust, nullptr},
    {RuleId::kCurrentSetAligned, "LS023", "current-set-aligned",
     "custom_labels_current_set is aligned as a pointer", kCurrentSet, Severity::kWarning,
     CheckDepth::kStatic, "custom_labels_current_set is a pointer, aligned to 8 bytes as one.",
     "A pointer across the border of two cache lines is not written in one piece: a reader of "
     "another processor can see half of the old one and half of the new one.",
     "Do not put it into a packed structure or under #pragma pack; in assembly, .balign 8.",
     "No __attribute__((packed)) and no aligned attribute below 8.", "As for gcc, all versions.",
     kThreadLocalRust, nullptr},
    {RuleId::kExecutableStaticOffset, "LS030", "executable-static-offset",
     "in an executable, the variable is at a fixed distance from the thread pointer", kCurrentSet,
     Severity::kError, CheckDepth::kStatic,
     "In the main executable custom_labels_current_set lies in the static thread-local block, at "
     "an offset that the file alone tells.",
     "Readers compute the address from the symbol's value and the PT_TLS segment. Outside of that "
     "segment they read some other memory of the thread.",
     "Let the linker lay out the thread-local data: no custom linker script without PT_TLS, no "
     "tool that cuts segments.",
     "The default for executables; no option is needed.",
     "The default, all versions; not -femulated-tls.", kThreadLocalRust, nullptr},
    {RuleId::kLibraryTlsDescriptor, "LS031", "library-tls-descriptor",
     "in a library, the variable is reached through a TLS descriptor", kCurrentSet,
     Severity::kError, CheckDepth::kStatic,
     "In a library there is a relocation of type R_X86_64_TLSDESC or R_AARCH64_TLSDESC for "
     "custom_labels_current_set.",
     "The slot of that relocation is where readers get the variable's place from. With other "
     "access models, such as the default of gcc on x86-64, there is no such slot.",
     "Compile the file that defines and uses the variable for TLS descriptors, as position-"
     "independent code and with the global-dynamic model; use the variable in that file.",
     "x86-64: -fPIC -ftls-model=global-dynamic -mtls-dialect=gnu2. aarch64: the same with "
     "-mtls-dialect=desc (the default). No tls_model attribute on the variable.",
     "x86-64: clang 19 or newer, with -mtls-dialect=gnu2; clang 18 and older cannot, so compile "
     "this one file with gcc. aarch64: all versions do so by default, without an option.",
     "x86-64: rustc cannot. Define and use the variable in a C file, which the build script "
     "compiles with gcc, or with clang 19 or newer: cc::Build::new().flag(\"-mtls-dialect=gnu2\"). "
     "aarch64: the default.",
     "target_compile_options(lib PRIVATE -ftls-model=global-dynamic "
     "$<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-mtls-dialect=gnu2>), with "
     "POSITION_INDEPENDENT_CODE ON."},
    {RuleId::kDescriptorNamed, "LS032", "descriptor-named",
     "the TLS descriptor's relocation names custom_labels_current_set", kCurrentSet,
     Severity::kWarning, CheckDepth::kStatic,
     "custom_labels_current_set is accessible through a relocation for a TLS descriptor.",
     "Readers that look for a relocation with the symbol's name do not find one that has only an "
     "offset in the module's thread-local block. It arises where the linker knows that the "
     "definition cannot be replaced.",
     "Give the variable default visibility, and link without -Bsymbolic.",
     "visibility(\"default\"), not \"protected\"; no -Wl,-Bsymbolic with lld (GNU ld and gold keep "
     "the name).",
     "As for gcc, all versions that have TLS descriptors.", nullptr,
     "No -Wl,-Bsymbolic in LINK_OPTIONS; C_VISIBILITY_PRESET default for this file."},
};

}  // namespace

std::span<const Rule> file_rules() { return kRules; }

}  // namespace labelscope

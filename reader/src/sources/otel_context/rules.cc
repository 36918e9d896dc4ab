// These are the rules of OpenTelemetry's thread context (OTEP 4947) and of the process context that
// names its keys (OTEP 4719), in the order of their numbers: about a file, about a thread's record,
// about names, about the process, and about updates.
#include "sources/otel_context/rules.h"

#include "findings/check_rule.h"

namespace labelscope::otel {
namespace {

using enum Severity;
using enum CheckDepth;
using enum RuleSubject;

// These are headings of OTEP 4947, and of OTEP 4719.
constexpr const char* kResolution = "Thread-Local Variable Resolution";
constexpr const char* kVariable = "Thread-Local Variable";
constexpr const char* kRecord = "Thread-Local Context Record";
constexpr const char* kProtocol = "Publication Protocol";
constexpr const char* kKeyMap = "attribute_key_map dictionary semantics";
constexpr const char* kReferenceData = "Process Context: Thread-Local Reference Data";
constexpr const char* kProcessContext = "OTEP 4719: Process Context";

// These are texts that several rules share.
constexpr const char* kDefinition =
    "__attribute__((visibility(\"default\"))) __thread void* otel_thread_ctx_v1;";
constexpr const char* kLibrary = "libotelcontext of labelscope does so.";
constexpr const char* kWriteAgain =
    "Write the context by the protocol of OTEP 4719: published-at 0, then size and address of the "
    "payload, then a new published-at.";

constexpr Rule kRules[] = {
    {{kExported, "LS201", "otel-exported", kResolution, kError, kStatic, kFile},
     {.title = "otel_thread_ctx_v1 is a dynamic symbol",
      .requirement = "The variable is in the dynamic symbol table, also of a program that is "
                     "linked statically.",
      .reason = "Readers look for it there and nowhere else; .symtab is often stripped.",
      .fix = "Define it without static and with default visibility; name it in the version script "
             "if there is one; link an executable with an option that exports it.",
      .fix_gcc = "Executable: -Wl,--export-dynamic-symbol=otel_thread_ctx_v1, or -rdynamic for all "
                 "symbols. Library: __attribute__((visibility(\"default\"))) where "
                 "-fvisibility=hidden is in use."}},
    {{kThreadLocal, "LS202", "otel-thread-local", kVariable, kError, kStatic, kFile},
     {.title = "otel_thread_ctx_v1 is thread-local",
      .requirement = "The variable is an ELF thread-local: a pointer for each thread.",
      .reason =
          "A plain variable is one for all threads: there is no offset from the thread pointer "
          "to it, and its span would be everybody's.",
      .fix = "Declare it __thread (C) or thread_local (C11, C++).",
      .fix_gcc = kDefinition}},
    {{kSize, "LS203", "otel-size", kVariable, kError, kStatic, kFile},
     {.title = "otel_thread_ctx_v1 is a pointer",
      .requirement = "The variable is a pointer to the thread's record: 8 bytes.",
      .reason = "Readers take a symbol of another size for something else.",
      .fix = "Define it as a pointer, and let it lead to the record.",
      .fix_gcc = kDefinition}},
    {{kAligned, "LS204", "otel-aligned", kVariable, kWarning, kStatic, kFile},
     {.title = "otel_thread_ctx_v1 is aligned to 8 bytes",
      .requirement = "One store publishes a record.",
      .reason =
          "A store to a pointer at an odd address may be two, and a reader that comes between "
          "them follows half of each address.",
      .fix = "Align it to 8 bytes: no packed structure and no aligned attribute below 8.",
      .fix_gcc = kDefinition}},
    {{kAccessModel, "LS205", "otel-access-model", kResolution, kError, kStatic, kFile},
     {.title = "a library reaches the variable by a model that readers know",
      .requirement = "Code of a library reaches the variable by a TLS descriptor, by general "
                     "dynamic or by initial exec; local dynamic is not supported.",
      .reason = "Readers learn from the relocation where a thread has the variable. Local dynamic "
                "has one for the module alone, and a linker makes the same of general dynamic "
                "where it binds the variable to the module.",
      .fix = "Compile with -ftls-model=global-dynamic; link without -Bsymbolic and give the "
             "variable no protected visibility, or use TLS descriptors."}},
    {{kDescriptor, "LS206", "otel-tls-descriptor", kResolution, kWarning, kStatic, kFile},
     {.title = "a library reaches the variable by a TLS descriptor",
      .requirement = "Writers should use TLS descriptors where that is practical.",
      .reason = "They are the fastest way for the writer, and some readers know no other.",
      .fix = "Compile for TLS descriptors.",
      .fix_gcc = "x86-64: -ftls-model=global-dynamic -mtls-dialect=gnu2; aarch64 needs no option.",
      .fix_clang = "As for gcc; on x86-64 since version 19.",
      .fix_rust = "Define the variable in C or assembly: rustc cannot choose the dialect."}},

    {{kRecordReadable, "LS210", "otel-record-readable", kProtocol, kError, kLive, kThread},
     {.title = "the pointer is null or leads to a record",
      .requirement =
          "The variable is null where the thread has no record, and otherwise the address "
          "of one whose 28 bytes of head can be read.",
      .reason = "Readers see no span, or whatever was allocated there since.",
      .fix = "Set the pointer to null before the record's memory is given back."}},
    {{kRecordAligned, "LS211", "otel-record-aligned", kRecord, kError, kLive, kThread},
     {.title = "the record begins at an even address",
      .requirement = "A record is aligned to 2 bytes at least.",
      .reason = "Its size field would cross what a reader loads at once.",
      .fix = "Align the record, or the buffer that it is in, to 2 bytes or more."}},
    {{kValidMark, "LS212", "otel-valid", kRecord, kWarning, kLive, kThread},
     {.title = "valid is 1, or 0 while there is no record",
      .requirement = "valid is 1 in a record that counts; all other values are reserved.",
      .reason = "Readers see no record. Mostly the pointer leads to something else.",
      .fix = "Store 1 when the record is whole, and 0 before it changes or ends."}},
    {{kIdsTogether, "LS213", "otel-ids-together", kRecord, kError, kLive, kThread},
     {.title = "trace ID and span ID are both set, or neither",
      .requirement = "If one of trace-id and span-id is set, both are; zeros mean none.",
      .reason = "A span without its trace, or a trace without the span, cannot be found again in "
                "what the SDK has sent.",
      .fix = "Write both before the record counts."}},
    {{kFlagsWithIds, "LS214", "otel-flags-with-ids", kRecord, kWarning, kLive, kThread},
     {.title = "trace flags are 0 without a span",
      .requirement = "trace-flags is zero where trace-id and span-id are unset.",
      .reason = "Readers may take the flags for those of a span.",
      .fix = "Set the flags together with both IDs."}},
    {{kAttributesReadable, "LS215", "otel-attributes-readable", kRecord, kError, kLive, kThread},
     {.title = "the attributes can be read",
      .requirement = "attrs-data-size bytes follow the head of the record.",
      .reason = "Readers lose all of the record's attributes, or all of the record.",
      .fix = "Let attrs-data-size be what is written, and the buffer at least as large."}},
    {{kAttributesWhole, "LS216", "otel-attributes-whole", kRecord, kError, kLive, kThread},
     {.title = "the last attribute ends where the attributes end",
      .requirement = "Entries follow each other without a gap: key, length, value; attrs-data-size "
                     "is the sum of all.",
      .reason =
          "Readers stop at an entry that does not fit. What comes after a wrong length is read "
          "as something else.",
      .fix = "Let each length be that of its value, and attrs-data-size the sum."}},
    {{kAttributesText, "LS217", "otel-attributes-utf8", kRecord, kWarning, kLive, kThread},
     {.title = "values are UTF-8",
      .requirement = "A value is text in UTF-8.",
      .reason = "Readers escape such bytes or leave the attribute out. A text that was cut in the "
                "middle of a character looks like this.",
      .fix = "Cut texts between characters, and encode bytes."}},
    {{kRecordSize, "LS218", "otel-record-size", kRecord, kNote, kLive, kThread},
     {.title = "a record has at most 640 bytes",
      .requirement = "The record is recommended to stay at or under 640 bytes.",
      .reason =
          "Readers have room for so much of each sample, some for less; what is behind is left "
          "out.",
      .fix = "Keep to few and short attributes."}},

    {{kKeyNamed, "LS220", "otel-key-named", kKeyMap, kError, kLive, kThread},
     {.title = "each key is an index of the key map",
      .requirement = "A new key is in threadlocal.attribute_key_map before a record uses it.",
      .reason = "Readers leave out attributes whose name they do not know.",
      .fix = "Publish the longer map first, then the record."}},
    {{kKeysPublished, "LS221", "otel-key-map", kReferenceData, kError, kLive, kProcess},
     {.title = "a process with records publishes their schema and the names of keys",
      .requirement = "The process context has threadlocal.schema_version and, where records have "
                     "attributes, threadlocal.attribute_key_map, a list of texts.",
      .reason =
          "Without them no reader can name an attribute, and some look for no records at all.",
      .fix =
          "Publish a process context with both keys when the process starts; a forked child must "
          "publish its own.",
      .fix_gcc = kLibrary}},

    {{kKeysAppended, "LS222", "otel-key-map-appended", kKeyMap, kError, kLive, kProcess},
     {.title = "the key map only grows at its end",
      .requirement =
          "threadlocal.attribute_key_map is append-only: an index keeps its name as long as the "
          "process lives.",
      .reason =
          "A record that was written with the old map, or a reader that has not read the new one "
          "yet, gives a value the name of another key.",
      .fix = "Publish the old names in their order, and new ones behind them.",
      .fix_gcc = kLibrary}},

    {{kContextHeader, "LS231", "otel-context-header", kProcessContext, kError, kLive, kProcess},
     {.title = "the process context begins with OTEL_CTX",
      .requirement = "A mapping that is called OTEL_CTX begins with a header of 32 bytes, and this "
                     "with the eight letters.",
      .reason = "Readers take it for something else.",
      .fix = "Write the signature last, and soon after the mapping is made."}},
    {{kContextVersion, "LS232", "otel-context-version", kProcessContext, kError, kLive, kProcess},
     {.title = "the process context has version 2",
      .requirement = "The header's version is 2; 1 was that of development.",
      .reason = "Readers refuse a version that they do not know.",
      .fix = "Write version 2 and its format."}},
    {{kContextPayload, "LS233", "otel-context-payload", kProcessContext, kError, kLive, kProcess},
     {.title = "the payload is a message of its size",
      .requirement = "Address and size of the header lead to a ProcessContext in protobuf.",
      .reason = "Readers know neither the process nor the names of keys.",
      .fix = "Keep the payload as long as the header names it, and its size right.",
      .fix_gcc = kLibrary}},
    {{kContextTime, "LS234", "otel-context-time", kProcessContext, kError, kLive, kProcess},
     {.title = "published-at is not 0 for long",
      .requirement = "It is 0 only while the context is replaced, and then a new time.",
      .reason = "Readers take the context for one that is being replaced, for ever.",
      .fix = kWriteAgain}},
    {{kContextSchema, "LS235", "otel-schema", kReferenceData, kWarning, kLive, kProcess},
     {.title = "threadlocal.schema_version is one that readers know",
      .requirement = "tls_v1, tlsdesc_v1_dev before it, or one of nodejs_v1, nodejs_v1_dev and "
                     "go_pprof_labels_v1.",
      .reason =
          "What the indexes of an unknown schema mean, no reader knows: it names no attribute.",
      .fix = "Publish the name of the schema that the records keep to."}},
    {{kContextTexts, "LS236", "otel-context-texts", kProcessContext, kNote, kLive, kProcess},
     {.title = "keys and values of the process context are short texts",
      .requirement = "Readers keep texts of at most 4096 bytes, and 256 names of keys.",
      .reason = "What is longer, no text, or too much, is left out.",
      .fix = "Publish short texts."}},

    {{kTornUpdate, "LS250", "otel-torn-update", kProtocol, kError, kStep, kThread},
     {.title = "an update shows the record before it, none, or the one after it",
      .requirement = "A record changes while the pointer is null, or while valid is 0, or where no "
                     "reader sees "
                     "it; the compiler is kept from moving stores across these.",
      .reason =
          "A reader that interrupts the thread between two stores takes a mixture of two spans "
          "for a span.",
      .fix =
          "Build the record in a buffer that is not published and store its address last; or store "
          "valid = 0 first and valid = 1 last, with atomic_signal_fence() between.",
      .fix_gcc = kLibrary}},
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

}  // namespace labelscope::otel

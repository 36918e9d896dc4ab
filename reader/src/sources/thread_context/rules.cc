// These are the rules of the thread context, version 1 (customlabels/thread_context.h): the little
// that its format requires of a writer.
#include "sources/thread_context/rules.h"

#include "findings/check_rule.h"

namespace labelscope::context_v1 {
namespace {

using enum Severity;
using enum CheckDepth;
using enum RuleSubject;

constexpr const char* kLayout = "Memory layout";
constexpr const char* kWriting = "Write protocol";
constexpr const char* kDefinition =
    "__thread thread_context_record_t context_tls_v1; with the type of "
    "customlabels/thread_context.h, or -lthreadcontext instead of a definition.";

constexpr Rule kRules[] = {
    {{kThreadLocal, "LS101", "context-thread-local", kLayout, kError, kStatic, kFile},
     {.title = "context_tls_v1 is thread-local",
      .requirement = "context_tls_v1 is a thread-local variable: a record for each thread.",
      .reason =
          "A plain variable is one for all threads: there is no offset from the thread pointer to "
          "it, and its IDs would be everybody's.",
      .fix = "Declare it __thread (C) or thread_local (C11, C++).",
      .fix_gcc = kDefinition}},
    {{kSize, "LS102", "context-size", kLayout, kError, kStatic, kFile},
     {.title = "context_tls_v1 has 64 bytes",
      .requirement = "The record has 64 bytes: two IDs, a checksum and ten tags.",
      .reason = "Readers take a symbol of another size for something else.",
      .fix = "Define it as the record itself, and not as a pointer to one.",
      .fix_gcc = kDefinition}},
    {{kAligned, "LS103", "context-aligned", kLayout, kWarning, kStatic, kFile},
     {.title = "context_tls_v1 is aligned to a cache line",
      .requirement = "The record is aligned to 64 bytes, as large as it is.",
      .reason =
          "It then lies in one cache line, which no other thread writes to. Across two lines a "
          "reader waits twice, and neighbours slow the writer down.",
      .fix = "Align the type or the variable to 64 bytes.",
      .fix_gcc = kDefinition}},
    {{kChecksum, "LS110", "context-checksum", kWriting, kError, kLive, kThread},
     {.title = "the checksum is that of the IDs, or 0",
      .requirement =
          "The checksum is 0 while the record is written, and otherwise that of span_id and "
          "root_span_id.",
      .reason =
          "Readers take a record whose checksum does not fit for a torn one, and show no context.",
      .fix = "Set the checksum to 0, then the fields, then the checksum: release stores in this "
             "order. A signal handler that may interrupt a write must not write.",
      .fix_gcc = "thread_context_put() of libthreadcontext does so."}},
    {{kTornUpdate, "LS150", "context-torn-update", kWriting, kError, kStep, kThread},
     {.title = "an update shows the context before it, no context, or the one after it",
      .requirement = "The checksum is 0 while IDs, or IDs and their tags, are written.",
      .reason = "A reader that interrupts the thread between two of the stores takes IDs or tags "
                "of two contexts for one. Tags that are set one by one are found only in a "
                "library, or in an update that --update names.",
      .fix = "Set the checksum to 0 before the first of these stores, and to its new value after "
             "the last one.",
      .fix_gcc = "thread_context_put_all() of libthreadcontext does so."}},
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

}  // namespace labelscope::context_v1

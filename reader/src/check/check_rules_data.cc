// Rules about label sets in memory. How to follow them depends on the writer's code and hardly on
// the compiler; Rust and C differ in what they make of a null pointer.
#include "check/check_rule_texts.h"

namespace labelscope {
namespace {

constexpr const char* kData = "Interpretation of data";
constexpr const char* kDescription = "Description";
constexpr const char* kRustPointers =
    "#[repr(C)] structures with raw pointers; an empty Vec's pointer dangles, which is fine only "
    "with a length of 0.";
constexpr const char* kFences =
    "Between two stores whose order counts: atomic_signal_fence(memory_order_seq_cst), or an "
    "atomic store with memory_order_release. volatile on one of them is not enough.";

constexpr Rule kRules[] = {
    {RuleId::kSetReadable, "LS040", "set-readable", "the label set is in memory that can be read",
     kData, Severity::kError, CheckDepth::kLive,
     "custom_labels_current_set points to a label set, or is null.",
     "A pointer to memory that is not mapped makes the thread's labels unreadable; to memory that "
     "was freed, wrong.",
     "Set the pointer to null, or to the next set, before the old one is freed.", nullptr, nullptr,
     kRustPointers, nullptr},
    {RuleId::kStorageReadable, "LS041", "storage-readable",
     "the array of labels is in memory that can be read", kData, Severity::kError,
     CheckDepth::kLive, "storage points to an array of count labels.",
     "Readers follow storage for count elements of 32 bytes. A null or freed array, or a count "
     "beyond its end, makes the whole set unreadable.",
     "Fill an element before count includes it; when the array moves, publish the new one before "
     "the old one is freed.",
     nullptr, nullptr, kRustPointers, nullptr},
    {RuleId::kKeyReadable, "LS042", "key-readable", "every key is in memory that can be read",
     kData, Severity::kError, CheckDepth::kLive, "key.buf points to key.len bytes, or is null.",
     "A key that leads nowhere makes the set unreadable, or shows what the memory is used for now.",
     "Copy keys into memory that lives as long as the set does.", nullptr, nullptr, kRustPointers,
     nullptr},
    {RuleId::kValueReadable, "LS043", "value-readable", "every value is in memory that can be read",
     kData, Severity::kError, CheckDepth::kLive, "value.buf points to value.len bytes.",
     "A value that leads nowhere makes the set unreadable, or shows what the memory is used for "
     "now.",
     "Copy values into memory that lives as long as the set does.", nullptr, nullptr, kRustPointers,
     nullptr},
    {RuleId::kValueNotNull, "LS044", "value-not-null", "a label with a key has a value", kData,
     Severity::kError, CheckDepth::kLive, "If key.buf is not null, value.buf is not null either.",
     "What readers make of it is undefined: some show an empty value, some drop the label, some "
     "the set.",
     "Set key.buf to null first when a label is removed; for an empty value let value.buf point "
     "anywhere, with len 0.",
     nullptr, nullptr,
     "An empty slice's as_ptr() is not null; an Option of one that is None has no pointer.",
     nullptr},
    {RuleId::kKeysUnique, "LS045", "keys-unique", "a key occurs once", kData, Severity::kNote,
     CheckDepth::kLive, "An element whose key is that of an earlier element is ignored.",
     "It is legal: the first one counts. But it costs readers time and a place among the labels "
     "that they keep, and readers exist that take the last one.",
     "Replace the label of that key instead of adding another.", nullptr, nullptr, nullptr,
     nullptr},
    {RuleId::kKeyNotNull, "LS046", "key-not-null", "an element has a key", kData, Severity::kNote,
     CheckDepth::kLive, "An element whose key.buf is null is ignored.",
     "It is legal, and how a label is removed in place. But each such element costs readers time, "
     "and one of the places that some of them look at.",
     "Close the gap with the next update, or use the element again.", nullptr, nullptr, nullptr,
     nullptr},
    {RuleId::kDataAligned, "LS047", "data-aligned", "the set and its array are aligned to 8 bytes",
     kData, Severity::kWarning, CheckDepth::kLive,
     "The structures are those of C, whose pointers and sizes are aligned to 8 bytes.",
     "Fields at other addresses are not written in one piece, and in C reading them is undefined.",
     "Allocate with malloc or as objects of their types, not at any offset of a buffer.", nullptr,
     nullptr, "#[repr(C)], not #[repr(C, packed)].", nullptr},
    {RuleId::kReaderLimits, "LS048", "reader-limits", "the set is no larger than what readers keep",
     kData, Severity::kWarning, CheckDepth::kLive, "The ABI has no limit of its own.",
     "Readers that interrupt a thread have: past some number of labels or of bytes they cut the "
     "set. labelscope looks at 128 elements and keeps 64 labels and 4096 bytes; others keep less, "
     "the smallest known 10 labels with 25 bytes of a key and 53 of a value.",
     "Keep to 64 labels in at most 128 elements, with 4096 bytes of keys and values together; put "
     "the most telling labels first.",
     nullptr, nullptr, nullptr, nullptr},
    {RuleId::kTornUpdate, "LS050", "torn-update",
     "at every instruction a reader sees the old set or the new one", kDescription,
     Severity::kError, CheckDepth::kStep,
     "A program that interrupts the thread at any moment can read its label set: the one before an "
     "update, or the one after it.",
     "A sample that falls between two instructions of the update shows labels that the thread "
     "never had: half of a value, a key with another key's value, or nothing.",
     "Build the new set aside and publish it with one store of a pointer; or, in place, make each "
     "store by itself lead from one complete set to another.",
     kFences, kFences,
     "std::sync::atomic::compiler_fence(Ordering::SeqCst) between the stores, or an AtomicPtr for "
     "the pointer.",
     nullptr},
};

}  // namespace

std::span<const Rule> data_rules() { return kRules; }

}  // namespace labelscope

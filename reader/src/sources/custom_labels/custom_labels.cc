// CustomLabels combines three parts: file_judge.cc judges files, label_walk.h reads threads,
// explain_walk.cc writes that in sentences.
#include "sources/custom_labels/custom_labels.h"

#include "base/text.h"
#include "customlabels/label_abi.h"
#include "elf/elf_image.h"
#include "sources/custom_labels/label_walk.h"
#include "sources/custom_labels/rules.h"

namespace labelscope {
namespace {

constexpr UpdateRule kUpdates{
    .torn = abi_v1::kTornUpdate,
    .what = "a label set",
    .fix =
        "build the new set in memory that is not published, and then store its address "
        "to " CUSTOM_LABELS_CURRENT_SET_SYMBOL,
    .api = "custom_labels_",
    .by_pointer = true,
    .hides = false,
    .together = {}};

constexpr std::string_view kNodeAddon = "customlabels.node";

// Returns the lowest address of the thread's stack, if the stack pointer is on one that the kernel
// or a libc has made: that of the first thread has a name, and those of other threads have a guard
// below them, and the thread's control block above. Any other memory may be divided in any way.
std::optional<Address> stack_start(const Target& process, Address stack_pointer,
                                   Address thread_pointer) {
  const auto mappings = process.mappings();
  if (!mappings) return std::nullopt;
  const Mapping* stack = find_mapping(*mappings, stack_pointer);
  if (stack == nullptr) return std::nullopt;
  if (stack->path == "[stack]") return stack->start;
  if (stack == mappings->data() || thread_pointer < stack_pointer || thread_pointer >= stack->end) {
    return std::nullopt;
  }
  const Mapping& guard = *(stack - 1);
  const bool usable = guard.readable || guard.writable || guard.executable;
  if (usable || guard.end != stack->start) return std::nullopt;
  return stack->start;
}

// Returns 0 if the pointer cannot be read.
Address pointer_at(const MemorySource& memory, Address address) {
  const auto value = read_value<Address>(memory, address);
  return value ? memory.untagged(*value) : 0;
}

}  // namespace

// This is CUSTOM_LABELS_LIBRARY_NAME_REGEX, written out as code: std::regex uses stack for every
// letter, and the target chooses the length of the name.
bool CustomLabels::is_publisher_name(std::string_view path) const {
  constexpr std::string_view kDeleted = " (deleted)";  // the kernel's mark of a replaced file
  constexpr std::string_view kLibrary = "libcustomlabels";
  constexpr std::string_view kSuffix = ".so";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  const std::string_view name = base_name(path);
  if (name.ends_with(kNodeAddon)) return true;
  const std::size_t at = name.find(kLibrary);
  return at != std::string_view::npos && name.substr(at + kLibrary.size()).ends_with(kSuffix);
}

// Node.js loads addons only by dlopen(), and the ABI allows this name.
RuleId CustomLabels::loading_rule(std::string_view path) const {
  return path.ends_with(kNodeAddon) ? RuleId::kNone : abi_v1::kLoadedAtStartup;
}

SetCheck CustomLabels::check(const ThreadView& thread) const {
  const ThreadState* state = thread.thread;
  if (thread.process == nullptr || state == nullptr || state->registers == nullptr) {
    return check_label_set(thread.memory, thread.variable);
  }
  const Address pointer = state->registers->stack_pointer();
  return check_label_set(
      thread.memory, thread.variable,
      {pointer, [&] { return stack_start(*thread.process, pointer, state->thread_pointer); }});
}

CustomLabels::CustomLabels()
    : LabelSource({.number = LS_SOURCE_CUSTOM_LABELS,
                   .name = "ABI v1",
                   .version_symbol = CUSTOM_LABELS_VERSION_SYMBOL,
                   .variable_symbol = CUSTOM_LABELS_CURRENT_SET_SYMBOL,
                   .rules = abi_v1::rules(),
                   .updates = &kUpdates,
                   .usual = true}) {}

bool CustomLabels::declares(const FileInspection& file) const {
  return LabelSource::declares(file) || file.own != nullptr;
}

Status CustomLabels::find(const ElfImage& image, bool everything, FileInspection& file) const {
  if (Status symbols = LabelSource::find(image, everything, file); !symbols) return symbols;
  auto found = image.find_dynamic_symbol(kNodeLabelsSymbol);
  if (!found) return std::move(found).error();
  if (*found && (*found)->defined) file.own = std::make_shared<AsyncLabels>();
  return {};
}

Observation CustomLabels::read(const ThreadView& thread) const {
  return walk_label_set(thread.memory, thread.variable, thread.publisher);
}

std::vector<Address> CustomLabels::likely_words(const MemorySource& memory,
                                                Address variable) const {
  const Address set = pointer_at(memory, variable);
  if (set == 0) return {};
  std::vector<Address> words{set + offsetof(custom_labels_labelset_t, count)};
  const Address storage = pointer_at(memory, set);
  if (storage == 0) return words;
  const Address value = storage + offsetof(custom_labels_label_t, value.buf);
  words.push_back(value);
  const Address bytes = pointer_at(memory, value);
  if (bytes != 0) words.push_back(bytes);
  return words;
}

}  // namespace labelscope

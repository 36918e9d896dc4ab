// This finds out how the publisher's thread-local variable is reached.
//
// For the main executable the linker knew the distance from the thread pointer (tls_layout.cc). A
// library's code asks at run time, through words ("slots") that the loader has filled. This file
// reads these slots in the process and interprets them as the library's code does:
//
//   TLS descriptor    { resolver, argument }
//                        |
//                        +- its code only returns the argument: the argument is the offset from
//                        |  the thread pointer
//                        +- any other: the argument points to { module ID, offset [, generation] }
//   initial exec      { offset from the thread pointer }
//   general dynamic   { module ID, offset }
//
// The resolver's code decides, not the size of the argument: an offset may be any number. Even 0 is
// legal (musl on aarch64).
//
// Some relocations name the variable. Others have no symbol (lld, -Bsymbolic, protected or hidden
// symbols): they mean this module's own TLS block plus the addend, so the variable is (symbol value
// - addend) bytes further. That covers local-dynamic code, too, whose slot means the block itself.
//
// If no slot helps (there is none, or it is still lazy), glibc's records of the module do
// (libc_tls.h). If they show that the module's block is in static TLS, the recipe is an offset from
// the thread pointer, even if a slot has a module ID: the thread's DTV entry may stay empty
// although the thread uses the variable.
//
// A trace only keeps what each slot was taken for. It decides nothing.
#include "recipe/access.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "recipe/tls_layout.h"

namespace labelscope {
namespace {

constexpr std::uint64_t kMaxModuleId = 65536;
// At most so many slots of one module are tried. In an honest module the first relocated one is
// enough.
constexpr std::size_t kMaxSlots = 64;
// At most so many reasons are given when no slot helps. Mostly they are all the same.
constexpr std::size_t kMaxReasons = 3;

class SlotReader {
 public:
  SlotReader(const Module& module, const ElfSymbol& variable,
             const std::function<const LibcTls&()>& libc, const Target& target, AccessPlan& plan,
             ModuleTrace* trace)
      : module_(module),
        variable_(variable),
        libc_(libc),
        memory_(target.memory()),
        alive_(target.is_alive()),
        plan_(plan),
        trace_(trace) {}

  // Returns true when the plan is complete.
  bool try_slot(const TlsRelocation& relocation) {
    if (trace_ != nullptr) trace_->slots.push_back({relocation, {}, {}, {}, false});
    const bool complete = follow_slot(relocation);
    if (complete && trace_ != nullptr) trace_->slots.back().used = true;
    return complete;
  }

  // Tries what the loader recorded about this module.
  bool try_records() {
    auto dynamic = module_.image->dynamic_address();
    if (!dynamic) return false;
    auto record = libc_().record_of_dynamic(module_.load_bias + *dynamic);
    if (!record) return false;
    return accept(AccessModel::kLinkMap, from_record(*record, variable_.value));
  }

  // Returns whether a slot is still empty, so that the loader may fill it later.
  bool waiting() const { return waiting_; }
  // Returns whether the core file lacks memory that was needed.
  bool lacks_memory() const { return lacks_memory_; }
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  bool follow_slot(const TlsRelocation& relocation) {
    Address slot = module_.load_bias + relocation.slot;
    if (trace_ != nullptr) trace_->slots.back().address = slot;
    // An initial-exec slot is one word. The word behind it may not be mapped.
    std::array<std::uint64_t, 2> words{};
    const std::size_t count = relocation.kind == TlsRelocationKind::kTpOff ? 1 : words.size();
    const Status read = memory_.read(slot, std::as_writable_bytes(std::span(words).first(count)));
    if (!read) {
      waiting_ = alive_;  // the loader maps the writable segment last
      return unreadable(relocation, "its slot", read.error());
    }
    if (trace_ != nullptr) {
      trace_->slots.back().words.assign(words.begin(), words.begin() + count);
    }
    switch (relocation.kind) {
      case TlsRelocationKind::kTlsDesc:
        return try_descriptor(relocation, words[0], words[1]);
      case TlsRelocationKind::kTpOff:
        if (words[0] == 0 && !zero_is_an_offset()) return not_relocated(relocation);
        note_meaning([&] { return "the word is an offset from the thread pointer"; });
        return accept(AccessModel::kInitialExec,
                      tp_offset(static_cast<std::int64_t>(words[0]) + correction(relocation)));
      case TlsRelocationKind::kDtpMod:
        if (words[0] == 0) return not_relocated(relocation);
        note_meaning([&] {
          return "module ID " + std::to_string(words[0]) +
                 (relocation.by_name
                      ? ", offset " + hex(words[1])
                      : "; the variable is at " + hex(variable_.value) + " of its block");
        });
        // Without a symbol the second word is not the variable's: local-dynamic code adds the
        // variable's offset itself.
        return try_module(AccessModel::kGeneralDynamic, relocation, words[0],
                          relocation.by_name ? words[1] : variable_.value, 0);
    }
    return false;
  }

  // On aarch64, if the executable has no TLS block, musl places the first library's block at the
  // thread pointer itself: its offset is 0. A slot that is not relocated yet looks the same. Then
  // the recipe leads to the word at the thread pointer. musl leaves that word 0, so there are no
  // labels.
  bool zero_is_an_offset() const {
    return module_.image->machine() == Machine::kAarch64 && libc_().kind() == LibcTls::Kind::kMusl;
  }
  std::int64_t correction(const TlsRelocation& relocation) const {
    return relocation.by_name ? 0 : static_cast<std::int64_t>(variable_.value) - relocation.addend;
  }

  bool try_descriptor(const TlsRelocation& relocation, Address resolver, std::uint64_t argument) {
    if (resolver == 0) return not_relocated(relocation);
    // Before glibc 2.34 a descriptor may be lazy at first: its resolver is in the module's own PLT.
    if (module_.contains(resolver)) return not_relocated(relocation);
    std::array<unsigned char, 16> code{};
    const Status read = memory_.read(resolver, std::as_writable_bytes(std::span(code)));
    if (!read) return unreadable(relocation, "its resolver " + hex(resolver), read.error());
    if (is_static_tlsdesc_resolver(module_.image->machine(), code.data(), code.size())) {
      note_meaning([&] {
        return "a static TLS descriptor: the resolver's code returns the argument, so " +
               signed_hex(static_cast<std::int64_t>(argument)) +
               " is the offset from the thread pointer";
      });
      return accept(AccessModel::kTlsDescStatic,
                    tp_offset(static_cast<std::int64_t>(argument) + correction(relocation)));
    }
    auto index = read_value<std::array<std::uint64_t, 3>>(memory_, argument);
    if (!index) {
      return unreadable(relocation, "what its argument " + hex(argument) + " leads to",
                        index.error());
    }
    std::uint64_t offset = (*index)[1] + static_cast<std::uint64_t>(correction(relocation));
    // Only glibc's descriptor has a third word.
    std::uint64_t generation = libc_().kind() == LibcTls::Kind::kMusl ? 0 : (*index)[2];
    note_meaning([&] {
      return "a dynamic TLS descriptor: the resolver's code does not return the argument, which "
             "leads to module ID " +
             std::to_string((*index)[0]) + ", offset " + hex((*index)[1]) +
             (generation == 0 ? std::string() : ", generation " + std::to_string(generation));
    });
    return try_module(AccessModel::kTlsDescDynamic, relocation, (*index)[0], offset, generation);
  }

  bool try_module(AccessModel model, const TlsRelocation& relocation, std::uint64_t module_id,
                  std::uint64_t offset, std::uint64_t generation) {
    if (module_id == 0 || module_id > kMaxModuleId) {
      return refuse(relocation, hex(module_id) + " is no module ID");
    }
    const LibcTls& libc = libc_();
    if (auto record = libc.record_of(module_id)) {
      return accept(model, from_record(*record, offset));
    }
    // While the loader resolves a lazy descriptor, the argument points to the relocation. Its first
    // word, an address, may look like a module ID, but the loader has no record of such a module.
    if (libc.has_records()) return not_relocated(relocation);
    return accept(model, libc.dtv_recipe(module_id, offset, generation));
  }

  ls_tls_recipe from_record(const LoaderRecord& record, std::uint64_t offset) const {
    if (trace_ != nullptr) {
      trace_->record = {record.module_id, record.generation, record.static_offset};
    }
    if (record.static_offset)
      return tp_offset(*record.static_offset + static_cast<std::int64_t>(offset));
    return libc_().dtv_recipe(record.module_id, offset, record.generation);
  }

  bool accept(AccessModel model, const ls_tls_recipe& recipe) {
    plan_.model = model;
    plan_.recipe = recipe;
    return true;
  }
  bool refuse(const TlsRelocation& relocation, const std::string& reason) {
    note_meaning([&] { return reason; });
    reasons_.push_back("the relocation at " + hex(relocation.slot) + " does not help: " + reason);
    return false;
  }
  bool unreadable(const TlsRelocation& relocation, const std::string& what, const Error& error) {
    lacks_memory_ |= !alive_;
    return refuse(relocation, what + " cannot be read: " + error.context);
  }
  // Keeps in the trace what the words of the current slot are taken for. The text is made only if
  // there is a trace.
  template <class MakeClause>
  void note_meaning(const MakeClause& make_clause) {
    if (trace_ == nullptr || trace_->slots.empty()) return;
    std::string& meaning = trace_->slots.back().taken_for;
    if (!meaning.empty()) meaning += "; ";
    meaning += make_clause();
  }
  bool not_relocated(const TlsRelocation& relocation) {
    waiting_ = true;
    return refuse(relocation, "the loader has not filled it yet");
  }

  const Module& module_;
  const ElfSymbol& variable_;
  const std::function<const LibcTls&()>& libc_;
  const MemorySource& memory_;
  const bool alive_;
  AccessPlan& plan_;
  ModuleTrace* trace_;
  std::vector<std::string> reasons_;  // why slots did not help
  bool waiting_ = false;
  bool lacks_memory_ = false;
};

// Returns the order in which relocations are tried: those with a symbol come first; among equal
// ones, the model that needs the least work at run time.
int preference(const TlsRelocation& relocation) {
  int by_kind = relocation.kind == TlsRelocationKind::kTlsDesc ? 0
                : relocation.kind == TlsRelocationKind::kTpOff ? 1
                                                               : 2;
  return by_kind + (relocation.by_name ? 0 : 3);
}

// Returns one finding that says why there is no recipe.
Finding unresolved(const std::vector<std::string>& reasons, bool waiting, const char* fix) {
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMaxReasons); ++i) {
    text += (i == 0 ? "" : "; ") + reasons[i];
  }
  if (reasons.size() > kMaxReasons) {
    text += "; and " + std::to_string(reasons.size() - kMaxReasons) + " more do not help either";
  }
  return {waiting ? FindingCode::kNotRelocated : FindingCode::kUnresolved, text, fix};
}

}  // namespace

std::string_view access_model_name(AccessModel model) {
  static constexpr std::string_view kNames[] = {
      "local exec",      "initial exec",     "TLSDESC (static)", "TLSDESC (dynamic)",
      "general dynamic", "loader's records", "register",         "global, of the first thread",
      "title",           "preset",           "unresolved"};
  return kNames[static_cast<std::size_t>(model)];
}

AccessPlan plan_access(const Module& module, bool main_executable, const ElfSymbol& variable,
                       Result<std::vector<TlsRelocation>> relocations,
                       const std::function<const LibcTls&()>& libc, const Target& target,
                       ModuleTrace* trace) {
  AccessPlan plan;
  if (main_executable && module.image->tls()) {
    plan.model = AccessModel::kLocalExec;
    plan.recipe =
        tp_offset(local_exec_offset(module.image->machine(), *module.image->tls(), variable.value));
    return plan;
  }
  std::vector<std::string> reasons;
  if (!relocations) {
    reasons.push_back("its relocations cannot be read: " + relocations.error().context);
    relocations = std::vector<TlsRelocation>{};
  }
  std::ranges::stable_sort(*relocations, {}, preference);
  SlotReader reader(module, variable, libc, target, plan, trace);
  for (std::size_t i = 0; i < std::min(relocations->size(), kMaxSlots); ++i) {
    if (reader.try_slot((*relocations)[i])) return plan;
  }
  if (reader.try_records()) return plan;
  reasons.insert(reasons.end(), reader.reasons().begin(), reader.reasons().end());
  if (relocations->size() > kMaxSlots) {
    reasons.push_back(std::to_string(relocations->size() - kMaxSlots) +
                      " more relocations were not tried");
  }
  // If the loader keeps records, the record of this module is missing only while it is loaded.
  bool waiting = reader.waiting() && !reader.lacks_memory();
  if (reasons.empty()) {
    reasons.emplace_back("no relocation reaches the variable");
    waiting = libc().has_records();
  }
  const char* fix = reader.lacks_memory() ? kWholeCore
                    : !waiting            ? "build the library with TLS descriptors"
                    : target.is_alive()   ? "look again when the library is loaded"
                                          : "";  // the process died while it loaded the library
  plan.findings.push_back(unresolved(reasons, waiting, fix));
  plan.recipe.kind = waiting ? LS_RECIPE_NOT_RELOCATED : LS_RECIPE_NONE;
  return plan;
}

}  // namespace labelscope

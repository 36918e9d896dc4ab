#include "cli/step/stepped_process.h"

#include <algorithm>
#include <array>
#include <span>

#include "cli/text/text.h"
#include "sources/label_source.h"

namespace labelscope::cli {
namespace {

// glibc's and musl's loaders call these functions for debuggers, after they have loaded a library.
constexpr std::array<std::string_view, 2> kLoaderStops{"_dl_debug_state", "dl_debug_state"};

// For example ld-linux-x86-64.so.2, or ld-musl-x86_64.so.1 (which is musl's libc, too).
bool is_loader(std::string_view path) { return base_name(path).starts_with("ld-"); }

// Programs may have allocators and copy functions of their own. They work on behalf of their
// callers, as those of libc do.
bool is_servant(std::string_view function) {
  static constexpr std::array<std::string_view, 20> kNames{
      "malloc", "free",    "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign",
      "memcpy", "memmove", "memset", "memcmp",  "strlen",   "strcpy",        "strncpy",
      "strdup", "strndup", "_Znwm",  "_Znam",   "_ZdlPv",   "_ZdlPvm"};
  return std::find(kNames.begin(), kNames.end(), function) != kNames.end();
}

// Returns the sources for which the rules define what an update is.
std::vector<ls_source> stepped_sources() {
  std::vector<ls_source> all;
  for (const LabelSource* source : label_sources()) {
    if (source->about.updates != nullptr) all.push_back(source->about.number);
  }
  return all;
}

}  // namespace

SteppedProcess::SteppedProcess(Pid pid, std::unique_ptr<LiveProcess> process,
                               Breakpoints breakpoints, const DeclaredUpdates& declared,
                               FileNamer& namer, OnLoaded on_loaded)
    : pid_(pid),
      process_(std::move(process)),
      breakpoints_(std::move(breakpoints)),
      code_(namer),
      triggers_(breakpoints_, code_, declared),
      suspects_(triggers_, code_),
      max_update_steps_(declared.max_steps),
      on_loaded_(std::move(on_loaded)),
      planner_({.only = stepped_sources()}) {}

Result<std::unique_ptr<SteppedProcess>> SteppedProcess::open(Pid pid,
                                                             const DeclaredUpdates& declared,
                                                             FileNamer& namer, OnLoaded on_loaded) {
  auto process = LiveProcess::open(pid);
  if (!process) return std::move(process).error();
  auto breakpoints = Breakpoints::open(pid);
  if (!breakpoints) return std::move(breakpoints).error();
  const auto entry = (*process)->entry_point();
  if (!entry) {
    return Error{ErrorCode::kVanished,
                 "process " + std::to_string(raw(pid)) + " ended before its first instruction"};
  }
  std::unique_ptr<SteppedProcess> opened(new SteppedProcess(
      pid, *std::move(process), *std::move(breakpoints), declared, namer, std::move(on_loaded)));
  opened->triggers_.add(*entry, kProgramTrigger);
  opened->look_again();
  opened->watch_loader();
  return opened;
}

// Constructors of libraries run before the program's first instruction, and may change labels. The
// loader announces the libraries before that.
void SteppedProcess::watch_loader() {
  auto mappings = process_->mappings();
  if (!mappings) return;
  for (const Mapping& mapping : *mappings) {
    const MappedCode* range = mapping.executable ? code_.find(mapping.start) : nullptr;
    if (range == nullptr) continue;
    for (const FunctionSymbol& function : range->file->functions) {
      const bool stop =
          std::find(kLoaderStops.begin(), kLoaderStops.end(), function.name) != kLoaderStops.end();
      if (stop) triggers_.add(function.start + range->bias, kLoaderTrigger);
    }
  }
}

void SteppedProcess::make_plan() {
  ++looks_;
  auto plan = planner_.plan(*process_);
  if (!plan) return;
  plan->facts = with_history(plan_.facts.get(), std::move(plan->facts));
  plan_ = *std::move(plan);
}

void SteppedProcess::look(bool all_code) {
  make_plan();
  auto changes = code_.refresh(*process_);
  for (const Publisher& publisher : plan_.publishers) code_.mark_publisher(publisher.path);
  if (changes) {
    sites_.clear();
    // Unloaded code has taken our breakpoints with it, and other code may be loaded there.
    for (const MappedCode& range : changes->gone) {
      triggers_.forget(range.start, range.end);
      suspects_.forget(range.start, range.end);
      breakpoints_.forget(range.start, range.end);
    }
    for (const MappedCode* range : all_code ? code_.all() : changes->added) {
      triggers_.add_range(*range, plan_);
    }
    for (const MappedCode* range : changes->added) suspects_.add_range(*range);
  }
  on_loaded_(*this);
}

// A program may name a key right before it uses it, so the facts are read again. If another thread
// is held in the middle of an update, the facts from before still hold, because names are only
// added.
std::optional<const ProcessFacts*> SteppedProcess::facts() {
  if (!plan_.needs_facts()) return nullptr;
  const auto is_whole = [](const auto& facts) { return facts && facts->published_ns != 0; };
  if (!is_whole(plan_.facts) || plan_.facts->of_parent ||
      has_changed(*plan_.facts, process_->memory())) {
    auto mappings = process_->mappings();
    if (!mappings) return std::nullopt;
    auto now = read_process_facts(*process_, *mappings, /*wanted=*/true);
    if (!now || is_whole(now) || !plan_.facts) {
      plan_.facts = with_history(plan_.facts.get(), std::move(now));
    }
  }
  if (plan_.facts && !is_whole(plan_.facts)) return std::nullopt;
  return plan_.facts.get();
}

const ProcessFacts* SteppedProcess::unpublished() {
  return plan_.needs_facts() && !facts() ? plan_.facts.get() : nullptr;
}

void SteppedProcess::plan_if_due() {
  if (!plan_.plan_again) return;
  make_plan();
  on_loaded_(*this);
}

void SteppedProcess::begin_program() {
  if (begun_) return;
  begun_ = true;
  // Now the loader has relocated everything that is loaded at start, so the plan is final. Its
  // variables lead to more triggers.
  look(true);
}

const SteppedProcess::CodeSite& SteppedProcess::site_at(Address address) {
  auto [entry, fresh] = sites_.try_emplace(address);
  CodeSite& site = entry->second;
  if (!fresh) return site;
  std::array<std::byte, kMaxInstructionSize> bytes{};
  const std::size_t size = breakpoints_.read(address, bytes);
  site.instruction = disassembler_.decode(address, std::span(bytes).first(size));
  site.role = code_.role_at(address);
  const auto function = code_.function_at(address);
  const MappedCode* range = code_.find(address);
  site.loader = range == nullptr || is_loader(range->file->path);
  site.allocates = function && is_servant(function->symbol->name);
  return site;
}

std::string SteppedProcess::instruction_text(Address address) const {
  std::array<std::byte, kMaxInstructionSize> bytes{};
  const std::size_t size = breakpoints_.read(address, bytes);
  return disassembler_.text(address, std::span(bytes).first(size));
}

}  // namespace labelscope::cli

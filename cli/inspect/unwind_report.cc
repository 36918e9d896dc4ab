// Finds the gaps of an unwind table: rows without a rule in the code of the file, split at
// functions.
#include "cli/inspect/unwind_report.h"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "elf/loaded_file.h"

namespace labelscope::cli {
namespace {

// Functions are aligned; less than this between two of them is padding and no code.
constexpr Address kMostPadding = 64;

// The linker adds these functions to every program and library. They call nothing that runs for
// long.
bool is_start_code(std::string_view function) {
  constexpr std::array<std::string_view, 6> kStartCode{
      "_init",      "_fini", "register_tm_clones", "deregister_tm_clones", "__do_global_dtors_aux",
      "frame_dummy"};
  return std::find(kStartCode.begin(), kStartCode.end(), function) != kStartCode.end();
}

// Returns nullopt if the code is described.
std::optional<ls_cfa_kind> kind_of_gap(const ls_unwind_rule& rule) {
  const bool may_be_followed =
      rule.cfa == LS_CFA_SP || rule.cfa == LS_CFA_FP || rule.cfa == LS_CFA_REGISTER;
  if (may_be_followed && (rule.operand & LS_BY_CODE) != 0) return LS_CFA_SP;
  const bool is_gap =
      rule.cfa == LS_CFA_GAP || rule.cfa == LS_CFA_GAP_FP || rule.cfa == LS_CFA_UNSUPPORTED;
  return is_gap ? std::optional(static_cast<ls_cfa_kind>(rule.cfa)) : std::nullopt;
}

bool leads_on(ls_cfa_kind kind) { return kind == LS_CFA_GAP_FP || kind == LS_CFA_SP; }

struct Range {
  Address start = 0;
  Address end = 0;
};

// Returns where the file has code. Some linkers put code and read-only data into one segment; then
// the sections are more exact. If there are none, or more than a linker makes, the segments are
// used.
std::vector<Range> code_of(const UniqueFd& file, const UnwindTable& table) {
  constexpr std::size_t kMostSections = 4096;
  constexpr std::size_t kMostCode = 64;
  std::vector<Range> code;
  const auto header = read_value<Elf64_Ehdr>(file, 0);
  if (header && header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shnum <= kMostSections) {
    std::vector<Elf64_Shdr> sections(header->e_shnum);
    if (!read_fully(file, header->e_shoff, std::as_writable_bytes(std::span(sections)))) {
      sections.clear();
    }
    for (const Elf64_Shdr& section : sections) {
      const bool is_code = section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_ALLOC) &&
                           (section.sh_flags & SHF_EXECINSTR);
      const Range range{section.sh_addr, section.sh_addr + section.sh_size};
      if (is_code && range.start < range.end && code.size() < kMostCode) code.push_back(range);
    }
  }
  if (!code.empty()) return code;
  for (const LoadSegment& segment : table.segments) {
    if (segment.executable) code.push_back({segment.vaddr, segment.vaddr + segment.file_size});
  }
  return code;
}

class Gaps {
 public:
  Gaps(const UnwindTable& table, std::vector<Range> code, std::vector<FunctionSymbol> functions,
       UnwindReport& report)
      : code_(std::move(code)), functions_(std::move(functions)), report_(report) {
    CodeCounts& counts = report_.counts;
    counts.code_bytes = counts.gap_bytes = counts.frame_pointer_bytes = counts.unsupported_bytes =
        0;
    for (const Range& range : code_) counts.code_bytes += range.end - range.start;
    for (std::size_t page = 0; page < table.pages.size(); ++page) add_page(table, page);
    flush();
  }

 private:
  void add_page(const UnwindTable& table, std::size_t index) {
    const ls_unwind_rows& page = table.pages[index];
    const Address start = table.text + (static_cast<Address>(index) << LS_UNWIND_PAGE_BITS);
    for (std::uint32_t i = 0; i < page.count; ++i) {
      const std::uint32_t row = table.rows[page.first + i];
      const auto kind = kind_of_gap(table.rules[LS_UNWIND_ROW_RULE(row)]);
      const Address from = start + LS_UNWIND_ROW_OFFSET(row);
      const Address to = i + 1 < page.count
                             ? start + LS_UNWIND_ROW_OFFSET(table.rows[page.first + i + 1])
                             : start + (Address{1} << LS_UNWIND_PAGE_BITS);
      if (kind) add_in_code(*kind, from, to);
    }
  }

  // The ranges between and behind the code have no rule either, and are no gaps.
  void add_in_code(ls_cfa_kind kind, Address from, Address to) {
    for (const Range& range : code_) {
      const Address start = std::max(from, range.start);
      const Address end = std::min(to, range.end);
      if (start >= end) continue;
      count(kind, end - start);
      // One function may have both kinds: it sets its frame pointer, and later has none any more.
      const bool both_lead_on = leads_on(kind) && leads_on(pending_.kind);
      const bool goes_on = pending_.end == start && (pending_.kind == kind || both_lead_on);
      if (!goes_on) {
        flush();
        pending_ = {kind, start, end, {}};
      }
      if (kind == LS_CFA_GAP_FP) pending_.kind = kind;
      pending_.end = end;
    }
  }

  void count(ls_cfa_kind kind, std::uint64_t bytes) {
    CodeCounts& counts = report_.counts;
    (kind == LS_CFA_UNSUPPORTED ? counts.unsupported_bytes : counts.gap_bytes) += bytes;
    if (kind == LS_CFA_GAP_FP) counts.frame_pointer_bytes += bytes;
    if (kind == LS_CFA_SP) report_.followed_bytes += bytes;
  }

  // Adds the range collected so far to the report, one part for each function.
  void flush() {
    if (pending_.start == pending_.end) return;
    auto next = std::upper_bound(
        functions_.begin(), functions_.end(), pending_.start,
        [](Address address, const FunctionSymbol& each) { return address < each.start; });
    if (next != functions_.begin()) --next;
    Address at = pending_.start;
    bool named = false;
    for (; next != functions_.end() && next->start < pending_.end; ++next) {
      const Address end = std::min(end_of(next), pending_.end);
      if (end <= at) continue;
      put_unnamed(at, next->start, true);
      put(std::max(at, next->start), end, next->name);
      named = true;
      at = end;
    }
    put_unnamed(at, pending_.end, named);
    pending_ = {};
  }

  // A function without a size, as in assembly code, reaches up to the next one.
  Address end_of(std::vector<FunctionSymbol>::const_iterator function) const {
    if (function->end > function->start) return function->end;
    const auto next = std::next(function);
    return next == functions_.end() ? UINT64_MAX : next->start;
  }

  void put_unnamed(Address start, Address end, bool beside_function) {
    if (start < end && (!beside_function || end - start >= kMostPadding)) put(start, end, {});
  }

  void put(Address start, Address end, const std::string& function) {
    if (start >= end) return;
    if (!leads_on(pending_.kind) && !is_start_code(function)) {
      report_.broken_bytes += end - start;
    }
    ++report_.gap_count;
    if (report_.gaps.size() == UnwindReport::kMostGaps) return;
    report_.gaps.push_back({pending_.kind, start, end, function});
  }

  std::vector<Range> code_;
  std::vector<FunctionSymbol> functions_;
  UnwindReport& report_;
  CodeGap pending_;
};

}  // namespace

UnwindReport report_unwinding(std::string path, UniqueFd file, TableWorker& tables,
                              FileNamer& names) {
  UnwindReport report;
  report.path = std::move(path);
  // Ranges are useful without names, too.
  auto functions = names.all_functions(file, report.path);
  const UniqueFd also(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
  auto table = tables.build(std::move(file));
  if (!table) {
    report.problem = table.error().context;
    return report;
  }
  report.machine = table->machine;
  report.counts = table->counts;
  report.rows = table->rows.size();
  report.rules = table->rules.size();
  report.bytes = table->rows.size() * sizeof(std::uint32_t) +
                 table->rules.size() * sizeof(ls_unwind_rule) +
                 table->pages.size() * sizeof(ls_unwind_page);
  // It writes what it finds to the report.
  const Gaps gaps(*table, code_of(also, *table),
                  functions ? *std::move(functions) : std::vector<FunctionSymbol>(), report);
  return report;
}

}  // namespace labelscope::cli

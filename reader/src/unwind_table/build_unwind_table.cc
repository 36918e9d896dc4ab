// This makes rows of a file, in three passes, each over the result of the one before:
//
//   call frame information --> functions, sorted       call_frames.h: where each starts and ends
//   functions + code ranges --> rows                   a rule for each place, or why there is none;
//                                                      between them by go_frames.h, or by bytes
//   rows --> pages                                     a row at the start of each
//
// Ordinary entries are interpreted once (frame_program.h), and the rest by libdw. That interprets
// an entry again from its start for each of its rows. For a function with a few thousand rows that
// is slow, and for a hostile one it is endless. So time has a limit, too.
//
// An entry that cannot be read costs its own function, never the file.
#include "unwind_table/build_unwind_table.h"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "elf/go_functions.h"
#include "elf/loaded_file.h"
#include "unwind_table/call_frame_image.h"
#include "unwind_table/call_frames.h"
#include "unwind_table/frame_program.h"
#include "unwind_table/frame_rules.h"
#include "unwind_table/go_frames.h"
#include "unwind_table/table_pieces.h"
#include "unwind_table/thread_starts.h"
#include "unwind_table/undescribed_code.h"

namespace labelscope {
namespace {

constexpr std::uint64_t kCodePiece = 64 << 10;
// To read the clock takes as long as a tenth of a function.
constexpr unsigned kBetweenClocks = 16;
// After so many functions libdw forgets them.
constexpr unsigned kMostRemembered = 2048;

Error limit(const std::string& what) { return {ErrorCode::kLimit, what}; }

class TableBuilder {
 public:
  TableBuilder(const UnwindTableLimits& limits)
      : limits_(limits), pieces_(limits.rows, limits.rules) {}

  Result<UnwindTable> build(UniqueFd file);

 private:
  Status open(UniqueFd file);
  Status add_code();
  bool finds_cfa_by_rbx() const;
  Status add_segment(const LoadSegment& segment);
  Status add_function(std::uint64_t start, std::uint64_t end);
  Status add_ordinary_rows(const DescribedFunction& function, std::uint64_t& at);
  const OrdinaryFrame* first_state(const DescribedFunction& function,
                                   std::span<const std::byte> instructions);
  Status add_row(std::uint64_t& at, std::uint64_t to, std::uint64_t start, std::uint64_t end,
                 const ls_unwind_rule& rule);
  bool is_alone(std::uint64_t start) const;
  Status add_gap(std::uint64_t start, std::uint64_t end);
  Status add_go_code(std::uint64_t start, std::uint64_t end);
  Status add_unknown(std::uint64_t start, std::uint64_t end);
  bool is_made_return(std::uint64_t start, const ls_unwind_rule& rule);
  bool is_context_start(std::uint64_t start, const ls_unwind_rule& rule);
  void find_go_code(const ElfImage& elf);
  Status put(std::uint64_t start, const ls_unwind_rule& rule) { return pieces_.put(start, rule); }
  Status check_time();
  bool is_padding(std::uint64_t start, std::uint64_t end);
  std::optional<std::string_view> code_at(std::uint64_t start, std::uint64_t size);

  UnwindTableLimits limits_;
  TablePieces pieces_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  unsigned checks_ = 0;
  unsigned functions_made_ = 0;
  LoadedFile file_;
  std::vector<char> code_;  // a piece of the file, from this address on
  std::uint64_t code_start_ = 0;
  std::uint64_t entry_ = 0;  // 0 if there is none, or if no program starts there
  std::optional<ElfImage> elf_;
  std::optional<KnownFunctions> known_functions_;  // known from the first gap on
  std::vector<CodePart> go_code_;                  // empty if this is no Go file
  std::uint64_t go_end_ = 0;
  std::uint64_t code_end_ = 0;
  std::optional<CallFrames> frames_;
  std::vector<DescribedFunction>::const_iterator next_function_;
  std::vector<DescribedFunction>::const_iterator functions_end_;
  std::uint64_t described_until_ = 0;  // the end of the last function that is described
  bool wants_rbx_ = false;
  // The state that each common entry leaves, by its number; unknown until a function shows it.
  struct FirstState {
    bool known = false;
    std::optional<OrdinaryFrame> state;  // nullopt if it is not ordinary
  };
  std::vector<FirstState> first_states_;
  UnwindTable table_;
};

Result<UnwindTable> TableBuilder::build(UniqueFd file) {
  if (Status status = open(std::move(file)); !status) return std::move(status).error();
  const CodeCounts before = table_.counts;
  if (Status status = add_code(); !status) return std::move(status).error();
  if (finds_cfa_by_rbx()) {
    // Then all rules of the file must say where rbx is.
    wants_rbx_ = true;
    pieces_ = TablePieces(limits_.rows, limits_.rules);
    table_.counts = before;
    if (Status status = add_code(); !status) return std::move(status).error();
  }
  if (Status status = pieces_.fill(table_, code_end_); !status) return std::move(status).error();
  return std::move(table_);
}

Status TableBuilder::add_code() {
  static const std::vector<DescribedFunction> kNone;
  const auto& functions = frames_ ? frames_->functions() : kNone;
  next_function_ = functions.begin();
  functions_end_ = functions.end();
  described_until_ = 0;
  table_.counts.functions = functions.size();
  table_.counts.damaged_functions = frames_ ? frames_->damaged() : 0;

  std::vector<LoadSegment> code;
  std::copy_if(table_.segments.begin(), table_.segments.end(), std::back_inserter(code),
               [](const LoadSegment& each) { return each.executable && each.file_size != 0; });
  if (code.empty()) return Error{ErrorCode::kNotFound, "it has no code"};
  std::sort(code.begin(), code.end(),
            [](const LoadSegment& a, const LoadSegment& b) { return a.vaddr < b.vaddr; });
  code_end_ = code.back().vaddr + code.back().file_size;
  table_.text = code.front().vaddr & ~(kUnwindPageBytes - 1);
  if (code_end_ < table_.text || code_end_ - table_.text > limits_.text_bytes) {
    return limit("its code spans more than " + std::to_string(limits_.text_bytes >> 20) + " MiB");
  }
  for (const LoadSegment& segment : code) {
    if (Status status = add_segment(segment); !status) return status;
  }
  return put(code_end_, rule_of_kind(LS_CFA_GAP));
}

bool TableBuilder::finds_cfa_by_rbx() const {
  constexpr int kRbx = 3;
  return table_.machine == Machine::kX86_64 &&
         std::ranges::any_of(pieces_.rules(), [](const ls_unwind_rule& rule) {
           return rule.cfa == LS_CFA_REGISTER && LS_OPERAND_NUMBER(rule.operand) == kRbx;
         });
}

Status TableBuilder::open(UniqueFd file) {
  UniqueFd second(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  UniqueFd third(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (!second.valid() || !third.valid()) return system_error(errno, "cannot open the file again");
  auto elf = ElfImage::open(std::move(second));
  if (!elf) return std::move(elf).error();
  table_.machine = elf->machine();
  table_.segments = elf->load_segments();
  file_.loads = table_.segments;
  file_.fd = std::move(file);
  Status status = file_.read_offset(offsetof(Elf64_Ehdr, e_entry),
                                    std::as_writable_bytes(std::span(&entry_, 1)));
  if (!status) return status;
  elf_.emplace(*std::move(elf));
  // In the vDSO of old kernels the entry is its first function, which programs call.
  if (entry_ != 0 && !elf_->executable() &&
      std::ranges::count(elf_->exported_functions(), entry_) != 0) {
    entry_ = 0;
  }

  find_go_code(*elf_);
  auto image = CallFrameImage::from_file(std::move(third));
  auto frames = image ? CallFrames::open(*std::move(image)) : std::move(image).error();
  if (frames) {
    frames_.emplace(*std::move(frames));
    return {};
  }
  // Go's linker writes only .debug_frame, which may be stripped; see go_frames.h.
  return frames.error().code == ErrorCode::kNotFound ? Status() : Status(std::move(frames).error());
}

Status TableBuilder::check_time() {
  if (++checks_ % kBetweenClocks != 0) return {};
  if (std::chrono::steady_clock::now() - start_ < limits_.time) return {};
  return limit("its call frame information takes longer than " +
               std::to_string(limits_.time.count()) + " ms");
}

// Functions may overlap, or lie outside of all code: the first one is used, up to its end.
Status TableBuilder::add_segment(const LoadSegment& segment) {
  const std::uint64_t end = segment.vaddr + segment.file_size;
  std::uint64_t at = segment.vaddr;
  if (pieces_.last_start() && at < *pieces_.last_start()) {
    return Error{ErrorCode::kMalformed, "its segments overlap"};
  }
  table_.counts.code_bytes += segment.file_size;
  for (; next_function_ != functions_end_ && next_function_->start < end; ++next_function_) {
    if (next_function_->end <= at) continue;
    const std::uint64_t start = std::max(next_function_->start, at);
    if (Status status = add_gap(at, start); !status) return status;
    at = std::min(next_function_->end, end);
    if (Status status = add_function(start, at); !status) return status;
    described_until_ = at;
    if (++functions_made_ % kMostRemembered == 0) frames_->forget();
    if (next_function_->end > end) break;  // the function goes on in the next segment, if at all
  }
  if (Status status = add_gap(at, end); !status) return status;
  // Behind the segment is no code, up to the next one.
  return put(end, rule_of_kind(LS_CFA_GAP));
}

// Returns whether the next function is used from its start to its end, and no other one claims a
// part of it. Then libdw can find no other entry for its code.
bool TableBuilder::is_alone(std::uint64_t start) const {
  const auto after = std::next(next_function_);
  return start == next_function_->start && described_until_ <= start &&
         (after == functions_end_ || after->start >= next_function_->end);
}

// Adds rows up to `at`, as far as the function's instructions are ordinary.
Status TableBuilder::add_ordinary_rows(const DescribedFunction& function, std::uint64_t& at) {
  const auto instructions = frames_->instructions(function);
  const OrdinaryFrame* first = instructions ? first_state(function, *instructions) : nullptr;
  if (first == nullptr) return {};
  const FrameNumbers numbers = frame_numbers(table_.machine);
  FrameProgram program(*instructions, frames_->common(function), *first, numbers, function.start,
                       function.end);
  for (FrameProgram::Row row; at < function.end && program.next(row);) {
    if (Status status = check_time(); !status) return status;
    const ls_unwind_rule rule = rule_of_ordinary(row.state, numbers, wants_rbx_);
    if (Status status = add_row(at, row.end, function.start, function.end, rule); !status) {
      return status;
    }
  }
  return {};
}

// Returns null if it is not ordinary, or not known yet.
const OrdinaryFrame* TableBuilder::first_state(const DescribedFunction& function,
                                               std::span<const std::byte> instructions) {
  first_states_.resize(frames_->common_entries());
  FirstState& first = first_states_[function.common];
  if (!first.known && FrameProgram::begins_with_advance(instructions)) {
    const CallFrames::Frame frame = frames_->at(function.start);
    Dwarf_Addr from = 0;
    Dwarf_Addr to = 0;
    bool signal = false;
    const int number = frame == nullptr ? -1 : dwarf_frame_info(frame.get(), &from, &to, &signal);
    if (number < 0) return nullptr;
    const FrameFacts facts{static_cast<unsigned>(number), signal, true};
    first = {true, ordinary_frame(frame.get(), frame_numbers(table_.machine), facts)};
  }
  return first.state ? &*first.state : nullptr;
}

Status TableBuilder::add_function(std::uint64_t start, std::uint64_t end) {
  std::uint64_t at = start;
  if (!limits_.only_libdw && is_alone(start) && end == next_function_->end) {
    if (Status status = add_ordinary_rows(*next_function_, at); !status) return status;
  }
  while (at < end) {
    if (Status status = check_time(); !status) return status;
    const CallFrames::Frame frame = frames_->at(at);
    Dwarf_Addr from = 0;
    Dwarf_Addr to = 0;
    bool signal = false;
    const int return_address =
        frame == nullptr ? -1 : dwarf_frame_info(frame.get(), &from, &to, &signal);
    if (return_address < 0 || to <= at) {
      ++(frame == nullptr ? table_.counts.hidden_functions : table_.counts.damaged_functions);
      table_.counts.unsupported_bytes += end - at;
      return put(at, rule_of_kind(LS_CFA_UNSUPPORTED));
    }
    const FrameFacts facts{static_cast<unsigned>(return_address), signal, wants_rbx_};
    const ls_unwind_rule rule = rule_of_frame(frame.get(), table_.machine, facts);
    if (Status status = add_row(at, to, start, end, rule); !status) return status;
  }
  return {};
}

// Adds the row of a function from `at` on, and moves `at` behind it.
Status TableBuilder::add_row(std::uint64_t& at, std::uint64_t to, std::uint64_t start,
                             std::uint64_t end, const ls_unwind_rule& rule) {
  to = std::min(to, end);
  if (rule.cfa == LS_CFA_UNSUPPORTED) table_.counts.unsupported_bytes += to - at;
  const std::uint64_t here = std::exchange(at, to);
  const bool has_before = here == start && pieces_.last_start() && *pieces_.last_start() < here;
  if (has_before && is_made_return(start, rule)) {
    ls_unwind_rule made = rule_of_kind(LS_CFA_ENTRY);
    made.operand = LS_MADE_RETURN;
    if (Status status = put(here - 1, made); !status) return status;
    if (rule.ra != LS_RA_NONE) at = end;
    return put(here, rule.ra == LS_RA_NONE ? rule : rule_of_kind(LS_CFA_ENTRY));
  }
  // A handler returns to the first byte, and return addresses are looked up one byte before.
  const bool early = has_before && rule.cfa == LS_CFA_SIGNAL;
  return put(early ? here - 1 : here, rule);
}

// A return address may be made for a function that nobody calls. The byte in front of it must be
// padding: else it may be the end of a call, or code that comes here by itself.
bool TableBuilder::is_made_return(std::uint64_t start, const ls_unwind_rule& rule) {
  const bool is_root = rule.cfa == LS_CFA_SP && rule.ra == LS_RA_NONE;
  return (is_root || is_context_start(start, rule)) && described_until_ < start &&
         is_padding(described_until_, start);
}

// Such a function is described as any other, although it gives up the stack at once.
bool TableBuilder::is_context_start(std::uint64_t start, const ls_unwind_rule& rule) {
  ls_unwind_rule wanted = table_.machine == Machine::kX86_64 ? kOnlyReturnAddress : kLinkRegister;
  wanted.operand = rule.operand;
  if (!same_rule(rule, wanted)) return false;
  const auto code = code_at(start, kContextStart);
  return code && starts_context(*code, table_.machine);
}

void TableBuilder::find_go_code(const ElfImage& elf) {
  const auto functions = GoFunctions::read(elf, [this] { return !check_time(); });
  if (!functions) {
    table_.counts.go_refused = functions.error().code != ErrorCode::kNotFound;
    return;
  }
  // Half of the limits is kept for the other code of the file.
  const CodeLimits half{limits_.rows / 2, LS_UNWIND_BLOCK_ROWS / 2, limits_.rules / 2};
  auto code = go_frames(*functions, file_, table_.machine, entry_, half);
  table_.counts.go_refused = !code;
  if (!code) return;
  table_.counts.go_functions = functions->count();
  go_end_ = functions->end();
  go_code_ = *std::move(code);
}

Status TableBuilder::add_gap(std::uint64_t start, std::uint64_t end) {
  if (start >= end) return {};
  if (Status status = check_time(); !status) return status;
  if (go_code_.empty()) return add_unknown(start, end);
  const std::uint64_t go = std::clamp(go_code_.front().start, start, end);
  const std::uint64_t go_end = std::clamp(go_end_, go, end);
  if (Status status = add_unknown(start, go); !status) return status;
  if (Status status = add_go_code(go, go_end); !status) return status;
  return add_unknown(go_end, end);
}

Status TableBuilder::add_go_code(std::uint64_t start, std::uint64_t end) {
  if (start >= end) return {};
  auto part = std::upper_bound(
      go_code_.cbegin(), go_code_.cend(), start,
      [](std::uint64_t wanted, const CodePart& each) { return wanted < each.start; });
  --part;
  for (; part != go_code_.cend() && part->start < end; ++part) {
    const std::uint64_t from = std::max(part->start, start);
    const std::uint64_t up_to = std::next(part) != go_code_.cend() ? std::next(part)->start : end;
    const std::uint64_t bytes = std::min(up_to, end) - from;
    const bool by_fp = part->rule.cfa == LS_CFA_GAP_FP;
    if (by_fp || part->rule.cfa == LS_CFA_GAP) table_.counts.gap_bytes += bytes;
    if (by_fp) table_.counts.frame_pointer_bytes += bytes;
    if (Status status = put(from, part->rule); !status) return status;
  }
  return {};
}

Status TableBuilder::add_unknown(std::uint64_t start, std::uint64_t end) {
  if (start >= end) return {};
  // Padding belongs to the function before it.
  if (is_padding(start, end)) return {};
  if (!known_functions_) known_functions_ = known_functions(*elf_);
  const CodeLimits half{(limits_.rows - pieces_.size()) / 2,
                        (LS_UNWIND_BLOCK_ROWS - pieces_.rows_in_page(start)) / 2,
                        (limits_.rules - pieces_.rules().size()) / 2};
  const auto parts = look_at_undescribed_code(file_, table_.machine,
                                              {start, end, entry_, &*known_functions_, half});
  table_.counts.gap_bytes += end - start;
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    const std::uint64_t up_to = std::next(part) != parts.end() ? std::next(part)->start : end;
    if (part->rule.cfa == LS_CFA_GAP_FP) table_.counts.frame_pointer_bytes += up_to - part->start;
    if (Status status = put(part->start, part->rule); !status) return status;
  }
  return {};
}

bool TableBuilder::is_padding(std::uint64_t start, std::uint64_t end) {
  if (end - start > kMostPadding) return false;
  const auto code = code_at(start, end - start);
  return code && is_only_padding(*code, table_.machine);
}

// Something is asked for at nearly every function, so the code is read in pieces. The result is
// valid until the next call.
std::optional<std::string_view> TableBuilder::code_at(std::uint64_t start, std::uint64_t size) {
  const auto known = [&] {
    return start >= code_start_ && start - code_start_ <= code_.size() &&
           size <= code_.size() - (start - code_start_);
  };
  if (!known()) {
    const auto segment = std::ranges::find_if(file_.loads, [&](const LoadSegment& load) {
      return start >= load.vaddr && start - load.vaddr < load.file_size;
    });
    if (segment == file_.loads.end()) return std::nullopt;
    code_start_ = start;
    code_.resize(std::min(kCodePiece, segment->file_size - (start - segment->vaddr)));
    // A file may be shorter than its segments: then only what is asked for is read.
    if (!file_.read(start, std::as_writable_bytes(std::span(code_)))) {
      code_.resize(std::min<std::uint64_t>(size, code_.size()));
      if (!file_.read(start, std::as_writable_bytes(std::span(code_)))) code_.clear();
    }
    if (!known()) return std::nullopt;
  }
  return std::string_view(code_.data() + (start - code_start_), size);
}

}  // namespace

const ls_unwind_rule* UnwindTable::rule_at(std::uint64_t address) const {
  const std::uint64_t page = (address - text) >> LS_UNWIND_PAGE_BITS;
  if (address < text || page >= pages.size()) return nullptr;
  const std::span here = std::span(rows).subspan(pages[page].first, pages[page].count);
  const auto offset = static_cast<std::uint32_t>(address & (kUnwindPageBytes - 1));
  const auto after = std::upper_bound(
      here.begin(), here.end(), offset,
      [](std::uint32_t wanted, std::uint32_t row) { return wanted < LS_UNWIND_ROW_OFFSET(row); });
  return after == here.begin() ? nullptr : &rules[LS_UNWIND_ROW_RULE(*std::prev(after))];
}

Result<UnwindTable> build_unwind_table(UniqueFd file, const UnwindTableLimits& limits) {
  return TableBuilder(limits).build(std::move(file));
}

}  // namespace labelscope

// The data of the page, which cli/format/page/decode.js reads again.
//
//   "labelscope page 1\n", then sections: name, size, bytes
//
// A name is a length and characters. Lengths, sizes and all columns of numbers are varints (seven
// bits a byte, the lowest first, the highest bit set in all bytes but the last). A column goes on
// to the end of its section. Readers skip sections that they do not know.
//
//   strings.length strings.bytes              UTF-8 without controls; string 0 is empty
//   function.name .file .module               string numbers
//   function.kind                             0 code, 1 kernel, 2 an address without a name
//   node.depth node.function                  all stacks as one tree, in preorder; roots: depth 1
//   stack.node                                where each stack ends; node 0 is above the roots
//   stack.end                                 how it ended ("complete"), a string number
//   set.outcome set.size label.key .value     label sets; label.*: those of set 0, of set 1, ...
//   outcome.name                              of the numbers in set.outcome
//   thread.pid .tid .name .comm               thread 0 is the unknown one
//   sample.stack .set .thread .weight .count  rows: weight is in nanoseconds
//   sample.time                               ticks since the row before; shorter than the others,
//                                             if the last rows have no time
//
// Small, because gzip comes next: frequent stacks and sets have small numbers, rows are in the
// order of time, and a tree in preorder needs no parents. Each tick has one row of a kind.
#include "cli/format/page/page_columns.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/format/common/frame_tree.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/profile/index_table.h"
#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

constexpr std::string_view kMagic = "labelscope page 1\n";
constexpr std::uint64_t kFirstTickNs = 1'000'000;
// A page of so many rows still opens in seconds. If there are more, they are added up in longer
// ticks.
constexpr std::size_t kMostRows = 1'000'000;
constexpr std::uint32_t kNoTick = UINT32_MAX;

class Column {
 public:
  void add(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

void add_section(std::string& out, std::string_view name, std::string_view bytes) {
  Column lengths;
  lengths.add(name.size());
  out += lengths.bytes();
  out += name;
  Column size;
  size.add(bytes.size());
  out += size.bytes();
  out += bytes;
}

void add_section(std::string& out, std::string_view name, const Column& column) {
  add_section(out, name, column.bytes());
}

class Strings {
 public:
  Strings() { intern(""); }
  // The page shows control characters and bytes that are no text as escapes, as pprof files do, so
  // that values mean the same in both.
  std::uint32_t intern(std::string_view bytes) {
    std::string text = escape_terminal(bytes);
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    auto [entry, added] = numbers_.try_emplace(std::move(text), next);
    if (added) {
      lengths_.add(entry->first.size());
      text_ += entry->first;
    }
    return entry->second;
  }
  void write(std::string& out) const {
    add_section(out, "strings.length", lengths_);
    add_section(out, "strings.bytes", text_);
  }

 private:
  std::unordered_map<std::string, std::uint32_t, SecretHash> numbers_;
  Column lengths_;
  std::string text_;
};

struct Row {
  std::uint32_t tick = kNoTick;
  std::uint32_t stack = 0;
  std::uint32_t set = 0;
  std::uint32_t thread = 0;
  std::uint64_t weight_ns = 0;
  std::uint64_t count = 0;

  auto identity() const { return std::tie(tick, stack, set, thread); }
};

void add_up(std::vector<Row>& rows) {
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.identity() < b.identity(); });
  std::size_t kept = 0;
  for (const Row& row : rows) {
    if (kept > 0 && rows[kept - 1].identity() == row.identity()) {
      rows[kept - 1].weight_ns += row.weight_ns;
      rows[kept - 1].count += row.count;
    } else {
      rows[kept++] = row;
    }
  }
  rows.resize(kept);
}

// Renumbers the values of a field of all rows, from 0 to `values`: the most frequent becomes 0.
// Returns the old numbers of those that occur, in their new order.
std::vector<std::uint32_t> rename_by_frequency(std::vector<Row>& rows, std::size_t values,
                                               std::uint32_t Row::*field) {
  std::vector<std::uint32_t> uses(values);
  for (const Row& row : rows) ++uses[row.*field];
  std::vector<std::uint32_t> order(values);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return uses[a] > uses[b]; });
  while (!order.empty() && uses[order.back()] == 0) order.pop_back();
  std::vector<std::uint32_t> renamed(values);
  for (std::size_t i = 0; i < order.size(); ++i) renamed[order[i]] = static_cast<std::uint32_t>(i);
  for (Row& row : rows) row.*field = renamed[row.*field];
  return order;
}

class Builder {
 public:
  explicit Builder(const Profile& profile) : profile_(profile), labels_(profile) {}

  PageColumns build() {
    PageColumns page;
    add_rows();
    page.tick_ns = add_up_in_ticks();
    page.rows = rows_.size();
    page.bytes = kMagic;
    write_stacks(page.bytes);
    write_sets(page.bytes);
    write_threads(page.bytes);
    write_rows(page.bytes);
    strings_.write(page.bytes);
    return page;
  }

 private:
  void add_rows() {
    rows_.reserve(profile_.rows.size());
    for (const SampleRow& from : profile_.rows) {
      Row row;
      row.stack =
          from.stack == kNoIndex ? static_cast<std::uint32_t>(profile_.stacks.size()) : from.stack;
      row.set = set_of(from);
      row.thread = from.thread == kNoIndex ? 0 : from.thread + 1;
      row.weight_ns = from.weight_ns;
      row.count = from.count;
      rows_.push_back(row);
    }
  }

  // Returns a label set of the page: labels, outcome, and the kind of time, which is a label there.
  // If publishers disagree, values name their publishers, which belong to the process.
  std::uint32_t set_of(const SampleRow& row) {
    const bool named = (row.flags & LS_KEY_CONFLICT) != 0 && row.thread != kNoIndex;
    const Index process = named ? profile_.threads[row.thread].process : kNoIndex;
    const auto next = static_cast<std::uint32_t>(sets_.size());
    auto [entry, added] =
        set_numbers_.try_emplace({row.label_set, row.outcome, row.value, process}, next);
    if (added) sets_.push_back({row.label_set, row.thread, row.outcome, row.value});
    return entry->second;
  }

  std::uint64_t add_up_in_ticks() {
    const auto timed = [](const SampleRow& row) { return row.time_ns != 0; };
    const bool any = std::any_of(profile_.rows.begin(), profile_.rows.end(), timed);
    std::uint64_t tick_ns = 0;
    if (any) {
      // The ticks must fit into a 32-bit number.
      for (tick_ns = kFirstTickNs; profile_.duration_ns / tick_ns >= kNoTick / 2;) tick_ns *= 4;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!timed(profile_.rows[i])) continue;
        const std::uint64_t time = profile_.rows[i].time_ns;
        const std::uint64_t since =
            time > profile_.start_monotonic_ns ? time - profile_.start_monotonic_ns : 0;
        rows_[i].tick =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(since / tick_ns, kNoTick - 1));
      }
    }
    add_up(rows_);
    while (any && rows_.size() > kMostRows && tick_ns < profile_.duration_ns) {
      tick_ns *= 4;
      for (Row& row : rows_) {
        if (row.tick != kNoTick) row.tick /= 4;
      }
      add_up(rows_);
    }
    return tick_ns;
  }

  void write_stacks(std::string& out) {
    const std::vector<std::uint32_t> order =
        rename_by_frequency(rows_, profile_.stacks.size() + 1, &Row::stack);
    FrameTree tree;
    std::vector<std::vector<FrameTree::Name>> frames(profile_.locations.size());
    std::vector<FrameTree::Node> ends;
    for (const std::uint32_t stack : order) {
      FrameTree::Node node = FrameTree::kRoot;
      if (stack < profile_.stacks.size()) {
        const std::vector<Index>& leaf_first = profile_.stacks[stack].frames;
        for (auto at = leaf_first.rbegin(); at != leaf_first.rend(); ++at) {
          if (frames[*at].empty()) frames[*at] = functions_of(tree, profile_.locations[*at]);
          for (FrameTree::Name name : frames[*at]) node = tree.child(node, name);
        }
      }
      // Without this frame the sample would count in the total and show up nowhere.
      if (node == FrameTree::kRoot) node = tree.child(node, function(tree, kNoStack, "", "", 2));
      ends.push_back(node);
    }
    const std::vector<FrameTree::Node> places = tree.places();
    std::vector<FrameTree::Node> in_order(places.size());
    for (std::size_t i = 0; i < places.size(); ++i)
      in_order[places[i]] = static_cast<FrameTree::Node>(i);
    std::vector<std::uint32_t> depths(places.size());
    Column depth;
    Column name;
    for (const FrameTree::Node node : in_order) {
      if (node == FrameTree::kRoot) continue;
      depths[node] = depths[tree.parent(node)] + 1;  // the parent came before
      depth.add(depths[node]);
      name.add(tree.name_of(node));
    }
    Column last;
    for (const FrameTree::Node node : ends) last.add(places[node]);
    Column end;
    for (const std::uint32_t stack : order) {
      const bool none = stack >= profile_.stacks.size();
      end.add(strings_.intern(none ? stack_end_name(LS_STACK_MISSING)
                                   : stack_end_name(profile_.stacks[stack])));
    }
    add_section(out, "function.name", function_names_);
    add_section(out, "function.file", function_files_);
    add_section(out, "function.module", function_modules_);
    add_section(out, "function.kind", function_kinds_);
    add_section(out, "node.depth", depth);
    add_section(out, "node.function", name);
    add_section(out, "stack.node", last);
    add_section(out, "stack.end", end);
  }

  FrameTree::Name function(FrameTree& tree, std::string_view name, std::string_view file,
                           std::string_view module, unsigned kind) {
    std::string parts(name);
    parts += '\0';
    parts += file;
    parts += '\0';
    parts += module;
    const FrameTree::Name number = tree.name(parts);
    if (number == functions_) {
      ++functions_;
      function_names_.add(strings_.intern(name));
      function_files_.add(strings_.intern(file));
      function_modules_.add(strings_.intern(module));
      function_kinds_.add(kind);
    }
    return number;
  }

  // The function comes first, then what was inlined into it.
  std::vector<FrameTree::Name> functions_of(FrameTree& tree, const Location& location) {
    const ProfileModule* module =
        location.module == kNoIndex ? nullptr : &profile_.modules[location.module];
    const std::string_view path = module == nullptr ? std::string_view() : module->path;
    const bool in_kernel = module != nullptr && module->kind == ProfileModule::Kind::kKernel;
    std::vector<FrameTree::Name> names;
    for (auto line = location.lines.rbegin(); line != location.lines.rend(); ++line) {
      const std::string& name = line->function.empty() ? line->system_name : line->function;
      if (!name.empty()) names.push_back(function(tree, name, line->file, path, in_kernel ? 1 : 0));
    }
    if (names.empty())
      names.push_back(function(tree, unnamed_frame(profile_, location), "", path, 2));
    return names;
  }

  void write_sets(std::string& out) {
    const std::vector<std::uint32_t> order = rename_by_frequency(rows_, sets_.size(), &Row::set);
    Column outcome;
    Column kind;
    Column size;
    Column key;
    Column value;
    for (const std::uint32_t number : order) {
      SampleRow row;
      row.label_set = sets_[number].label_set;
      row.thread = sets_[number].thread;
      row.value = sets_[number].value;
      outcome.add(sets_[number].outcome);
      kind.add(strings_.intern(profile_.has_kinds() ? profile_.values[row.value].name : ""));
      std::map<std::string_view, std::string> values;
      for (const Label& label : labels_.label_set(row)) {
        auto [entry, added] = values.try_emplace(label.key);
        if (added) entry->second = labels_.value(row, label.key).value_or("");
      }
      if (const auto state = labels_.own_value(row, kStateKey))
        values.try_emplace(kStateKey, *state);
      size.add(values.size());
      for (const auto& [of_key, text] : values) {
        key.add(strings_.intern(of_key));
        value.add(strings_.intern(text));
      }
    }
    Column name;
    for (unsigned i = 0; i < LS_OUTCOME_COUNT; ++i) name.add(strings_.intern(outcome_name(i)));
    add_section(out, "set.outcome", outcome);
    add_section(out, "set.kind", kind);
    add_section(out, "set.size", size);
    add_section(out, "label.key", key);
    add_section(out, "label.value", value);
    add_section(out, "outcome.name", name);
  }

  void write_threads(std::string& out) {
    Column pid;
    Column tid;
    Column name;
    Column comm;
    for (std::size_t i = 0; i <= profile_.threads.size(); ++i) {
      SampleRow row;
      row.thread = i == 0 ? kNoIndex : static_cast<Index>(i - 1);
      const Thread* thread = labels_.thread(row);
      const Process* process = labels_.process(row);
      pid.add(thread == nullptr ? 0 : static_cast<std::uint32_t>(raw(profile_.pid_of(*thread))));
      tid.add(thread == nullptr ? 0 : static_cast<std::uint32_t>(raw(thread->tid)));
      name.add(thread == nullptr ? 0 : strings_.intern(thread->name));
      comm.add(process == nullptr ? 0 : strings_.intern(process->comm));
    }
    add_section(out, "thread.pid", pid);
    add_section(out, "thread.tid", tid);
    add_section(out, "thread.name", name);
    add_section(out, "thread.comm", comm);
  }

  void write_rows(std::string& out) const {
    Column stack;
    Column set;
    Column thread;
    Column time;
    Column weight;
    Column count;
    std::uint32_t before = 0;
    // add_up() has sorted them by time, with those without a time last
    for (const Row& row : rows_) {
      stack.add(row.stack);
      set.add(row.set);
      thread.add(row.thread);
      weight.add(row.weight_ns);
      count.add(row.count);
      if (row.tick == kNoTick) continue;
      time.add(row.tick - before);
      before = row.tick;
    }
    add_section(out, "sample.stack", stack);
    add_section(out, "sample.set", set);
    add_section(out, "sample.thread", thread);
    add_section(out, "sample.weight", weight);
    add_section(out, "sample.count", count);
    add_section(out, "sample.time", time);
  }

  struct Set {
    Index label_set;
    Index thread;  // one of the threads that have this set
    std::uint8_t outcome;
    std::uint8_t value;
  };

  const Profile& profile_;
  RowLabels labels_;
  Strings strings_;
  std::vector<Row> rows_;
  std::map<std::tuple<Index, std::uint8_t, std::uint8_t, Index>, std::uint32_t> set_numbers_;
  std::vector<Set> sets_;
  FrameTree::Name functions_ = 0;
  Column function_names_;
  Column function_files_;
  Column function_modules_;
  Column function_kinds_;
};

}  // namespace

PageColumns page_columns(const Profile& profile) { return Builder(profile).build(); }

}  // namespace labelscope::cli

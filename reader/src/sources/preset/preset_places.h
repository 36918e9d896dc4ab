// PresetPlaces writes the steps that lead to a place: from a variable, an accessor or a name of
// `let` along pointers, of which each is read once (preset_compile.cc says how).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "labelscope/preset_plan.h"
#include "sources/preset/accessor.h"
#include "sources/preset/preset_compile.h"
#include "sources/preset/preset_file.h"
#include "sources/preset/preset_match.h"

namespace labelscope {

inline Error unfit(std::string what) { return {ErrorCode::kUnsupported, std::move(what)}; }

// A structure's bytes that are read at once.
struct BlockSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  unsigned block = 0;
  bool holds(std::int64_t offset, unsigned size) const {
    return offset >= begin && offset + size <= end;
  }
};
// Which fields (offset, bytes) are read of which structure, and which structures are read as
// blocks: by the way to them.
using PresetFields = std::map<std::string, std::vector<std::pair<std::int64_t, unsigned>>>;
using PresetBlocks = std::map<std::string, BlockSpan>;
// Chooses those of which most fields are read.
PresetBlocks choose_blocks(const PresetFields& fields);

// Where an expression has come to.
struct Place {
  enum class Kind { kSlot, kAddress, kThread };
  Kind kind{};
  unsigned slot = 0;
  std::uint64_t base = 0;   // kAddress, or from the thread pointer
  std::int64_t offset = 0;  // from there
  std::string way{};        // to the slot or base; structures of one way are one structure
  unsigned size = 0;        // how many bytes an accessor has read here; 0: no accessor
  bool is_result = false;   // an accessor returns this place itself, so -> leads to it
};

class PresetPlaces {
 protected:
  using Base = PresetExpression::Base;

  // Two slots are for values; the others are for pointers.
  static constexpr unsigned kPointers = LS_PRESET_SLOTS - 2;
  static constexpr unsigned kLeft = kPointers;
  static constexpr unsigned kRight = kPointers + 1;

  // What is done where a pointer is null: the next step is skipped, or the rest of the label, or
  // the run ends.
  struct Guards {
    enum class Kind { kStep, kLabel, kNeed };
    Kind kind = Kind::kStep;
    std::vector<std::string> conditions{};  // under which the steps run
    std::vector<std::size_t>* to_end{};     // kLabel: steps that skip to the label's end
    std::set<unsigned>* tested{};           // kLabel: slots that are not null from here on
    std::string why{};                      // kNeed

    static Guards of_label(std::vector<std::size_t>& to_end, std::set<unsigned>& tested) {
      return {Kind::kLabel, {}, &to_end, &tested, {}};
    }
  };

  PresetPlaces(const PresetDescription& preset, const ChosenVariant& variant, const ElfImage& image,
               const PresetPlace& place, PresetBlocks blocks)
      : preset_(preset),
        variant_(variant),
        image_(image),
        symbols_(image),
        place_(place),
        blocks_(std::move(blocks)) {}

  std::size_t add_step(unsigned op, unsigned to, unsigned from, unsigned size, std::int64_t offset,
                       std::uint64_t value);
  void say(std::size_t step, std::string words);

  // What the variant or the file's symbols say.
  Result<std::int64_t> number(const PresetNumber& number) const;
  Result<std::int64_t> offset(const PresetNumber& text) const;
  Result<ElfSymbol> symbol(const std::string& name) const;

  Result<Place> evaluate(const PresetExpression& expression, const Guards& guards);
  // Reads the number at a place into a slot.
  void read(const Place& from, unsigned size, bool is_signed, unsigned to, const Guards& guards);
  // The slot with the pointer that a `let` with a condition has named: 0 if none of them held.
  Result<unsigned> slot_of_let(const std::string& name);
  // Makes sure that the pointer in a slot is not null where the steps of a label or need follow it.
  void guard(unsigned slot, const Guards& guards);
  void set_address(const Place& of, unsigned slot);
  // Reads the structure there, if it is one that is read as a block.
  void make_block(const Place& of, const Guards& guards);
  // Reads the pointer at a place into its slot, once; makes no block of what it points to.
  Result<unsigned> read_pointer(const Place& from, const Guards& guards);

  const PresetDescription& preset_;
  const ChosenVariant& variant_;
  const ElfImage& image_;
  PresetSymbols symbols_;
  const PresetPlace& place_;
  PresetBlocks blocks_;
  PresetFields fields_;
  std::map<std::string, bool> filled_;     // ways of structures whose block has been read
  std::map<std::string, unsigned> slots_;  // by way
  std::map<unsigned, bool> never_null_;    // slots that a need has tested
  bool uses_global_ = false;
  std::vector<ls_preset_step> steps_;
  std::vector<std::pair<std::size_t, std::string>> words_;

 private:
  Result<Place> place_of_symbol(const std::string& name);
  Result<Accessor> decode(const std::string& function) const;
  // Goes the way of an accessor, from `argument` if it has one.
  Result<Place> call(const std::string& function, const Place* argument, const Guards& guards);
  Result<Place> follow(const Place& from, const Guards& guards);
  Result<Place> take(const Place& from, const PresetStep& step, const Guards& guards);
  Result<Place> search(const Place& list, const PresetSearch& search, const Guards& guards);
  // Returns the way to what lies behind a place. A label that tests one condition after the other
  // goes on with the pointers that it has followed under the first ones.
  std::string way_behind(const Place& from, const std::string& step, const Guards& guards) const;
  Result<unsigned> new_slot(const std::string& way);
  // Without a label to skip, only the one step that follows is skipped.
  void guard_step(unsigned slot, const Guards& guards);
  // Returns the block that holds these bytes of a structure, if it has been read.
  const BlockSpan* block_of(const Place& from, unsigned size, const Guards& guards);
};

}  // namespace labelscope

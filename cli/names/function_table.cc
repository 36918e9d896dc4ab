// Uses libelf alone and looks for no debug files, so that reading every library of a process stays
// cheap.
#include "cli/names/function_table.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>
#include <string_view>

#include "cli/worker/fields.h"
#include "elf/elf_image.h"
#include "elf/go_functions.h"
#include "elf/hostile_sections.h"

namespace labelscope::cli {
namespace {

// More than the largest browser has; a hostile header may claim any number.
constexpr std::size_t kMaxSymbols = 8'000'000;
// Shown names are cut here (as in symbol_table.cc).
constexpr std::size_t kMaxTableName = 65536;

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

bool is_function(const GElf_Sym& symbol) {
  return GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_value != 0;
}

void add_table(Elf* elf, Elf_Scn* section, const GElf_Shdr& header,
               std::vector<FunctionSymbol>& functions) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::size_t count =
      std::min<std::size_t>(header.sh_size / header.sh_entsize, kMaxSymbols - functions.size());
  for (std::size_t i = 1; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return;
    if (!is_function(symbol)) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr || name[0] == '\0') continue;
    Address end = 0;
    if (__builtin_add_overflow(symbol.st_value, symbol.st_size, &end)) continue;
    functions.push_back({symbol.st_value, end, std::string(name, strnlen(name, kMaxTableName))});
  }
}

// Returns where a function ends, by its entry (FDE, LSB 10.6.1.2) at this offset of the file;
// `start` if the entry is not of the usual encoding, or of another function.
Address end_of_unwound(int fd, std::uint64_t offset, Address entry_address, Address start) {
  struct Entry {
    std::uint32_t length;
    std::uint32_t common;
    std::int32_t function;  // relative to this word
    std::uint32_t size;
  };
  Entry entry{};
  if (::pread(fd, &entry, sizeof entry, static_cast<off_t>(offset)) != sizeof entry) return start;
  const Address begins = entry_address + offsetof(Entry, function) +
                         static_cast<Address>(std::int64_t{entry.function});
  Address end = 0;
  return begins != start || __builtin_add_overflow(start, entry.size, &end) ? start : end;
}

// Returns the functions of the search table that linkers make for unwinding (.eh_frame_hdr, LSB
// 10.6.2), in its order, without names. Returns none if its encoding is not that of linkers.
std::vector<FunctionSymbol> unwound_functions(int fd, Elf* elf) {
  struct Header {
    std::uint32_t encodings;
    std::int32_t frames;
    std::uint32_t count;
  };
  struct Entry {
    std::int32_t function;  // both relative to the header
    std::int32_t entry;
  };
  // Version 1, sdata4 | pcrel, udata4, sdata4 | datarel.
  constexpr std::uint32_t kEncodings = 0x3B03'1B01;
  std::vector<FunctionSymbol> functions;
  std::size_t segments = 0;
  if (elf_getphdrnum(elf, &segments) != 0) return functions;
  GElf_Phdr segment{};
  for (std::size_t i = 0; i < segments && segment.p_type != PT_GNU_EH_FRAME; ++i) {
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) return functions;
  }
  if (segment.p_type != PT_GNU_EH_FRAME) return functions;
  // libelf gives no bytes beyond the end of the file.
  const Elf_Data* data =
      elf_getdata_rawchunk(elf, static_cast<std::int64_t>(segment.p_offset),
                           static_cast<std::size_t>(segment.p_filesz), ELF_T_BYTE);
  Header header{};
  if (data == nullptr || data->d_size < sizeof header) return functions;
  const auto* bytes = static_cast<const char*>(data->d_buf);
  std::memcpy(&header, bytes, sizeof header);
  if (header.encodings != kEncodings) return functions;
  const std::size_t room = (data->d_size - sizeof header) / sizeof(Entry);
  const std::size_t count = std::min<std::size_t>({header.count, room, kMaxSymbols});
  for (std::size_t i = 0; i < count; ++i) {
    Entry entry{};
    std::memcpy(&entry, bytes + sizeof header + i * sizeof entry, sizeof entry);
    const auto distance = static_cast<std::uint64_t>(std::int64_t{entry.entry});
    const Address start = segment.p_vaddr + static_cast<Address>(std::int64_t{entry.function});
    const Address end =
        end_of_unwound(fd, segment.p_offset + distance, segment.p_vaddr + distance, start);
    functions.push_back({start, end, {}});
  }
  return functions;
}

// Returns those of a Go program, which have names in a stripped one, too.
std::vector<FunctionSymbol> go_functions(int fd) {
  std::vector<FunctionSymbol> functions;
  auto file = ElfImage::open(UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)));
  const auto table = file ? GoFunctions::read(*file) : Result<GoFunctions>(file.error());
  if (!table) return functions;
  for (std::size_t i = 0; i < std::min(table->count(), kMaxSymbols); ++i) {
    const auto function = table->at(i);
    if (function)
      functions.push_back({function->start, function->end, std::string(function->name)});
  }
  return functions;
}

// Adds those that do not begin in one of the known functions, which are sorted.
void add_others(std::vector<FunctionSymbol> others, std::vector<FunctionSymbol>& functions) {
  std::erase_if(others, [&](const FunctionSymbol& one) {
    const auto next =
        std::upper_bound(functions.begin(), functions.end(), one.start,
                         [](Address start, const FunctionSymbol& f) { return start < f.start; });
    if (next == functions.begin()) return false;
    const FunctionSymbol& before = *std::prev(next);
    return one.start < before.end || one.start == before.start;
  });
  functions.insert(functions.end(), others.begin(), others.end());
}

std::size_t underscores(const std::string& name) { return name.find_first_not_of('_'); }

// Orders functions of one address: with a size before without, plain names before reserved ones.
bool is_before(const FunctionSymbol& a, const FunctionSymbol& b) {
  if (a.start != b.start) return a.start < b.start;
  if (a.end != b.end) return a.end > b.end;
  if (underscores(a.name) != underscores(b.name)) return underscores(a.name) < underscores(b.name);
  return a.name < b.name;
}

// Keeps each start once.
void sort_by_start(std::vector<FunctionSymbol>& functions) {
  std::sort(functions.begin(), functions.end(), is_before);
  auto same = [](const FunctionSymbol& a, const FunctionSymbol& b) { return a.start == b.start; };
  functions.erase(std::unique(functions.begin(), functions.end(), same), functions.end());
}

}  // namespace

Result<std::vector<FunctionSymbol>> read_functions(int fd) {
  if (Status status = check_section_count(fd); !status) return std::move(status).error();
  elf_version(EV_CURRENT);
  std::unique_ptr<Elf, EndElf> elf(elf_begin(fd, ELF_C_READ, nullptr));
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF) {
    return Error{ErrorCode::kMalformed, "it is not an ELF file"};
  }
  std::vector<FunctionSymbol> functions;
  bool is_stripped = true;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_SYMTAB) is_stripped = false;
    if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) {
      add_table(elf.get(), section, header, functions);
    }
  }
  sort_by_start(functions);
  if (is_stripped) {
    add_others(go_functions(fd), functions);
    sort_by_start(functions);
    add_others(unwound_functions(fd, elf.get()), functions);
    sort_by_start(functions);
  }
  return functions;
}

namespace {

// The fields of a reply: for each function its start, its size and the size of its name, and all
// names in a row.
enum class Batch : protozero::pbf_tag_type { kNumbers = 1, kNames };

constexpr std::size_t kMostTablePending = kMaxPacket - 4096;
constexpr std::size_t kNumbersSize = 30;
// labelscope keeps this much for each file of a program that is stepped through. The largest
// browser has a quarter.
constexpr std::size_t kMaxText = std::size_t{128} << 20;

void send(std::vector<std::uint64_t>& numbers, std::string& names, Conversation& conversation) {
  std::string body;
  protozero::pbf_builder<Batch> builder(body);
  builder.add_packed_uint64(Batch::kNumbers, numbers.begin(), numbers.end());
  builder.add_bytes(Batch::kNames, names);
  conversation.reply(std::move(body));
  numbers.clear();
  names.clear();
}

Status answer_functions(Message message, Conversation& conversation) {
  if (message.files.empty()) return Error{ErrorCode::kNotFound, "the worker has no file"};
  Result<std::vector<FunctionSymbol>> functions = read_functions(message.files.front().get());
  if (!functions) return functions.error();
  std::vector<std::uint64_t> numbers;
  std::string names;
  for (const FunctionSymbol& function : *functions) {
    if (names.size() + function.name.size() + (numbers.size() / 3 + 1) * kNumbersSize >
        kMostTablePending) {
      send(numbers, names, conversation);
    }
    numbers.insert(numbers.end(),
                   {function.start, function.end - function.start, function.name.size()});
    names += function.name;
  }
  send(numbers, names, conversation);
  return {};
}

}  // namespace

Answer make_functions_task() { return answer_functions; }

Status FunctionsReader::take(std::string_view body) {
  std::vector<std::uint64_t> numbers;
  std::string_view names;
  const Status read = read_fields<Batch>(body, [&](protozero::pbf_message<Batch>& message) {
    Field<Batch> field(message);
    if (message.tag() == Batch::kNumbers) {
      for (const std::uint64_t number : field.packed_uint64()) numbers.push_back(number);
    } else if (message.tag() == Batch::kNames) {
      names = field.bytes();
    } else {
      message.skip();
    }
  });
  if (!read) return read.error();
  for (std::size_t i = 0; i + 3 <= numbers.size(); i += 3) {
    FunctionSymbol function{numbers[i], 0, {}};
    const bool possible = !__builtin_add_overflow(numbers[i], numbers[i + 1], &function.end) &&
                          numbers[i + 2] <= names.size() &&
                          (functions.empty() || functions.back().start < function.start);
    if (!possible) return Error{ErrorCode::kMalformed, "it sends functions that cannot be"};
    function.name = names.substr(0, static_cast<std::size_t>(numbers[i + 2]));
    names.remove_prefix(function.name.size());
    text_ += sizeof function + function.name.size();
    if (text_ > kMaxText) return Error{ErrorCode::kMalformed, "it sends too many functions"};
    functions.push_back(std::move(function));
  }
  return {};
}

}  // namespace labelscope::cli

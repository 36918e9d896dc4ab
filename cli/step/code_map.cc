#include "cli/step/code_map.h"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "cli/text/text.h"
#include "elf/elf_image.h"

namespace labelscope::cli {
namespace {

// Recognizes the C and C++ runtimes by their file names. They work on behalf of their callers.
bool has_runtime_name(std::string_view path) {
  static constexpr std::array<std::string_view, 12> kNames{
      "libc.so",  "libc-",    "ld-linux", "ld-musl",   "libpthread", "libm.so",
      "libdl.so", "librt.so", "libgcc_s", "libstdc++", "libc++",     "ld-"};
  const std::string_view name = base_name(path);
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool provides_malloc(const ElfImage& image) {
  auto found = image.find_dynamic_symbol("malloc");
  return found && *found && (*found)->defined;
}

ModuleFile duplicate(const UniqueFd& file) {
  return std::make_shared<OpenModuleFile>(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
}

}  // namespace

std::size_t authors_level(const std::vector<SourceLine>& lines) {
  // The folders in which compilers and package managers keep code of other authors: templates of
  // the C++ library, Rust's core, libraries in source.
  static constexpr std::array<std::string_view, 6> kOthers{
      "/usr/include/", "/usr/lib/", "/usr/src/", "/rustc/", "/.cargo/registry/", "/include/c++/"};
  const auto level = std::find_if(lines.begin(), lines.end(), [](const SourceLine& line) {
    return line.line > 0 &&
           std::none_of(kOthers.begin(), kOthers.end(), [&](std::string_view part) {
             return line.file.str().find(part) != std::string::npos;
           });
  });
  return static_cast<std::size_t>(level - lines.begin());
}

std::string source_name(const std::string& function) {
  std::size_t end = function.size();
  for (const char* mark : {".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm"}) {
    end = std::min(end, function.find(mark));
  }
  // In a demangled name the suffix follows in words.
  end = std::min(end, function.find(" [clone"));
  return function.substr(0, end);
}

CodeFile* CodeMap::open(const Mapping& mapping, const Target& target) {
  auto [entry, fresh] = files_.try_emplace(mapping.file);
  if (!fresh) return entry->second.get();
  entry->second = std::make_unique<CodeFile>();
  CodeFile& file = *entry->second;
  file.path = mapping.path;
  auto fd = target.open_file(mapping);
  if (!fd) return &file;
  file.file = duplicate(*fd);
  auto image = ElfImage::open(*std::move(fd));
  if (!image) return &file;
  file.main_executable = image->executable();
  file.image.emplace(*std::move(image));
  if (file.file->valid()) {
    auto functions = namer_.functions(*file.file);
    if (functions) file.functions = *std::move(functions);
  }
  const bool is_runtime = has_runtime_name(file.path) || provides_malloc(*file.image);
  if (!file.main_executable && is_runtime) file.role = CodeRole::kRuntime;
  return &file;
}

Result<CodeMap::Changes> CodeMap::refresh(const Target& target) {
  auto mappings = target.mappings();
  if (!mappings) return std::move(mappings).error();
  std::map<Address, MappedCode> now;
  std::vector<Address> fresh;
  for (const Mapping& mapping : *mappings) {
    if (!mapping.executable || !mapping.file) continue;
    CodeFile* file = open(mapping, target);
    if (!file->image) continue;
    const auto bias =
        load_bias_at(file->image->load_segments(), mapping.start, mapping.file_offset);
    if (!bias) continue;
    now.emplace(mapping.start, MappedCode{mapping.start, mapping.end, *bias, file});
    const MappedCode* known = find(mapping.start);
    if (known == nullptr || known->file != file || known->bias != *bias) {
      fresh.push_back(mapping.start);
    }
  }
  Changes changes;
  for (const auto& entry_before : ranges_) {
    const MappedCode& range = entry_before.second;
    const bool stays = std::any_of(now.begin(), now.end(), [&](const auto& entry) {
      const MappedCode& other = entry.second;
      return other.file == range.file && other.bias == range.bias && other.start < range.end &&
             range.start < other.end;
    });
    if (!stays) changes.gone.push_back(range);
  }
  if (!fresh.empty() || !changes.gone.empty()) lines_.clear();
  ranges_ = std::move(now);
  changes.added.reserve(fresh.size());
  for (Address start : fresh) changes.added.push_back(&ranges_.at(start));
  return changes;
}

void CodeMap::mark_publisher(std::string_view path) {
  for (auto& [id, file] : files_) {
    if (file->path == path && !file->main_executable) file->role = CodeRole::kPublisher;
  }
}

std::vector<const MappedCode*> CodeMap::all() const {
  std::vector<const MappedCode*> all;
  all.reserve(ranges_.size());
  for (const auto& [start, range] : ranges_) all.push_back(&range);
  return all;
}

const MappedCode* CodeMap::find(Address address) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const MappedCode& range = std::prev(after)->second;
  return address < range.end ? &range : nullptr;
}

CodeRole CodeMap::role_at(Address address) const {
  const MappedCode* range = find(address);
  // Code without a file is the vDSO, or was made at run time. Both count as runtime.
  return range == nullptr ? CodeRole::kRuntime : range->file->role;
}

std::optional<CodeMap::Function> CodeMap::function_at(Address address) const {
  const MappedCode* range = find(address);
  if (range == nullptr) return std::nullopt;
  const Address link = address - range->bias;
  const std::vector<FunctionSymbol>& all = range->file->functions;
  auto after = std::upper_bound(all.begin(), all.end(), link,
                                [](Address a, const FunctionSymbol& f) { return a < f.start; });
  if (after == all.begin()) return std::nullopt;
  const FunctionSymbol& symbol = *std::prev(after);
  if (link >= symbol.end && link != symbol.start) return std::nullopt;
  return Function{symbol.start + range->bias, symbol.end + range->bias, &symbol};
}

const std::vector<SourceLine>& CodeMap::lines_at(Address address) {
  auto [entry, fresh] = lines_.try_emplace(address);
  std::vector<SourceLine>& lines = entry->second;
  const MappedCode* range = find(address);
  if (!fresh || range == nullptr || !range->file->file) return lines;
  CodeFile& file = *range->file;
  if (!file.symbols) file.symbols = std::make_unique<NamedFile>(namer_, file.file, file.path);
  if (!file.symbols->open()) return lines;
  const Address link_address = address - range->bias;
  lines = std::move(file.symbols->find({&link_address, 1}, true).front());
  return lines;
}

CodePlace CodeMap::place_at(Address address) {
  CodePlace place;
  const MappedCode* range = find(address);
  place.address = range == nullptr ? address : address - range->bias;
  if (range == nullptr) return place;
  place.module = range->file->path;
  const std::vector<SourceLine>& lines = lines_at(address);
  if (lines.empty()) return place;
  const std::size_t level = authors_level(lines);
  const SourceLine& line = level < lines.size() ? lines[level] : lines.front();
  place.function = source_name(line.function);
  place.file = line.file;
  place.line = static_cast<std::uint32_t>(std::max(line.line, 0));
  return place;
}

bool CodeMap::is_authors(Address address) {
  const MappedCode* range = find(address);
  if (range == nullptr || range->file->role == CodeRole::kRuntime) return false;
  const std::vector<SourceLine>& lines = lines_at(address);
  if (authors_level(lines) < lines.size()) return true;
  const NamedFile* symbols = range->file->symbols.get();
  return symbols == nullptr || !symbols->has_lines();
}

}  // namespace labelscope::cli

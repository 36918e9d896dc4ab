// The symbolizer: groups the locations of a profile, and looks up each group at once.
//
//   location = address in a module        source of the module's names
//     [kernel] ------------------------->  /proc/kallsyms, parsed in another thread meanwhile
//     [vdso]   ------------------------->  our own vDSO, if it is the same one
//     file     ------------------------->  (device, inode): modules of several processes, one file
//                                            sorted by link-time address = address - load bias;
//                                            each address is looked up once
//     generated code ------------------->  the perf map of its process, in the same way
//
// A file that cannot be used costs the names of its own locations only. Every module with nameless
// locations gets a reason (explain()).
#include "cli/symbol/symbolizer.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_set>

#include "cli/names/demangle.h"
#include "cli/names/perf_map.h"
#include "cli/symbol/file_namer.h"
#include "cli/symbol/kernel_symbols.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr const char* kTooMuchText = "the names of all addresses together are too long to keep";
constexpr std::string_view kVdsoName = "[vdso]";
// The bound of all names and paths of a profile, each counted once: this, and as much for each
// location. C++ with many templates has a quarter of it; a file may have a name of 64 KiB for each
// function.
constexpr std::size_t kMaxText = std::size_t{32} << 20;
constexpr std::size_t kMaxTextOfLocation = 2048;
// What a text takes beside its bytes: the string, its count of copies, its place in a set.
constexpr std::size_t kMemoryOfText = 128;
// While labelscope waits, it checks this often whether the user has cancelled.
constexpr std::chrono::milliseconds kBetweenAsking{20};

// The source of names. Locations of the same source are one group.
struct Source {
  enum class Kind { kNone, kFile, kPerfMap, kVdso, kKernel };
  Kind kind = Kind::kNone;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator<(const Source& other) const {
    return std::tie(kind, device, inode) < std::tie(other.kind, other.device, other.inode);
  }
};

// A location, and its link-time address.
struct Linked {
  Address address = 0;
  Index location = 0;
};

// A text that was looked up last, and its equal in the profile: most texts come several times.
struct Shared {
  SharedText given;
  SharedText kept;
};

struct Count {
  std::size_t named = 0;
  std::size_t all = 0;
};

// Our own vDSO. The kernel maps the same vDSO into every process of our architecture.
std::span<const std::byte> own_vdso() {
  auto start = static_cast<Address>(::getauxval(AT_SYSINFO_EHDR));
  if (start == 0) return {};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel reports it as a number
  const auto* bytes = reinterpret_cast<const std::byte*>(start);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  // The section headers are the last part of the image.
  std::size_t size = header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum;
  return {bytes, size};
}

// Makes a file of the image, which the worker reads like any other.
ModuleFile file_with(std::span<const std::byte> image) {
  auto file = std::make_shared<OpenModuleFile>(::memfd_create("vdso", MFD_CLOEXEC));
  const ssize_t written = ::write(file->get(), image.data(), image.size());
  return written == static_cast<ssize_t>(image.size()) ? file : nullptr;
}

bool fills_range(std::span<const std::byte> image, const ProfileModule& module) {
  constexpr Address kLargestPage = 65536;
  Address size = module.end - module.start;
  return module.end > module.start && size >= image.size() && size - image.size() < kLargestPage;
}

class Run {
 public:
  Run(Profile& profile, const std::vector<ModuleFile>& files, FileNamer& namer,
      const SymbolizerOptions& options)
      : profile_(profile), files_(files), options_(options), namer_(namer) {
    namer_.set_cancelled([this] { return stopped(); });
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { namer_.set_cancelled({}); }

  void run() {
    std::map<Source, std::vector<Index>> groups;
    counts_.resize(profile_.modules.size());
    std::vector<Source> sources;
    for (Index i = 0; i < profile_.modules.size(); ++i) sources.push_back(source_of(i));
    for (Index i = 0; i < profile_.locations.size(); ++i) {
      Index module = profile_.locations[i].module;
      if (module >= profile_.modules.size()) continue;
      ++counts_[module].all;
      if (profile_.locations[i].was_named) {
        if (profile_.locations[i].has_name()) ++counts_[module].named;
        ++done_;
        continue;
      }
      groups[sources[module]].push_back(i);
    }
    text_left_ = kMaxText + kMaxTextOfLocation * profile_.locations.size();
    if (needs_worker(groups)) namer_.begin();
    // Reading the kernel's names runs beside the files, unless it has begun already.
    if (groups.contains({Source::Kind::kKernel})) {
      kernel_ = options_.kernel.valid() ? options_.kernel : begin_reading_kernel_symbols();
    }
    for (auto& [source, locations] : groups) {
      if (stopped()) break;
      symbolize_group(source, locations);
      // A perf map may have grown by the next window, and code may be another.
      const bool is_final = !stopped_ && source.kind != Source::Kind::kPerfMap;
      for (const Index location : locations) profile_.locations[location].was_named = is_final;
      done_ += locations.size();
      report_progress();
    }
    if (!stopped_) {
      done_ = profile_.locations.size();
      report_progress();
    }
    explain();
  }

 private:
  static bool needs_worker(const std::map<Source, std::vector<Index>>& groups) {
    return std::any_of(groups.begin(), groups.end(), [](const auto& group) {
      return group.first.kind != Source::Kind::kNone && group.first.kind != Source::Kind::kKernel;
    });
  }

  Source source_of(Index index) const {
    const ProfileModule& module = profile_.modules[index];
    if (module.kind == ProfileModule::Kind::kKernel) return {Source::Kind::kKernel};
    if (module.path == kVdsoName) return {Source::Kind::kVdso};
    const ModuleFile file = index < files_.size() ? files_[index] : nullptr;
    struct stat status {};
    if (file == nullptr || !file->valid() || ::fstat(file->get(), &status) != 0) return {};
    const bool generated = module.kind == ProfileModule::Kind::kUnknown;
    return {generated ? Source::Kind::kPerfMap : Source::Kind::kFile, status.st_dev, status.st_ino};
  }

  void symbolize_group(const Source& source, std::vector<Index>& locations) {
    switch (source.kind) {
      case Source::Kind::kNone:
        return symbolize_gone(locations);
      case Source::Kind::kKernel:
        return symbolize_kernel(locations);
      case Source::Kind::kVdso:
        return symbolize_vdso(locations);
      case Source::Kind::kFile:
        return symbolize_file(locations, kNamesTask);
      case Source::Kind::kPerfMap:
        return symbolize_file(locations, kPerfMapTask);
    }
  }

  void symbolize_kernel(const std::vector<Index>& locations) {
    // The thread that reads them has no precedence, and is late on a busy machine.
    while (kernel_.wait_for(kBetweenAsking) == std::future_status::timeout) {
      if (stopped()) return;
    }
    const Result<KernelSymbols>& kernel = kernel_.get();
    if (!kernel) return remember(locations, kernel.error().context);
    for (Index i : locations) {
      std::optional<KernelSymbol> symbol = kernel->find(profile_.locations[i].address);
      if (!symbol) continue;
      SourceLine line;
      line.system_name = symbol->name;
      std::string name = demangle(symbol->name);
      if (!symbol->module.empty()) name.append(" [").append(symbol->module).append("]");
      line.function = std::move(name);
      keep(i, {std::move(line)});
    }
    std::string why = "no kernel symbol covers the address";
    if (std::size_t bad = kernel->malformed_lines(); bad != 0) {
      why += " (" + std::to_string(bad) + " lines of /proc/kallsyms could not be understood)";
    }
    remember(locations, why);
  }

  void symbolize_vdso(std::vector<Index>& locations) {
    const std::span<const std::byte> image = own_vdso();
    NamedFile vdso(namer_, file_with(image), std::string(kVdsoName));
    const bool usable = !image.empty() && vdso.open();
    std::erase_if(locations, [&](Index i) {
      const ProfileModule& module = profile_.modules[profile_.locations[i].module];
      const bool same_build = module.build_id.empty() || module.build_id == vdso.build_id();
      if (usable && same_build && fills_range(image, module)) return false;
      keep(i, {{std::string(kVdsoName), std::string(kVdsoName), "", 0}});
      return true;
    });
    // The image is mapped as a whole, so the start of the mapping is enough. Callers may not know
    // its load bias.
    name_all(vdso, locations, [&](Index i) {
      const Location& location = profile_.locations[i];
      return location.address - profile_.modules[location.module].start + vdso.first_address();
    });
    remember(locations, "the vDSO names its exported functions only");
    for (const Index i : locations) {
      if (profile_.locations[i].lines.empty()) {
        keep(i, {{std::string(kVdsoName), std::string(kVdsoName), "", 0}});
      }
    }
  }

  // Where a file was written anew, what was found before that still holds.
  void symbolize_gone(const std::vector<Index>& locations) {
    if (options_.early == nullptr || !options_.inlined) return;
    for (const Index i : locations) {
      const EarlyNames::Names* names = options_.early->names_of(profile_.locations[i].module);
      if (names == nullptr) continue;
      const auto known = names->find(link_address(i));
      if (known != names->end()) keep(i, known->second);
    }
  }

  // Returns false if a file of early names was of no use: nothing has changed then.
  bool symbolize_early(std::vector<Index>& locations) {
    if (options_.early == nullptr || !options_.inlined) return false;
    const Index first = profile_.locations[locations.front()].module;
    const std::unique_ptr<EarlyNames::File> early = options_.early->take(files_[first]);
    if (early == nullptr) return false;
    NamedFile& file = *early->file;
    EarlyNames::Names& names = early->names;
    std::vector<Address> missing;
    for (const Index i : locations) {
      if (!names.contains(link_address(i))) missing.push_back(link_address(i));
    }
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    for (std::size_t at = 0; at < missing.size() && !stopped();) {
      const auto asked =
          std::span(missing).subspan(at, std::min(missing.size() - at, kMaxAddresses));
      std::vector<std::vector<SourceLine>> found = file.find(asked, true);
      if (stopped()) break;
      if (!file.is_whole()) return false;
      for (std::size_t i = 0; i < asked.size(); ++i) names.emplace(asked[i], std::move(found[i]));
      at += asked.size();
    }
    std::erase_if(locations, [&](Index i) { return !same_build(i, file); });
    const std::vector<Linked> linked =
        by_address(locations, [this](Index i) { return link_address(i); });
    for (std::size_t at = 0; at < linked.size(); ++at) {
      const auto known = names.find(linked[at].address);
      if (known == names.end()) continue;
      const bool last = at + 1 == linked.size() || linked[at + 1].address != linked[at].address;
      keep(linked[at].location, last ? std::move(known->second) : known->second);
    }
    note_nameless(locations, file);
    return true;
  }

  void symbolize_file(std::vector<Index>& locations, std::string_view task) {
    if (task == kNamesTask && symbolize_early(locations)) return;
    const Index first = profile_.locations[locations.front()].module;
    const ProfileModule& module = profile_.modules[first];
    NamedFile file(namer_, files_[first], module.path, task, module.first_map_bytes);
    if (!file.open()) {
      if (!stopped()) remember(locations, file.problem());
      return;
    }
    std::erase_if(locations, [&](Index i) { return !same_build(i, file); });
    name_all(file, locations, [this](Index i) { return link_address(i); });
    note_nameless(locations, file);
  }

  void note_nameless(const std::vector<Index>& locations, NamedFile& file) {
    if (stopped()) return;
    const std::string& problem = file.problem();
    if (!problem.empty()) note(locations, problem);
    if (std::all_of(locations.begin(), locations.end(),
                    [this](Index i) { return profile_.locations[i].has_name(); })) {
      return;  // remedies are not looked for in vain
    }
    const bool both = file.is_usable() && !problem.empty();
    remember(locations, both              ? file.nameless() + "; " + problem
                        : problem.empty() ? file.nameless()
                                          : problem);
  }

  template <class AddressOf>
  static std::vector<Linked> by_address(const std::vector<Index>& locations, AddressOf address_of) {
    std::vector<Linked> linked;
    linked.reserve(locations.size());
    for (const Index i : locations) linked.push_back({address_of(i), i});
    std::sort(linked.begin(), linked.end(),
              [](const Linked& a, const Linked& b) { return a.address < b.address; });
    return linked;
  }

  // Looks up each address once, many at a time.
  template <class AddressOf>
  void name_all(NamedFile& file, const std::vector<Index>& locations, AddressOf address_of) {
    const std::vector<Linked> linked = by_address(locations, address_of);
    std::vector<Address> addresses;
    for (std::size_t at = 0; at < linked.size() && !stopped();) {
      addresses.clear();
      std::size_t end = at;
      for (; end < linked.size(); ++end) {
        const Address address = linked[end].address;
        if (!addresses.empty() && addresses.back() == address) continue;
        if (addresses.size() == kMaxAddresses) break;
        addresses.push_back(address);
      }
      std::vector<std::vector<SourceLine>> names = file.find(addresses, options_.inlined);
      if (stopped()) return;
      for (std::size_t i = 0; at < end; ++at) {
        if (linked[at].address != addresses[i]) ++i;
        const bool last = at + 1 == end || linked[at + 1].address != addresses[i];
        keep(linked[at].location, last ? std::move(names[i]) : names[i]);
      }
      if (at < linked.size()) report_progress(at);
    }
  }

  Address link_address(Index i) const {
    const Location& location = profile_.locations[i];
    return location.address - profile_.modules[location.module].load_bias;
  }

  // Returns whether the file is of the build that ran. If the module has no build ID yet, it gets
  // the file's. A name from another build would be worse than none.
  bool same_build(Index i, const NamedFile& symbols) {
    ProfileModule& module = profile_.modules[profile_.locations[i].module];
    if (module.build_id.empty()) module.build_id = symbols.build_id();
    if (module.build_id == symbols.build_id()) return true;
    remember({i},
             "the file is of another build (" + symbols.build_id() + ") than the code that ran");
    return false;
  }

  void keep(Index i, std::vector<SourceLine> lines) {
    Location& location = profile_.locations[i];
    if (!lines.empty() && lines.back().system_name.empty() && !lines.back().function.empty()) {
      // The worker does not know the name of the file.
      lines.back().function = std::string(base_name(profile_.modules[location.module].path)) +
                              lines.back().function.str();
    }
    const std::size_t size = lines.size() * sizeof(SourceLine);
    if (size > text_left_) return remember({i}, kTooMuchText);
    text_left_ -= size;
    for (SourceLine& line : lines) {
      if (!share(line.function, last_function_) || !share(line.system_name, last_symbol_) ||
          !share(line.file, last_file_)) {
        return remember({i}, kTooMuchText);
      }
    }
    location.lines = std::move(lines);
    if (location.has_name()) ++counts_[location.module].named;
  }

  // Makes `text` a copy of the equal one that the profile has. Returns false if it has none and no
  // room for it.
  bool share(SharedText& text, Shared& last) {
    if (text.empty()) return true;
    if (text.is_copy_of(last.given)) {
      text = last.kept;
      return true;
    }
    SharedText given = text;
    const auto known = texts_.find(text);
    if (known == texts_.end()) {
      const std::size_t size = kMemoryOfText + text.size();
      if (size > text_left_) return false;
      text_left_ -= size;
      texts_.insert(text);
    } else {
      text = *known;
    }
    last = {std::move(given), text};
    return true;
  }

  // Notes what is missing even if all have names, such as lines or inlined calls.
  void note(const std::vector<Index>& locations, const std::string& what) {
    for (const Index i : locations) notes_.try_emplace(profile_.locations[i].module, what);
  }

  // Keeps the reason why locations of these modules have no name. The first reason of a module
  // stays.
  void remember(const std::vector<Index>& locations, const std::string& why) {
    for (Index i : locations) reasons_.try_emplace(profile_.locations[i].module, why);
  }

  std::string reason_of(Index index) const {
    if (auto found = reasons_.find(index); found != reasons_.end()) return found->second;
    const ProfileModule& module = profile_.modules[index];
    if (stopped_) return "names were still being looked up when labelscope was asked to stop";
    if (module.path.starts_with('/')) return "the file could not be opened";
    return "there is no file to take names from (generated code?)";
  }

  // Gives every module with nameless locations a reason. A reason that the caller has set before
  // (why a file could not be opened) stays.
  void explain() {
    for (Index i = 0; i < counts_.size(); ++i) {
      const Count& count = counts_[i];
      ProfileModule& module = profile_.modules[i];
      std::string& problem = module.symbol_problem;
      const auto note = notes_.find(i);
      if (count.named == count.all) {
        problem = note != notes_.end() ? note->second : std::string();
      } else if (problem.empty()) {
        if (count.named != 0) {
          problem = std::to_string(count.all - count.named) + " of " + std::to_string(count.all) +
                    " addresses have no name: ";
        }
        if (module.why_nameless.empty()) module.why_nameless = reason_of(i);
        problem += module.why_nameless;
      }
    }
  }

  bool stopped() {
    if (!stopped_ && options_.cancelled && options_.cancelled()) stopped_ = true;
    return stopped_;
  }

  void report_progress(std::size_t more = 0) const {
    if (options_.progress) options_.progress(done_ + more, profile_.locations.size());
  }

  Profile& profile_;
  const std::vector<ModuleFile>& files_;
  const SymbolizerOptions& options_;
  FileNamer& namer_;
  std::shared_future<Result<KernelSymbols>> kernel_;  // valid if there are locations in the kernel
  std::vector<Count> counts_;
  std::map<Index, std::string> reasons_;
  std::map<Index, std::string> notes_;
  std::size_t text_left_ = 0;
  std::unordered_set<SharedText, SharedText::Hash> texts_;  // of all lines of the profile
  Shared last_function_, last_symbol_, last_file_;
  std::size_t done_ = 0;
  bool stopped_ = false;
};

}  // namespace

void symbolize(Profile& profile, const std::vector<ModuleFile>& files, FileNamer& namer,
               const SymbolizerOptions& options) {
  Run(profile, files, namer, options).run();
}

}  // namespace labelscope::cli

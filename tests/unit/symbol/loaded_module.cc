// Uses dl_iterate_phdr instead of /proc/self/maps, so the load bias is the loader's own.
#include "loaded_module.h"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <memory>

namespace labelscope::cli {
namespace {

struct Search {
  std::uint64_t address = 0;
  ProfileModule found;
};

int look(dl_phdr_info* info, std::size_t /*size*/, void* opaque) {
  auto& search = *static_cast<Search*>(opaque);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    std::uint64_t start = info->dlpi_addr + header.p_vaddr;
    if (search.address < start || search.address >= start + header.p_memsz) continue;
    ProfileModule& module = search.found;
    module.kind = ProfileModule::Kind::kFile;
    module.path = info->dlpi_name;
    if (module.path.empty()) module.path = "/proc/self/exe";
    module.start = start;
    module.end = start + header.p_memsz;
    module.file_offset = header.p_offset;
    module.load_bias = info->dlpi_addr;
    return 1;
  }
  return 0;
}

}  // namespace

ModuleFile open_module_file(const std::string& path) {
  return std::make_shared<OpenModuleFile>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

LoadedModule module_at(std::uint64_t address) {
  Search search;
  search.address = address;
  ::dl_iterate_phdr(look, &search);
  LoadedModule loaded;
  loaded.module = search.found;
  if (!loaded.module.path.empty()) loaded.file = open_module_file(loaded.module.path);
  return loaded;
}

FileNamer::Options honest_naming() { return {.launch = honest_worker()}; }

Profile symbolize_addresses(const LoadedModule& loaded, const std::vector<std::uint64_t>& addresses,
                            const SymbolizerOptions& options, FileNamer::Options naming) {
  Profile profile;
  profile.modules.push_back(loaded.module);
  for (std::uint64_t address : addresses) profile.locations.push_back({0, address, {}});
  FileNamer namer(std::move(naming));
  symbolize(profile, {loaded.file}, namer, options);
  return profile;
}

}  // namespace labelscope::cli

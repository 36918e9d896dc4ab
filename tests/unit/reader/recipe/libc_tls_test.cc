// Tests the loader's list of modules with TLS, as glibc describes it and as no loader writes it.
#include "recipe/libc_tls.h"

#include <link.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "process/modules.h"
#include "support/catch.h"
#include "support/fake_target.h"

namespace labelscope::test {
namespace {

constexpr Address kLibc = 0x7f0000000000;
constexpr Address kLoader = 0x7f1000000000;
constexpr Address kFirstList = 0x7e0000000000;
constexpr Address kSecondList = 0x7e1000000000;
constexpr Address kLinkMap = 0x7d0000000000;
constexpr Address kDynamic = 0x5ca1ab1e;
// At most this number of modules is read of all lists together.
constexpr std::uint64_t kMostModules = 65536;

// Returns the bytes of the libc or loader that this test runs with.
std::string bytes_of_loaded(const std::string& name) {
  std::pair<std::string, std::string> wanted{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* found) {
        auto& [begin, path] = *static_cast<std::pair<std::string, std::string>*>(found);
        if (std::filesystem::path(module->dlpi_name).filename().string().starts_with(begin))
          path = module->dlpi_name;
        return 0;
      },
      &wanted);
  std::ifstream file(wanted.second, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

class Process {
 public:
  Process() {
    const std::string libc = bytes_of_loaded("libc.so.6");
    const std::string loader = bytes_of_loaded("ld-linux");
    if (libc.empty() || loader.empty()) skip_test("this test does not run with glibc");
    target_.load("/libc.so.6", libc, kLibc);
    target_.load("/ld.so", loader, kLoader);
    modules_ = list_modules(target_, *target_.mappings(), [](const Mapping&) { return true; });
    if (described("_thread_db_dtv_dtv", 0) == 0) skip_test("this glibc describes no lists");
    const auto global = symbol("_rtld_global");
    target_.fake_memory().put(global + offset("rtld_global__dl_tls_dtv_slotinfo_list"), kFirstList);
    target_.fake_memory().put(kLinkMap + 16, kDynamic);
    target_.fake_memory().put(kLinkMap + offset("link_map_l_tls_offset"), std::int64_t{64});
  }
  void put_list(Address list, std::uint64_t length, Address next) {
    FakeMemory& memory = target_.fake_memory();
    memory.map(list, offset("dtv_slotinfo_list_slotinfo") + kMostModules * slot_size());
    memory.put(list + offset("dtv_slotinfo_list_len"), length);
    memory.put(list + offset("dtv_slotinfo_list_next"), next);
  }
  void put_module(Address list, std::uint64_t slot) {
    const Address at = list + offset("dtv_slotinfo_list_slotinfo") + slot * slot_size();
    target_.fake_memory().put(at + offset("dtv_slotinfo_map"), kLinkMap);
  }
  LibcTls inspect() const { return LibcTls::inspect(modules_, target_.memory(), kHostMachine); }

 private:
  Address symbol(const std::string& name) const {
    for (const Module& module : modules_.modules) {
      auto found = module.image->find_dynamic_symbol(name);
      if (found && *found && (*found)->defined) return module.load_bias + (*found)->value;
    }
    return 0;
  }
  std::uint32_t described(const std::string& name, unsigned word) const {
    const auto value =
        read_value<std::uint32_t>(target_.memory(), symbol(name) + std::uint64_t{4} * word);
    return value ? *value : 0;
  }
  std::uint32_t offset(const std::string& field) const {
    return described("_thread_db_" + field, 2);
  }
  std::uint32_t slot_size() const { return described("_thread_db_sizeof_dtv_slotinfo", 0); }

  FakeTarget target_;
  ModuleList modules_;
};

}  // namespace

TEST_CASE("libc_tls: modules are numbered over all lists of the loader") {
  Process process;
  process.put_list(kFirstList, 64, kSecondList);
  process.put_list(kSecondList, 32, 0);
  process.put_module(kFirstList, 1);
  process.put_module(kSecondList, 31);
  const LibcTls libc = process.inspect();
  CHECK(libc.kind() == LibcTls::Kind::kGlibc);
  REQUIRE(libc.record_of(1));
  CHECK(libc.record_of(1)->dynamic == kDynamic);
  CHECK(libc.record_of(1)->static_offset == (kHostMachine == Machine::kX86_64 ? -64 : 64));
  CHECK(libc.record_of(64 + 31));
  CHECK_FALSE(libc.record_of(2));
}

TEST_CASE("libc_tls: the bound of modules is that of all lists together") {
  Process process;
  process.put_module(kSecondList, 0);
  process.put_list(kFirstList, kMostModules - 32, kSecondList);
  process.put_list(kSecondList, 32, 0);
  CHECK(process.inspect().record_of(kMostModules - 32));
  process.put_list(kSecondList, 33, 0);
  CHECK_FALSE(process.inspect().record_of(kMostModules - 32));
}

TEST_CASE("libc_tls: lists in a circle come to an end") {
  Process process;
  process.put_module(kFirstList, 0);
  process.put_list(kFirstList, 1, kFirstList);
  CHECK(process.inspect().record_of(0));
}

}  // namespace labelscope::test

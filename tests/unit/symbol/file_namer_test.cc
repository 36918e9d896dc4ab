// Whatever happens to the worker, a file loses only its own names, in a bounded time, with a
// reason.
#include "cli/symbol/file_namer.h"

#include <fcntl.h>

#include <csignal>

#include "loaded_module.h"
#include "probe.h"
#include "support/catch.h"
#include "support/paths.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace std::chrono_literals;

namespace {

std::uint64_t probe_address() {
  probe::Place place;
  probe::outermost(place);
  return place.address;
}

// Launches an honest worker that calls `act` before it answers a request with debug information.
Launcher worker_that(const std::function<void(Channel&)>& act) {
  return forked_worker([act](Channel& channel) {
    say_ready(channel);
    const Answer honest = make_names_task();
    while (true) {
      auto request = channel.receive(std::chrono::milliseconds(-1));
      if (!request || !*request) _exit(0);
      Message message = std::move(**request);
      message.body.erase(0, message.body.find('\0') + 1);
      const auto asked = decode_names_request(message.body);
      if (asked->from != NamesFrom::kOwnSymbols) act(channel);
      Conversation conversation(channel);
      (void)honest(std::move(message), conversation);
      (void)channel.send({Message::Kind::kDone, {}, {}}, 10s);
    }
  });
}

// Launches a worker that gives each address one line with this name.
Launcher worker_that_names(const std::string& build_id,
                           const std::function<std::string(Address)>& name) {
  return forked_worker([build_id, name](Channel& channel) {
    say_ready(channel);
    while (true) {
      auto request = channel.receive(std::chrono::milliseconds(-1));
      if (!request || !*request) _exit(0);
      std::string body = std::move((**request).body);
      const auto asked = decode_names_request(body.erase(0, body.find('\0') + 1));
      NamesWriter writer([&](std::string reply) {
        (void)channel.send({Message::Kind::kReply, std::move(reply), {}}, 10s);
      });
      for (const Address address : asked->addresses) {
        writer.add({{name(address), "_Z" + name(address), "file.cc", 1}});
      }
      NamesRemarks remarks;
      remarks.opened = asked->open;
      remarks.build_id = asked->open ? build_id : "";
      writer.finish(remarks);
      (void)channel.send({Message::Kind::kDone, {}, {}}, 10s);
    }
  });
}

Profile named_by(Launcher launch, FileNamer::Duration patience = 20s) {
  const std::uint64_t address = probe_address();
  FileNamer::Options options;
  options.launch = std::move(launch);
  options.most_of_a_file = patience;
  return symbolize_addresses(module_at(address), {address, address + 1}, {}, std::move(options));
}

void check_without_debug_information(const Profile& profile, const std::string& why) {
  for (const Location& location : profile.locations) {
    REQUIRE(location.lines.size() == 1);
    CHECK(location.lines[0].function == "probe::outermost");
    CHECK(location.lines[0].file.empty());
  }
  INFO(profile.modules[0].symbol_problem);
  CHECK(profile.modules[0].symbol_problem.find(why) != std::string::npos);
}

}  // namespace

TEST_CASE("file_namer: a worker that dies of debug information is followed by one without") {
  check_without_debug_information(named_by(worker_that([](Channel&) { ::raise(SIGSEGV); })),
                                  "SIGSEGV");
  check_without_debug_information(named_by(worker_that([](Channel&) { ::raise(SIGBUS); })),
                                  "became shorter");
}

TEST_CASE("file_namer: a worker that hangs is ended in time") {
  const auto start = std::chrono::steady_clock::now();
  check_without_debug_information(named_by(worker_that([](Channel&) {
                                             for (;;) ::pause();
                                           }),
                                           300ms),
                                  "took too long");
  CHECK(std::chrono::steady_clock::now() - start < 10s);
}

TEST_CASE("file_namer: garbage, too much and too little are no names") {
  const auto reply = [](const std::string& body) {
    return [body](Channel& channel) { (void)channel.send({Message::Kind::kReply, body, {}}, 10s); };
  };
  check_without_debug_information(named_by(worker_that(reply("\xff\xff"))), "no message");
  check_without_debug_information(named_by(worker_that(reply(std::string("\x12\x02\0\0", 4)))),
                                  "more addresses");
  check_without_debug_information(named_by(worker_that([](Channel& channel) {
                                    (void)channel.send({Message::Kind::kDone, {}, {}}, 10s);
                                  })),
                                  "does not say what it was asked");
  check_without_debug_information(
      named_by(worker_that([](Channel& channel) {
        for (int i = 0; i < 100; ++i) {
          (void)channel.send({Message::Kind::kAsk, encode(WantedDebugFile{}), {}}, 10s);
          (void)channel.receive(std::chrono::milliseconds(-1));
        }
      })),
      "more debug files than a file can have");
}

TEST_CASE("file_namer: without any worker there are numbers, and the reason") {
  const Profile profile = named_by([](std::uint64_t) -> Result<Launched> {
    return Error{ErrorCode::kSystem, "out of processes"};
  });
  CHECK(profile.locations[0].lines.empty());
  CHECK(profile.modules[0].symbol_problem ==
        "its names were not looked up: the process that looks at foreign files cannot be started: "
        "out of processes");
}

TEST_CASE("file_namer: a file that ends each worker is asked about twice, and never again") {
  const std::uint64_t address = probe_address();
  const LoadedModule loaded = module_at(address);
  int started = 0;
  const Launcher dies = forked_worker([](Channel& channel) {
    say_ready(channel);
    (void)channel.receive(std::chrono::milliseconds(-1));
  });
  FileNamer::Options options;
  options.launch = [&](std::uint64_t memory) {
    ++started;
    return dies(memory);
  };
  FileNamer namer(std::move(options));
  for (int round = 0; round < 3; ++round) {
    Profile profile;
    profile.modules.push_back(loaded.module);
    profile.locations.push_back({0, address, {}});
    symbolize(profile, {loaded.file}, namer, {});
    CHECK(profile.locations[0].lines.empty());
    const std::string& problem = profile.modules[0].symbol_problem;
    CHECK(problem.find("ended by itself") != std::string::npos);
    CHECK(problem.find("neither with its symbols alone") != std::string::npos);
  }
  // Each symbolize() starts a worker before it knows what it will ask.
  CHECK(started <= 2 + 2);
}

TEST_CASE("file_namer: all files together have a limit of time, too") {
  const std::uint64_t address = probe_address();
  FileNamer::Options options;
  options.launch = worker_that([](Channel&) {
    for (;;) ::pause();
  });
  options.most_of_a_file = 200ms;
  options.most_of_all = 100ms;
  const Profile profile =
      symbolize_addresses(module_at(address), {address}, {}, std::move(options));
  CHECK(profile.locations[0].lines.empty());
  CHECK(profile.modules[0].symbol_problem.find("took more than 0.1 s") != std::string::npos);
}

TEST_CASE("file_namer: functions and demangled names come from the worker") {
  FileNamer namer(honest_naming());
  const ModuleFile file = open_module_file(paths::kProbe);
  const auto functions = namer.functions(*file);
  REQUIRE(functions);
  const auto expected = read_functions(file->get());
  REQUIRE(expected);
  REQUIRE(functions->size() == expected->size());
  for (std::size_t i = 0; i < expected->size(); ++i) {
    CHECK((*functions)[i].start == (*expected)[i].start);
    CHECK((*functions)[i].end == (*expected)[i].end);
    CHECK((*functions)[i].name == (*expected)[i].name);
  }
  CHECK(namer.demangled("_ZN3foo3barEv") == "foo::bar");
  const UniqueFd text(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(namer.functions(text));

  FileNamer none({.launch = [](std::uint64_t) -> Result<Launched> {
    return Error{ErrorCode::kSystem, "none"};
  }});
  CHECK(none.demangled("_ZN3foo3barEv") == "_ZN3foo3barEv");
  CHECK_FALSE(none.functions(*file));
}

TEST_CASE("file_namer: a name counts once, however many addresses have it") {
  constexpr std::size_t kAddresses = 2000;
  const std::uint64_t start = probe_address();
  const LoadedModule loaded = module_at(start);
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = 0; i < kAddresses; ++i) addresses.push_back(start + i);
  const auto named = [&](const std::function<std::string(Address)>& name) {
    FileNamer::Options options;
    options.launch = worker_that_names(loaded.module.build_id, name);
    return symbolize_addresses(loaded, addresses, {}, std::move(options));
  };
  // All lines together have 48 MB of text, which is more than there is room for.
  const std::string long_name(12'000, 'n');
  const Profile same = named([&](Address) { return long_name; });
  for (const Location& location : same.locations) {
    REQUIRE(location.lines.size() == 1);
    CHECK(location.lines[0].function == long_name);
    CHECK(&location.lines[0].function.str() == &same.locations[0].lines[0].function.str());
  }
  CHECK(same.modules[0].symbol_problem.empty());

  const Profile distinct =
      named([&](Address address) { return std::to_string(address) + long_name; });
  std::size_t without = 0;
  for (const Location& location : distinct.locations) without += location.lines.empty() ? 1 : 0;
  CHECK(without > 0);
  CHECK(without < kAddresses);
  CHECK(distinct.modules[0].symbol_problem.find("too long to keep") != std::string::npos);
}

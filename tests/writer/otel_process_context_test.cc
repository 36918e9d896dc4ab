// Tests OpenTelemetry's process context. It is found in the memory map and read as a reader does
// it, and decoded by the test's own decoder. The tests cover refused calls and forks. A reader that
// stops the process anywhere finds the old message or the new one, or that it has to wait.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "customlabels/otel_context.h"
#include "support/catch.h"
#include "writer/single_step.h"

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// ---- the message

struct Field {
  unsigned number;
  std::string_view bytes;
};

// Returns the fields, all of which must have a length, since no other kind is written.
std::vector<Field> fields(std::string_view message) {
  std::vector<Field> found;
  const auto varint = [&message] {
    std::size_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      REQUIRE(!message.empty());
      const auto byte = static_cast<unsigned char>(message.front());
      message.remove_prefix(1);
      value |= (byte & std::size_t{127}) << shift;
      if (byte < 128) return value;
    }
  };
  while (!message.empty()) {
    const std::size_t tag = varint();
    REQUIRE((tag & 7) == 2);
    const std::size_t size = varint();
    REQUIRE(size <= message.size());
    found.push_back({static_cast<unsigned>(tag >> 3), message.substr(0, size)});
    message.remove_prefix(size);
  }
  return found;
}

// Returns the content of a message with one field.
std::string_view only(std::string_view message, unsigned number) {
  const std::vector<Field> found = fields(message);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].number == number);
  return found[0].bytes;
}

// Reads a KeyValue, up to the content of its AnyValue.
std::pair<std::string, std::string_view> pair_of(std::string_view message, unsigned value) {
  const std::vector<Field> found = fields(message);
  REQUIRE(found.size() == 2);
  REQUIRE(found[0].number == 1);
  REQUIRE(found[1].number == 2);
  return {std::string(found[0].bytes), only(found[1].bytes, value)};
}

struct Message {
  Pairs attributes;
  std::vector<std::string> names;
  bool operator==(const Message& other) const {
    return attributes == other.attributes && names == other.names;
  }
};

Message decode(std::string_view payload) {
  const std::vector<Field> parts = fields(payload);
  REQUIRE(parts.size() == 3);
  REQUIRE(parts[0].number == 1);
  Message message;
  for (const Field& attribute : fields(parts[0].bytes)) {
    REQUIRE(attribute.number == 1);
    const auto [key, value] = pair_of(attribute.bytes, 1);
    message.attributes.emplace_back(key, value);
  }
  REQUIRE(parts[1].number == 2);
  REQUIRE(pair_of(parts[1].bytes, 1).first == "threadlocal.schema_version");
  REQUIRE(pair_of(parts[1].bytes, 1).second == "tlsdesc_v1_dev");
  REQUIRE(parts[2].number == 2);
  const auto [key, array] = pair_of(parts[2].bytes, 5);
  REQUIRE(key == "threadlocal.attribute_key_map");
  for (const Field& name : fields(array)) {
    REQUIRE(name.number == 1);
    message.names.emplace_back(only(name.bytes, 1));
  }
  return message;
}

// ---- the place of the context

struct Header {
  char signature[8];
  std::uint32_t version;
  std::uint32_t size;
  std::uint64_t published_ns;
  std::uint64_t payload;
};

struct Line {
  std::uint64_t at;
  std::string permissions, name;
};

std::vector<Line> memory_map(pid_t pid) {
  std::vector<Line> lines;
  std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(file, line);) {
    std::size_t path = line.find_first_of("/[");
    if (path == std::string::npos) path = line.size();
    lines.push_back(
        {std::stoull(line, nullptr, 16), line.substr(line.find(' ') + 1, 4), line.substr(path)});
  }
  return lines;
}

bool names_context(const std::string& name) {
  for (const char* known : {"[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]", "/memfd:OTEL_CTX"})
    if (name.rfind(known, 0) == 0) return true;
  return false;
}

std::optional<std::string> read_memory(pid_t pid, std::uint64_t at, std::size_t size) {
  std::string bytes(size, '\0');
  iovec local = {bytes.data(), size};
  iovec remote = {reinterpret_cast<void*>(at), size};  // NOLINT(performance-no-int-to-ptr)
  if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(size))
    return std::nullopt;
  return bytes;
}

std::optional<Header> read_header(pid_t pid, std::uint64_t at) {
  const std::optional<std::string> bytes = read_memory(pid, at, sizeof(Header));
  if (!bytes) return std::nullopt;
  Header header;
  std::memcpy(&header, bytes->data(), sizeof(header));
  return header;
}

std::vector<Line> context_lines(pid_t pid) {
  std::vector<Line> found;
  for (const Line& line : memory_map(pid))
    if (names_context(line.name)) found.push_back(line);
  return found;
}

struct Context {
  Header header;
  std::string payload;
  Message message() const { return decode(payload); }
};

// Returns this process's context, which must exist.
Context own() {
  const std::vector<Line> lines = context_lines(getpid());
  REQUIRE(lines.size() == 1);
  const std::optional<Header> header = read_header(getpid(), lines[0].at);
  REQUIRE(header.has_value());
  const auto payload = read_memory(getpid(), header->payload, header->size);
  REQUIRE(payload.has_value());
  return {*header, *payload};
}

// ---- the content

otel_context_result_t publish(const Pairs& attributes) {
  std::vector<otel_process_attribute_t> raw;
  raw.reserve(attributes.size());
  for (const auto& [key, value] : attributes) raw.push_back({key.c_str(), value.c_str()});
  return otel_process_context_publish(raw.data(), raw.size());
}

// Returns the name's number, or the negative result.
int key(const std::string& name) {
  std::uint8_t index = 0;
  const otel_context_result_t result = otel_process_context_key(name.c_str(), &index);
  return result == OTEL_CONTEXT_OK ? index : -result;
}

const Pairs kShop = {{"service.name", "shop"}, {"service.version", "1.2"}};
const Pairs kCart = {{"service.name", "cart"}, {"empty", ""}, {"long", std::string(300, 'x')}};

// Returns the exit status of a child that calls `act`. An alarm ends a child that hangs. A check
// that fails in the child must not let it run the other tests.
int in_child(const std::function<bool()>& act) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(30);
    try {
      _exit(act() ? 0 : 1);
    } catch (...) {
      _exit(2);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

// A user-mode emulator shows its own memory map instead of the program's.
struct Found {
  Found() { skip_in_user_mode_emulation(); }
};

}  // namespace

TEST_CASE_METHOD(Found, "otel_process_context: what is published is found by its name and read") {
  REQUIRE(publish(kShop) == OTEL_CONTEXT_OK);
  const std::vector<Line> lines = context_lines(getpid());
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].permissions == "rw-p");
  const Context context = own();
  CHECK(std::string_view(context.header.signature, 8) == "OTEL_CTX");
  CHECK(context.header.version == 2);
  CHECK(context.header.published_ns > 0);
  CHECK(context.message().attributes == kShop);
  CHECK(publish(kCart) == OTEL_CONTEXT_OK);
  CHECK(own().message().attributes == kCart);
  CHECK(otel_process_context_publish(nullptr, 0) == OTEL_CONTEXT_OK);
  CHECK(own().message().attributes.empty());
  CHECK(context_lines(getpid())[0].at == lines[0].at);
}

// Lengths from 128 on take two bytes, and from 16,384 on three, on each level of the message.
TEST_CASE_METHOD(Found,
                 "otel_process_context: texts of every length are read as they were written") {
  for (std::size_t length = 0; length <= 4096; length += length < 300 ? 1 : 97) {
    const Pairs attributes(4, {std::string(length / 2 + 1, 'k'), std::string(length, 'v')});
    INFO("length " << length);
    REQUIRE(publish(attributes) == OTEL_CONTEXT_OK);
    REQUIRE(own().message().attributes == attributes);
  }
  REQUIRE(publish(kShop) == OTEL_CONTEXT_OK);
  CHECK(in_child([] {
          for (std::size_t length = 100; length < 140; ++length)
            if (key(std::string(length, 'n')) < 0) return false;
          const std::vector<std::string> names = own().message().names;
          return names.back() == std::string(139, 'n') &&
                 key(std::string(128, 'n')) == key(names.at(names.size() - 12));
        }) == 0);
}

TEST_CASE_METHOD(Found,
                 "otel_process_context: names get numbers that stay, beside the attributes") {
  REQUIRE(publish(kShop) == OTEL_CONTEXT_OK);
  const std::vector<std::string> before = own().message().names;
  const auto first = static_cast<int>(before.size());
  CHECK(key("http.route") == first);
  CHECK(key(std::string(200, 'n')) == first + 1);
  const std::uint64_t published = own().header.published_ns;
  CHECK(key("http.route") == first);
  CHECK(own().header.published_ns == published);
  CHECK(key("http.rout") == first + 2);
  std::vector<std::string> names = before;
  names.insert(names.end(), {"http.route", std::string(200, 'n'), "http.rout"});
  CHECK(own().message() == Message{kShop, names});
  CHECK(publish(kCart) == OTEL_CONTEXT_OK);
  CHECK(own().message() == Message{kCart, names});
  CHECK(key("http.rout") == first + 2);
}

TEST_CASE_METHOD(Found,
                 "otel_process_context: each publication has a time of its own, and a later one") {
  std::uint64_t last = 0;
  for (int i = 0; i < 2000; ++i) {
    REQUIRE(publish(i % 2 == 0 ? kShop : kCart) == OTEL_CONTEXT_OK);
    if (i % 100 == 0) otel_process_context_withdraw();
    if (i % 100 == 0) REQUIRE(publish(kShop) == OTEL_CONTEXT_OK);
    const std::vector<Line> lines = context_lines(getpid());
    REQUIRE(lines.size() == 1);
    const std::uint64_t now = read_header(getpid(), lines[0].at)->published_ns;
    REQUIRE(now > last);
    last = now;
  }
}

TEST_CASE_METHOD(
    Found, "otel_process_context: the message before stays as it was for who still reads it") {
  REQUIRE(publish(kShop) == OTEL_CONTEXT_OK);
  const Context before = own();
  REQUIRE(publish(kCart) == OTEL_CONTEXT_OK);
  CHECK(own().header.payload != before.header.payload);
  CHECK(read_memory(getpid(), before.header.payload, before.header.size) == before.payload);
}

TEST_CASE_METHOD(Found,
                 "otel_process_context: what is withdrawn is gone, and the names come back") {
  REQUIRE(publish(kShop) == OTEL_CONTEXT_OK);
  const int number = key("http.route");
  const std::vector<std::string> names = own().message().names;
  otel_process_context_withdraw();
  CHECK(context_lines(getpid()).empty());
  otel_process_context_withdraw();
  CHECK(key("http.route") == number);
  CHECK(own().message() == Message{{}, names});
}

TEST_CASE_METHOD(Found, "otel_process_context: what is too large is refused and changes nothing") {
  const std::string most(4096, 'x');
  const std::string over(4097, 'x');
  REQUIRE(publish({{most, most}}) == OTEL_CONTEXT_OK);
  CHECK(own().message().attributes == Pairs{{most, most}});
  const Context before = own();
  CHECK(publish({{over, "x"}}) == OTEL_CONTEXT_TEXT_TOO_LONG);
  CHECK(publish({{"a", "b"}, {"x", over}}) == OTEL_CONTEXT_TEXT_TOO_LONG);
  CHECK(key(over) == -OTEL_CONTEXT_TEXT_TOO_LONG);
  CHECK(publish(Pairs(8, {most, most})) == OTEL_CONTEXT_PAYLOAD_TOO_LARGE);
  CHECK(publish(Pairs(100'000, {"a", "b"})) == OTEL_CONTEXT_PAYLOAD_TOO_LARGE);
  CHECK(publish({{"", "x"}}) == OTEL_CONTEXT_BAD_ARGUMENT);
  CHECK(key("") == -OTEL_CONTEXT_BAD_ARGUMENT);
  CHECK(otel_process_context_publish(nullptr, 1) == OTEL_CONTEXT_BAD_ARGUMENT);
  CHECK(otel_process_context_key(nullptr, nullptr) == OTEL_CONTEXT_BAD_ARGUMENT);
  CHECK(otel_process_context_key("x", nullptr) == OTEL_CONTEXT_BAD_ARGUMENT);
  for (const otel_process_attribute_t& half :
       {otel_process_attribute_t{"x", nullptr}, otel_process_attribute_t{nullptr, "x"}})
    CHECK(otel_process_context_publish(&half, 1) == OTEL_CONTEXT_BAD_ARGUMENT);
  CHECK(own().payload == before.payload);
  CHECK(own().header.published_ns == before.header.published_ns);
}

TEST_CASE_METHOD(Found, "otel_process_context: a message may have 65,536 bytes and not one more") {
  REQUIRE(publish({}) == OTEL_CONTEXT_OK);
  Pairs attributes(7, {std::string(4096, 'k'), std::string(4096, 'v')});
  attributes.emplace_back("last", "");
  std::size_t longest = 0;
  for (; longest < 10'000; ++longest) {
    attributes.back() = {std::string(4000, 'k'), std::string(longest, 'v')};
    const otel_context_result_t result = publish(attributes);
    if (result == OTEL_CONTEXT_OK) continue;
    CHECK(result == OTEL_CONTEXT_PAYLOAD_TOO_LARGE);
    break;
  }
  CHECK(own().payload.size() == 65536);
  attributes.back().second.pop_back();
  CHECK(own().message().attributes == attributes);
  CHECK(key("one.name.too.many") == -OTEL_CONTEXT_PAYLOAD_TOO_LARGE);
  CHECK(publish(kShop) == OTEL_CONTEXT_OK);
}

TEST_CASE_METHOD(Found, "otel_process_context: there are 256 names and not one more") {
  REQUIRE(publish(kShop) == OTEL_CONTEXT_OK);
  const auto known = static_cast<int>(own().message().names.size());
  // This runs in a child, so that the other tests have names left.
  CHECK(in_child([known] {
          for (int i = known; i < 256; ++i)
            if (key("name" + std::to_string(i)) != i) return false;
          return key("name256") == -OTEL_CONTEXT_TOO_MANY_KEYS && key("name255") == 255 &&
                 own().message().names.size() == 256 && own().message().attributes == kShop;
        }) == 0);
}

TEST_CASE_METHOD(Found,
                 "otel_process_context: a forked child has none until it publishes its own") {
  REQUIRE(publish(kShop) == OTEL_CONTEXT_OK);
  const int number = key("http.route");
  const Context before = own();
  CHECK(in_child([&] {
          if (!context_lines(getpid()).empty()) return false;
          if (key("http.route") != number || !(own().message() == before.message())) return false;
          return key("of.the.child") == static_cast<int>(before.message().names.size()) &&
                 publish(kCart) == OTEL_CONTEXT_OK && own().message().attributes == kCart;
        }) == 0);
  CHECK(in_child([] {
          return publish(kCart) == OTEL_CONTEXT_OK && context_lines(getpid()).size() == 1;
        }) == 0);
  CHECK(in_child([] { return otel_process_context_withdraw(), context_lines(getpid()).empty(); }) ==
        0);
  CHECK(own().payload == before.payload);
  CHECK(own().header.published_ns == before.header.published_ns);
}

TEST_CASE_METHOD(
    Found, "otel_process_context: a child of a thread that publishes all the time can publish") {
  std::atomic<bool> stop = false;
  std::thread publisher([&stop] {
    while (!stop) publish(kShop);
  });
  int status = 0;
  for (int i = 0; i < 200 && status == 0; ++i)
    status = in_child([] {
      alarm(10);
      return publish(kCart) == OTEL_CONTEXT_OK && own().message().attributes == kCart;
    });
  stop = true;
  publisher.join();
  CHECK(status == 0);
}

namespace {

// Two threads ask for the same names at the same time. Each name must get one number, and be in the
// context.
bool name_at_once() {
  std::vector<std::vector<int>> numbers(2);
  std::atomic<std::size_t> there = 0;
  std::vector<std::thread> threads;
  threads.reserve(numbers.size());
  for (std::vector<int>& mine : numbers)
    threads.emplace_back([&] {
      ++there;
      while (there < numbers.size()) continue;
      for (int i = 0; i < 100; ++i) mine.push_back(key("shared" + std::to_string(i)));
    });
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> names = own().message().names;
  for (std::size_t i = 0; i < 100; ++i)
    if (names.at(static_cast<std::size_t>(numbers[0][i])) != "shared" + std::to_string(i))
      return false;
  return numbers[0] == numbers[1];
}

}  // namespace

TEST_CASE_METHOD(
    Found, "otel_process_context: threads that ask for names at once get one number for each") {
  REQUIRE(publish(kShop) == OTEL_CONTEXT_OK);
  // Each child has all names still before it.
  for (int i = 0; i < 20; ++i) REQUIRE(in_child(name_at_once) == 0);
}

namespace {

// From here on, the process can make no memory files.
bool forbid_memory_files() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {4, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Looks for the context by its first bytes, anywhere.
bool has_unnamed_context() {
  for (const Line& line : memory_map(getpid())) {
    if (line.permissions != "rw-p" || !line.name.empty()) continue;
    const std::optional<Header> header = read_header(getpid(), line.at);
    if (!header || std::memcmp(header->signature, "OTEL_CTX", 8) != 0) continue;
    const auto payload = read_memory(getpid(), header->payload, header->size);
    return payload && decode(*payload).attributes == kCart && header->published_ns != 0;
  }
  return false;
}

}  // namespace

TEST_CASE(
    "otel_process_context: without memory files it is named otherwise, or says that it is not") {
  const int status = in_child([] {
    if (!forbid_memory_files()) _exit(77);
    const otel_context_result_t result = publish(kCart);
    if (result == OTEL_CONTEXT_OK) return own().message().attributes == kCart;
    std::uint8_t index = 0;
    return result == OTEL_CONTEXT_UNNAMED && context_lines(getpid()).empty() &&
           has_unnamed_context() &&
           otel_process_context_key("unnamed", &index) == OTEL_CONTEXT_UNNAMED &&
           in_child([] { return !has_unnamed_context(); }) == 0;
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    skip_test("this process may not filter calls");
  CHECK(status == 0);
}

// ---- every instruction

namespace {

struct Step {
  std::string name;
  std::function<void()> act;
  std::optional<Message> after;  // nothing if there is no context
};

class ContextWatcher final : public StepWatcher {
 public:
  explicit ContextWatcher(const std::vector<Step>& steps) : steps_(steps) {}

  void look(pid_t child, std::size_t step, std::size_t instruction, bool over) override {
    const std::optional<Message> before = step == 0 ? std::nullopt : steps_[step - 1].after;
    const std::optional<Message>& after = steps_[step].after;
    INFO(steps_[step].name << ", instruction " << instruction);
    const std::optional<Header> header = find(child);
    std::optional<Message> seen;
    if (header && header->published_ns == 0) {
      ++changing;
      CHECK_FALSE(over);
      return;
    }
    if (header) {
      CHECK(header->version == 2);
      const auto payload = read_memory(child, header->payload, header->size);
      REQUIRE(payload.has_value());
      seen = decode(*payload);
    }
    CHECK((seen == before || seen == after));
    if (over) CHECK(seen == after);
  }
  std::size_t changing = 0;  // looks that found that a reader has to wait

 private:
  // The memory map is read only when the mapping is no longer at its former place.
  std::optional<Header> find(pid_t child) {
    std::optional<Header> header = at_ == 0 ? std::nullopt : read_header(child, at_);
    if (!header) {
      const std::vector<Line> lines = context_lines(child);
      at_ = lines.empty() ? 0 : lines[0].at;
      if (at_ != 0) header = read_header(child, at_);
    }
    // Without the signature it is no context.
    if (header && std::memcmp(header->signature, "OTEL_CTX", 8) != 0) return std::nullopt;
    return header;
  }

  const std::vector<Step>& steps_;
  std::uint64_t at_ = 0;
};

}  // namespace

TEST_CASE(
    "otel_process_context: no instruction of any call shows a message that was not published") {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  skip_test("a sanitizer's own instructions would be stepped too: far too many");
#elif defined(__aarch64__)
  // The lock may take exclusive loads and stores, which never succeed when they are stepped
  // through. In an emulator this did not end in eight minutes.
  skip_test("on aarch64 the process context's lock cannot be stepped through");
#endif
  REQUIRE(publish(kShop) == OTEL_CONTEXT_OK);
  const std::vector<std::string> names = own().message().names;
  otel_process_context_withdraw();
  std::vector<std::string> more = names;
  more.emplace_back("stepped");
  const std::vector<Step> steps = {
      {"the first", [] { publish(kShop); }, Message{kShop, names}},
      {"other attributes", [] { publish(kCart); }, Message{kCart, names}},
      {"a name", [] { key("stepped"); }, Message{kCart, more}},
      {"the name again", [] { key("stepped"); }, Message{kCart, more}},
      {"refused",
       [] {
         publish({{"", ""}});
       },
       Message{kCart, more}},
      {"fewer attributes", [] { publish(kShop); }, Message{kShop, more}},
      {"none", [] { otel_process_context_withdraw(); }, std::nullopt},
      {"a name alone", [] { key("stepped"); }, Message{{}, more}},
  };
  ContextWatcher watcher(steps);
  const auto body = [&] {
    for (const Step& step : steps) {
      step.act();
      end_step();
    }
  };
  const std::optional<Stepping> stepping = single_step(steps.size(), body, watcher);
  if (!stepping) skip_test("this process may not trace its own child (seccomp or yama?)");
  INFO(stepping->failure);
  REQUIRE(stepping->failure.empty());
  CHECK(stepping->instructions > 1000);
  CHECK(watcher.changing > steps.size());
}

#include <map>
#include <memory>

#include "cli/host/own_process.h"
#include "cli/names/demangle.h"
#include "cli/names/elf_symbols.h"
#include "cli/names/names_messages.h"

namespace labelscope::cli {
namespace {

// This is in addition to the time for the whole file.
constexpr std::chrono::microseconds kTimeForEachAddress{500};

class NamesTask {
 public:
  Status answer(Message message, Conversation& conversation);

 private:
  Result<ElfSymbols*> opened(const NamesRequest& request, Message& message,
                             Conversation& conversation);

  std::map<std::uint64_t, std::unique_ptr<ElfSymbols>> files_;
};

Result<ElfSymbols*> NamesTask::opened(const NamesRequest& request, Message& message,
                                      Conversation& conversation) {
  const auto known = files_.find(request.file);
  if (known != files_.end()) return known->second.get();
  if (!request.open || message.files.empty()) {
    return Error{ErrorCode::kNotFound, "the worker does not have the file"};
  }
  const FindDebugFile find = [&](const WantedDebugFile& wanted) {
    Message given = conversation.ask(encode(wanted));
    FoundDebugFile found;
    if (!given.files.empty()) found.file = std::move(given.files.front());
    found.text = std::move(given.body);
    return found;
  };
  ElfSymbols::Options options;
  options.from = request.from;
  auto symbols = ElfSymbols::open(std::move(message.files.front()), options, find);
  if (!symbols) return symbols.error();
  return files_.emplace(request.file, *std::move(symbols)).first->second.get();
}

Status NamesTask::answer(Message message, Conversation& conversation) {
  const Result<NamesRequest> request = decode_names_request(message.body);
  if (!request) return request.error();
  if (request->later) {
    Precedence::own().step_back();
  } else {
    Precedence::own().come_forward();
    Precedence::own().give_back_after(kMostNamingFirst);
  }
  const Result<ElfSymbols*> found = opened(*request, message, conversation);
  if (!found) return found.error();
  ElfSymbols& symbols = **found;
  symbols.budget().allow(std::chrono::duration_cast<std::chrono::milliseconds>(
      request->addresses.size() * kTimeForEachAddress));

  NamesWriter writer([&](std::string body) { conversation.reply(std::move(body)); });
  // Addresses are mostly sorted, and several are in one function.
  SharedText name;
  SharedText demangled;
  for (const Address address : request->addresses) {
    std::vector<SourceLine> lines = symbols.find(address, request->inlined);
    for (SourceLine& line : lines) {
      if (!line.function.empty()) continue;
      if (line.system_name != name) {
        name = line.system_name;
        demangled = demangle(name);
      }
      line.system_name = name;
      line.function = demangled;
    }
    writer.add(lines);
  }
  NamesRemarks remarks;
  remarks.opened = request->open;
  remarks.build_id = symbols.build_id();
  remarks.first_address = symbols.first_address();
  remarks.has_lines = symbols.has_lines();
  remarks.nameless = symbols.why_nameless();
  remarks.stripped = symbols.is_stripped();
  remarks.left_out = symbols.left_out();
  if (writer.has_left_out_text()) {
    remarks.left_out =
        "some of its names were left out: together they are longer than any "
        "program's";
  }
  writer.finish(remarks);
  if (request->close) files_.erase(request->file);
  return {};
}

}  // namespace

Answer make_names_task() {
  return [task = std::make_shared<NamesTask>()](Message message, Conversation& conversation) {
    return task->answer(std::move(message), conversation);
  };
}

}  // namespace labelscope::cli

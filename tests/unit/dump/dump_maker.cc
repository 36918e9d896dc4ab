#include "dump_maker.h"

namespace labelscope::test {

void add_publisher(cli::ProcessDump& dump, const std::string& path) {
  Publisher publisher;
  publisher.path = path;
  publisher.load_bias = 0x1000;
  publisher.model = AccessModel::kTlsDescStatic;
  publisher.recipe.kind = LS_TP_OFFSET;
  publisher.recipe.offset = -64;
  dump.snapshot.plan.publishers.push_back(publisher);
}

cli::ProcessDump make_dump() {
  cli::ProcessDump dump;
  dump.snapshot.pid = Pid{100};
  dump.snapshot.comm = "shop";
  dump.command_line = "/opt/shop --port 80";
  dump.snapshot.plan.modules = 7;
  add_publisher(dump, "/opt/libshop.so");
  return dump;
}

ThreadSnapshot& add_thread(cli::ProcessDump& dump, std::int32_t tid, const std::string& name,
                           LabelSet labels) {
  ThreadSnapshot thread;
  thread.tid = Tid{tid};
  thread.name = name;
  thread.state = 'S';
  thread.thread_pointer = 0x7f0000001000;
  thread.held = std::chrono::microseconds(40);
  thread.seen.outcome = labels.empty() ? LS_UNLABELLED : LS_LABELLED;
  thread.seen.labels = std::move(labels);
  dump.snapshot.threads.push_back(std::move(thread));
  return dump.snapshot.threads.back();
}

}  // namespace labelscope::test

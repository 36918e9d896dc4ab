// This decodes the records of wire.h. The BPF programs are labelscope's own, but the bytes come
// from targets, and a wrong offset would be a read outside of the record. So every number is
// checked.
#include "bpf/wire/records.h"

#include <cstring>
#include <string>
#include <utility>

#include "bpf/wire/unwind_wire.h"

namespace labelscope {
namespace {

Error bad_record(const char* what) {
  return {ErrorCode::kMalformed, std::string("a record of the BPF programs has ") + what};
}

// Takes the sections of a record one by one, from its front.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> rest) : rest_(rest) {}

  template <class T>
  const T* take() {
    std::span<const std::byte> bytes = take_bytes(sizeof(T));
    return bytes.data() ? reinterpret_cast<const T*>(bytes.data()) : nullptr;
  }
  // Returns a null span if fewer bytes are left.
  std::span<const std::byte> take_bytes(std::size_t size) {
    if (size > rest_.size()) return {};
    std::span<const std::byte> taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

Result<WireLabels> take_labels(Cursor& cursor) {
  Cursor ahead = cursor;
  const auto* head = ahead.take<ls_label_head>();
  if (!head) return bad_record("no label head");
  auto bytes = cursor.take_bytes(sizeof(*head) + head->size);
  if (!bytes.data()) return bad_record("labels that do not fit");
  return open_labels(bytes);
}

bool is_in_vsyscall(std::uint64_t address) { return address - LS_VSYSCALL < LS_VSYSCALL_SIZE; }

Result<StackView> take_stack(Cursor& cursor, const ls_stack_head& head) {
  if (head.user_frames > LS_MAX_USER_FRAMES || head.kernel_frames > LS_MAX_FRAMES) {
    return bad_record("too deep a stack");
  }
  if (head.end >= LS_STACK_END_COUNT) return bad_record("an unknown end of its stack");
  auto user = cursor.take_bytes(head.user_frames * sizeof(std::uint64_t));
  auto kernel = cursor.take_bytes(head.kernel_frames * sizeof(std::uint64_t));
  if (!user.data() || !kernel.data()) return bad_record("a wrong size");
  StackView stack{
      .kernel = {reinterpret_cast<const std::uint64_t*>(kernel.data()), head.kernel_frames},
      .user = {reinterpret_cast<const std::uint64_t*>(user.data()), head.user_frames},
      .has_kinds = head.has_kinds != 0,
      .end = static_cast<ls_stack_end>(head.end)};
  // The page is no code of the kernel, nor of a file: the functions before and behind it count.
  if (!stack.kernel.empty() && is_in_vsyscall(stack.kernel.back())) {
    stack.kernel = stack.kernel.first(stack.kernel.size() - 1);
  }
  if (!stack.user.empty() && is_in_vsyscall(stack.user.front())) {
    stack.user = stack.user.subspan(1);
  }
  return stack;
}

Result<Record> decode_sample(Cursor& cursor) {
  const auto* head = cursor.take<ls_sample_head>();
  if (!head) return bad_record("no sample head");
  if (head->kind >= LS_SAMPLE_KIND_COUNT) return bad_record("an unknown kind of sample");
  Result<WireLabels> labels = take_labels(cursor);
  if (!labels) return std::move(labels).error();
  Result<StackView> stack = take_stack(cursor, head->stack);
  if (!stack) return std::move(stack).error();
  if (!cursor.empty()) return bad_record("a wrong size");

  SampleRecord sample;
  sample.time_ns = head->time_ns;
  sample.retry_id = head->retry_id;
  sample.thread_ns = head->thread_ns;
  sample.weight_ns = head->weight_ns;
  sample.system_call = head->system_call;
  sample.identity = head->identity;
  sample.list = head->list;
  sample.kind = static_cast<ls_sample_kind>(head->kind);
  sample.process = {static_cast<Pid>(head->pid), head->life};
  sample.tid = static_cast<Tid>(head->tid);
  const char* comm = reinterpret_cast<const char*>(head->comm);
  sample.comm = {comm, strnlen(comm, LS_COMM_SIZE)};
  sample.labels = *labels;
  sample.stack = *stack;
  return Record(sample);
}

Result<Record> decode_answer(Cursor& cursor) {
  const auto* head = cursor.take<ls_labels_head>();
  if (!head) return bad_record("no labels head");
  Result<WireLabels> labels = take_labels(cursor);
  if (!labels) return std::move(labels).error();
  if (!cursor.empty()) return bad_record("a wrong size");
  return Record(AnswerRecord{head->retry_id, *labels});
}

Result<Record> decode_label_set(Cursor& cursor) {
  const auto* head = cursor.take<ls_label_set_head>();
  if (!head) return bad_record("no head of a label set");
  Result<WireLabels> labels = take_labels(cursor);
  if (!labels) return std::move(labels).error();
  if (!cursor.empty()) return bad_record("a wrong size");
  if (head->number < LS_FIRST_LABEL_NUMBER) return bad_record("a number that is no label set's");
  if (head->choice >= LS_CHOICES) return bad_record("an unknown choice of labels");
  return Record(LabelSetRecord{{static_cast<Pid>(head->pid), head->life}, head->number, *labels,
                               static_cast<ls_choice>(head->choice)});
}

Result<Record> decode_process(Cursor& cursor, ProcessRecord::Kind kind) {
  const auto* event = cursor.take<ls_process_event>();
  if (!event || !cursor.empty()) return bad_record("a wrong size");
  const char* comm = reinterpret_cast<const char*>(event->comm);
  return Record(ProcessRecord{kind, event->time_ns, static_cast<Pid>(event->pid),
                              static_cast<Pid>(event->parent), event->life,
                              static_cast<Tid>(event->former), event->thread_ns, event->identity,
                              event->from_life, {comm, strnlen(comm, LS_COMM_SIZE)}});
}

Result<Record> decode_thread_end(Cursor& cursor) {
  const auto* end = cursor.take<ls_thread_end>();
  if (!end || !cursor.empty()) return bad_record("a wrong size");
  return Record(ThreadEndRecord{{static_cast<Pid>(end->pid), end->life}, static_cast<Tid>(end->tid),
                                end->thread_ns, end->time_ns, end->identity});
}

Result<Record> decode_thread_waits(Cursor& cursor) {
  const auto* waits = cursor.take<ls_thread_waits>();
  if (!waits || !cursor.empty()) return bad_record("a wrong size");
  return Record(ThreadWaitsRecord{{static_cast<Pid>(waits->pid), waits->life}, static_cast<Tid>(waits->tid),
                                  waits->account, waits->divided, waits->late,
                                  waits->ended_ns, waits->thread_ns});
}

}  // namespace

Result<Record> decode_record(std::span<const std::byte> bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint64_t) != 0) {
    return bad_record("an unaligned address");
  }
  if (bytes.size() < sizeof(ls_record_head)) return bad_record("no head");
  const auto* head = reinterpret_cast<const ls_record_head*>(bytes.data());
  if (head->size != bytes.size()) return bad_record("a wrong size");
  Cursor cursor(bytes);
  switch (head->type) {
    case LS_RECORD_SAMPLE:
      return decode_sample(cursor);
    case LS_RECORD_LABELS:
      return decode_answer(cursor);
    case LS_RECORD_FORK:
      return decode_process(cursor, ProcessRecord::Kind::kFork);
    case LS_RECORD_EXEC:
      return decode_process(cursor, ProcessRecord::Kind::kExec);
    case LS_RECORD_EXIT:
      return decode_process(cursor, ProcessRecord::Kind::kExit);
    case LS_RECORD_THREAD_END:
      return decode_thread_end(cursor);
    case LS_RECORD_THREAD_WAITS:
      return decode_thread_waits(cursor);
    case LS_RECORD_LABEL_SET:
      return decode_label_set(cursor);
    default:
      return bad_record("an unknown type");
  }
}

}  // namespace labelscope

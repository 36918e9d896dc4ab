/* The number is not the checksum of the IDs, in a record that is not being written. */
#include "customlabels/thread_context.h"
#include "stay.h"

__thread thread_context_record_t context_tls_v1;

int main(int argc, char** argv) {
  (void)argv;
  volatile thread_context_record_t* record = &context_tls_v1;
  record->span_id = 0x2a;
  record->root_span_id = 0x2a;
  record->checksum = 0x2a;
  stay(argc);
}

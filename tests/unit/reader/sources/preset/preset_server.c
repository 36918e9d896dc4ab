// A server as presets describe it: what it works on is in structures behind variables, and in what
// its accessors return. The test writes its memory; nothing here runs.
struct entry {
  unsigned changes;
  int owner;
  unsigned state;
  unsigned number;
  const char* name;
  struct entry* user;
};
struct entry* current_entry;
int own_process;
struct entry entries[4];
static unsigned user_id;
void set_user_id(unsigned id) { user_id = id; }
unsigned get_user_id(void) { return user_id; }
const char** name_of(struct entry* entry) { return &entry->name; }
struct entry* user_of(struct entry* entry) { return entry->user; }
unsigned number_of(struct entry* entry) { return entry->user->number; }
int computes(struct entry* entry) { return entry->number > 3; }
void work_on(void) {}
int main(void) { return (int)(user_id + (current_entry != 0)); }

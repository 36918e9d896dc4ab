/* Uses the variable of the library that it is linked to, without defining it. */
extern __thread void* custom_labels_current_set;
static __thread int own;

int main(void) { return (custom_labels_current_set != 0) + own; }

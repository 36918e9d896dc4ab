/* A program around a writer; it does nothing. */
int main(void) { return 0; }

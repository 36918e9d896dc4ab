/* Links the library and calls no function of it: the symbols must be there all the same. */
int main(void) { return 0; }

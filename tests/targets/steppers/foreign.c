/* Another program at the addresses at which conduct-static has its functions. Its child checks
 * whether its code is unchanged. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_(text) #text
#define TEXT(text) TEXT_(text)
#define SIZE 65536

extern const unsigned char field[];
__asm__(
    ".text\n.globl field\n.type field,%function\nfield:\n.rept " TEXT(SIZE) " / 4\n"
#if defined(__x86_64__)
    "nop\nnop\nnop\n"
#endif
    "nop\n.endr\n");

int main(void) {
  int status = 1;
  const pid_t child = fork();
  if (child == 0) _exit(memcmp(field, field + 4, SIZE - 4) == 0 ? 0 : 1);
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

/* Frames as assembly code makes and describes them (x86-64). */
  .text

/* int shape_pushes(int (*next)(int), int argument): the stack pointer moves in the middle of the
   function, and the frame pointer register holds something else. */
  .globl shape_pushes
  .type shape_pushes, @function
shape_pushes:
  .cfi_startproc
  push %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  mov %rdi, %rbp
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  mov %esi, %ebx
  sub $24, %rsp
  .cfi_adjust_cfa_offset 24
  mov %ebx, %edi
  call *%rbp
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  .cfi_remember_state
  test %ebx, %ebx
  je 1f
  add $16, %rsp
  .cfi_adjust_cfa_offset -16
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  pop %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  ret
1:
  .cfi_restore_state
  add $16, %rsp
  .cfi_adjust_cfa_offset -16
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  pop %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  xor %eax, %eax
  ret
  .cfi_endproc
  .size shape_pushes, . - shape_pushes

/* int shape_return_in_register(int argument): takes its return address off the stack and jumps to
   it, as vfork() of libc does. */
  .globl shape_return_in_register
  .type shape_return_in_register, @function
shape_return_in_register:
  .cfi_startproc
  pop %rcx
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rcx
  lea 1(%rdi), %eax
  nop
  jmp *%rcx
  .cfi_endproc
  .size shape_return_in_register, . - shape_return_in_register

/* int shape_register_frame(int (*next)(int), int argument): its frame is found by a register that
   is neither the stack pointer nor the frame pointer, while it calls nothing. */
  .globl shape_register_frame
  .type shape_register_frame, @function
shape_register_frame:
  .cfi_startproc
  lea 8(%rsp), %r10
  .cfi_def_cfa %r10, 0
  sub $64, %rsp
  and $-32, %rsp
  movl %esi, (%rsp)
  movl (%rsp), %esi
  lea -8(%r10), %rsp
  .cfi_def_cfa %rsp, 8
  mov %rdi, %rax
  mov %esi, %edi
  jmp *%rax
  .cfi_endproc
  .size shape_register_frame, . - shape_register_frame

/* int shape_other_stack(int (*next)(int), int argument, void* top): calls the function on another
   stack, which may be anywhere. Debuggers let only frames with this augmentation lead downwards,
   so programs that change stacks use it (OCaml 5). The long nop marks where the call returns. */
  .globl shape_other_stack
  .type shape_other_stack, @function
  .balign 16
shape_other_stack:
  .cfi_startproc
  .cfi_signal_frame
  mov %rsp, -16(%rdx)
  mov %rdi, %rax
  mov %esi, %edi
  lea -16(%rdx), %rsp
  .cfi_escape 0x0f, 5, 0x77, 0, 0x06, 0x23, 8
  call *%rax
  nopl 0x57ac4(%rax)
  mov (%rsp), %rsp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size shape_other_stack, . - shape_other_stack

/* void shape_undefined_first(void): a signal comes at its first byte, and the bytes before it
 * belong to no function. The handler skips the instruction. */
  .globl shape_undefined_first
  .type shape_undefined_first, @function
  .balign 16
shape_undefined_first:
  .cfi_startproc
  ud2
  ret
  .cfi_endproc
  .size shape_undefined_first, . - shape_undefined_first

  .section .note.GNU-stack, "", @progbits

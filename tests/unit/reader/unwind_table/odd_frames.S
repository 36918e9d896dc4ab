/* Functions that are described in every way that assembly code does it, and some that are not
 * described. Each has a symbol at the place that a test asks about. The code is for x86-64. */
        .text
        .cfi_sections .eh_frame

/* This one returns by a register, as vfork() does. */
        .globl ra_in_register
        .type ra_in_register, @function
        .cfi_startproc
        pop %rdi
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rdi
ra_in_register:
        nop
        jmp *%rdi
        .cfi_endproc

        .globl root
        .type root, @function
root:
        .cfi_startproc
        .cfi_undefined %rip
        nop
        hlt
        .cfi_endproc

        .globl leaf_register
        .type leaf_register, @function
        .cfi_startproc
        mov %rsp, %r11
        .cfi_def_cfa %r11, 8
leaf_register:
        nop
        ret
        .cfi_endproc

/* A rule has no room for this number of a register. */
        .globl leaf_vector
        .type leaf_vector, @function
        .cfi_startproc
        nop
        .cfi_def_cfa 40, 16
leaf_vector:
        nop
        ret
        .cfi_endproc

/* CFA = *(sp + 24) + 16, frame pointer at CFA - 24. */
        .globl at_sp
        .type at_sp, @function
        .cfi_startproc
        nop
        .cfi_escape 0x0f, 5, 0x77, 24, 0x06, 0x23, 16
        .cfi_offset %rbp, -24
at_sp:
        nop
        ret
        .cfi_endproc

/* CFA = *(fp - 40), frame pointer at *fp, as GCC aligns the stack of main(). */
        .globl at_fp
        .type at_fp, @function
        .cfi_startproc
        nop
        .cfi_escape 0x0f, 3, 0x76, 0x58, 0x06
        .cfi_escape 0x10, 0x06, 2, 0x76, 0
at_fp:
        nop
        ret
        .cfi_endproc

/* The CFA is rsp * 2, which no rule can say. */
        .globl unsupported
        .type unsupported, @function
        .cfi_startproc
        nop
        .cfi_escape 0x0f, 4, 0x77, 0, 0x12, 0x22
unsupported:
        nop
        ret
        .cfi_endproc

/* A test makes an unknown instruction of the two DW_CFA_GNU_args_size. This function then has no
 * rules, and the next one keeps its own. */
        .globl damaged
        .type damaged, @function
damaged:
        .cfi_startproc
        nop
        .cfi_escape 0x2e, 0x55, 0x2e, 0x2a
        nop
        ret
        .cfi_endproc

        .globl after_damaged
        .type after_damaged, @function
        .cfi_startproc
        push %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        mov %rsp, %rbp
        .cfi_def_cfa_register %rbp
after_damaged:
        .cfi_remember_state
        pop %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .globl after_restore
        .cfi_restore_state
after_restore:
        pop %rbp
        ret
        .cfi_endproc

/* It ends with its call: the return address is the first byte of the next function. */
        .globl ends_with_call
        .type ends_with_call, @function
        .cfi_startproc
        sub $40, %rsp
        .cfi_def_cfa_offset 48
        call root
        .globl after_last_call
after_last_call:
        .cfi_endproc
        .cfi_startproc
        sub $72, %rsp
        .cfi_def_cfa_offset 80
        nop
        hlt
        .cfi_endproc

/* This function is not described, but it keeps frame pointers. */
        .globl frame_pointer
        .type frame_pointer, @function
frame_pointer:
        push %rbp
        mov %rsp, %rbp
        .rept 80
        inc %eax
        .endr
        pop %rbp
        ret

        .cfi_startproc
        ret
        .cfi_endproc

/* This function is not described, and it keeps nothing. */
        .globl gap
        .type gap, @function
gap:
        .rept 80
        inc %eax
        .endr
        ret

        .cfi_startproc
        ret
        .cfi_endproc

/* musl's signal handlers return to code like this. */
        .globl signal_return
        .type signal_return, @function
        inc %eax
signal_return:
        mov $15, %rax
        syscall
        inc %eax

/* An empty function hides no other. */
        .cfi_startproc
        .cfi_def_cfa_offset 4096
        .cfi_endproc
        .globl after_empty
        .type after_empty, @function
        .cfi_startproc
after_empty:
        ret
        .globl padding
padding:
        .cfi_endproc
        .p2align 5
        .cfi_startproc
        ret
        .cfi_endproc

/* The kernel's frame has the return address and all registers at sp + something, as glibc says. */
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06
        .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
        .globl signal_frame
signal_frame:
        nop
        nop
        .cfi_endproc

/* Its caller is on another stack: CFA = *(sp + 8) + 16. Debuggers let only frames with this
 * augmentation lead downwards. */
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 16
        .globl other_stack
        .type other_stack, @function
other_stack:
        nop
        ret
        .cfi_endproc

/* Nobody calls these two, but return addresses may be made that lead here. The first says that it
 * has no caller, and the second, as glibc's __start_context, does not. */
        nop
        .balign 16, 0x90
        .globl made_root
        .type made_root, @function
made_root:
        .cfi_startproc
        .cfi_undefined %rip
        nop
        ret
        .cfi_endproc
        .balign 16, 0x90
        .globl made_context
        .type made_context, @function
made_context:
        .cfi_startproc
        mov %rbx, %rsp
        hlt
        .cfi_endproc
/* A call may end here, so nothing is known of the byte before this function. */
        .globl root_behind_call
        .type root_behind_call, @function
root_behind_call:
        .cfi_startproc
        .cfi_undefined %rip
        hlt
        .cfi_endproc

/* Go starts a thread like this: a caller of its first function, and that function. */
        .globl go_thread
        .type go_thread, @function
        inc %eax
go_thread:
        call *%r12
        mov $111, %edi
        mov $60, %eax
        syscall
        .balign 32, 0xcc
        int3
        .balign 32, 0xcc
        .globl go_first
        .type go_first, @function
go_first:
        call gap@PLT
        ret
        int3
        .balign 32, 0xcc
        .globl go_exit
        .type go_exit, @function
go_exit:
        nop
        call gap@PLT
        nop
        int3
        .balign 32, 0xcc
        .rept 80
        inc %eax
        .endr
        ret

/* Boost starts a fiber like this, and puts the address behind the jump on its stack. */
        .balign 32, 0xcc
        .globl fiber_start
        .type fiber_start, @function
fiber_start:
        push %rbp
        jmp *%rbx
        .globl fiber_end
fiber_end:
        xor %rdi, %rdi
        call gap@PLT
        hlt

/* This section is far away, and pages between have no code. */
        .section .far, "ax", @progbits
        .globl far_away
far_away:
        .cfi_startproc
        sub $16, %rsp
        .cfi_def_cfa_offset 24
        nop
        .cfi_endproc
        .section .note.GNU-stack, "", @progbits

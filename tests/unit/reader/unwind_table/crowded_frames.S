/* Three functions that are not described, with as many changes of the stack as bytes. Each alone fits
 * into the rows of a page, and all together do not (x86-64). */
        .text
        .cfi_sections .eh_frame
        .macro crowded name
        .globl \name
        .type \name, @function
\name:
        .rept 3500
        push %rax
        pop %rax
        .endr
        ret
        .cfi_startproc
        ret
        .cfi_endproc
        .endm
        .balign 16
        crowded crowded_first
        crowded crowded_second
        crowded crowded_third
        .section .note.GNU-stack, "", @progbits

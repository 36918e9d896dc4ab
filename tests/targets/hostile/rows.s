# A line table of ROWS rows, a byte each: no row says the same as the one before.
  .section .debug_abbrev,"",%progbits
  .uleb128 1, 0x11          /* a unit without children: */
  .byte 0
  .uleb128 0x10, 0x17       /* statement list, offset */
  .uleb128 0x11, 0x01       /* low address */
  .uleb128 0x12, 0x07       /* size */
  .uleb128 0, 0
  .byte 0
  .section .debug_info,"",%progbits
  .4byte unit_end - unit
unit:
  .2byte 4
  .4byte .debug_abbrev
  .byte 8
  .uleb128 1
  .4byte .debug_line
  .8byte hot
  .8byte 0x1000
unit_end:
  .section .debug_line,"",%progbits
  .4byte table_end - table
table:
  .2byte 4
  .4byte program - header
header:
  .byte 1, 1, 1             /* instruction size, operations, is a statement */
  .byte 0xfb, 14, 13        /* line base, line range, first special opcode */
  .byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
  .byte 0                   /* no folders */
  .asciz "rows.c"
  .uleb128 0, 0, 0
  .byte 0
program:
  .byte 0, 9, 2             /* set address */
  .8byte hot
  .fill ROWS, 1, 0x21       /* the next address and line */
  .byte 2                   /* advance to the end of the function */
  .uleb128 0x1000
  .byte 0, 1, 1             /* end of sequence */
table_end:
  .section .note.GNU-stack,"",%progbits

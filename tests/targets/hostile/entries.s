# ENTRIES entries of a byte each, and behind them functions without names of the linker, whose code is in another unit:
# to find what is around such a function, its unit must be walked from the top.
  .section .debug_abbrev,"",%progbits
  .uleb128 1, 0x11          /* a unit with children: */
  .byte 1
  .uleb128 0x11, 0x01       /* low address */
  .uleb128 0x12, 0x07       /* size */
  .uleb128 0, 0
  .uleb128 2, 0x24          /* a type, without anything */
  .byte 0
  .uleb128 0, 0
  .uleb128 3, 0x2e          /* a function: */
  .byte 0
  .uleb128 0x03, 0x08       /* name */
  .uleb128 0, 0
  .uleb128 4, 0x11          /* a unit with children, without code */
  .byte 1
  .uleb128 0, 0
  .uleb128 5, 0x2e          /* a function: */
  .byte 0
  .uleb128 0x47, 0x10       /* where it is declared, in any unit */
  .uleb128 0x11, 0x01       /* low address */
  .uleb128 0x12, 0x07       /* size */
  .uleb128 0, 0
  .byte 0
  .section .debug_info,"",%progbits
info:
  .4byte entries_end - entries
entries:
  .2byte 4
  .4byte .debug_abbrev
  .byte 8
  .uleb128 4
  .fill ENTRIES, 1, 2
functions:
  .rept 64
  .uleb128 3
  .asciz "a"
  .endr
  .byte 0
entries_end:
  .4byte unit_end - unit
unit:
  .2byte 4
  .4byte .debug_abbrev
  .byte 8
  .uleb128 1
  .8byte hot
  .8byte 0x1000
  .set at, 0
  .rept 64
  .uleb128 5
  .4byte functions - info + 3 * at
  .8byte hot + at
  .8byte 1
  .set at, at + 1
  .endr
  .byte 0
unit_end:
  .section .note.GNU-stack,"",%progbits

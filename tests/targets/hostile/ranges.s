# FUNCTIONS functions, each of the same RANGES ranges, all of them empty.
  .section .debug_abbrev,"",%progbits
  .uleb128 1, 0x11          /* a unit with children: */
  .byte 1
  .uleb128 0x11, 0x01       /* low address */
  .uleb128 0x12, 0x07       /* size */
  .uleb128 0, 0
  .uleb128 2, 0x2e          /* a function: */
  .byte 0
  .uleb128 0x55, 0x17       /* ranges, offset */
  .uleb128 0, 0
  .byte 0
  .section .debug_info,"",%progbits
  .4byte unit_end - unit
unit:
  .2byte 4
  .4byte .debug_abbrev
  .byte 8
  .uleb128 1
  .8byte hot
  .8byte 0x1000
  .rept FUNCTIONS
  .uleb128 2
  .4byte 0
  .endr
  .byte 0
unit_end:
  .section .debug_ranges,"",%progbits
  .fill RANGES * 2, 8, 0x30
  .8byte 0, 0
  .section .note.GNU-stack,"",%progbits

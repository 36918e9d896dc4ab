# Debug information whose names are in another file: which one, .gnu_debugaltlink says. That section is added where the
# path is known.
  .section .debug_abbrev,"",%progbits
  .uleb128 1, 0x11          /* a unit with children: */
  .byte 1
  .uleb128 0x11, 0x01       /* low address */
  .uleb128 0x12, 0x07       /* size */
  .uleb128 0, 0
  .uleb128 2, 0x2e          /* a function: */
  .byte 0
  .uleb128 0x03, 0x1f21     /* name, in the other file */
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
  .8byte hot
  .8byte 0x1000
  .uleb128 2
  .4byte 0
  .8byte hot
  .8byte 0x1000
  .byte 0
unit_end:
  .section .note.GNU-stack,"",%progbits

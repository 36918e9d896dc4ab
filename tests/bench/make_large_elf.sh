#!/usr/bin/env bash
# make_large_elf.sh <folder> <symbols>: makes three shared objects of about 2,300 bytes a symbol,
# with eight relocations a symbol, as large C++ libraries have. 45000 symbols make 100 MB.
#
#  publisher.so   exports the two symbols of the label ABI, and its code reaches the variable through
#                 a TLS descriptor
#  tls.so         has another thread-local variable
#  plain.so       has none
set -euo pipefail
folder=$1
symbols=$2
mkdir -p "$folder"

# The text has directives only, so that it works for both processors. Bytes that no symbol or
# relocation uses are the code.
body() {
  cat <<END
.altmacro
.macro define number
  .text
  .globl bench_function_with_a_long_name_\\number
  .type bench_function_with_a_long_name_\\number, %function
bench_function_with_a_long_name_\\number:
  .fill 2048, 1, 0
  .size bench_function_with_a_long_name_\\number, 2048
  .data
  .quad bench_function_with_a_long_name_\\number
  .rept 7
  .quad bench_local
  .endr
.endm
.data
.balign 8
bench_local:
.set number, 0
.rept $symbols
  define %number
  .set number, number + 1
.endr
END
}

variable() { # <name>
  cat <<END
.globl $1
.type $1, %object
.section .tbss,"awT",%nobits
.balign 8
$1:
.zero 8
.size $1, 8
END
}

version() {
  cat <<END
.globl custom_labels_abi_version
.type custom_labels_abi_version, %object
.section .rodata
.balign 4
custom_labels_abi_version:
.long 1
.size custom_labels_abi_version, 4
END
}

case $(uname -m) in
  x86_64) access='.text
leaq custom_labels_current_set@tlsdesc(%rip), %rax
call *custom_labels_current_set@tlscall(%rax)' ;;
  aarch64) access='.text
adrp x0, :tlsdesc:custom_labels_current_set
ldr x1, [x0, :tlsdesc_lo12:custom_labels_current_set]
add x0, x0, :tlsdesc_lo12:custom_labels_current_set
.tlsdesccall custom_labels_current_set
blr x1' ;;
esac

# link <name>: links the assembler text from stdin.
link() {
  "${CC:-cc}" -shared -nostdlib -Wl,-z,noseparate-code -o "$folder/$1.new" -x assembler -
  mv "$folder/$1.new" "$folder/$1"
}
{ body; variable custom_labels_current_set; version; echo "$access"; } | link publisher.so
{ body; variable bench_variable; } | link tls.so
body | link plain.so

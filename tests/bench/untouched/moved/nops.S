# Linked before a program's own files: all of its code moves by COUNT bytes. "R" keeps it where sections are
# collected; the name sorts it among functions.
    .section .text.nops, "axR", @progbits
    .skip COUNT, 0x90
    .section .note.GNU-stack, "", @progbits

# Loops over the port space of x86-64.
    .intel_syntax noprefix
    .text
    .global read_in
    .type read_in, @function
read_in:
    mov dx, 0x300
1:  in al, dx
    mov [rdi], al
    inc rdi
    cmp rdi, rsi
    jb 1b
    ret
    .size read_in, . - read_in

    .global read_repeated
    .type read_repeated, @function
read_repeated:
    mov dx, 0x300
    rep insb
    ret
    .size read_repeated, . - read_repeated

    .global write_out
    .type write_out, @function
write_out:
1:  lodsb
    out 0x80, al
    loop 1b
    ret
    .size write_out, . - write_out

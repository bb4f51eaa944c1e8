@ The loop of the article: the port's address is made anew for each byte.
    .arm
    .text
    .global read_bytes
    .type read_bytes, %function
read_bytes:
loop:
    mov r3, #0x40000000
    ldrb r3, [r3]
    strb r3, [r0]
    adds r0, r0, #1
    cmp r0, r1
    bcs done
    b loop
done:
    bx lr
    .size read_bytes, . - read_bytes

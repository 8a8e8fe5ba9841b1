/* boot.S — from the reset vector of a PC to tiles_main() in 64-bit mode, with AVX-512 and AMX switched on.
 * The last 256 KB below 4 GB are this image (a ROM); it is copied to 1 MB and runs there. */
    .set BASE, 0x100000
    .set ROM, 0xfffc0000
    .section .boot, "ax"
    .code64
    .globl start
start:
    mov $0xa0000, %esp              /* a stack below the screen's memory */
    call tiles_main
1:  hlt
    jmp 1b
/* ---- what runs from the ROM: the last 4 KB of it ---- */
    .section .reset, "ax"
reset:
    .code16
begin:
    cli
    lgdtl %cs:(gdt_at - reset + 0xf000)
    mov %cr0, %eax
    or $1, %eax
    mov %eax, %cr0
    ljmpl $8, $(protected - reset + 0xfffff000)
    .code32
protected:
    mov $16, %ax
    mov %ax, %ds
    mov %ax, %es
    mov %ax, %ss
    mov $ROM, %esi                  /* the image to RAM */
    mov $BASE, %edi
    mov $0xf000, %ecx               /* 240 KB in words of 4 */
    cld
    rep movsl
    xor %eax, %eax                  /* tables of pages: 4 GB as 2 MB pages, at 0x10000.. */
    mov $0x10000, %edi
    mov $0x1800, %ecx
    rep stosl
    movl $0x11003, 0x10000
    mov $0x12003, %eax
    mov $0x11000, %edi
    mov $4, %ecx
1:  mov %eax, (%edi)
    add $0x1000, %eax
    add $8, %edi
    loop 1b
    mov $0x83, %eax
    mov $0x12000, %edi
    mov $2048, %ecx
2:  mov %eax, (%edi)
    add $0x200000, %eax
    add $8, %edi
    loop 2b
    mov $0x10000, %eax
    mov %eax, %cr3
    mov %cr4, %eax
    or $0x40620, %eax               /* PAE, OSFXSR, OSXMMEXCPT, OSXSAVE */
    mov %eax, %cr4
    mov $0xc0000080, %ecx
    rdmsr
    or $0x100, %eax                 /* LME */
    wrmsr
    mov %cr0, %eax
    and $0xfffffffb, %eax           /* no EM */
    or $0x80000002, %eax            /* PG, MP */
    mov %eax, %cr0
    ljmp $24, $(long_mode - reset + 0xfffff000)
    .code64
long_mode:
    xor %ecx, %ecx
    xor %edx, %edx
    mov $0x600e7, %eax              /* x87, SSE, AVX, AVX-512, tiles */
    xsetbv
    mov $BASE, %eax
    jmp *%rax
    .balign 8
gdt:
    .quad 0
    .quad 0x00cf9a000000ffff        /* 8: code, 32 bits */
    .quad 0x00cf92000000ffff        /* 16: data */
    .quad 0x00af9a000000ffff        /* 24: code, 64 bits */
gdt_at:
    .word 31
    .long gdt - reset + 0xfffff000
    .org 0xff0
    .code16
    jmp begin
    .org 0x1000
    .section .note.GNU-stack, "", @progbits

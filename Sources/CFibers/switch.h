/* context_switch(&from, to): saves the callee-saved registers on the stack, stores the stack pointer in
 * *from, continues at `to`. context_make: a stack pointer that, switched to, calls `start`.
 * Floating-point control words are not saved: nothing here changes them. */
#ifndef CFIBERS_SWITCH_H
#define CFIBERS_SWITCH_H
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)

void objstore_context_switch(void **from, void *to);
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".hidden objstore_context_switch\n"
    ".globl objstore_context_switch\n"
    ".type objstore_context_switch, @function\n"
    "objstore_context_switch:\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    "    ret\n"
    ".size objstore_context_switch, .-objstore_context_switch\n");

typedef void *context;
static inline void context_switch(context *from, context *to) { objstore_context_switch(from, *to); }
static inline void context_make(context *c, void *stack, size_t bytes, void (*start)(void)) {
    /* top: 0 (ends back traces), start, six registers; `start` sees the alignment of a called function */
    void **top = (void **)(((uintptr_t)stack + bytes) & ~(uintptr_t)15);
    *--top = 0;
    *--top = (void *)start;
    for (int i = 0; i < 6; i++) *--top = 0;
    *c = top;
}

#elif defined(__aarch64__)

void objstore_context_switch(void **from, void *to);
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".hidden objstore_context_switch\n"
    ".globl objstore_context_switch\n"
    ".type objstore_context_switch, %function\n"
    "objstore_context_switch:\n"
    "    sub sp, sp, #160\n"
    "    stp x19, x20, [sp, #0]\n"
    "    stp x21, x22, [sp, #16]\n"
    "    stp x23, x24, [sp, #32]\n"
    "    stp x25, x26, [sp, #48]\n"
    "    stp x27, x28, [sp, #64]\n"
    "    stp x29, x30, [sp, #80]\n"
    "    stp d8, d9, [sp, #96]\n"
    "    stp d10, d11, [sp, #112]\n"
    "    stp d12, d13, [sp, #128]\n"
    "    stp d14, d15, [sp, #144]\n"
    "    mov x9, sp\n"
    "    str x9, [x0]\n"
    "    mov sp, x1\n"
    "    ldp x19, x20, [sp, #0]\n"
    "    ldp x21, x22, [sp, #16]\n"
    "    ldp x23, x24, [sp, #32]\n"
    "    ldp x25, x26, [sp, #48]\n"
    "    ldp x27, x28, [sp, #64]\n"
    "    ldp x29, x30, [sp, #80]\n"
    "    ldp d8, d9, [sp, #96]\n"
    "    ldp d10, d11, [sp, #112]\n"
    "    ldp d12, d13, [sp, #128]\n"
    "    ldp d14, d15, [sp, #144]\n"
    "    add sp, sp, #160\n"
    "    ret\n"
    ".size objstore_context_switch, .-objstore_context_switch\n");

typedef void *context;
static inline void context_switch(context *from, context *to) { objstore_context_switch(from, *to); }
static inline void context_make(context *c, void *stack, size_t bytes, void (*start)(void)) {
    void **top = (void **)(((uintptr_t)stack + bytes) & ~(uintptr_t)15);
    top -= 20;
    for (int i = 0; i < 20; i++) top[i] = 0;
    top[11] = (void *)start; /* x30 */
    *c = top;
}

#else

#include <ucontext.h>
typedef ucontext_t context;
static inline void context_switch(context *from, context *to) { swapcontext(from, to); }
static inline void context_make(context *c, void *stack, size_t bytes, void (*start)(void)) {
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = bytes;
    c->uc_link = 0;
    makecontext(c, start, 0);
}

#endif
#endif

// Fibers: stacks of their own that one operating-system thread switches between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace simt {

constexpr std::size_t stack_bytes = 256 * 1024;

struct Fiber {
    void *stack_pointer = nullptr;
    char *stack = nullptr;  // null for the fiber of the operating system's own thread
#if !defined(__x86_64__)
    ucontext_t saved;
#endif
    const void *bounds = nullptr;  // what the address sanitizer calls the bottom and the size
    std::size_t bounds_bytes = 0;
};

#if defined(__x86_64__)
// Saves the callee-saved registers on the present stack and takes them from the other one: a few
// nanoseconds, where swapcontext makes a system call.
extern "C" __attribute__((visibility("hidden"))) void simt_switch(void **save, void *load);
asm(R"(
    .text
    .globl simt_switch
    .hidden simt_switch
    .type simt_switch, @function
simt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size simt_switch, . - simt_switch
)");
#endif

inline void allocate_stack(Fiber &fiber) {
    const std::size_t guard = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *pages = mmap(nullptr, guard + stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages, guard, PROT_NONE) != 0) {
        std::perror("simt: no memory for the stack of a device thread");
        std::abort();
    }
    fiber.stack = static_cast<char *>(pages) + guard;  // an overrun meets the guard page
    fiber.bounds = fiber.stack;
    fiber.bounds_bytes = stack_bytes;
}

// Makes the next switch to `fiber` enter `entry`, which must not return.
inline void prepare(Fiber &fiber, void (*entry)()) {
    if (fiber.stack == nullptr) allocate_stack(fiber);
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(fiber.stack, stack_bytes);  // calls that were left for good
#endif
#if defined(__x86_64__)
    void **top = reinterpret_cast<void **>(fiber.stack + stack_bytes);
    constexpr int entry_slot = 2;  // rsp is 8 past a multiple of 16 at entry, as after a call
    constexpr int saved_registers = 6;
    top[-1] = nullptr;
    top[-entry_slot] = reinterpret_cast<void *>(entry);
    fiber.stack_pointer = top - entry_slot - saved_registers;
#else
    getcontext(&fiber.saved);
    fiber.saved.uc_stack.ss_sp = fiber.stack;
    fiber.saved.uc_stack.ss_size = stack_bytes;
    fiber.saved.uc_link = nullptr;
    makecontext(&fiber.saved, entry, 0);
#endif
}

inline void switch_fiber(Fiber &from, Fiber &to) {
#if defined(__SANITIZE_ADDRESS__)
    void *fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, to.bounds, to.bounds_bytes);
#endif
#if defined(__x86_64__)
    simt_switch(&from.stack_pointer, to.stack_pointer);
#else
    swapcontext(&from.saved, &to.saved);
#endif
#if defined(__SANITIZE_ADDRESS__)
    const void *bounds;
    std::size_t bounds_bytes;
    __sanitizer_finish_switch_fiber(fake_stack, &bounds, &bounds_bytes);
    if (from.stack == nullptr) return;
    to.bounds = bounds;  // the scheduler may run on another thread's stack than at the last switch
    to.bounds_bytes = bounds_bytes;
#endif
}

// What a fiber calls first: tells the sanitizer where it is, and learns the bounds of `from`.
inline void entered_from([[maybe_unused]] Fiber &from) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &from.bounds, &from.bounds_bytes);
#endif
}

}  // namespace simt

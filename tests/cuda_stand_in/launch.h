// A launch: all blocks of a grid, one after another, in the order that GRADC_SIMT_ORDER names
// (forward, reverse or random), with shared memory poisoned before each.
#pragma once

#include "block.h"

namespace simt {

enum class Order { forward, reverse, random };

inline Order chosen_order() {
    const char *name = std::getenv("GRADC_SIMT_ORDER");
    if (name != nullptr && std::strcmp(name, "reverse") == 0) return Order::reverse;
    if (name != nullptr && std::strcmp(name, "random") == 0) return Order::random;
    return Order::forward;
}

inline std::uint64_t next_random() {
    static std::uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

inline void arrange(unsigned *order, unsigned count, Order chosen) {
    std::iota(order, order + count, 0u);
    if (chosen == Order::reverse) std::reverse(order, order + count);
    if (chosen != Order::random) return;
    for (unsigned rest = count; rest > 1; --rest)
        std::swap(order[rest - 1], order[next_random() % rest]);
}

inline uint3 place_in(dim3 extent, unsigned number) {
    return {number % extent.x, number / extent.x % extent.y, number / extent.x / extent.y};
}

inline void prepare_block(Order order) {
    block.started = block.finished = block.arrived = block.barrier_generation = 0;
    arrange(block.order, block.thread_count, order);
    for (unsigned number = 0; number < block.thread_count; ++number) {
        block.threads[number] = Thread{};
        block.threads[number].number = number;
        block.threads[number].index = place_in(blockDim, number);
        block.meetings[number].arrived = 0;
    }
    for (unsigned warp = 0; warp < max_threads / lanes; ++warp) {
        const unsigned first = warp * lanes;
        const unsigned count = block.thread_count > first ? block.thread_count - first : 0;
        block.alive[warp] = count >= lanes ? ~0u : (1u << count) - 1;
    }
}

// The loop is not memset: what lies between the variables in a sanitized build is not ours.
[[gnu::no_sanitize_address, gnu::optimize("no-tree-loop-distribute-patterns")]]
inline void poison_shared() {
    for (char *byte = __start_gradc_shared; byte != __stop_gradc_shared; ++byte)
        *byte = static_cast<char>(poison);
    for (unsigned char &byte : dynamic_shared) byte = poison;
}

inline void run_block() {
    start_threads();
    while (failure[0] == '\0' && block.finished < block.thread_count)
        if (!resume_threads() && !end_meetings_without_the_finished()) report_deadlock();
}

}  // namespace simt

// Runs a kernel; null, or why it failed. `extents` are those of the grid and of the block, `spare`
// the fibers that the modules of a process share.
extern "C" __attribute__((visibility("default"))) const char *simt_launch(
    simt::Kernel kernel, void *const arguments[4], const unsigned extents[6], unsigned shared,
    std::vector<simt::Fiber *> *spare) {
    using namespace simt;
    spare_fibers = spare;
    gridDim = dim3(extents[0], extents[1], extents[2]);
    blockDim = dim3(extents[3], extents[4], extents[5]);
    block.kernel = kernel;
    std::copy(arguments, arguments + 4, block.arguments);
    block.thread_count = blockDim.x * blockDim.y * blockDim.z;
    failure[0] = '\0';
    dynamic_shared = std::vector<unsigned char>(shared);  // of the exact size, for the sanitizer
    const Order order = chosen_order();
    std::vector<unsigned> blocks(std::size_t{gridDim.x} * gridDim.y * gridDim.z);
    arrange(blocks.data(), static_cast<unsigned>(blocks.size()), order);
    for (std::size_t place = 0; place < blocks.size() && failure[0] == '\0'; ++place) {
        blockIdx = place_in(gridDim, blocks[place]);
        prepare_block(order);
        poison_shared();
        run_block();
    }
    spare_all_fibers();
    return failure[0] == '\0' ? nullptr : failure;
}

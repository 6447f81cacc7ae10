// Blocks of device threads on one CPU thread: starts them, lets them meet, and says where they
// cannot.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <numeric>
#include <vector>

#include "fibers.h"

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

// The linker gives the bounds of the section that holds the __shared__ variables of functions that
// are no templates (gcc leaves those of templates outside).
extern "C" {
extern char __start_gradc_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_gradc_shared[] __attribute__((weak, visibility("hidden")));
}

namespace simt {

constexpr unsigned max_threads = 1024;
constexpr unsigned lanes = 32;
constexpr unsigned char poison = 0xff;  // bytes of a NaN in every floating type

using Kernel = void (*)(void *, void *, void *, void *);

struct Site {
    const char *file;
    int line;
    bool operator!=(const Site &other) const {
        return line != other.line || std::strcmp(file, other.file) != 0;
    }
};

// A meeting of the lanes of one warp that a mask names. Two generations of slots: a fast lane may
// be at the next meeting while a slow one still reads what was brought to this one.
struct Meeting {
    Site site;
    unsigned mask, arrived, generation;
    struct Table {
        std::uint64_t slot[lanes];
        unsigned present;
    } tables[2];
};

enum class State { running, at_barrier, at_meeting, finished };

struct Thread {
    State state;
    uint3 index;
    unsigned number;    // in the block, x fastest
    Fiber *fiber;
    Site site;          // where it waits
    Meeting *meeting;   // for whom it waits
    unsigned awaited;   // the generation of the barrier or meeting that it waits for to end
};

struct Block {
    Kernel kernel;
    void *arguments[4];
    unsigned thread_count, started, finished;
    unsigned arrived, barrier_generation;
    Site barrier_site;
    Thread threads[max_threads];
    unsigned order[max_threads];
    unsigned alive[max_threads / lanes];
    Meeting meetings[max_threads];  // by warp and lowest lane of the mask
};

inline Block block;
inline Thread *current;
inline Fiber *entering;
inline Fiber scheduler;
inline std::vector<Fiber *> idle_fibers;    // in run_threads, with nothing to do
inline std::vector<Fiber *> *spare_fibers;  // of all modules, to be prepared before use
inline std::vector<unsigned char> dynamic_shared;
inline char failure[512];

inline void leave_to_scheduler() { switch_fiber(*current->fiber, scheduler); }

// Ends the launch: the first message stays, and the thread that calls it never goes on.
[[noreturn, gnu::format(printf, 1, 2)]] inline void fail(const char *format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
    leave_to_scheduler();
    std::abort();
}

inline void barrier(Site site) {
    if (block.arrived != 0 && site != block.barrier_site)
        fail("divergent barrier: threads of one block wait at %s:%d and at %s:%d",
             block.barrier_site.file, block.barrier_site.line, site.file, site.line);
    block.barrier_site = site;
    if (++block.arrived == block.thread_count) {
        block.arrived = 0;
        ++block.barrier_generation;
        return;
    }
    current->site = site;
    current->awaited = block.barrier_generation;
    current->state = State::at_barrier;
    leave_to_scheduler();
}

inline void end_meeting(Meeting &meeting) {
    meeting.tables[meeting.generation & 1].present = meeting.arrived;
    meeting.arrived = 0;
    ++meeting.generation;
}

inline bool is_complete(const Meeting &meeting, unsigned warp) {
    return meeting.arrived != 0 && meeting.arrived == (meeting.mask & block.alive[warp]);
}

// Brings `value` to the lanes that `mask` names and returns what all of them brought.
inline const Meeting::Table &meet(Site site, unsigned mask, std::uint64_t value) {
    const unsigned lane = current->number % lanes, warp = current->number / lanes;
    if ((mask >> lane & 1) == 0)
        fail("lane %u is not in its own mask %08x at %s:%d", lane, mask, site.file, site.line);
    Meeting &meeting = block.meetings[warp * lanes + __builtin_ctz(mask)];
    Meeting::Table &table = meeting.tables[meeting.generation & 1];
    if (meeting.arrived == 0) {
        meeting.mask = mask;
        meeting.site = site;
        std::memset(table.slot, poison, sizeof table.slot);
    } else if (meeting.mask != mask || meeting.site != site) {
        fail("divergent warp operation: mask %08x at %s:%d and mask %08x at %s:%d", meeting.mask,
             meeting.site.file, meeting.site.line, mask, site.file, site.line);
    }
    table.slot[lane] = value;
    meeting.arrived |= 1u << lane;
    if (is_complete(meeting, warp)) {
        end_meeting(meeting);
        return table;
    }
    current->site = site;
    current->meeting = &meeting;
    current->awaited = meeting.generation;
    current->state = State::at_meeting;
    leave_to_scheduler();
    return table;
}

// The life of a fiber. A thread that never waits is a plain call; the fiber then starts the next.
inline void run_threads() {
    Fiber *const self = entering;
    entered_from(scheduler);
    for (;;) {
        while (block.started < block.thread_count) {
            Thread &thread = block.threads[block.order[block.started++]];
            thread.fiber = self;
            thread.state = State::running;
            current = &thread;
            threadIdx = thread.index;
            block.kernel(block.arguments[0], block.arguments[1], block.arguments[2],
                         block.arguments[3]);
            thread.state = State::finished;
            ++block.finished;
            block.alive[thread.number / lanes] &= ~(1u << thread.number % lanes);
        }
        idle_fibers.push_back(self);
        switch_fiber(*self, scheduler);
    }
}

inline void prepare_another() {
    if (spare_fibers->empty()) spare_fibers->push_back(new Fiber);
    idle_fibers.push_back(spare_fibers->back());
    spare_fibers->pop_back();
    prepare(*idle_fibers.back(), run_threads);
}

inline void start_threads() {
    while (block.started < block.thread_count && failure[0] == '\0') {
        if (idle_fibers.empty()) prepare_another();
        entering = idle_fibers.back();
        idle_fibers.pop_back();
        switch_fiber(scheduler, *entering);
    }
}

inline bool may_go_on(const Thread &thread) {
    if (thread.state == State::at_barrier) return thread.awaited != block.barrier_generation;
    return thread.state == State::at_meeting && thread.awaited != thread.meeting->generation;
}

// One round over all threads; whether any of them moved.
inline bool resume_threads() {
    bool moved = false;
    for (unsigned place = 0; place < block.thread_count && failure[0] == '\0'; ++place) {
        Thread &thread = block.threads[block.order[place]];
        if (!may_go_on(thread)) continue;
        moved = true;
        thread.state = State::running;
        current = &thread;
        threadIdx = thread.index;
        switch_fiber(scheduler, *thread.fiber);
    }
    return moved;
}

// Lanes that have returned are not waited for.
inline bool end_meetings_without_the_finished() {
    bool ended = false;
    for (unsigned place = 0; place < block.thread_count; ++place)
        if (is_complete(block.meetings[place], place / lanes)) {
            end_meeting(block.meetings[place]);
            ended = true;
        }
    return ended;
}

inline void report_deadlock() {
    const auto waiting = [](const Thread &thread) { return thread.state != State::finished; };
    const Thread &first =
        *std::find_if(std::begin(block.threads), std::end(block.threads), waiting);
    std::snprintf(failure, sizeof failure,
                  "deadlock: of %u threads %u returned and the others wait, thread %u at %s:%d",
                  block.thread_count, block.finished, first.number, first.site.file,
                  first.site.line);
}

// Gives the fibers back, after a failure those too that are in the middle of a kernel.
inline void spare_all_fibers() {
    spare_fibers->insert(spare_fibers->end(), idle_fibers.begin(), idle_fibers.end());
    idle_fibers.clear();
    for (unsigned number = 0; number < block.thread_count; ++number) {
        const Thread &thread = block.threads[number];
        if (thread.fiber != nullptr && thread.state != State::finished)
            spare_fibers->push_back(thread.fiber);
    }
}

}  // namespace simt

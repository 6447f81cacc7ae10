// Streams: work runs when it is submitted or, with GRADC_SIMT_ASYNC=1, not before something waits
// for it, so that a result that is read too early is visibly wrong. A capturing stream keeps its
// work for a graph.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "allocations.h"

namespace stand_in {

using Work = std::function<CUresult()>;
using Clock = std::chrono::steady_clock;

struct Graph {
    std::vector<Work> nodes;
};

struct Stream {
    bool waits_for_legacy = true;  // not made with CU_STREAM_NON_BLOCKING
    std::list<Work> pending;
    std::unique_ptr<Graph> capture;
};

struct Event {
    Stream *stream = nullptr;
    Clock::time_point time;
};

inline Stream legacy;  // the null stream
inline std::list<Stream> streams;
inline CUresult failure_of_work = CUDA_SUCCESS;

inline Stream &stream_of(Stream *handle) { return handle == nullptr ? legacy : *handle; }

inline bool is_capturing() {
    for (const Stream &stream : streams)
        if (stream.capture) return true;
    return false;
}

inline void perform(const Work &work) {
    const DeviceAccess access;
    const CUresult result = work();
    if (failure_of_work == CUDA_SUCCESS) failure_of_work = result;
}

inline void drain(Stream &stream) {
    while (!stream.pending.empty()) {
        const Work work = std::move(stream.pending.front());
        stream.pending.pop_front();
        perform(work);
    }
}

// Failures come out at the next wait, as on a device. There they stay for good; here they are
// forgotten then, so that one process can provoke several.
inline CUresult take_failure() { return std::exchange(failure_of_work, CUDA_SUCCESS); }

inline CUresult submit(Stream *handle, Work work) {
    Stream &stream = stream_of(handle);
    if (stream.capture) {
        stream.capture->nodes.push_back(std::move(work));
    } else {
        stream.pending.push_back(std::move(work));
        if (!is_set("GRADC_SIMT_ASYNC")) drain(stream);
    }
    return CUDA_SUCCESS;
}

inline CUresult wait_for(Stream &stream) {
    if (stream.capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    drain(stream);
    return take_failure();
}

inline CUresult wait_for_all() {
    if (is_capturing()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    drain(legacy);
    for (Stream &stream : streams) drain(stream);
    return take_failure();
}

// A copy without a stream is ordered with the null stream and those that wait for it, no others.
inline CUresult perform_in_order(const Work &work) {
    drain(legacy);
    for (Stream &stream : streams)
        if (stream.waits_for_legacy) drain(stream);
    perform(work);
    return take_failure();
}

inline bool forget(Stream *handle) {
    for (auto stream = streams.begin(); stream != streams.end(); ++stream)
        if (&*stream == handle) {
            drain(*stream);
            streams.erase(stream);
            return true;
        }
    return false;
}

}  // namespace stand_in

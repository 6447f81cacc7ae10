// A stand-in for libcuda.so.1 that runs modules made under simt.h: the part of the driver interface
// that gradc calls, under the names that the real library exports.
//
// Kernels take four pointers, as all that gradc writes do.

#include <mutex>

#include "modules.h"
#include "streams.h"

using namespace stand_in;

namespace {

constexpr int driver_version = 13000;
constexpr int context_handle = 1;

std::recursive_mutex mutex;
bool initialized = false;
thread_local void *current_context = nullptr;

struct Attribute {
    int number, value;
};
constexpr Attribute attributes[] = {
    {1, max_threads_per_block},  // MAX_THREADS_PER_BLOCK
    {2, 1024},                   // MAX_BLOCK_DIM_X
    {3, 1024},                   // MAX_BLOCK_DIM_Y
    {4, 64},                     // MAX_BLOCK_DIM_Z
    {5, 2147483647},             // MAX_GRID_DIM_X
    {6, 65535},                  // MAX_GRID_DIM_Y
    {7, 65535},                  // MAX_GRID_DIM_Z
    {8, default_shared_bytes},   // MAX_SHARED_MEMORY_PER_BLOCK
    {10, 32},                    // WARP_SIZE
    {16, 4},                     // MULTIPROCESSOR_COUNT
    {75, 8},                     // COMPUTE_CAPABILITY_MAJOR
    {76, 0},                     // COMPUTE_CAPABILITY_MINOR
    {97, largest_shared_bytes},  // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    {115, 1},                    // MEMORY_POOLS_SUPPORTED
};

// What every call that touches the device does first.
template <class Call>
CUresult guarded(Call call) {
    const std::lock_guard<std::recursive_mutex> lock(mutex);
    if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;
    if (current_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return call();
}

Work copying(void *to, const void *from, std::size_t bytes) {
    return [=] {
        std::memcpy(to, from, bytes);
        return CUDA_SUCCESS;
    };
}

Work filling(CUdeviceptr address, unsigned value, std::size_t width, std::size_t count) {
    return [=] {
        auto *bytes = static_cast<unsigned char *>(at(address));
        for (std::size_t place = 0; place < count; ++place)
            std::memcpy(bytes + place * width, &value, width);
        return CUDA_SUCCESS;
    };
}

// Runs `work` on the device memory at `address` in order, or on a stream.
CUresult at_once(CUdeviceptr address, std::size_t bytes, Work work) {
    return guarded([&] {
        return holds(address, bytes) ? perform_in_order(work) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult later(Stream *stream, CUdeviceptr address, std::size_t bytes, Work work) {
    return guarded([&] {
        return holds(address, bytes) ? submit(stream, std::move(work)) : CUDA_ERROR_INVALID_VALUE;
    });
}

}  // namespace

extern "C" {

// ---- the library and its errors

CUresult cuInit(unsigned) {
    initialized = true;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
    *version = driver_version;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult code, const char **name) {
    const ResultText *text = find_text(code);
    *name = text == nullptr ? nullptr : text->name;
    return text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult code, const char **description) {
    static thread_local std::string detailed;
    const ResultText *text = find_text(code);
    detailed = text == nullptr ? "" : text->description;
    if (code == CUDA_ERROR_LAUNCH_FAILED) detailed += ": " + launch_failure;
    *description = text == nullptr ? nullptr : detailed.c_str();
    return text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// ---- devices and contexts

CUresult cuDeviceGetCount(int *count) {
    *count = 1;
    return initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int length, int) {
    std::strncpy(name, "stand-in device on the CPU", static_cast<std::size_t>(length));
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int number, int) {
    for (const Attribute &attribute : attributes)
        if (attribute.number == number) {
            *value = attribute.value;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceTotalMem_v2(std::size_t *bytes, int) {
    *bytes = total_memory;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(void **context, int) {
    static int handle = context_handle;
    *context = &handle;
    return initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDevicePrimaryCtxRelease_v2(int) { return CUDA_SUCCESS; }

CUresult cuCtxSetCurrent(void *context) {
    current_context = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(void **context) {
    *context = current_context;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() { return guarded(wait_for_all); }

// ---- modules and launches

CUresult cuModuleLoadData(void **module, const void *image) {
    return guarded([&] { return load(module, image); });
}

CUresult cuModuleUnload(void *module) {
    return guarded([&] { return dlclose(module) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}

CUresult cuModuleGetFunction(Function **function, void *module, const char *name) {
    return guarded([&] { return find(function, module, name); });
}

CUresult cuFuncSetAttribute(Function *function, int attribute, int value) {
    constexpr int max_dynamic_shared_size_bytes = 8;
    const bool is_known = attribute == max_dynamic_shared_size_bytes;
    if (!is_known || value < 0 || static_cast<unsigned>(value) > largest_shared_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    function->shared_limit = static_cast<unsigned>(value);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        Stream *stream, void **parameters, void **) {
    return guarded([&] {
        const std::array<unsigned, 6> extents = {grid_x, grid_y, grid_z, block_x, block_y, block_z};
        if (!fits(extents, shared, *function)) return CUDA_ERROR_INVALID_VALUE;
        std::array<void *, 4> arguments;
        for (std::size_t place = 0; place < arguments.size(); ++place)
            std::memcpy(&arguments[place], parameters[place], sizeof(void *));
        return submit(stream, [=] { return run(*function, arguments, extents, shared); });
    });
}

// ---- memory

CUresult cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
    return guarded([&] {
        *total = total_memory;
        *free = total_memory - used_memory();
        return CUDA_SUCCESS;
    });
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, std::size_t bytes) {
    return guarded([&] { return allocate(address, bytes); });
}

// As on a device, freeing waits for all work that may still use the memory.
CUresult cuMemFree_v2(CUdeviceptr address) {
    return guarded([&] {
        const CUresult failure = wait_for_all();
        return failure == CUDA_SUCCESS ? release(address) : failure;
    });
}

CUresult cuMemAllocAsync(CUdeviceptr *address, std::size_t bytes, Stream *stream) {
    return guarded([&] {
        if (stream_of(stream).capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        return allocate(address, bytes);
    });
}

CUresult cuMemFreeAsync(CUdeviceptr address, Stream *stream) {
    return later(stream, address, 0, [=] { return release(address); });
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, std::size_t bytes) {
    return at_once(to, bytes, copying(at(to), from, bytes));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, std::size_t bytes) {
    return at_once(from, bytes, copying(to, at(from), bytes));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    if (!holds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return at_once(from, bytes, copying(at(to), at(from), bytes));
}

// A device may have read the host's memory when the call returns, or may not: here it reads late.
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, std::size_t bytes, Stream *stream) {
    return later(stream, to, bytes, copying(at(to), from, bytes));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, std::size_t bytes, Stream *stream) {
    return later(stream, from, bytes, copying(to, at(from), bytes));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Stream *stream) {
    if (!holds(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return later(stream, from, bytes, copying(at(to), at(from), bytes));
}

CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, std::size_t count) {
    return at_once(address, count, filling(address, value, 1, count));
}

CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned value, std::size_t count) {
    return at_once(address, 4 * count, filling(address, value, 4, count));
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, std::size_t count,
                         Stream *stream) {
    return later(stream, address, count, filling(address, value, 1, count));
}

CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, std::size_t count, Stream *stream) {
    return later(stream, address, 4 * count, filling(address, value, 4, count));
}

// ---- streams, graphs, events

CUresult cuStreamCreate(Stream **stream, unsigned flags) {
    constexpr unsigned non_blocking = 1;
    return guarded([&] {
        *stream = &streams.emplace_back();
        (*stream)->waits_for_legacy = (flags & non_blocking) == 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamSynchronize(Stream *stream) {
    return guarded([&] { return wait_for(stream_of(stream)); });
}

CUresult cuStreamDestroy_v2(Stream *stream) {
    return guarded([&] { return forget(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}

CUresult cuStreamBeginCapture_v2(Stream *stream, int) {
    return guarded([&] {
        if (stream == nullptr || stream->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        stream->capture = std::make_unique<Graph>();
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamEndCapture(Stream *stream, Graph **graph) {
    return guarded([&] {
        *graph = stream_of(stream).capture.release();
        return *graph == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    });
}

CUresult cuGraphInstantiateWithFlags(Graph **executable, Graph *graph, unsigned long long) {
    *executable = new Graph(*graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(Graph *executable, Stream *stream) {
    return guarded([&] {
        for (const Work &work : executable->nodes) submit(stream, work);
        return CUDA_SUCCESS;
    });
}

CUresult cuGraphDestroy(Graph *graph) {
    delete graph;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(Graph *executable) { return cuGraphDestroy(executable); }

CUresult cuEventCreate(Event **event, unsigned) {
    *event = new Event;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(Event *event, Stream *stream) {
    return guarded([&] {
        event->stream = stream;
        return submit(stream, [=] {
            event->time = Clock::now();
            return CUDA_SUCCESS;
        });
    });
}

CUresult cuEventSynchronize(Event *event) { return cuStreamSynchronize(event->stream); }

CUresult cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
    const std::chrono::duration<float, std::milli> elapsed = end->time - start->time;
    *milliseconds = elapsed.count();
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(Event *event) {
    delete event;
    return CUDA_SUCCESS;
}

}  // extern "C"

// Device memory: host memory that is poisoned when new, checked against its bounds in copies and,
// with GRADC_SIMT_PROTECT=1, out of the host's reach except while device work runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include <sys/mman.h>

#include "results.h"

using CUdeviceptr = unsigned long long;

namespace stand_in {

constexpr std::size_t total_memory = std::size_t{4} << 30;
constexpr std::size_t alignment = 256;
constexpr int poison = 0xff;

struct Allocation {
    std::size_t bytes;
    bool mapped;  // in pages of its own, so that it can be protected
};

inline std::map<CUdeviceptr, Allocation> allocations;

inline bool is_set(const char *variable) {
    const char *value = std::getenv(variable);
    return value != nullptr && std::strcmp(value, "1") == 0;
}

inline void *at(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

inline std::size_t used_memory() {
    std::size_t sum = 0;
    for (const auto &[address, allocation] : allocations) sum += allocation.bytes;
    return sum;
}

inline void protect(int access) {
    for (const auto &[address, allocation] : allocations)
        if (allocation.mapped) mprotect(at(address), allocation.bytes, access);
}

// While one lives, device memory can be touched.
struct DeviceAccess {
    DeviceAccess() { protect(PROT_READ | PROT_WRITE); }
    ~DeviceAccess() { protect(PROT_NONE); }
    DeviceAccess(const DeviceAccess &) = delete;
    DeviceAccess &operator=(const DeviceAccess &) = delete;
};

inline CUresult allocate(CUdeviceptr *address, std::size_t bytes) {
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > total_memory - used_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
    const bool mapped = is_set("GRADC_SIMT_PROTECT");
    void *memory = nullptr;
    if (mapped) {
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    } else if (posix_memalign(&memory, alignment, bytes) != 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    std::memset(memory, poison, bytes);
    *address = reinterpret_cast<CUdeviceptr>(memory);
    allocations[*address] = {bytes, mapped};
    if (mapped) mprotect(memory, bytes, PROT_NONE);
    return CUDA_SUCCESS;
}

inline CUresult release(CUdeviceptr address) {
    if (address == 0) return CUDA_SUCCESS;
    const auto found = allocations.find(address);
    if (found == allocations.end()) return CUDA_ERROR_INVALID_VALUE;
    if (found->second.mapped)
        munmap(at(address), found->second.bytes);
    else
        std::free(at(address));
    allocations.erase(found);
    return CUDA_SUCCESS;
}

inline bool holds(CUdeviceptr address, std::size_t bytes) {
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin()) return false;
    const auto &[start, allocation] = *--next;
    const std::size_t offset = address - start;
    return offset <= allocation.bytes && bytes <= allocation.bytes - offset;
}

}  // namespace stand_in

// Modules: an image is a shared object that g++ made of a .cu under simt.h.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include "results.h"

namespace simt {
struct Fiber;
}

namespace stand_in {

using Launch = const char *(*)(void *kernel, void *const arguments[4], const unsigned extents[6],
                               unsigned shared_bytes, std::vector<simt::Fiber *> *spare);

constexpr unsigned default_shared_bytes = 48 * 1024, largest_shared_bytes = 96 * 1024;
constexpr unsigned max_threads_per_block = 1024;
constexpr std::array<unsigned, 6> largest_extents = {2147483647, 65535, 65535, 1024, 1024, 64};

struct Function {
    Launch launch;
    void *kernel;
    unsigned shared_limit = default_shared_bytes;
};

// An image comes without a length; in what the linker writes the section headers are last.
inline std::size_t bytes_of(const void *image) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof header);
    return header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
}

inline CUresult load(void **module, const void *image) {
    if (std::strncmp(static_cast<const char *>(image), ELFMAG, SELFMAG) != 0)
        return CUDA_ERROR_INVALID_IMAGE;
    std::string path = P_tmpdir "/gradc-simt-XXXXXX";
    const int file = mkstemp(path.data());
    if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    const auto bytes = static_cast<ssize_t>(bytes_of(image));
    const bool written = write(file, image, static_cast<std::size_t>(bytes)) == bytes;
    close(file);
    *module = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    unlink(path.c_str());
    return *module == nullptr ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
}

inline CUresult find(Function **function, void *module, const char *name) {
    void *launch = dlsym(module, "simt_launch"), *kernel = dlsym(module, name);
    if (launch == nullptr || kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
    *function = new Function{reinterpret_cast<Launch>(launch), kernel};  // lives as long as we do
    return CUDA_SUCCESS;
}

inline bool fits(const std::array<unsigned, 6> &extents, unsigned shared,
                 const Function &function) {
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
        if (extents[axis] == 0 || extents[axis] > largest_extents[axis]) return false;
    return extents[3] * extents[4] * extents[5] <= max_threads_per_block &&
           shared <= function.shared_limit;
}

inline CUresult run(const Function &function, const std::array<void *, 4> &arguments,
                    const std::array<unsigned, 6> &extents, unsigned shared) {
    static std::vector<simt::Fiber *> spare;
    const char *failure =
        function.launch(function.kernel, arguments.data(), extents.data(), shared, &spare);
    if (failure == nullptr) return CUDA_SUCCESS;
    launch_failure = failure;
    return CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace stand_in

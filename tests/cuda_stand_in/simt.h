// CUDA's device language on the CPU: g++ -x c++ -std=c++17 -DGRADC_SIMT -include simt.h file.cu
//
// The kernels become ordinary functions of a shared object, and simt_launch runs them: every device
// thread is a fiber, so that barriers and shuffles mean what they mean on a device, while a thread
// that never waits costs a call. A barrier or shuffle that not all threads reach, a wait without
// end, and (by poison) a read of shared memory that nobody wrote are found. Not modelled: races
// between blocks, memory ordering, inline PTX, tensor cores, cooperative groups, textures.
//
// __shared__ variables are static: one launch at a time in a process.
#pragma once

#include "device_functions.h"
#include "launch.h"
#include "warp.h"

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__
#define __shared__ __attribute__((section("gradc_shared"))) static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

#define SIMT_HERE (simt::Site{__FILE__, __LINE__})
#define __syncthreads() simt::barrier(SIMT_HERE)
#define __syncwarp(...) simt::warp_barrier(SIMT_HERE __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(...) simt::shuffle(SIMT_HERE, __VA_ARGS__)
#define __shfl_up_sync(...) simt::shuffle_up(SIMT_HERE, __VA_ARGS__)
#define __shfl_down_sync(...) simt::shuffle_down(SIMT_HERE, __VA_ARGS__)
#define __shfl_xor_sync(...) simt::shuffle_xor(SIMT_HERE, __VA_ARGS__)
#define __ballot_sync(...) simt::ballot(SIMT_HERE, __VA_ARGS__)
#define __any_sync(...) simt::any(SIMT_HERE, __VA_ARGS__)
#define __all_sync(...) simt::all(SIMT_HERE, __VA_ARGS__)

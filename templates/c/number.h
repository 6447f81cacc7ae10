/* What the products of a library are made of: float, or double where GRADC_DOUBLE is defined. */
#ifndef GRADC_NUMBER_H
#define GRADC_NUMBER_H

#include <stdint.h>

#ifdef GRADC_DOUBLE
typedef double number;
typedef int64_t bits; /* an integer of the same size */
#define OWN_GEMM dgemm
#define BLAS_GEMM blas_dgemm
#else
typedef float number;
typedef int32_t bits;
#define OWN_GEMM sgemm
#define BLAS_GEMM blas_sgemm
#endif /* the two are members of gradc_runtime */

#endif

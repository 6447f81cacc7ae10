/* A CBLAS with 32-bit integers, by the definition, that insists on what CBLAS demands of its
   arguments: it writes NaN where a leading dimension is too small. It has a number of threads, as
   OpenBLAS does. */
#include <math.h>

#define EXPORT __attribute__((visibility("default")))
#define GEMM(name, real)                                                                          \
    EXPORT void name(int order, int ta, int tb, int m, int n, int k, real alpha, const real *a,   \
                     int lda, const real *b, int ldb, real beta, real *c, int ldc)                \
    {                                                                                             \
        int least_a = ta == 112 ? m : k, least_b = tb == 112 ? k : n;                             \
        int legal = order == 101 && lda >= 1 && lda >= least_a && ldb >= 1 && ldb >= least_b &&   \
                    ldc >= n;                                                                     \
        for (int i = 0; i < m; i++) {                                                             \
            for (int j = 0; j < n; j++) {                                                         \
                double sum = legal ? 0 : NAN;                                                     \
                for (int l = 0; l < k; l++) {                                                     \
                    sum += (double)a[ta == 112 ? l * lda + i : i * lda + l] *                     \
                           b[tb == 112 ? j * ldb + l : l * ldb + j];                              \
                }                                                                                 \
                c[i * ldc + j] = (real)(alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]));   \
            }                                                                                     \
        }                                                                                         \
    }

GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)

static int threads = 5;

EXPORT int openblas_get_num_threads(void)
{
    return threads;
}

EXPORT void openblas_set_num_threads(int number)
{
    threads = number;
}

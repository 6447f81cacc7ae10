/* Vectors of the processor for products that read their operands through index maps. */
#ifndef GRADC_VECTORS_H
#define GRADC_VECTORS_H

#if defined(__AVX512F__)
#define GRADC_VECTOR_BYTES 64
#elif defined(__AVX__)
#define GRADC_VECTOR_BYTES 32
#else
#define GRADC_VECTOR_BYTES 16
#endif

/* The elements of the widest vector that is not wider than `count` of them (or 16 bytes). */
#define GRADC_FITTING(type, count)                                                 \
    ((int)((GRADC_VECTOR_BYTES >= 64 && (count) * sizeof(type) >= 64   ? 64      \
            : GRADC_VECTOR_BYTES >= 32 && (count) * sizeof(type) >= 32 ? 32      \
                                                                       : 16) /   \
           sizeof(type)))

/* A vector, and one that lies at any element. */
#define GRADC_VECTOR_TYPE(name, type, lanes)                                            \
    typedef type name __attribute__((vector_size(sizeof(type) * (lanes)), may_alias));  \
    typedef type name##_at __attribute__((vector_size(sizeof(type) * (lanes)), may_alias, \
                                          aligned(sizeof(type))));

/* In a function that is FUSED, and says so at its begin, a product that is added to a sum is not
   rounded before. */
#ifdef __clang__
#define GRADC_FUSED
#define GRADC_FUSED_BODY _Pragma("clang fp contract(fast)")
#else
#define GRADC_FUSED __attribute__((optimize("fp-contract=fast")))
#define GRADC_FUSED_BODY
#endif

#endif

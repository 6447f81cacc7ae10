/* Products of matrices of one type; built once per compiler, when a program first calls them. */
#include "gradc.h"
#include "products.h"

__attribute__((constructor)) static void prepare_products(void)
{
    pthread_key_create(&scratch_key, free);
    pthread_atfork(NULL, NULL, forget_shared);
}

__attribute__((visibility("default"))) void gradc_complete_products(gradc_runtime *runtime)
{
    runtime->OWN_GEMM = gemm;
}

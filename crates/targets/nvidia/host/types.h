#ifndef TT_KERNEL_TYPES
#define TT_KERNEL_TYPES

#include <cuda.h>
#include <stdint.h>

typedef CUstream TT_StreamTy;
typedef CUresult TT_ResultTy;
#define TT_ERROR_INVALID_VALUE CUDA_ERROR_INVALID_VALUE

#endif

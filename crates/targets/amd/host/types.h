#ifndef TT_KERNEL_TYPES
#define TT_KERNEL_TYPES

#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime.h>
#include <stdint.h>

typedef hipStream_t TT_StreamTy;
typedef hipError_t TT_ResultTy;
#define TT_ERROR_INVALID_VALUE hipErrorInvalidValue

#endif

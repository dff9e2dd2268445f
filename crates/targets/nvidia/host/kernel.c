// @TITLE@
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const unsigned char @NAME@_binary[@SIZE@] = {@BYTES@};
static CUmodule @NAME@_module;
static CUfunction @NAME@_function;

static void @NAME@_check(CUresult status) {
  const char *text = 0;
  if (status == CUDA_SUCCESS)
    return;
  cuGetErrorString(status, &text);
  fprintf(stderr, "@NAME@: %s\n", text ? text : "unknown error");
  exit((int)status);
}

void load_@NAME@(void) {
  if (@NAME@_function)
    return;
  @NAME@_check(cuModuleLoadData(&@NAME@_module, @NAME@_binary));
  @NAME@_check(cuModuleGetFunction(&@NAME@_function, @NAME@_module, "@SYMBOL@"));
  if (@SHARED@ > 48 * 1024)
    @NAME@_check(cuFuncSetAttribute(@NAME@_function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, @SHARED@));
}

void unload_@NAME@(void) {
  if (!@NAME@_function)
    return;
  @NAME@_check(cuModuleUnload(@NAME@_module));
  @NAME@_module = 0;
  @NAME@_function = 0;
}

CUresult @NAME@(CUstream tt_stream@PARAMETERS@) {
@ONES@  unsigned tt_x = @GRID_X@, tt_y = @GRID_Y@, tt_z = @GRID_Z@;
  // Memory that kernels with sources have not.
  CUdeviceptr tt_scratch = 0, tt_profile = 0;
  void *tt_arguments[] = {@POINTERS@&tt_scratch, &tt_profile};
  load_@NAME@();
  if (!tt_x || !tt_y || !tt_z)
    return CUDA_SUCCESS;
  return cuLaunchKernel(@NAME@_function, tt_x, tt_y, tt_z, @THREADS@, 1, 1, @SHARED@, tt_stream, tt_arguments, 0);
}

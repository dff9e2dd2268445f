// @TITLE@
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define HSACO_NAME @NAME@_binary
static const unsigned char HSACO_NAME[@SIZE@] = {@BYTES@};
static hipModule_t @NAME@_module;
static hipFunction_t @NAME@_function;

static void @NAME@_check(hipError_t status) {
  if (status == hipSuccess)
    return;
  fprintf(stderr, "@NAME@: %s\n", hipGetErrorString(status));
  exit((int)status);
}

void load_@NAME@(void) {
  if (@NAME@_function)
    return;
  @NAME@_check(hipModuleLoadData(&@NAME@_module, @NAME@_binary));
  @NAME@_check(hipModuleGetFunction(&@NAME@_function, @NAME@_module, "@SYMBOL@"));
}

void unload_@NAME@(void) {
  if (!@NAME@_function)
    return;
  @NAME@_check(hipModuleUnload(@NAME@_module));
  @NAME@_module = 0;
  @NAME@_function = 0;
}

hipError_t @NAME@(hipStream_t tt_stream@PARAMETERS@) {
@ONES@  unsigned tt_x = @GRID_X@, tt_y = @GRID_Y@, tt_z = @GRID_Z@;
  // Memory that kernels with sources have not.
  hipDeviceptr_t tt_scratch = 0, tt_profile = 0;
  void *tt_arguments[] = {@POINTERS@&tt_scratch, &tt_profile};
  load_@NAME@();
  if (!tt_x || !tt_y || !tt_z)
    return hipSuccess;
  return hipModuleLaunchKernel(@NAME@_function, tt_x, tt_y, tt_z, @THREADS@, 1, 1, @SHARED@, tt_stream, tt_arguments, 0);
}

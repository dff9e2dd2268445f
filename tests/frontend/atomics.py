# test kernel=atomics signature="*i32, *u32, *fp32, i32"
# Read-modify-write; floats compare as integers.
import triton
import triton.language as tl


@triton.jit
def atomics(int_ptr, uint_ptr, float_ptr, n):
    i = tl.arange(0, 4)
    tl.atomic_add(int_ptr + i, i, mask=i < n, sem="relaxed")
    tl.atomic_max(uint_ptr, 3, scope="cta")
    tl.atomic_min(float_ptr, 0.5)
    tl.atomic_add(float_ptr + i, 1.0)
    old = tl.atomic_xchg(int_ptr, n)
    tl.atomic_store(int_ptr, tl.atomic_load(int_ptr) + old)

# expect
# module {
#   tt.func public @atomics(%int_ptr: !tt.ptr<i32>, %uint_ptr: !tt.ptr<i32>, %float_ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %0 = tt.splat %int_ptr : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
#     %1 = tt.addptr %0, %i : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
#     %2 = tt.splat %n : i32 -> tensor<4xi32>
#     %3 = arith.cmpi slt, %i, %2 : tensor<4xi32>
#     %4 = tt.atomic_rmw add, relaxed, gpu, %1, %i, %3 : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>, tensor<4xi1>) -> tensor<4xi32>
#     %c3_i32 = arith.constant 3 : i32
#     %true = arith.constant true
#     %5 = tt.atomic_rmw umax, acq_rel, cta, %uint_ptr, %c3_i32, %true : (!tt.ptr<i32>, i32, i1) -> i32
#     %c1056964608_i32 = arith.constant 1056964608 : i32
#     %6 = tt.bitcast %float_ptr : !tt.ptr<f32> -> !tt.ptr<i32>
#     %c1056964608_i32_0 = arith.constant 1056964608 : i32
#     %7 = tt.bitcast %float_ptr : !tt.ptr<f32> -> !tt.ptr<i32>
#     %true_1 = arith.constant true
#     %true_2 = arith.constant true
#     %false = arith.constant false
#     %8 = tt.atomic_rmw min, acq_rel, gpu, %6, %c1056964608_i32, %true_2 : (!tt.ptr<i32>, i32, i1) -> i32
#     %9 = tt.atomic_rmw umax, acq_rel, gpu, %7, %c1056964608_i32_0, %false : (!tt.ptr<i32>, i32, i1) -> i32
#     %10 = arith.select %true_1, %8, %9 : i32
#     %11 = tt.bitcast %10 : i32 -> f32
#     %12 = tt.splat %float_ptr : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
#     %13 = tt.addptr %12, %i : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
#     %cst = arith.constant dense<1.000000e+00> : tensor<4xf32>
#     %cst_3 = arith.constant dense<true> : tensor<4xi1>
#     %14 = tt.atomic_rmw fadd, acq_rel, gpu, %13, %cst, %cst_3 : (tensor<4x!tt.ptr<f32>>, tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
#     %true_4 = arith.constant true
#     %old = tt.atomic_rmw exch, acq_rel, gpu, %int_ptr, %n, %true_4 : (!tt.ptr<i32>, i32, i1) -> i32
#     %true_5 = arith.constant true
#     %15 = tt.atomic_load acquire, gpu, %int_ptr, %true_5 : (!tt.ptr<i32>, i1) -> i32
#     %16 = arith.addi %15, %old : i32
#     %true_6 = arith.constant true
#     tt.atomic_store release, gpu, %int_ptr, %16, %true_6 : !tt.ptr<i32>
#     tt.return
#   }
# }

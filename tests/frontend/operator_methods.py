# test kernel=kernel signature="*i32, *fp32"
# Operators by the names of their methods.
import triton
import triton.language as tl


@triton.jit
def kernel(i_ptr, f_ptr):
    i, f = tl.load(i_ptr), tl.load(f_ptr)
    tl.store(i_ptr + 1, i.__lshift__(4).__rshift__(2))
    tl.store(i_ptr + 2, i.__rsub__(7).__and__(i.__invert__()))
    tl.store(i_ptr + 3, i.__lt__(f).to(tl.int32))
    tl.store(f_ptr + 1, f.__rtruediv__(2).__neg__())

# expect
# module {
#   tt.func public @kernel(%i_ptr: !tt.ptr<i32>, %f_ptr: !tt.ptr<f32>) attributes {noinline = false} {
#     %i = tt.load %i_ptr : !tt.ptr<i32>
#     %f = tt.load %f_ptr : !tt.ptr<f32>
#     %c1_i32 = arith.constant 1 : i32
#     %0 = tt.addptr %i_ptr, %c1_i32 : !tt.ptr<i32>, i32
#     %c4_i32 = arith.constant 4 : i32
#     %1 = arith.shli %i, %c4_i32 : i32
#     %c2_i32 = arith.constant 2 : i32
#     %2 = arith.shrsi %1, %c2_i32 : i32
#     tt.store %0, %2 : !tt.ptr<i32>
#     %c2_i32_0 = arith.constant 2 : i32
#     %3 = tt.addptr %i_ptr, %c2_i32_0 : !tt.ptr<i32>, i32
#     %c7_i32 = arith.constant 7 : i32
#     %4 = arith.subi %c7_i32, %i : i32
#     %c-1_i32 = arith.constant -1 : i32
#     %5 = arith.xori %i, %c-1_i32 : i32
#     %6 = arith.andi %4, %5 : i32
#     tt.store %3, %6 : !tt.ptr<i32>
#     %c3_i32 = arith.constant 3 : i32
#     %7 = tt.addptr %i_ptr, %c3_i32 : !tt.ptr<i32>, i32
#     %8 = arith.sitofp %i : i32 to f32
#     %9 = arith.cmpf olt, %8, %f : f32
#     %10 = arith.extui %9 : i1 to i32
#     tt.store %7, %10 : !tt.ptr<i32>
#     %c1_i32_1 = arith.constant 1 : i32
#     %11 = tt.addptr %f_ptr, %c1_i32_1 : !tt.ptr<f32>, i32
#     %cst = arith.constant 2.000000e+00 : f32
#     %12 = arith.divf %cst, %f : f32
#     %13 = arith.negf %12 : f32
#     tt.store %11, %13 : !tt.ptr<f32>
#     tt.return
#   }
# }

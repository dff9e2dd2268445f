# test kernel=debug signature="*fp32, i32" debug
# Assertions are emitted in debug builds only, those against overflow too.
import triton
import triton.language as tl


@triton.jit
def debug(ptr, n):
    i = tl.arange(0, 4)
    x = tl.load(ptr + i)
    tl.device_assert(x > 0, "positive", mask=i < n)
    assert n > 1
    tl.device_print("x", x, n)
    print("n:", n)
    tl.assume(n > 0)
    tl.store(ptr + i * n, x)

# expect
# module {
#   tt.func public @debug(%ptr: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
#     %i = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
#     %0 = tt.splat %ptr : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
#     %1 = tt.addptr %0, %i : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
#     %x = tt.load %1 : tensor<4x!tt.ptr<f32>>
#     %cst = arith.constant dense<0.000000e+00> : tensor<4xf32>
#     %2 = arith.cmpf ogt, %x, %cst : tensor<4xf32>
#     %3 = tt.splat %n : i32 -> tensor<4xi32>
#     %4 = arith.cmpi slt, %i, %3 : tensor<4xi32>
#     %cst_0 = arith.constant dense<true> : tensor<4xi1>
#     %5 = arith.xori %4, %cst_0 : tensor<4xi1>
#     %6 = arith.ori %2, %5 : tensor<4xi1>
#     tt.assert %6, "positive" : tensor<4xi1>
#     %c1_i32 = arith.constant 1 : i32
#     %7 = arith.cmpi sgt, %n, %c1_i32 : i32
#     tt.assert %7, "" : i1
#     tt.print " x: " {hex = false, isSigned = array<i32: 0, 1>} : %x, %n : tensor<4xf32>, i32
#     tt.print " n: " {hex = false, isSigned = array<i32: 1>} : %n : i32
#     %c0_i32 = arith.constant 0 : i32
#     %8 = arith.cmpi sgt, %n, %c0_i32 : i32
#     llvm.intr.assume %8 : i1
#     %9 = tt.splat %n : i32 -> tensor<4xi32>
#     %10 = arith.extsi %i : tensor<4xi32> to tensor<4xi64>
#     %11 = arith.extsi %9 : tensor<4xi32> to tensor<4xi64>
#     %12 = arith.muli %10, %11 : tensor<4xi64>
#     %cst_1 = arith.constant dense<2147483647> : tensor<4xi64>
#     %cst_2 = arith.constant dense<-2147483648> : tensor<4xi64>
#     %13 = arith.cmpi sle, %12, %cst_1 : tensor<4xi64>
#     %14 = arith.cmpi sge, %12, %cst_2 : tensor<4xi64>
#     %15 = arith.andi %13, %14 : tensor<4xi1>
#     tt.assert %15, "int32 overflow detected for operation mul" : tensor<4xi1>
#     %16 = arith.muli %i, %9 : tensor<4xi32>
#     %17 = tt.splat %ptr : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
#     %18 = tt.addptr %17, %16 : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
#     tt.store %18, %x : tensor<4x!tt.ptr<f32>>
#     tt.return
#   }
# }

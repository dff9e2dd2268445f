# test kernel=divide signature="*i32, i32, i32"
# Run-time values are divided as Python does it, and pointers have a difference.
import triton
import triton.language as tl


@triton.jit(extensions=["floor_division", "pointer_difference"])
def divide(ptr, a, b):
    tl.store(ptr + a // b, a % b)
    tl.store(ptr, ((ptr + a) - ptr).to(tl.int32))

# expect
# module {
#   tt.func public @divide(%ptr: !tt.ptr<i32>, %a: i32, %b: i32) attributes {noinline = false} {
#     %0 = arith.divsi %a, %b : i32
#     %1 = arith.remsi %a, %b : i32
#     %c0_i32 = arith.constant 0 : i32
#     %2 = arith.cmpi ne, %1, %c0_i32 : i32
#     %3 = arith.cmpi slt, %1, %c0_i32 : i32
#     %4 = arith.cmpi slt, %b, %c0_i32 : i32
#     %5 = arith.xori %3, %4 : i1
#     %6 = arith.andi %2, %5 : i1
#     %c1_i32 = arith.constant 1 : i32
#     %7 = arith.subi %0, %c1_i32 : i32
#     %8 = arith.select %6, %7, %0 : i32
#     %9 = tt.addptr %ptr, %8 : !tt.ptr<i32>, i32
#     %10 = arith.remsi %a, %b : i32
#     %c0_i32_0 = arith.constant 0 : i32
#     %11 = arith.cmpi ne, %10, %c0_i32_0 : i32
#     %12 = arith.cmpi slt, %10, %c0_i32_0 : i32
#     %13 = arith.cmpi slt, %b, %c0_i32_0 : i32
#     %14 = arith.xori %12, %13 : i1
#     %15 = arith.andi %11, %14 : i1
#     %16 = arith.addi %10, %b : i32
#     %17 = arith.select %15, %16, %10 : i32
#     tt.store %9, %17 : !tt.ptr<i32>
#     %18 = tt.addptr %ptr, %a : !tt.ptr<i32>, i32
#     %19 = tt.ptr_to_int %18 : !tt.ptr<i32> -> i64
#     %20 = tt.ptr_to_int %ptr : !tt.ptr<i32> -> i64
#     %21 = arith.subi %19, %20 : i64
#     %c2_i64 = arith.constant 2 : i64
#     %22 = arith.shrsi %21, %c2_i64 : i64
#     %23 = arith.trunci %22 : i64 to i32
#     tt.store %ptr, %23 : !tt.ptr<i32>
#     tt.return
#   }
# }

# test kernel=join signature="*fp32, i32, i32"
# Names set in both arms become results; unchanged ones do not.
import triton
import triton.language as tl


@triton.jit
def join(ptr, a, b):
    kept = a
    x = a
    if a > b:
        x = b
        both = a + 1
    elif a == b:
        both = b
    else:
        x += 1
        both = kept
    y = x if a != 0 else both
    tl.store(ptr + y, kept.to(tl.float32))

# expect
# module {
#   tt.func public @join(%ptr: !tt.ptr<f32>, %a: i32, %b: i32) attributes {noinline = false} {
#     %0 = arith.cmpi sgt, %a, %b : i32
#     %1:2 = scf.if %0 -> (i32, i32) {
#       %c1_i32 = arith.constant 1 : i32
#       %both = arith.addi %a, %c1_i32 : i32
#       scf.yield %b, %both : i32, i32
#     } else {
#       %5 = arith.cmpi eq, %a, %b : i32
#       %6:2 = scf.if %5 -> (i32, i32) {
#         scf.yield %a, %b : i32, i32
#       } else {
#         %c1_i32 = arith.constant 1 : i32
#         %x = arith.addi %a, %c1_i32 : i32
#         scf.yield %x, %a : i32, i32
#       }
#       scf.yield %6#0, %6#1 : i32, i32
#     }
#     %c0_i32 = arith.constant 0 : i32
#     %2 = arith.cmpi ne, %a, %c0_i32 : i32
#     %y = scf.if %2 -> (i32) {
#       scf.yield %1#0 : i32
#     } else {
#       scf.yield %1#1 : i32
#     }
#     %3 = tt.addptr %ptr, %y : !tt.ptr<f32>, i32
#     %4 = arith.sitofp %a : i32 to f32
#     tt.store %3, %4 : !tt.ptr<f32>
#     tt.return
#   }
# }

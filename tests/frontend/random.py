# test kernel=dropout signature="*fp32, i32, 16"
# Philox with two rounds.
import triton
import triton.language as tl


@triton.jit
def dropout(ptr, seed, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(ptr + i, tl.rand(seed, i, n_rounds=2) > 0.5)

# expect
# module {
#   tt.func public @dropout(%ptr: !tt.ptr<f32>, %seed: i32) attributes {noinline = false} {
#     %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
#     %0 = tt.splat %ptr : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
#     %1 = tt.addptr %0, %i : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
#     %cst = arith.constant dense<0> : tensor<16xi32>
#     %zero = arith.muli %i, %cst : tensor<16xi32>
#     %seed_0 = arith.extsi %seed : i32 to i64
#     %c32_i64 = arith.constant 32 : i64
#     %2 = arith.shrui %seed_0, %c32_i64 : i64
#     %c4294967295_i64 = arith.constant 4294967295 : i64
#     %3 = arith.andi %2, %c4294967295_i64 : i64
#     %key_high = arith.trunci %3 : i64 to i32
#     %c4294967295_i64_1 = arith.constant 4294967295 : i64
#     %4 = arith.andi %seed_0, %c4294967295_i64_1 : i64
#     %key_low = arith.trunci %4 : i64 to i32
#     %cst_2 = arith.constant dense<-845247145> : tensor<16xi32>
#     %high_b = tt.mulhiui %cst_2, %zero : tensor<16xi32>
#     %cst_3 = arith.constant dense<-766435501> : tensor<16xi32>
#     %high_a = tt.mulhiui %cst_3, %i : tensor<16xi32>
#     %cst_4 = arith.constant dense<-845247145> : tensor<16xi32>
#     %low_b = arith.muli %cst_4, %zero : tensor<16xi32>
#     %cst_5 = arith.constant dense<-766435501> : tensor<16xi32>
#     %low_a = arith.muli %cst_5, %i : tensor<16xi32>
#     %5 = arith.xori %high_b, %zero : tensor<16xi32>
#     %6 = tt.splat %key_low : i32 -> tensor<16xi32>
#     %c0 = arith.xori %5, %6 : tensor<16xi32>
#     %7 = arith.xori %high_a, %zero : tensor<16xi32>
#     %8 = tt.splat %key_high : i32 -> tensor<16xi32>
#     %c2 = arith.xori %7, %8 : tensor<16xi32>
#     %c-1640531527_i32 = arith.constant -1640531527 : i32
#     %k0 = arith.addi %key_low, %c-1640531527_i32 : i32
#     %c-1150833019_i32 = arith.constant -1150833019 : i32
#     %k1 = arith.addi %key_high, %c-1150833019_i32 : i32
#     %cst_6 = arith.constant dense<-845247145> : tensor<16xi32>
#     %high_b_7 = tt.mulhiui %cst_6, %c2 : tensor<16xi32>
#     %cst_8 = arith.constant dense<-766435501> : tensor<16xi32>
#     %high_a_9 = tt.mulhiui %cst_8, %c0 : tensor<16xi32>
#     %cst_10 = arith.constant dense<-845247145> : tensor<16xi32>
#     %low_b_11 = arith.muli %cst_10, %c2 : tensor<16xi32>
#     %cst_12 = arith.constant dense<-766435501> : tensor<16xi32>
#     %low_a_13 = arith.muli %cst_12, %c0 : tensor<16xi32>
#     %9 = arith.xori %high_b_7, %low_b : tensor<16xi32>
#     %10 = tt.splat %k0 : i32 -> tensor<16xi32>
#     %c0_14 = arith.xori %9, %10 : tensor<16xi32>
#     %11 = arith.xori %high_a_9, %low_a : tensor<16xi32>
#     %12 = tt.splat %k1 : i32 -> tensor<16xi32>
#     %c2_15 = arith.xori %11, %12 : tensor<16xi32>
#     %c-1640531527_i32_16 = arith.constant -1640531527 : i32
#     %k0_17 = arith.addi %k0, %c-1640531527_i32_16 : i32
#     %c-1150833019_i32_18 = arith.constant -1150833019 : i32
#     %k1_19 = arith.addi %k1, %c-1150833019_i32_18 : i32
#     %cst_20 = arith.constant dense<0> : tensor<16xi32>
#     %13 = arith.cmpi slt, %c0_14, %cst_20 : tensor<16xi32>
#     %cst_21 = arith.constant dense<-1> : tensor<16xi32>
#     %14 = arith.xori %c0_14, %cst_21 : tensor<16xi32>
#     %15 = arith.select %13, %14, %c0_14 : tensor<16xi1>, tensor<16xi32>
#     %16 = arith.sitofp %15 : tensor<16xi32> to tensor<16xf32>
#     %cst_22 = arith.constant dense<4.6566126E-10> : tensor<16xf32>
#     %17 = arith.mulf %16, %cst_22 : tensor<16xf32>
#     %cst_23 = arith.constant dense<5.000000e-01> : tensor<16xf32>
#     %18 = arith.cmpf ogt, %17, %cst_23 : tensor<16xf32>
#     %19 = arith.uitofp %18 : tensor<16xi1> to tensor<16xf32>
#     tt.store %1, %19 : tensor<16x!tt.ptr<f32>>
#     tt.return
#   }
# }

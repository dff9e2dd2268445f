//! Buffers: zeros beyond the bounds, stores dropped there; reads of LDS that transpose.

use crate::common::{Random, Setup, kernel, on};
use amd_emulator::{Arch, FaultKind, FindingKind};

const BUFFER: &str = "
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8), i32, i32, i32)
declare void @llvm.amdgcn.raw.ptr.buffer.store.v4i32(<4 x i32>, ptr addrspace(8), i32, i32, i32)
declare i32 @llvm.amdgcn.raw.ptr.buffer.atomic.add.i32(i32, ptr addrspace(8), i32, i32, i32)";

fn through_buffer(records: u32, body: &str) -> String {
    kernel(
        BUFFER,
        &format!(
            "  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %p, i16 0, i64 {records}, i32 159744)
  %o = shl i32 %t, 4
{body}
  ret void"
        ),
    )
}

#[test]
fn loads_beyond_the_bounds_are_zero_and_stores_are_dropped() {
    let body = "  %v = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %r, i32 %o, i32 0, i32 0)
  call void @llvm.amdgcn.raw.ptr.buffer.store.v4i32(<4 x i32> %v, ptr addrspace(8) %r, i32 %o, i32 1024, i32 0)";
    let data = Random::fresh().words(512);
    let mut words = data.clone();
    // 400 bytes: the first 100 words may be read, none may be written behind 1024.
    Setup::default().clean(&through_buffer(400, body), &mut words);
    assert_eq!(words, data);
    let mut words = data.clone();
    Setup::default().clean(&through_buffer(1024 + 40, body), &mut words);
    assert_eq!(words[256..266], data[..10]);
    assert_eq!(words[266..], data[266..]);
}

#[test]
fn masked_offsets_are_out_of_bounds() {
    let body = "  %c = icmp ult i32 %t, 3
  %m = select i1 %c, i32 %o, i32 -2147483648
  %v = insertelement <4 x i32> zeroinitializer, i32 %t, i32 0
  %w = select i1 %c, <4 x i32> %v, <4 x i32> poison
  call void @llvm.amdgcn.raw.ptr.buffer.store.v4i32(<4 x i32> %w, ptr addrspace(8) %r, i32 %m, i32 0, i32 0)";
    let mut words = vec![9; 256];
    Setup::default().clean(&through_buffer(0x7fff_fffe, body), &mut words);
    assert_eq!((words[0], words[4], words[8], words[12]), (0, 1, 2, 9));
    // In bounds what nobody wrote is told.
    let text = through_buffer(0x7fff_fffe, &body.replace("i32 -2147483648", "i32 %o"));
    Setup::default().finds(&text, FindingKind::Uninitialised);
}

#[test]
fn bounds_of_buffers_do_not_hide_the_end_of_an_array() {
    let body = "  %v = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %r, i32 %o, i32 0, i32 0)";
    let fault =
        Setup::default().run(&through_buffer(2048, body), &mut vec![0; 200]).expect_err("it is shorter");
    assert_eq!((fault.kind, fault.lane), (FaultKind::OutOfBounds, Some(50)));
}

#[test]
fn atomics_respect_bounds() {
    let body = "  %v = call i32 @llvm.amdgcn.raw.ptr.buffer.atomic.add.i32(i32 5, ptr addrspace(8) %r, i32 %o, i32 0, i32 0)
  %b = getelementptr i8, ptr addrspace(1) %a, i32 1024
  store i32 %v, ptr addrspace(1) %b, align 4";
    let mut words = vec![3; 320];
    Setup::default().clean(&through_buffer(32, body), &mut words);
    assert_eq!((words[0], words[4], words[8]), (8, 8, 3));
    assert_eq!((words[256], words[257], words[258]), (3, 3, 0));
}

#[test]
fn wide_copies_to_lds_land_lane_after_lane() {
    let text = kernel(
        &format!("{BUFFER}
declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32, i32, i32, i32, i32)
declare void @llvm.amdgcn.s.waitcnt(i32)"),
        "  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %p, i16 0, i64 512, i32 159744)
  %s = xor i32 %t, 1
  %o = shl i32 %s, 4
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %r, ptr addrspace(3) @lds, i32 16, i32 %o, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.waitcnt(i32 16240)
  %i = shl i32 %t, 2
  %m = getelementptr i32, ptr addrspace(3) @lds, i32 %i
  %v = load <4 x i32>, ptr addrspace(3) %m, align 16
  %b = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store <4 x i32> %v, ptr addrspace(1) %b, align 16
  ret void",
    );
    let data = Random::fresh().words(256);
    let mut words = data.clone();
    Setup { lds: 1024, ..on(Arch::Gfx950) }.clean(&text, &mut words);
    for lane in 0..64 {
        let expected: Vec<u32> =
            (0..4).map(|word| if (lane ^ 1) < 32 { data[(lane ^ 1) * 4 + word] } else { 0 }).collect();
        assert_eq!(words[lane * 4..lane * 4 + 4], expected);
    }
}

#[test]
fn sixteen_lanes_read_columns_of_what_they_read_together() {
    let text = kernel(
        "declare <4 x i16> @llvm.amdgcn.ds.read.tr16.b64.v4i16(ptr addrspace(3))",
        "  %i = shl i32 %t, 3
  %m = getelementptr i8, ptr addrspace(3) @lds, i32 %i
  %b = getelementptr i8, ptr addrspace(1) %p, i32 %i
  %x = load <4 x i16>, ptr addrspace(1) %b, align 8
  store <4 x i16> %x, ptr addrspace(3) %m, align 8
  fence syncscope(\"workgroup\") acq_rel
  %v = call <4 x i16> @llvm.amdgcn.ds.read.tr16.b64.v4i16(ptr addrspace(3) %m)
  store <4 x i16> %v, ptr addrspace(1) %b, align 8
  ret void",
    );
    // Element n of a block of 4 rows of 16 is n.
    let halves: Vec<u32> = (0..256).collect();
    let mut words: Vec<u32> = halves.chunks(2).map(|pair| pair[0] | pair[1] << 16).collect();
    Setup { lds: 512, ..on(Arch::Gfx950) }.clean(&text, &mut words);
    for lane in 0..64u32 {
        for element in 0..4u32 {
            let word = words[(lane * 2 + element / 2) as usize];
            let (block, column) = (lane / 16, lane % 16);
            assert_eq!(word >> (16 * (element % 2)) & 0xffff, block * 64 + element * 16 + column);
        }
    }
}

//! Every device operation, on the host emulation and, where there is one, on a card.

use jnd_cuda::*;

fn module(context: &Context) -> Module {
    Module::load(context, "jnd-cuda", KERNELS).unwrap()
}

#[test]
fn kernels_copies_and_events_work() {
    for context in jnd_cuda_shim::contexts() {
        let stream = Stream::new(&context, Priority::High).unwrap();
        let other = Stream::new(&context, Priority::Normal).unwrap();
        let kernel = module(&context).kernel("cuda_copy16").unwrap();
        let n = 100_003u64;
        let bytes = n as usize * 16;
        let mut up = PinnedBuffer::new(&context, bytes, Transfer::Upload).unwrap();
        let down = PinnedBuffer::new(&context, bytes, Transfer::Download).unwrap();
        let pattern: Vec<u8> = (0..bytes).map(|i| (i * 31 + i / 255) as u8).collect();
        up.as_mut_slice().copy_from_slice(&pattern);
        let (a, b) =
            (DeviceBuffer::new(&context, bytes).unwrap(), DeviceBuffer::new(&context, bytes).unwrap());
        let (start, end) = (Event::timed(&context).unwrap(), Event::timed(&context).unwrap());
        let (d, s) = (b.ptr(), a.ptr());
        // SAFETY: all buffers hold n vectors of 16 bytes and outlive the synchronisation below.
        unsafe {
            stream.record(&start).unwrap();
            stream.upload(a.ptr(), up.as_ptr(), bytes).unwrap();
            kernel.launch(&stream, (98, 1, 1), (256, 1, 1), 0, &mut [arg(&d), arg(&s), arg(&n)]).unwrap();
            stream.record(&end).unwrap();
            other.wait(&end).unwrap();
            other.download(down.as_ptr(), b.ptr(), bytes).unwrap();
        }
        other.synchronize().unwrap();
        assert!(other.is_done().unwrap() && end.is_done().unwrap());
        assert!(down.as_slice() == pattern, "{context:?}");
        assert!(end.elapsed_ms(&start).unwrap() >= 0.0);
        if !context.is_emulated() {
            assert_eq!(kernel.resources().unwrap().local_bytes, 0);
            assert!(PinnedBuffer::is_pinned(&context, up.as_ptr() as u64));
            assert!(!PinnedBuffer::is_pinned(&context, pattern.as_ptr() as u64));
        }
    }
}

#[test]
fn rows_with_pitches_and_fills_land_where_they_should() {
    for context in jnd_cuda_shim::contexts() {
        let stream = Stream::new(&context, Priority::Normal).unwrap();
        let device = DeviceBuffer::new(&context, 64 * 10).unwrap();
        let src: Vec<u8> = (0..100).collect();
        let mut back = [0u8; 64 * 10];
        let mut rows = vec![9u8; 12 * 10];
        // SAFETY: ten rows at each pitch fit all buffers, which outlive the synchronisation.
        unsafe {
            stream.fill(device.ptr(), 7, 640).unwrap();
            stream.upload_rows(device.ptr(), 64, src.as_ptr(), 10, 10, 10).unwrap();
            stream.download(back.as_mut_ptr(), device.ptr(), 640).unwrap();
            stream.download_rows(rows.as_mut_ptr(), 12, device.ptr(), 64, 10, 10).unwrap();
        }
        stream.synchronize().unwrap();
        for y in 0..10 {
            assert_eq!(back[y * 64..y * 64 + 10], src[y * 10..y * 10 + 10]);
            assert!(back[y * 64 + 10..y * 64 + 64].iter().all(|&b| b == 7));
            assert_eq!(rows[y * 12..y * 12 + 10], src[y * 10..y * 10 + 10]);
            assert_eq!(rows[y * 12 + 10..y * 12 + 12], [9, 9]);
        }
    }
}

#[test]
fn barriers_shuffles_and_shared_memory_work() {
    for context in jnd_cuda_shim::contexts() {
        let stream = Stream::new(&context, Priority::Normal).unwrap();
        let kernel = module(&context).kernel("cuda_selftest").unwrap();
        let device = DeviceBuffer::new(&context, 3 * 96 * 4).unwrap();
        let mut out = [0u32; 3 * 96];
        let p = device.ptr();
        // SAFETY: the kernel writes one word for each of its 3 * 96 threads.
        unsafe {
            kernel.launch(&stream, (3, 1, 1), (96, 1, 1), 96 * 4, &mut [arg(&p)]).unwrap();
            stream.download(out.as_mut_ptr().cast(), p, 3 * 96 * 4).unwrap();
        }
        stream.synchronize().unwrap();
        for b in 0..3u32 {
            // The block's values twice over, plus the next lane's.
            let total: u32 = (0..96).map(|t| (b * 1000 + t) * 2).sum();
            for t in 0..96 {
                let next = b * 1000 + t / 32 * 32 + (t + 1) % 32;
                assert_eq!(out[(b * 96 + t) as usize], total + next, "{context:?}, block {b}, thread {t}");
            }
        }
    }
}

#[test]
fn errors_are_typed() {
    for context in jnd_cuda_shim::contexts() {
        let stream = Stream::new(&context, Priority::Normal).unwrap();
        let m = module(&context);
        assert!(matches!(m.kernel("no_such_kernel"), Err(Error::NoKernel { .. })));
        let kernel = m.kernel("cuda_selftest").unwrap();
        // SAFETY: refused before anything is launched.
        let e = unsafe { kernel.launch(&stream, (1, 1, 1), (2048, 1, 1), 0, &mut []) };
        assert!(matches!(e, Err(Error::Geometry { .. })));
        let mut plan = MemoryPlan::new();
        plan.add("levels", 1 << 50);
        let need = plan.bytes();
        let Err(Error::Memory { need: n, have, .. }) = plan.allocate(&context, None) else {
            panic!("a petabyte was found")
        };
        assert!(n == need && have < need);
        let mut plan = MemoryPlan::new();
        plan.add("levels", 1 << 20);
        assert!(matches!(plan.allocate(&context, Some(1000)), Err(Error::Memory { have: 1000, .. })));
        if !context.is_emulated() {
            let bad = Module::load(&context, "broken", b"not a fatbin");
            assert!(matches!(bad, Err(Error::Module { .. })));
        }
    }
}

#[test]
fn ceilings_are_measured() {
    for context in jnd_cuda_shim::contexts() {
        let bytes = if context.is_emulated() { 1 << 20 } else { 1 << 30 };
        let c = ceilings(&context, bytes).unwrap();
        eprintln!("{context:?}: {c:?}");
        assert!([c.copy, c.read, c.write, c.up, c.down, c.both].iter().all(|v| *v > 0.0));
    }
}

#[test]
fn a_graph_does_its_work_again() {
    for context in jnd_cuda_shim::contexts() {
        let stream = Stream::new(&context, Priority::Normal).unwrap();
        let kernel = module(&context).kernel("cuda_selftest").unwrap();
        let device = DeviceBuffer::new(&context, 96 * 4).unwrap();
        let p = device.ptr();
        // SAFETY: the kernel writes one word for each of its 96 threads.
        let recorded = Graph::record(&stream, || unsafe {
            kernel.launch(&stream, (1, 1, 1), (96, 1, 1), 96 * 4, &mut [arg(&p)])
        });
        if context.is_emulated() {
            assert!(matches!(recorded, Err(Error::CardOnly(_))));
            continue;
        }
        let graph = recorded.unwrap();
        let mut out = [0u32; 96];
        // SAFETY: the buffer is there, and the stream is waited for.
        unsafe {
            graph.launch(&stream).unwrap();
            graph.launch(&stream).unwrap();
            stream.download(out.as_mut_ptr().cast(), p, 96 * 4).unwrap();
        }
        stream.synchronize().unwrap();
        assert_eq!(out[0], (0..96).sum::<u32>() * 2 + 1);
    }
}

#[test]
fn contexts_and_buffers_come_and_go_with_flat_memory() {
    for context in jnd_cuda_shim::contexts() {
        let before = context.memory().unwrap().0;
        for _ in 0..1000 {
            let mut plan = MemoryPlan::new();
            let part = plan.add("frames", 1 << 20);
            let arena = plan.allocate(&context, None).unwrap();
            let _stream = Stream::new(&context, Priority::Normal).unwrap();
            let _event = Event::new(&context).unwrap();
            assert_eq!(arena.ptr(part) % 256, 0);
        }
        assert!(before.abs_diff(context.memory().unwrap().0) < 64 << 20, "{context:?}");
    }
}

#[test]
fn threads_share_a_device() {
    for context in jnd_cuda_shim::contexts() {
        std::thread::scope(|s| {
            for t in 0..4u32 {
                let context = context.clone();
                s.spawn(move || {
                    let stream = Stream::new(&context, Priority::Normal).unwrap();
                    let kernel = module(&context).kernel("cuda_write16").unwrap();
                    let n = 5000u64;
                    let device = DeviceBuffer::new(&context, n as usize * 16).unwrap();
                    let (p, value) = (device.ptr(), 0x0101_0101 * (t + 1));
                    let mut out = vec![0u8; n as usize * 16];
                    // SAFETY: the kernel writes n vectors of 16 bytes, which both buffers hold.
                    unsafe {
                        kernel
                            .launch(&stream, (8, 1, 1), (128, 1, 1), 0, &mut [arg(&p), arg(&value), arg(&n)])
                            .unwrap();
                        stream.download(out.as_mut_ptr(), p, out.len()).unwrap();
                    }
                    stream.synchronize().unwrap();
                    assert!(out.iter().all(|&b| u32::from(b) == t + 1));
                });
            }
        });
    }
}

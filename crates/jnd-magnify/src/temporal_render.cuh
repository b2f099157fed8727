// What both forms of the last pass with a filter inside are given.
#pragma once
#include "magnify.cuh"

namespace magnify {

struct FusedArgs {
    // Level 1, and the change of level 2 (ptr 0 for none).
    Planes in;
    Planes up;
    // Frames of one plane, or of two that differ in nothing but where they begin.
    Frames src[2];
    Frames dst[2];
    // States before this chunk, and after it; plane after plane without gaps.
    u64 slow;
    u64 fast;
    u64 last;
    u64 slow_out;
    u64 fast_out;
    u64 last_out;
    f32 p_slow;
    f32 p_fast;
    f32 c_slow;
    f32 c_fast;
    f32 max;
    i32 frames;
    // As in CausalArgs.
    i32 index;
    i32 start;
    // Which channel is the first, second and third of the matrix, and whether it is applied at all.
    i32 order[3];
    i32 mixes;
    f32 mix[9];
};

}  // namespace magnify

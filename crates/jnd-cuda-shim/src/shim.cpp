// Runs a grid on one host thread: blocks one after another, the threads of a block as fibers.
#include "shim.h"

#include <vector>

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;

#if defined(__x86_64__) && defined(__linux__)
// Saves what a call must keep and changes stacks; ucontext would ask the kernel about signals on every turn.
extern "C" void shim_switch(void** save, void* load);
asm(R"(
.text
.globl shim_switch
.type shim_switch,@function
shim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size shim_switch,.-shim_switch
)");
#else
#include <ucontext.h>
#endif

namespace shim {
namespace {
constexpr size_t STACK = 128 << 10;

enum State { READY, AT_BLOCK, AT_WARP, DONE };

struct Fiber {
#if defined(__x86_64__) && defined(__linux__)
    void* sp = nullptr;
#else
    ucontext_t context;
#endif
    unsigned char* stack = nullptr;
    State state = DONE;
    unsigned mask = 0;
    uint3 index{};
};

struct Machine {
    std::vector<Fiber> fibers;
    std::vector<unsigned long long> slots;
    std::vector<unsigned char> shared;
    unsigned char* shared_base = nullptr;
    Fiber* now = nullptr;
    unsigned number = 0;
    void (*thread)(void*) = nullptr;
    void* closure = nullptr;
#if defined(__x86_64__) && defined(__linux__)
    void* home = nullptr;
#else
    ucontext_t home;
#endif
    ~Machine() {
        for (Fiber& f : fibers) free(f.stack);
    }
};
thread_local Machine m;

void leave() {
#if defined(__x86_64__) && defined(__linux__)
    shim_switch(&m.now->sp, m.home);
#else
    swapcontext(&m.now->context, &m.home);
#endif
}

void body() {
    m.thread(m.closure);
    m.now->state = DONE;
    leave();
    abort();
}

void prepare(Fiber& f) {
    if (!f.stack) f.stack = static_cast<unsigned char*>(malloc(STACK));
    if (!f.stack) abort();
#if defined(__x86_64__) && defined(__linux__)
    // Six registers, then the return address; at entry the stack is 8 off a multiple of 16, as after a call.
    uintptr_t top = (reinterpret_cast<uintptr_t>(f.stack) + STACK) & ~uintptr_t(15);
    void** sp = reinterpret_cast<void**>(top) - 8;
    for (int i = 0; i < 6; i++) sp[i] = nullptr;
    sp[6] = reinterpret_cast<void*>(&body);
    sp[7] = nullptr;
    f.sp = sp;
#else
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack;
    f.context.uc_stack.ss_size = STACK;
    f.context.uc_link = nullptr;
    makecontext(&f.context, body, 0);
#endif
    f.state = READY;
}

void resume(unsigned i) {
    m.now = &m.fibers[i];
    m.number = i;
    threadIdx = m.now->index;
#if defined(__x86_64__) && defined(__linux__)
    shim_switch(&m.home, m.now->sp);
#else
    swapcontext(&m.home, &m.now->context);
#endif
}

[[noreturn]] void stuck(const char* what) {
    fprintf(stderr, "shim: block (%u, %u, %u): %s\n", blockIdx.x, blockIdx.y, blockIdx.z, what);
    abort();
}

void run_block(unsigned n, bool backwards) {
    for (unsigned i = 0; i < n; i++) prepare(m.fibers[i]);
    for (;;) {
        unsigned done = 0, at_block = 0;
        for (unsigned k = 0; k < n; k++) {
            // The order of threads changes from turn to turn: whoever relies on it is found out.
            const unsigned i = backwards ? n - 1 - k : k;
            if (m.fibers[i].state == READY) resume(i);
        }
        backwards = !backwards;
        bool moved = false;
        for (unsigned w = 0; w < n; w += 32) {
            const unsigned lanes = n - w < 32 ? n - w : 32;
            unsigned waiting = 0;
            for (unsigned l = 0; l < lanes; l++)
                if (m.fibers[w + l].state == AT_WARP) waiting |= 1u << l;
            for (unsigned l = 0; l < lanes; l++) {
                if (!(waiting >> l & 1)) continue;
                const unsigned mask = m.fibers[w + l].mask & (lanes == 32 ? ~0u : (1u << lanes) - 1);
                if ((waiting & mask) != mask) continue;
                for (unsigned j = 0; j < lanes; j++)
                    if (mask >> j & 1) {
                        if (m.fibers[w + j].mask != m.fibers[w + l].mask) stuck("lanes wait with different masks");
                    }
                for (unsigned j = 0; j < lanes; j++)
                    if (mask >> j & 1) m.fibers[w + j].state = READY;
                waiting &= ~mask;
                moved = true;
            }
        }
        for (unsigned i = 0; i < n; i++) {
            done += m.fibers[i].state == DONE;
            at_block += m.fibers[i].state == AT_BLOCK;
        }
        if (done == n) return;
        if (at_block == n) {
            for (unsigned i = 0; i < n; i++) m.fibers[i].state = READY;
        } else if (!moved) {
            stuck("a barrier is not reached by every thread");
        }
    }
}
}  // namespace

void run_grid(dim3 grid, dim3 block, size_t shared, bool flat, void (*thread)(void*), void* closure) {
    const unsigned n = block.x * block.y * block.z;
    gridDim = grid;
    blockDim = block;
    m.thread = thread;
    m.closure = closure;
    m.shared.resize(shared + 16);
    m.shared_base = m.shared.data() + (16 - reinterpret_cast<uintptr_t>(m.shared.data()) % 16) % 16;
    if (!flat) {
        if (m.fibers.size() < n) m.fibers.resize(n);
        m.slots.resize(n + 31);
    }
    bool backwards = false;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = uint3{x, y, z};
                // What a block finds in shared memory is nobody's.
                memset(m.shared.data(), 0xA5, m.shared.size());
                unsigned i = 0;
                m.now = nullptr;
                for (unsigned tz = 0; tz < block.z; tz++)
                    for (unsigned ty = 0; ty < block.y; ty++)
                        for (unsigned tx = 0; tx < block.x; tx++, i++) {
                            if (flat) {
                                threadIdx = uint3{tx, ty, tz};
                                thread(closure);
                            } else {
                                m.fibers[i].index = uint3{tx, ty, tz};
                            }
                        }
                if (!flat) run_block(n, backwards);
                backwards = !backwards;
            }
}

unsigned char* dynamic_shared() { return m.shared_base; }

void block_barrier() {
    if (!m.now) stuck("a kernel registered as flat waits at a barrier");
    m.now->state = AT_BLOCK;
    leave();
}

void warp_barrier(unsigned mask) {
    if (!m.now) stuck("a kernel registered as flat exchanges values in its warp");
    if (!(mask >> lane() & 1)) stuck("a lane outside the mask takes part");
    m.now->mask = mask;
    m.now->state = AT_WARP;
    leave();
}

unsigned long long* warp_slots() { return &m.slots[m.number & ~31u]; }
unsigned lane() { return m.number & 31; }

int block_reduce(int value, int operation) {
    // Two barriers around a shared sum of the predicates.
    thread_local int sum;
    thread_local unsigned arrived;
    if (arrived == 0) sum = 0;
    arrived++;
    sum += value != 0;
    block_barrier();
    const int total = sum;
    block_barrier();
    arrived = 0;
    const int n = int(blockDim.x * blockDim.y * blockDim.z);
    return operation == 0 ? total != 0 : operation == 1 ? total == n : total;
}
}  // namespace shim

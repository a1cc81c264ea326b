/* Stands for the runtime: every function that gcc and clang call, doing as
   little as the program can live with. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

static int calls;

SHOWN int racehound_calls(void) { return __atomic_load_n(&calls, __ATOMIC_RELAXED); }

static void count(void) { __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED); }

#define NOTICE(NAME, ...) SHOWN void NAME(__VA_ARGS__) { count(); }

NOTICE(__tsan_init, void)
NOTICE(__tsan_func_entry, void *caller)
NOTICE(__tsan_func_exit, void)
NOTICE(__tsan_vptr_update, void **cell, void *value)
NOTICE(__tsan_vptr_read, void **cell)
NOTICE(__tsan_read_range, void *address, size_t size)
NOTICE(__tsan_write_range, void *address, size_t size)
NOTICE(__tsan_ignore_thread_begin, void)
NOTICE(__tsan_ignore_thread_end, void)

#define ACCESSES(SIZE)                                  \
    NOTICE(__tsan_read##SIZE, void *address)            \
    NOTICE(__tsan_write##SIZE, void *address)           \
    NOTICE(__tsan_read_write##SIZE, void *address)      \
    NOTICE(__tsan_unaligned_read##SIZE, void *address)  \
    NOTICE(__tsan_unaligned_write##SIZE, void *address) \
    NOTICE(__tsan_volatile_read##SIZE, void *address)   \
    NOTICE(__tsan_volatile_write##SIZE, void *address)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

SHOWN void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
SHOWN void *__tsan_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
SHOWN void *__tsan_memset(void *to, int byte, size_t size) { return memset(to, byte, size); }

#define FETCH(BITS, TYPE, NAME)                                                              \
    SHOWN TYPE __tsan_atomic##BITS##_fetch_##NAME(volatile TYPE *cell, TYPE value, int order) { \
        return __atomic_fetch_##NAME(cell, value, __ATOMIC_SEQ_CST);                         \
    }

#define COMPARE(BITS, TYPE, NAME)                                                            \
    SHOWN int __tsan_atomic##BITS##_compare_exchange_##NAME(                          \
        volatile TYPE *cell, TYPE *expected, TYPE value, int order, int failed) {            \
        return __atomic_compare_exchange_n(cell, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }

#define ATOMICS(BITS, TYPE)                                                                  \
    SHOWN TYPE __tsan_atomic##BITS##_load(const volatile TYPE *cell, int order) {     \
        return __atomic_load_n(cell, __ATOMIC_SEQ_CST);                                      \
    }                                                                                        \
    SHOWN void __tsan_atomic##BITS##_store(volatile TYPE *cell, TYPE value, int order) { \
        __atomic_store_n(cell, value, __ATOMIC_SEQ_CST);                                     \
    }                                                                                        \
    SHOWN TYPE __tsan_atomic##BITS##_exchange(volatile TYPE *cell, TYPE value, int order) { \
        return __atomic_exchange_n(cell, value, __ATOMIC_SEQ_CST);                           \
    }                                                                                        \
    FETCH(BITS, TYPE, add)                                                                   \
    FETCH(BITS, TYPE, sub)                                                                   \
    FETCH(BITS, TYPE, and)                                                                   \
    FETCH(BITS, TYPE, or)                                                                    \
    FETCH(BITS, TYPE, xor)                                                                   \
    FETCH(BITS, TYPE, nand)                                                                  \
    COMPARE(BITS, TYPE, strong)                                                              \
    COMPARE(BITS, TYPE, weak)

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

SHOWN void __tsan_atomic_thread_fence(int order) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
SHOWN void __tsan_atomic_signal_fence(int order) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

/* Something from another library, as the real one has it. */
SHOWN double __tsan_test_root(double square) { extern double sqrt(double); return sqrt(square); }

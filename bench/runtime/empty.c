/*
 * A runtime that does nothing: what instrumented code costs by itself, with calls
 * of functions that return at once, and atomics that are only that.
 *
 * Built without instrumentation and linked in place of a real runtime.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}
void __tsan_ignore_thread_begin(void) {}
void __tsan_ignore_thread_end(void) {}
void __tsan_vptr_read(void **vptr) { (void)vptr; }
void __tsan_vptr_update(void **vptr, void *value) { (void)vptr, (void)value; }
void __tsan_read_range(void *at, size_t size) { (void)at, (void)size; }
void __tsan_write_range(void *at, size_t size) { (void)at, (void)size; }

#define ACCESS(kind, size)                                                                         \
    void __tsan_##kind##size(void *at) { (void)at; }
#define ACCESSES(size)                                                                             \
    ACCESS(read, size)                                                                             \
    ACCESS(write, size)                                                                            \
    ACCESS(read_write, size)                                                                       \
    ACCESS(volatile_read, size)                                                                    \
    ACCESS(volatile_write, size)                                                                   \
    ACCESS(unaligned_read, size)                                                                   \
    ACCESS(unaligned_write, size)                                                                  \
    ACCESS(unaligned_read_write, size)                                                             \
    ACCESS(unaligned_volatile_read, size)                                                          \
    ACCESS(unaligned_volatile_write, size)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
void *__tsan_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
void *__tsan_memset(void *to, int byte, size_t size) { return memset(to, byte, size); }

/* All but stores cost the same on x86-64 in every order. */
#define FETCH(bits, type, name)                                                                    \
    type __tsan_atomic##bits##_fetch_##name(volatile type *at, type value, int order) {            \
        (void)order;                                                                               \
        return __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST);                                 \
    }
#define COMPARE(bits, type, strength, weak)                                                        \
    int __tsan_atomic##bits##_compare_exchange_##strength(volatile type *at, type *expected,       \
                                                          type value, int order, int otherwise) {  \
        (void)order, (void)otherwise;                                                              \
        return __atomic_compare_exchange_n(at, expected, value, weak, __ATOMIC_SEQ_CST,            \
                                           __ATOMIC_SEQ_CST);                                      \
    }
#define ATOMICS(bits, type)                                                                        \
    type __tsan_atomic##bits##_load(const volatile type *at, int order) {                          \
        (void)order;                                                                               \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order) {                   \
        if (order == __ATOMIC_SEQ_CST)                                                             \
            __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                         \
        else                                                                                       \
            __atomic_store_n(at, value, __ATOMIC_RELEASE);                                         \
    }                                                                                              \
    type __tsan_atomic##bits##_exchange(volatile type *at, type value, int order) {                \
        (void)order;                                                                               \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                   \
    }                                                                                              \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *at, type expected, type value,  \
                                                    int order, int otherwise) {                    \
        (void)order, (void)otherwise;                                                              \
        __atomic_compare_exchange_n(at, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
        return expected;                                                                           \
    }                                                                                              \
    COMPARE(bits, type, strong, 0)                                                                 \
    COMPARE(bits, type, weak, 1)                                                                   \
    FETCH(bits, type, add)                                                                         \
    FETCH(bits, type, sub)                                                                         \
    FETCH(bits, type, and)                                                                         \
    FETCH(bits, type, or)                                                                          \
    FETCH(bits, type, xor)                                                                         \
    FETCH(bits, type, nand)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int order) {
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order) { (void)order; }

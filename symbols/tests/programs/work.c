int counter;
int table[16] = {1};
static long hidden = 3;

__attribute__((noinline)) int leaf(int x) {
    counter += x; /* leaf */
    return counter;
}

static inline __attribute__((always_inline)) int innermost(int x) {
    return leaf(x + table[x & 15]); /* innermost */
}

static inline __attribute__((always_inline)) int middle(int x) {
    return innermost(x) * hidden++; /* middle */
}

__attribute__((noinline)) int outer(int x) {
    return middle(x) + 1; /* outer */
}

int main(void) { return outer(counter); }

// Variables with parts. The program prints, for each part, the variable, how far into it
// the part is, and what the part is called.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <string>
#include <vector>

struct Node {
    int key;
    double weight[2][3];
};

struct Base {
    long inherited;
};

struct Queue : Base {
    std::mutex lock;
    std::atomic<int> length;
    const Node *head;
    Node nodes[4];
    union {
        int number;
        char text[4];
    } either;
    pthread_mutex_t old;
};

int plain;
pthread_mutex_t forks[5];
static short grid[3][4][5];
Queue queue;
typedef Queue Pair[2];
volatile Pair pair;
std::vector<int> numbers[2];

namespace town {
struct House {
    std::string name;
    int rooms;
};
House houses[3];
} // namespace town

struct Counter {
    static int instances[2];
};
int Counter::instances[2];

#define PART(variable, part)                                                                \
    printf("%s %ld %s\n", #variable,                                                        \
           (long)((char *)&(variable part) - (char *)&(variable)), #part)
#define WITHIN(variable, part, offset)                                                      \
    printf("%s %ld %s\n", #variable,                                                        \
           (long)((char *)&(variable part) - (char *)&(variable)) + (offset), #part)

int main() {
    static int inner[2];
    PART(forks, [0]);
    PART(forks, [4]);
    WITHIN(forks, [4], 8);
    PART(grid, [2][1][3]);
    PART(queue, .inherited);
    PART(queue, .lock);
    WITHIN(queue, .lock, 16);
    PART(queue, .length);
    PART(queue, .head);
    PART(queue, .nodes[3].key);
    PART(queue, .nodes[1].weight[1][2]);
    PART(queue, .either);
    PART(queue, .old);
    PART(pair, [1].nodes[2].key);
    PART(numbers, [1]);
    WITHIN(numbers, [1], 8);
    PART(town::houses, [2].name);
    PART(town::houses, [2].rooms);
    PART(Counter::instances, [1]);
    grid[plain][0][0] = (short)plain;
    return plain + grid[0][plain][0] + inner[plain] + forks[0].__data.__kind;
}

// Successive over-relaxation, after sor: threads work on rows of their own between
// barriers made by hand of a lock and a condition. Some detectors warn; nothing races.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

enum { SIZE = 16, THREADS = 2, ROUNDS = 4 };

static double grid[SIZE][SIZE];

class Barrier {
    std::mutex lock;
    std::condition_variable complete;
    int waiting = 0, round = 0;

public:
    void wait() {
        std::unique_lock<std::mutex> hold(lock);
        int mine = round;
        if (++waiting == THREADS) {
            waiting = 0;
            round++;
            complete.notify_all();
            return;
        }
        complete.wait(hold, [&] { return round != mine; });
    }
};

static Barrier barrier;

static void relax(int first, int last) {
    for (int round = 0; round < ROUNDS; round++) {
        for (int colour = 0; colour < 2; colour++) {
            for (int i = first; i < last; i++)
                for (int j = 1 + (i + colour) % 2; j < SIZE - 1; j += 2)
                    grid[i][j] = (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]) / 4;
            barrier.wait();
        }
    }
}

int main() {
    for (int i = 0; i < SIZE; i++) grid[0][i] = 1;
    std::vector<std::thread> threads;
    int rows = (SIZE - 2) / THREADS;
    for (int t = 0; t < THREADS; t++)
        threads.emplace_back(relax, 1 + t * rows, 1 + (t + 1) * rows);
    for (auto &thread : threads) thread.join();
    std::printf("%.3f\n", grid[1][SIZE / 2]);
}

/*
 * A grid with fine-grained locks: particles push those of neighbouring cells away;
 * what a cell's particles suffer is added up under the cell's lock.
 */
#include <mutex>
#include <vector>

#include "harness.h"

namespace {

constexpr int SIDE = 48;
constexpr int PARTICLES = 6;

/* Whole numbers, so that the order of additions does not matter. */
struct Vector {
    int32_t x, y;
};

struct Cell {
    std::mutex lock;
    Vector place[PARTICLES], force[PARTICLES], speed[PARTICLES];
};

std::vector<Cell> cells(SIDE *SIDE);
pthread_barrier_t barrier;

Cell &cell(int x, int y) { return cells[((y + SIDE) % SIDE) * SIDE + (x + SIDE) % SIDE]; }

Vector repulsion(const Vector &a, const Vector &b) {
    int32_t dx = a.x - b.x, dy = a.y - b.y;
    int32_t distance = (dx * dx + dy * dy) / 1024 + 1;
    return {dx * 64 / distance, dy * 64 / distance};
}

void push(Cell &one, Cell &other) {
    for (int i = 0; i < PARTICLES; i++) {
        Vector sum = {0, 0};
        for (int j = 0; j < PARTICLES; j++) {
            Vector force = repulsion(one.place[i], other.place[j]);
            sum.x += force.x;
            sum.y += force.y;
            std::lock_guard<std::mutex> guard(other.lock);
            other.force[j].x -= force.x;
            other.force[j].y -= force.y;
        }
        std::lock_guard<std::mutex> guard(one.lock);
        one.force[i].x += sum.x;
        one.force[i].y += sum.y;
    }
}

void move(Cell &cell) {
    for (int i = 0; i < PARTICLES; i++) {
        cell.speed[i].x = (cell.speed[i].x + cell.force[i].x) / 2;
        cell.speed[i].y = (cell.speed[i].y + cell.force[i].y) / 2;
        cell.place[i].x = (cell.place[i].x + cell.speed[i].x) & 1023;
        cell.place[i].y = (cell.place[i].y + cell.speed[i].y) & 1023;
        cell.force[i] = {0, 0};
    }
}

void work(int me) {
    for (long step = 0; step < scaled(100); step++) {
        for (long y = share(SIDE, me); y < share(SIDE, me + 1); y++)
            for (int x = 0; x < SIDE; x++) {
                push(cell(x, y), cell(x + 1, y));
                push(cell(x, y), cell(x, y + 1));
            }
        pthread_barrier_wait(&barrier);
        for (long i = share(SIDE * SIDE, me); i < share(SIDE * SIDE, me + 1); i++)
            move(cells[i]);
        pthread_barrier_wait(&barrier);
    }
}

} // namespace

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    uint64_t random = seed(0);
    for (Cell &cell : cells)
        for (int i = 0; i < PARTICLES; i++) {
            cell.place[i] = {static_cast<int32_t>(next_random(&random) % 1024),
                             static_cast<int32_t>(next_random(&random) % 1024)};
            cell.speed[i] = cell.force[i] = {0, 0};
        }
    pthread_barrier_init(&barrier, nullptr, threads);
    in_threads(work);
    pthread_barrier_destroy(&barrier);
    uint64_t sum = 0;
    for (const Cell &cell : cells)
        for (const Vector &place : cell.place)
            sum = sum * 31 + static_cast<uint64_t>(place.x * 1024 + place.y);
    return print_checksum(sum);
}

/*
 * Tracks a body through frames: particles are weighted by a pool of threads that wait for
 * work at a condition variable, one frame after the other. The best particle is looked at
 * before its lock is taken, and statistics are kept without one.
 */
#include <cmath>
#include <vector>

#include "../harness.h"

static const int PARTICLES = 1000, PIXELS = 1024, JOINTS = 12;

struct Particle {
    float joints[JOINTS];
    float weight;
};

static std::vector<Particle> particles(PARTICLES);
static float image[PIXELS], edges[PIXELS];
static float best = -1;
static int best_particle, frame, busy, stop;
static long evaluations, inside_hits, edge_hits, improvements, resampled;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;

FUNCTION float edge_error(const Particle &p) {
    float sum = 0;
    for (int i = 0; i < JOINTS; i++)
        sum += edges[static_cast<int>(p.joints[i] * 10) & (PIXELS - 1)];
    if (sum > 5) edge_hits++;
    return sum;
}

FUNCTION float inside_error(const Particle &p) {
    float sum = 0;
    for (int i = 0; i < JOINTS; i++)
        sum += image[static_cast<int>(p.joints[i] * 7) & (PIXELS - 1)];
    if (sum > 5) inside_hits++;
    return sum;
}

FUNCTION void improve(int i, float weight) {
    if (weight <= best) return;
    pthread_mutex_lock(&guard);
    if (weight > best) {
        best = weight;
        best_particle = i;
        improvements++;
    }
    pthread_mutex_unlock(&guard);
}

FUNCTION void weigh(int i) {
    Particle &p = particles[i];
    p.weight = std::exp(-(edge_error(p) + inside_error(p)) / JOINTS);
    evaluations++;
    improve(i, p.weight);
}

FUNCTION void resample(int i, uint64_t *random) {
    Particle &p = particles[i];
    const Particle &source = particles[best_particle];
    for (int k = 0; k < JOINTS; k++)
        p.joints[k] = source.joints[k] + static_cast<float>(next_random(random) % 100) / 10;
    resampled++;
}

FUNCTION void exposure(void) {
    for (int i = 0; i < PIXELS; i += 16)
        image[i] *= 0.99f;
}

static void work(int me) {
    uint64_t random = 17 + static_cast<uint64_t>(me);
    for (int seen = 0;;) {
        pthread_mutex_lock(&guard);
        while (frame == seen && !stop)
            pthread_cond_wait(&wake, &guard);
        seen = frame;
        bool over = stop;
        pthread_mutex_unlock(&guard);
        if (over) return;
        for (int i = static_cast<int>(share(PARTICLES, me)); i < share(PARTICLES, me + 1); i++) {
            weigh(i);
            if (particles[i].weight < 0.1f) resample(i, &random);
        }
        if (me == 1 && seen % 8 == 0) exposure();
        pthread_mutex_lock(&guard);
        if (--busy == 0) pthread_cond_signal(&finished);
        pthread_mutex_unlock(&guard);
    }
}

static void *direct(void *unused) {
    for (long i = 0; i < scaled(40); i++) {
        pthread_mutex_lock(&guard);
        frame++;
        busy = threads;
        best = -1;
        pthread_cond_broadcast(&wake);
        while (busy > 0)
            pthread_cond_wait(&finished, &guard);
        pthread_mutex_unlock(&guard);
    }
    pthread_mutex_lock(&guard);
    stop = 1;
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&guard);
    return unused;
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    uint64_t random = 23;
    for (int i = 0; i < PIXELS; i++) {
        image[i] = static_cast<float>(next_random(&random) % 10);
        edges[i] = static_cast<float>(next_random(&random) % 10);
    }
    for (Particle &p : particles)
        for (float &joint : p.joints)
            joint = static_cast<float>(next_random(&random) % 1000);
    pthread_t director;
    if (pthread_create(&director, nullptr, direct, nullptr) != 0) return 3;
    in_threads(work);
    pthread_join(director, nullptr);
    printf("%d\n", evaluations > 0);
    return 0;
}

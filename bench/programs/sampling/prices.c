/*
 * Black and Scholes by Monte Carlo, in threads that take portfolios from a queue. Few
 * accesses for each call, and two races: a count of what is done that nobody locks, and
 * a volatility that is calibrated now and then while others read it.
 */
#include <math.h>

#include "../harness.h"

#define OPTIONS 4096
#define FACTORS 64

static struct option {
    double spot, strike, years;
    int curve;
} options[OPTIONS];
static double prices[OPTIONS], volatility[FACTORS], rates[FACTORS];
static long next_portfolio, done;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;

FUNCTION double normal(double x) {
    static const double weight[5] = {0.319381530, -0.356563782, 1.781477937, -1.821255978,
                                     1.330274429};
    double k = 1 / (1 + 0.2316419 * fabs(x)), sum = 0;
    for (int i = 4; i >= 0; i--)
        sum = (sum + weight[i]) * k;
    double tail = 0.39894228 * exp(-x * x / 2) * sum;
    return x < 0 ? tail : 1 - tail;
}

FUNCTION double discount(int curve, double years) {
    double sum = 0;
    for (int i = 0; i < 8; i++)
        sum += rates[(curve + i) % FACTORS];
    return exp(-sum / 8 * years);
}

FUNCTION double price(const struct option *o) {
    double sigma = volatility[o->curve];
    double deviation = sigma * sqrt(o->years);
    double d1 = (log(o->spot / o->strike) + sigma * sigma / 2 * o->years) / deviation;
    return o->spot * normal(d1) - o->strike * discount(o->curve, o->years) * normal(d1 - deviation);
}

FUNCTION void calibrate(int curve, double level) {
    for (int i = 0; i < 4; i++)
        volatility[(curve + i) % FACTORS] = level;
}

FUNCTION void portfolio(long first) {
    for (long i = first; i < first + 64; i++)
        prices[i % OPTIONS] = price(&options[i % OPTIONS]);
    done++;
}

FUNCTION long take(void) {
    pthread_mutex_lock(&queue);
    long mine = next_portfolio++;
    pthread_mutex_unlock(&queue);
    return mine;
}

static void work(int me) {
    (void)me;
    long all = scaled(6000);
    for (long mine = take(); mine < all; mine = take()) {
        portfolio(mine * 64);
        if (mine % 500 == 499)
            calibrate((int)(mine % FACTORS), 0.2 + (double)(mine % 7) / 100);
    }
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    uint64_t random = 7;
    for (int i = 0; i < OPTIONS; i++) {
        options[i].spot = 20 + (double)(next_random(&random) % 100);
        options[i].strike = 20 + (double)(next_random(&random) % 100);
        options[i].years = 0.25 * (double)(1 + next_random(&random) % 12);
        options[i].curve = (int)(next_random(&random) % FACTORS);
    }
    for (int i = 0; i < FACTORS; i++)
        volatility[i] = 0.2, rates[i] = 0.01 + i / 1000.0;
    in_threads(work);
    printf("%ld\n", done > 0 ? next_portfolio : 0);
    return 0;
}

/*
 * Prices of options by Black and Scholes: much arithmetic for each access, input
 * that is only read, output in each thread's own part of an array.
 */
#include <math.h>

#include "harness.h"

#define OPTIONS 20000

static struct option {
    double spot, strike, rate, volatility, years;
    int call;
} options[OPTIONS];
static double prices[OPTIONS];

static double cumulative_normal(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

static double price(const struct option *o) {
    double deviation = o->volatility * sqrt(o->years);
    double drift = (o->rate + o->volatility * o->volatility / 2) * o->years;
    double d1 = (log(o->spot / o->strike) + drift) / deviation;
    double d2 = d1 - deviation;
    double discounted = o->strike * exp(-o->rate * o->years);
    if (o->call)
        return o->spot * cumulative_normal(d1) - discounted * cumulative_normal(d2);
    return discounted * cumulative_normal(-d2) - o->spot * cumulative_normal(-d1);
}

static void work(int me) {
    for (long round = 0; round < scaled(150); round++)
        for (long i = share(OPTIONS, me); i < share(OPTIONS, me + 1); i++)
            prices[i] = price(&options[i]);
}

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    uint64_t random = seed(0);
    for (int i = 0; i < OPTIONS; i++) {
        options[i].spot = 20 + (double)(next_random(&random) % 100);
        options[i].strike = 20 + (double)(next_random(&random) % 100);
        options[i].rate = 0.01 * (double)(1 + next_random(&random) % 9);
        options[i].volatility = 0.05 * (double)(1 + next_random(&random) % 9);
        options[i].years = 0.25 * (double)(1 + next_random(&random) % 12);
        options[i].call = (int)(next_random(&random) % 2);
    }
    in_threads(work);
    uint64_t sum = 0;
    for (int i = 0; i < OPTIONS; i++)
        sum = sum * 31 + (uint64_t)(int64_t)(prices[i] * 1000);
    return print_checksum(sum);
}

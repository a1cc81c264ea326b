/*
 * Monte Carlo over small vectors: paths of interest rates are simulated and
 * swaptions priced on them, through many small functions.
 */
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness.h"

namespace {

constexpr int STEPS = 11;
constexpr double YEAR_PART = 0.5;

struct Swaption {
    double strike, volatility, initial;
    int paths;
    double price = 0;
};

class Rates {
public:
    explicit Rates(double initial) : rates(STEPS, initial) {}

    double &at(int step) { return rates[step]; }
    double discount(int until) const {
        double sum = 0;
        for (int i = 0; i < until; i++)
            sum += rates[i] * YEAR_PART;
        return std::exp(-sum);
    }

private:
    std::vector<double> rates;
};

double uniform(uint64_t &random) {
    return static_cast<double>(next_random(&random) >> 11) * 0x1p-53;
}

double normal(uint64_t &random) {
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += uniform(random);
    return sum - 6;
}

void simulate(Rates &rates, double volatility, uint64_t &random) {
    std::vector<double> shocks(STEPS);
    std::generate(shocks.begin(), shocks.end(), [&] { return normal(random); });
    for (int i = 1; i < STEPS; i++) {
        double moved = rates.at(i - 1) + volatility * std::sqrt(YEAR_PART) * shocks[i];
        rates.at(i) = std::max(moved, 0.0);
    }
}

double payoff(Rates &rates, double strike) {
    double value = 0;
    for (int i = 1; i < STEPS; i++)
        value += (rates.at(i) - strike) * YEAR_PART * rates.discount(i);
    return std::max(value, 0.0);
}

void price(Swaption &swaption, uint64_t random) {
    double sum = 0;
    for (int i = 0; i < swaption.paths; i++) {
        Rates rates(swaption.initial);
        simulate(rates, swaption.volatility, random);
        sum += payoff(rates, swaption.strike);
    }
    swaption.price = sum / swaption.paths;
}

std::vector<Swaption> swaptions;

void work(int me) {
    long count = static_cast<long>(swaptions.size());
    for (long i = share(count, me); i < share(count, me + 1); i++)
        price(swaptions[i], seed(static_cast<int>(i)));
}

} // namespace

int main(int argc, char **argv) {
    parameters(argc, argv, 4);
    int paths = static_cast<int>(scaled(13000));
    for (int i = 0; i < 32; i++)
        swaptions.push_back({0.03 + 0.001 * i, 0.005 + 0.0005 * i, 0.05, paths});
    in_threads(work);
    uint64_t sum = 0;
    for (const Swaption &swaption : swaptions)
        sum = sum * 31 + static_cast<uint64_t>(swaption.price * 1e9);
    return print_checksum(sum);
}

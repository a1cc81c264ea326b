// A signal hands over to whoever reads it from a descriptor.
#include "../threads.h"
#include <signal.h>
#include <sys/signalfd.h>

static long payload;
static int signals;

static void sender(void) {
    payload = 42;
    kill(getpid(), SIGUSR1);
}

static void receiver(void) {
    struct signalfd_siginfo told;
    if (read(signals, &told, sizeof told) != sizeof told) abort();
    if (told.ssi_signo != SIGUSR1 || payload != 42) abort();
}

int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signals = signalfd(-1, &set, 0);
    together(sender, receiver);
}

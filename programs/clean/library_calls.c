// Library functions that are safe in threads: the _r family, time, gethostname,
// strerror_r, inet_pton and friends, each with buffers of its own.
#include "../threads.h"
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

static void worker(void) {
    for (int i = 0; i < 50; i++) {
        char text[128], *rest = NULL;
        struct tm parts;
        time_t now = time(NULL);
        assert(gmtime_r(&now, &parts) != NULL && localtime_r(&now, &parts) != NULL);
        assert(strftime(text, sizeof text, "%Y-%m-%d", &parts) == 10);
        assert(strtol(text, NULL, 10) > 2000);
        gethostname(text, sizeof text);
        use(strerror_r(ENOENT, text, sizeof text));

        char words[] = "one two three";
        assert(strcmp(strtok_r(words, " ", &rest), "one") == 0);
        assert(strcmp(strtok_r(NULL, " ", &rest), "two") == 0);

        struct in_addr address;
        assert(inet_pton(AF_INET, "127.0.0.1", &address) == 1);
        assert(inet_ntop(AF_INET, &address, text, sizeof text) != NULL);

        struct timeval precise;
        gettimeofday(&precise, NULL);
        struct stat information;
        assert(stat("/", &information) == 0 && S_ISDIR(information.st_mode));
        int exponent;
        use((int)frexp(10.0, &exponent));
        assert(exponent == 4);
    }
}

int main(void) { together(worker, worker, worker); }

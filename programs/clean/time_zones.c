// Threads convert times. The C library keeps what it knows of the time zone, allocates and
// frees that by itself, and has a lock for it that nobody sees.
// tsan: false-alarm (what the C library allocates counts as written by the program)
#include "../threads.h"

#include <assert.h>
#include <string.h>
#include <time.h>

static void converts(void) {
    for (int year = 100; year < 103; year++) {
        struct tm day, again;
        memset(&day, 0, sizeof day);
        day.tm_year = year;
        day.tm_mday = 1;
        time_t then = mktime(&day);
        tzset();
        char text[64];
        assert(strftime(text, sizeof text, "%Y %Z", &day) > 0);
        assert(localtime_r(&then, &again) == &again);
        assert(again.tm_year == year);
    }
}

int main(void) {
    together(converts, converts);
}

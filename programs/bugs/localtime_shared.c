// The result of localtime is in memory that all threads share.
// expect: race
// shows: always
#include "../threads.h"

#include <time.h>

static int years[2];

static int year_of(time_t when) {
    struct tm *local = localtime(&when); // RACE
    return local->tm_year; // RACE
}

static void earlier(void) {
    years[0] = year_of(100000000);
}

static void later(void) {
    years[1] = year_of(1000000000);
}

int main(void) {
    together(earlier, later);
    return years[0] == years[1] && years[0] == 0;
}

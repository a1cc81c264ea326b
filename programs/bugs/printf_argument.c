// printf reads a string that another thread is changing.
// expect: race
// shows: always
#include "../threads.h"
#include <stdio.h>

static char status[] = "idle";

static void changer(void) { status[0] = 'I'; }          // RACE
static void printer(void) { printf("%s\n", status); }   // RACE

int main(void) { together(changer, printer); }

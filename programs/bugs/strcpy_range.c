// strcpy writes a name, up to its final zero, that another thread measures.
// expect: race
// shows: always
#include "../threads.h"
#include <string.h>

static char name[32] = "nobody";
static const char *volatile new_name = "somebody";

static void renamer(void) { strcpy(name, new_name); }  // RACE
static void reader(void) { use(strlen(name)); }        // RACE

int main(void) { together(renamer, reader); }

// A race on sixteen bytes: the two halves of a struct that is assigned whole.
// expect: race
// shows: always
#include "../threads.h"

struct pair { long left, right; };

static struct pair shared, fresh = {1, 2};

static void writer(void) { shared = fresh; }      // RACE
static void reader(void) { use(shared.right); }   // RACE

int main(void) { together(writer, reader); }

// A message is handed over through a pipe, and looked at once more: by then it may be
// freed. Only what was written by then orders the two.
// expect: race|heap-use-after-free
// shows: sometimes
#include "../threads.h"
#include <unistd.h>

struct message {
    int kind, length;
};
static int ends[2];
static long sent;

static void producer(void) {
    for (int i = 0; i < 3; i++) {
        struct message *message = malloc(sizeof *message);
        message->kind = 1;
        message->length = i;
        if (write(ends[1], &message, sizeof message) != sizeof message)
            abort();
        sent += message->length; // RACE
    }
    close(ends[1]);
}

static void consumer(void) {
    struct message *message;
    while (read(ends[0], &message, sizeof message) == sizeof message)
        free(message); // RACE
}

int main(void) {
    if (pipe(ends))
        return 1;
    together(producer, consumer);
    return sent < 0;
}

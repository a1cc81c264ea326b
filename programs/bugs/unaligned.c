// A race on an int that is not aligned and straddles two eight-byte words.
// expect: race
// shows: always
#include "../threads.h"

static struct __attribute__((packed, aligned(8))) {
    char header[6];
    int value;
} message;

static void writer(void) { message.value = 7; }    // RACE
static void reader(void) { use(message.value); }   // RACE

int main(void) { together(writer, reader); }

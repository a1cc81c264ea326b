// A semaphore of System V keeps two threads apart; a message of System V hands on what a
// third one has written.
#include "../threads.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

static int set, queue;
static long counter, handed;

static void change(int by) {
    struct sembuf operation = {0, (short)by, 0};
    while (semop(set, &operation, 1)) {}
}

static void count(void) {
    for (int i = 0; i < 100; i++) {
        change(-1);
        counter++;
        change(1);
    }
}

struct message {
    long kind;
    char text[8];
};

static void *give(void *unused) {
    struct message message = {1, "written"};
    handed = 42;
    while (msgsnd(queue, &message, sizeof message.text, 0)) {}
    return unused;
}

int main(void) {
    set = semget(IPC_PRIVATE, 1, 0600);
    queue = msgget(IPC_PRIVATE, 0600);
    if (set < 0 || queue < 0) return 0; // not everywhere allowed
    change(1);
    together(count, count);
    pthread_t giver;
    pthread_create(&giver, NULL, give, NULL);
    struct message message;
    while (msgrcv(queue, &message, sizeof message.text, 1, 0) < 0) {}
    handed++;
    pthread_join(giver, NULL);
    semctl(set, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    return counter != 200 || handed != 43;
}

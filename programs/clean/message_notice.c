// A queue tells of a message by a function in a thread of the C library's.
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static mqd_t queue;
static sem_t told;
static int armed, sent, got;

static void note(union sigval more) {
    char message[8];
    if (!armed || !sent || mq_receive(queue, message, sizeof message, NULL) != 1) abort();
    got = message[0] + *(int *)more.sival_ptr;
    sem_post(&told);
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/racehound-%d", (int)getpid());
    struct mq_attr small = {.mq_maxmsg = 4, .mq_msgsize = 8};
    queue = mq_open(name, O_CREAT | O_RDWR, 0600, &small);
    if (queue == (mqd_t)-1) return 0; /* None to be had here. */
    mq_unlink(name);
    sem_init(&told, 0, 0);
    int *more = malloc(sizeof *more);
    *more = 1;
    armed = 1;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD};
    event.sigev_notify_function = note;
    event.sigev_value.sival_ptr = more;
    if (mq_notify(queue, &event)) return 1;
    sent = 1;
    mq_send(queue, "a", 1, 0);
    while (sem_wait(&told)) {}
    free(more);
    return got != 'b';
}

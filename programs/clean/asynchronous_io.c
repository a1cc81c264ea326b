// The C library reads and writes in the background, and tells when it is done.
#include "../threads.h"
#include <aio.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static char written[8] = "ordered", got[8];
static struct aiocb writing, reading;
static sem_t told;
static int notes;

static void note(union sigval count) {
    *(int *)count.sival_ptr += 1;
    sem_post(&told);
}

static void asks(void) {
    if (aio_read(&reading)) abort();
    sem_post(&told);
}

static void looks(void) {
    sem_wait(&told);
    while (aio_error(&reading) == EINPROGRESS) usleep(1000);
    if (aio_return(&reading) != 8 || strcmp(got, "ordered")) abort();
}

int main(void) {
    FILE *file = tmpfile();
    if (!file) return 1;
    sem_init(&told, 0, 0);
    writing.aio_fildes = reading.aio_fildes = fileno(file);
    writing.aio_nbytes = reading.aio_nbytes = 8;
    writing.aio_buf = written;
    reading.aio_buf = got;
    writing.aio_lio_opcode = LIO_WRITE;
    writing.aio_sigevent.sigev_notify = SIGEV_THREAD;
    writing.aio_sigevent.sigev_notify_function = note;
    writing.aio_sigevent.sigev_value.sival_ptr = &notes;
    for (int i = 1; i <= 2; i++) {
        if (aio_write(&writing)) return 1;
        while (sem_wait(&told)) {}
        if (notes != i || aio_return(&writing) != 8) return 1;
    }
    struct sigevent event = writing.aio_sigevent;
    writing.aio_sigevent.sigev_notify = SIGEV_NONE;
    struct aiocb *all[] = {&writing};
    if (lio_listio(LIO_NOWAIT, all, 1, &event)) return 1;
    while (sem_wait(&told)) {}
    if (notes != 3) return 1;
    written[0] = 'O';
    together(asks, looks);
}

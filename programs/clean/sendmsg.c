// sendmsg and recvmsg hand over, like send and recv.
#include "../threads.h"
#include <sys/socket.h>
#include <sys/uio.h>

static long payload;
static int ends[2];

static void sender(void) {
    payload = 42;
    char byte = 'x';
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (sendmsg(ends[0], &message, 0) != 1) abort();
}

static void receiver(void) {
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (recvmsg(ends[1], &message, 0) != 1) abort();
    if (payload != 42) abort();
}

int main(void) {
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return 1;
    together(sender, receiver);
}

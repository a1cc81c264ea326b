// A server and a client on the loopback interface: accept, connect, send, recv.
#include "../threads.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static int listener;
static struct sockaddr_in address;
static long question, answer;

static void server(void) {
    char byte;
    int client = accept(listener, NULL, NULL);
    if (client < 0 || recv(client, &byte, 1, 0) != 1) abort();
    answer = question + 1;
    if (send(client, "a", 1, 0) != 1) abort();
    close(client);
}

static void client(void) {
    char byte;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(server, (struct sockaddr *)&address, sizeof address) != 0) abort();
    question = 41;
    if (send(server, "q", 1, 0) != 1 || recv(server, &byte, 1, 0) != 1) abort();
    if (answer != 42) abort();
    close(server);
}

int main(void) {
    socklen_t length = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, length) != 0) return 1;
    if (getsockname(listener, (struct sockaddr *)&address, &length) != 0) return 1;
    if (listen(listener, 1) != 0) return 1;
    together(server, client);
    close(listener);
}

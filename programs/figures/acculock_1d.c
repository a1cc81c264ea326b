// acculock.txt Figure 1(d): a list is handed over through a locked channel.
// No race, though the nodes themselves are touched without a lock: AccuLock
// warns of (A, B), FastTrack never does.
#include "../threads.h"
#include <assert.h>

struct node { int data; struct node *next; };

static struct node nodes[3];
static struct node *channel;
static pthread_mutex_t l1 = PTHREAD_MUTEX_INITIALIZER;

static void T1(void) {
    struct node *list1 = NULL;
    for (int i = 0; i < 3; i++) { // create the list of new nodes
        nodes[i].data = i;        // A
        nodes[i].next = list1;
        list1 = &nodes[i];
    }
    pthread_mutex_lock(&l1);
    channel = list1;
    pthread_mutex_unlock(&l1);
}

static void T2(void) {
    struct node *list2 = NULL;
    while (list2 == NULL) {
        pthread_mutex_lock(&l1);
        list2 = channel;
        pthread_mutex_unlock(&l1);
        if (list2 == NULL) usleep(100);
    }
    int sum = 0;
    for (; list2 != NULL; list2 = list2->next) // process the nodes
        sum += list2->data++;                  // B
    assert(sum == 3);
}

int main(void) { together(T1, T2); }

// part-of: plugin_reloaded.c
static int calls[100];

void plugin_counts(void) {
    for (int i = 0; i < 100; i++) calls[i]++;
}

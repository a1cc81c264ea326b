// part-of: plugin_storage.c
static __thread int storage[1024];

int *plugin_storage(void) { return storage; }

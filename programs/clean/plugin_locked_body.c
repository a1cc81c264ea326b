// The plugin of plugin_locked.c.
// part-of: plugin_locked.c
static int calls;

int plugin_entry(void);

int plugin_entry(void) { return ++calls; }

// The plugin of plugin_race.c.
// part-of: plugin_race.c
static int calls;

int plugin_calls(void);
void plugin_entry(void);

int plugin_calls(void) { return calls; }

void plugin_entry(void) {
    calls++; // RACE
}

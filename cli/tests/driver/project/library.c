extern int racehound_calls(void);

int library(int *number) { return *number += 1; }

void *library_runtime(void) { return (void *)racehound_calls; }

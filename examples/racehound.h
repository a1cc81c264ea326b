// Atomic regions, for 'racehound predict': what is between the two is meant to happen
// as one. Without -fsanitize=thread they are nothing at all; with it, and another runtime
// than Racehound's, they do nothing.
#ifndef RACEHOUND_H
#define RACEHOUND_H

#if defined(__SANITIZE_THREAD__)
#define RACEHOUND_IS_WATCHING 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RACEHOUND_IS_WATCHING 1
#endif
#endif

#ifdef RACEHOUND_IS_WATCHING
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) void __racehound_region_begin(void);
__attribute__((weak)) void __racehound_region_end(void);
#ifdef __cplusplus
}
#endif
#define RACEHOUND_REGION_BEGIN() (__racehound_region_begin ? __racehound_region_begin() : (void)0)
#define RACEHOUND_REGION_END() (__racehound_region_end ? __racehound_region_end() : (void)0)
#else
#define RACEHOUND_REGION_BEGIN() ((void)0)
#define RACEHOUND_REGION_END() ((void)0)
#endif

#endif

// gcc warns that its ThreadSanitizer does not model fences. We know.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#ifndef PAGEKIT_CJAVASCRIPTCORE_H
#define PAGEKIT_CJAVASCRIPTCORE_H

#include <JavaScriptCore/JavaScript.h>
#include <stdbool.h>

// Exported by the library, and declared in none of the headers that come with it.
extern void JSContextGroupSetExecutionTimeLimit(
    JSContextGroupRef group, double seconds, bool (*callback)(JSContextRef, void *), void *context);
extern void JSContextGroupClearExecutionTimeLimit(JSContextGroupRef group);
extern bool JSConfigureSignalForGC(int signal);
extern void JSGlobalContextSetEvalEnabled(JSGlobalContextRef context, bool isEnabled, JSStringRef message);
extern void JSGlobalContextSetUnhandledRejectionCallback(
    JSGlobalContextRef context, JSObjectRef function, JSValueRef *exception);
extern void JSSynchronousGarbageCollectForDebugging(JSContextRef context);
extern JSObjectRef JSGetMemoryUsageStatistics(JSContextRef context);
extern int jsc_options_set_boolean(const char *name, int value);

// WTF::releaseFastMallocFreeMemoryForThisThread(), which the library exports and does not promise.
extern void pk_release_free_memory(void)
    __asm__("_ZN3WTF40releaseFastMallocFreeMemoryForThisThreadEv") __attribute__((weak));

// Gives back the memory that the engine's allocator keeps for this thread alone; nothing where the library cannot.
static inline void pk_release_free_memory_of_this_thread(void) {
  if (pk_release_free_memory) pk_release_free_memory();
}

#endif

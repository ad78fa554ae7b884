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

#endif

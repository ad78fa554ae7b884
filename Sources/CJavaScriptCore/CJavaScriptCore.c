#include "CJavaScriptCore.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

// The library's functions, by name.
static struct {
#define PAGEKIT_JAVASCRIPTCORE_FUNCTION(result, name, parameters, arguments) result(*name) parameters;
#include "JavaScriptCoreFunctions.h"
#undef PAGEKIT_JAVASCRIPTCORE_FUNCTION
  // WTF::releaseFastMallocFreeMemoryForThisThread(), which the library exports and does not promise.
  void (*releaseFreeMemory)(void);
} library;

#define PAGEKIT_JAVASCRIPTCORE_FUNCTION(result, name, parameters, arguments) \
  result name parameters { return library.name arguments; }
#include "JavaScriptCoreFunctions.h"
#undef PAGEKIT_JAVASCRIPTCORE_FUNCTION

void pk_release_free_memory_of_this_thread(void) {
  if (library.releaseFreeMemory) library.releaseFreeMemory();
}

// MARK: Loading

static const char libraryName[] = "libjavascriptcoregtk-4.1.so.0";
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char failure[512];

// The address of a function; the first one that is missing is the failure.
static void *find(void *handle, const char *name) {
  void *address = dlsym(handle, name);
  if (!address && !failure[0]) {
    snprintf(
        failure, sizeof failure, "%s has no function %s: install a newer libjavascriptcoregtk-4.1-0", libraryName, name);
  }
  return address;
}

static void load(void) {
  void *handle = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    snprintf(
        failure, sizeof failure, "JavaScriptCore cannot be loaded: install libjavascriptcoregtk-4.1-0 (%s)",
        reason ? reason : "the loader gives no reason");
    return;
  }
#define PAGEKIT_JAVASCRIPTCORE_FUNCTION(result, name, parameters, arguments) \
  *(void **)&library.name = find(handle, #name);
#include "JavaScriptCoreFunctions.h"
#undef PAGEKIT_JAVASCRIPTCORE_FUNCTION
  *(void **)&library.releaseFreeMemory = dlsym(handle, "_ZN3WTF40releaseFastMallocFreeMemoryForThisThreadEv");
}

const char *pk_load_javascriptcore(void) {
  pthread_once(&once, load);
  return failure[0] ? failure : NULL;
}

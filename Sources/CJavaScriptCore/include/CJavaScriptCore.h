#ifndef PAGEKIT_CJAVASCRIPTCORE_H
#define PAGEKIT_CJAVASCRIPTCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The part of JavaScriptCore's C API that ScriptEngine uses. The library is loaded by `pk_load_javascriptcore`, and not
// linked: a process that runs no script does not have it. Before it is loaded no function may be called.

// MARK: Types

typedef const struct OpaqueJSContextGroup *JSContextGroupRef;
typedef const struct OpaqueJSContext *JSContextRef;
typedef struct OpaqueJSContext *JSGlobalContextRef;
typedef struct OpaqueJSString *JSStringRef;
typedef struct OpaqueJSClass *JSClassRef;
typedef struct OpaqueJSPropertyNameArray *JSPropertyNameArrayRef;
typedef const struct OpaqueJSValue *JSValueRef;
typedef struct OpaqueJSValue *JSObjectRef;
typedef uint16_t JSChar;
typedef unsigned JSPropertyAttributes;

enum { kJSPropertyAttributeNone = 0 };

typedef enum {
  kJSTypeUndefined,
  kJSTypeNull,
  kJSTypeBoolean,
  kJSTypeNumber,
  kJSTypeString,
  kJSTypeObject,
} JSType;

typedef enum {
  // 0 to 8 are the kinds of typed arrays with numbers of at most 64 bits.
  kJSTypedArrayTypeInt8Array = 0,
  kJSTypedArrayTypeArrayBuffer = 9,
  kJSTypedArrayTypeNone = 10,
} JSTypedArrayType;

typedef void (*JSTypedArrayBytesDeallocator)(void *bytes, void *context);
typedef void (*JSObjectFinalizeCallback)(JSObjectRef object);
typedef JSValueRef (*JSObjectCallAsFunctionCallback)(
    JSContextRef context, JSObjectRef function, JSObjectRef receiver, size_t count, const JSValueRef arguments[],
    JSValueRef *exception);
typedef bool (*JSShouldTerminateCallback)(JSContextRef context, void *info);

// A class of objects. Callbacks that ScriptEngine never sets are pointers without a type.
typedef struct {
  int version;
  unsigned attributes;
  const char *className;
  JSClassRef parentClass;
  const void *staticValues;
  const void *staticFunctions;
  void *initialize;
  JSObjectFinalizeCallback finalize;
  void *hasProperty;
  void *getProperty;
  void *setProperty;
  void *deleteProperty;
  void *getPropertyNames;
  JSObjectCallAsFunctionCallback callAsFunction;
  void *callAsConstructor;
  void *hasInstance;
  void *convertToType;
} JSClassDefinition;

// MARK: Functions

// Swift knows each function by the engine's name. The linker knows it by another one, so that an app that links
// JavaScriptCore itself has the library's functions and not these.
#define PAGEKIT_JAVASCRIPTCORE_FUNCTION(result, name, parameters, arguments) \
  result name parameters __asm__("pagekit_" #name) __attribute__((visibility("hidden")));
#include "JavaScriptCoreFunctions.h"
#undef PAGEKIT_JAVASCRIPTCORE_FUNCTION

// MARK: Loading

// Loads the library the first time it is called, from any thread. Returns NULL if every function above is there, and
// otherwise the reason in words, which lives as long as the process.
const char *pk_load_javascriptcore(void);

// Gives back the memory that the engine's allocator keeps for this thread alone; does nothing where the library is not
// loaded or cannot.
void pk_release_free_memory_of_this_thread(void);

#endif

// PAGEKIT_JAVASCRIPTCORE_FUNCTION(result, name, parameters, arguments) for each function of the library that is called.
// Included several times, with another meaning of the macro each time: so it has no guard.

#ifdef PAGEKIT_JAVASCRIPTCORE_FUNCTION
#define FUNCTION PAGEKIT_JAVASCRIPTCORE_FUNCTION

// Groups and contexts
FUNCTION(JSContextGroupRef, JSContextGroupCreate, (void), ())
FUNCTION(void, JSContextGroupRelease, (JSContextGroupRef group), (group))
FUNCTION(JSGlobalContextRef, JSGlobalContextCreateInGroup, (JSContextGroupRef group, JSClassRef type), (group, type))
FUNCTION(void, JSGlobalContextRelease, (JSGlobalContextRef context), (context))
FUNCTION(void, JSGlobalContextSetName, (JSGlobalContextRef context, JSStringRef name), (context, name))
FUNCTION(JSObjectRef, JSContextGetGlobalObject, (JSContextRef context), (context))

// Scripts
FUNCTION(JSValueRef, JSEvaluateScript,
    (JSContextRef context, JSStringRef script, JSObjectRef receiver, JSStringRef url, int line, JSValueRef *exception),
    (context, script, receiver, url, line, exception))
FUNCTION(bool, JSCheckScriptSyntax,
    (JSContextRef context, JSStringRef script, JSStringRef url, int line, JSValueRef *exception),
    (context, script, url, line, exception))

// Strings
FUNCTION(JSStringRef, JSStringCreateWithCharacters, (const JSChar *units, size_t count), (units, count))
FUNCTION(JSStringRef, JSStringCreateWithUTF8CString, (const char *text), (text))
FUNCTION(JSStringRef, JSStringRetain, (JSStringRef string), (string))
FUNCTION(void, JSStringRelease, (JSStringRef string), (string))
FUNCTION(size_t, JSStringGetLength, (JSStringRef string), (string))
FUNCTION(const JSChar *, JSStringGetCharactersPtr, (JSStringRef string), (string))
FUNCTION(size_t, JSStringGetMaximumUTF8CStringSize, (JSStringRef string), (string))
FUNCTION(size_t, JSStringGetUTF8CString, (JSStringRef string, char *buffer, size_t size), (string, buffer, size))

// Values
FUNCTION(JSType, JSValueGetType, (JSContextRef context, JSValueRef value), (context, value))
FUNCTION(bool, JSValueIsUndefined, (JSContextRef context, JSValueRef value), (context, value))
FUNCTION(bool, JSValueIsObject, (JSContextRef context, JSValueRef value), (context, value))
FUNCTION(bool, JSValueIsArray, (JSContextRef context, JSValueRef value), (context, value))
FUNCTION(bool, JSValueIsDate, (JSContextRef context, JSValueRef value), (context, value))
FUNCTION(JSTypedArrayType, JSValueGetTypedArrayType,
    (JSContextRef context, JSValueRef value, JSValueRef *exception), (context, value, exception))
FUNCTION(JSValueRef, JSValueMakeUndefined, (JSContextRef context), (context))
FUNCTION(JSValueRef, JSValueMakeNull, (JSContextRef context), (context))
FUNCTION(JSValueRef, JSValueMakeBoolean, (JSContextRef context, bool value), (context, value))
FUNCTION(JSValueRef, JSValueMakeNumber, (JSContextRef context, double value), (context, value))
FUNCTION(JSValueRef, JSValueMakeString, (JSContextRef context, JSStringRef text), (context, text))
FUNCTION(bool, JSValueToBoolean, (JSContextRef context, JSValueRef value), (context, value))
FUNCTION(double, JSValueToNumber,
    (JSContextRef context, JSValueRef value, JSValueRef *exception), (context, value, exception))
FUNCTION(JSStringRef, JSValueToStringCopy,
    (JSContextRef context, JSValueRef value, JSValueRef *exception), (context, value, exception))
FUNCTION(JSValueRef, JSValueMakeFromJSONString, (JSContextRef context, JSStringRef text), (context, text))
FUNCTION(JSStringRef, JSValueCreateJSONString,
    (JSContextRef context, JSValueRef value, unsigned indent, JSValueRef *exception),
    (context, value, indent, exception))
FUNCTION(void, JSValueProtect, (JSContextRef context, JSValueRef value), (context, value))
FUNCTION(void, JSValueUnprotect, (JSContextRef context, JSValueRef value), (context, value))

// Objects
FUNCTION(JSClassRef, JSClassCreate, (const JSClassDefinition *definition), (definition))
FUNCTION(JSObjectRef, JSObjectMake, (JSContextRef context, JSClassRef type, void *data), (context, type, data))
FUNCTION(void *, JSObjectGetPrivate, (JSObjectRef object), (object))
FUNCTION(void, JSObjectSetPrototype,
    (JSContextRef context, JSObjectRef object, JSValueRef prototype), (context, object, prototype))
FUNCTION(JSValueRef, JSObjectGetProperty,
    (JSContextRef context, JSObjectRef object, JSStringRef name, JSValueRef *exception),
    (context, object, name, exception))
FUNCTION(void, JSObjectSetProperty,
    (JSContextRef context, JSObjectRef object, JSStringRef name, JSValueRef value, JSPropertyAttributes attributes,
     JSValueRef *exception),
    (context, object, name, value, attributes, exception))
FUNCTION(JSValueRef, JSObjectGetPropertyAtIndex,
    (JSContextRef context, JSObjectRef object, unsigned index, JSValueRef *exception),
    (context, object, index, exception))
FUNCTION(void, JSObjectSetPropertyAtIndex,
    (JSContextRef context, JSObjectRef object, unsigned index, JSValueRef value, JSValueRef *exception),
    (context, object, index, value, exception))
FUNCTION(JSPropertyNameArrayRef, JSObjectCopyPropertyNames, (JSContextRef context, JSObjectRef object), (context, object))
FUNCTION(size_t, JSPropertyNameArrayGetCount, (JSPropertyNameArrayRef names), (names))
FUNCTION(JSStringRef, JSPropertyNameArrayGetNameAtIndex, (JSPropertyNameArrayRef names, size_t index), (names, index))
FUNCTION(void, JSPropertyNameArrayRelease, (JSPropertyNameArrayRef names), (names))
FUNCTION(bool, JSObjectIsFunction, (JSContextRef context, JSObjectRef object), (context, object))
FUNCTION(JSValueRef, JSObjectCallAsFunction,
    (JSContextRef context, JSObjectRef function, JSObjectRef receiver, size_t count, const JSValueRef arguments[],
     JSValueRef *exception),
    (context, function, receiver, count, arguments, exception))
FUNCTION(JSObjectRef, JSObjectMakeArray,
    (JSContextRef context, size_t count, const JSValueRef elements[], JSValueRef *exception),
    (context, count, elements, exception))
FUNCTION(JSObjectRef, JSObjectMakeError,
    (JSContextRef context, size_t count, const JSValueRef arguments[], JSValueRef *exception),
    (context, count, arguments, exception))
FUNCTION(JSObjectRef, JSObjectMakeDeferredPromise,
    (JSContextRef context, JSObjectRef *resolve, JSObjectRef *reject, JSValueRef *exception),
    (context, resolve, reject, exception))

// Binary data
FUNCTION(JSObjectRef, JSObjectMakeArrayBufferWithBytesNoCopy,
    (JSContextRef context, void *bytes, size_t count, JSTypedArrayBytesDeallocator deallocator, void *info,
     JSValueRef *exception),
    (context, bytes, count, deallocator, info, exception))
FUNCTION(void *, JSObjectGetArrayBufferBytesPtr,
    (JSContextRef context, JSObjectRef buffer, JSValueRef *exception), (context, buffer, exception))
FUNCTION(size_t, JSObjectGetArrayBufferByteLength,
    (JSContextRef context, JSObjectRef buffer, JSValueRef *exception), (context, buffer, exception))
FUNCTION(void *, JSObjectGetTypedArrayBytesPtr,
    (JSContextRef context, JSObjectRef array, JSValueRef *exception), (context, array, exception))
FUNCTION(size_t, JSObjectGetTypedArrayByteOffset,
    (JSContextRef context, JSObjectRef array, JSValueRef *exception), (context, array, exception))
FUNCTION(size_t, JSObjectGetTypedArrayByteLength,
    (JSContextRef context, JSObjectRef array, JSValueRef *exception), (context, array, exception))

// Exported by the library, and declared in none of the headers that come with it
FUNCTION(void, JSContextGroupSetExecutionTimeLimit,
    (JSContextGroupRef group, double seconds, JSShouldTerminateCallback callback, void *info),
    (group, seconds, callback, info))
FUNCTION(void, JSContextGroupClearExecutionTimeLimit, (JSContextGroupRef group), (group))
FUNCTION(bool, JSConfigureSignalForGC, (int signal), (signal))
FUNCTION(void, JSGlobalContextSetEvalEnabled,
    (JSGlobalContextRef context, bool isEnabled, JSStringRef message), (context, isEnabled, message))
FUNCTION(void, JSGlobalContextSetUnhandledRejectionCallback,
    (JSGlobalContextRef context, JSObjectRef function, JSValueRef *exception), (context, function, exception))
FUNCTION(void, JSSynchronousGarbageCollectForDebugging, (JSContextRef context), (context))
FUNCTION(JSObjectRef, JSGetMemoryUsageStatistics, (JSContextRef context), (context))
FUNCTION(int, jsc_options_set_boolean, (const char *name, int value), (name, value))

#undef FUNCTION
#endif

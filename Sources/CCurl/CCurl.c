#include "CCurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

// The library's functions, by name.
static struct {
#define PAGEKIT_CURL_FUNCTION(result, name, parameters, arguments) result(*name) parameters;
#include "CurlFunctions.h"
#undef PAGEKIT_CURL_FUNCTION
  CURLcode (*easySetopt)(CURL *easy, CURLoption option, ...);
  CURLcode (*easyGetinfo)(CURL *easy, CURLINFO info, ...);
  CURLMcode (*multiSetopt)(CURLM *multi, CURLMoption option, ...);
  CURLSHcode (*shareSetopt)(CURLSH *share, CURLSHoption option, ...);
} library;

#define PAGEKIT_CURL_FUNCTION(result, name, parameters, arguments) \
  result name parameters { return library.name arguments; }
#include "CurlFunctions.h"
#undef PAGEKIT_CURL_FUNCTION

// MARK: Loading

static const char libraryName[] = "libcurl.so.4";
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char failure[512];

// The address of a function; the first one that is missing is the failure.
static void *find(void *handle, const char *name) {
  void *address = dlsym(handle, name);
  if (!address && !failure[0]) {
    snprintf(failure, sizeof failure, "%s has no function %s: install a newer libcurl4", libraryName, name);
  }
  return address;
}

static void load(void) {
  // A function that the library itself calls is looked up when it first does: there are thousands.
  void *handle = dlopen(libraryName, RTLD_LAZY | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    snprintf(
        failure, sizeof failure, "libcurl cannot be loaded: install libcurl4 (%s)",
        reason ? reason : "the loader gives no reason");
    return;
  }
#define PAGEKIT_CURL_FUNCTION(result, name, parameters, arguments) *(void **)&library.name = find(handle, #name);
#include "CurlFunctions.h"
#undef PAGEKIT_CURL_FUNCTION
  *(void **)&library.easySetopt = find(handle, "curl_easy_setopt");
  *(void **)&library.easyGetinfo = find(handle, "curl_easy_getinfo");
  *(void **)&library.multiSetopt = find(handle, "curl_multi_setopt");
  *(void **)&library.shareSetopt = find(handle, "curl_share_setopt");
}

const char *pk_load_curl(void) {
  pthread_once(&once, load);
  return failure[0] ? failure : NULL;
}

// MARK: Variadic functions

CURLcode pk_setopt_long(CURL *easy, CURLoption option, long value) { return library.easySetopt(easy, option, value); }
CURLcode pk_setopt_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return library.easySetopt(easy, option, value);
}
CURLcode pk_setopt_string(CURL *easy, CURLoption option, const char *value) {
  return library.easySetopt(easy, option, value);
}
CURLcode pk_setopt_pointer(CURL *easy, CURLoption option, void *value) {
  return library.easySetopt(easy, option, value);
}
CURLcode pk_setopt_data_callback(CURL *easy, CURLoption option, pk_data_callback callback) {
  return library.easySetopt(easy, option, callback);
}
CURLcode pk_setopt_prereq(CURL *easy, curl_prereq_callback callback) {
  return library.easySetopt(easy, CURLOPT_PREREQFUNCTION, callback);
}
CURLcode pk_setopt_trailers(CURL *easy, curl_trailer_callback callback) {
  return library.easySetopt(easy, CURLOPT_TRAILERFUNCTION, callback);
}
CURLcode pk_setopt_opened_socket(CURL *easy, curl_sockopt_callback callback) {
  return library.easySetopt(easy, CURLOPT_SOCKOPTFUNCTION, callback);
}
CURLcode pk_setopt_close_socket(CURL *easy, curl_closesocket_callback callback) {
  return library.easySetopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

CURLMcode pk_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
  return library.multiSetopt(multi, option, value);
}
CURLMcode pk_multi_setopt_socket(CURLM *multi, curl_socket_callback callback, void *context) {
  CURLMcode code = library.multiSetopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  return code == CURLM_OK ? library.multiSetopt(multi, CURLMOPT_SOCKETDATA, context) : code;
}
CURLMcode pk_multi_setopt_timer(CURLM *multi, curl_multi_timer_callback callback, void *context) {
  CURLMcode code = library.multiSetopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  return code == CURLM_OK ? library.multiSetopt(multi, CURLMOPT_TIMERDATA, context) : code;
}

CURLSHcode pk_share_setopt_data(CURLSH *share, CURLSHoption option, curl_lock_data value) {
  return library.shareSetopt(share, option, value);
}
CURLSHcode pk_share_setopt_pointer(CURLSH *share, CURLSHoption option, void *value) {
  return library.shareSetopt(share, option, value);
}
CURLSHcode pk_share_setopt_lock(CURLSH *share, curl_lock_function lock, curl_unlock_function unlock) {
  CURLSHcode code = library.shareSetopt(share, CURLSHOPT_LOCKFUNC, lock);
  return code == CURLSHE_OK ? library.shareSetopt(share, CURLSHOPT_UNLOCKFUNC, unlock) : code;
}

CURLcode pk_getinfo_long(CURL *easy, CURLINFO info, long *value) { return library.easyGetinfo(easy, info, value); }
CURLcode pk_getinfo_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return library.easyGetinfo(easy, info, value);
}
CURLcode pk_getinfo_pointer(CURL *easy, CURLINFO info, void **value) { return library.easyGetinfo(easy, info, value); }
CURLcode pk_getinfo_socket(CURL *easy, CURLINFO info, curl_socket_t *value) {
  return library.easyGetinfo(easy, info, value);
}
CURLcode pk_getinfo_list(CURL *easy, CURLINFO info, struct curl_slist **value) {
  return library.easyGetinfo(easy, info, value);
}

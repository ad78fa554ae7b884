// The peer of the page benchmark: the least that JavaScriptCore does for a page, without PageKit.
//
//   bare-engine stub PAGES BUNDLE
//   bare-engine framework PAGES BUNDLE FILE...
//   bare-engine first PAGES BUNDLE FILE...
//
// Pages open one after the other in one context group, each in a context of its own, and are closed. With `stub`, the
// document's methods do nothing; with `framework`, the built-in framework runs, and its commands are thrown away as text.
// With `first`, each page has an engine of its own: the making of the engine and the booting of the framework count too,
// and the page's end does not.
// Prints the median milliseconds of a page, from the making of its context to its end, without the first quarter.

#include <JavaScriptCore/JavaScript.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double milliseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void fail(const char *what, const char *why) {
  fprintf(stderr, "bare-engine: %s: %s\n", what, why);
  exit(1);
}

// The whole file, and a zero byte.
static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) fail(path, "cannot be read");
  long size = ftell(file);
  char *text = size < 0 ? NULL : calloc(1, (size_t)size + 1);
  rewind(file);
  if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) fail(path, "cannot be read");
  fclose(file);
  return text;
}

static JSValueRef run(JSContextRef context, const char *script, const char *name) {
  JSStringRef text = JSStringCreateWithUTF8CString(script), url = JSStringCreateWithUTF8CString(name);
  JSValueRef thrown = NULL;
  JSValueRef value = JSEvaluateScript(context, text, NULL, url, 1, &thrown);
  JSStringRelease(text);
  JSStringRelease(url);
  if (thrown) {
    char message[500] = "";
    JSStringRef described = JSValueToStringCopy(context, thrown, NULL);
    if (described) JSStringGetUTF8CString(described, message, sizeof message);
    fail(name, message);
  }
  return value;
}

static JSValueRef call(JSContextRef context, JSValueRef function, size_t count, const JSValueRef arguments[]) {
  JSValueRef thrown = NULL;
  JSValueRef value = JSObjectCallAsFunction(context, (JSObjectRef)function, NULL, count, arguments, &thrown);
  if (thrown) fail("a function", "threw an error");
  return value;
}

static const char stub[] =
    "class Element { appendChild(node) { return node } addEvent() {} setAttr() {} setStyle() {} }\n"
    "var weex = { document: { documentElement: new Element(), createBody() { return new Element() },\n"
    "  createElement() { return new Element() } } }";

// What the framework's files expect of the host.
static const char host[] =
    "var WXEnvironment = {}, atob = String, btoa = String, pending = { text: '' }\n"
    "var console = { log() {}, info() {}, warn() {}, error() {}, debug() {} }\n"
    "function callNativeModule() {} function callNativeComponent() {}\n"
    "function begin() { pending.text = ''; return true }";

static const char opening[] =
    "(function (id, global) {\n"
    "  var members = createInstanceContext(id, { env: {}, bundleUrl: 'page.js' }, {})\n"
    "  for (var name in members) global[name] = members[name]\n"
    "})";

// A context with the framework booted in it, and its functions that open and end pages.
struct framework {
  JSGlobalContextRef home;
  JSValueRef open, close;
};

static struct framework boot(JSContextGroupRef group, int count, char **files) {
  struct framework made = {JSGlobalContextCreateInGroup(group, NULL), NULL, NULL};
  run(made.home, host, "host");
  for (int index = 0; index < count; index++) {
    char *text = read_file(files[index]);
    // `commands.js` is a function of the host's part.
    bool is_commands = strstr(files[index], "commands.js") != NULL;
    JSValueRef value = run(made.home, text, files[index]);
    if (is_commands) {
      JSValueRef parts[] = {run(made.home, "begin", "begin"), run(made.home, "pending", "pending")};
      call(made.home, value, 2, parts);
    }
    free(text);
  }
  run(made.home, "registerModules({}); registerComponents(['div', 'list', 'cell', 'text'])", "components");
  made.open = run(made.home, opening, "opening");
  made.close = run(made.home, "destroyInstance", "closing");
  JSValueProtect(made.home, made.open);
  JSValueProtect(made.home, made.close);
  return made;
}

// Opens a page; ended by the caller.
static JSGlobalContextRef open_page(
    JSContextGroupRef group, const struct framework *framework, int page, const char *bundle, const char *name) {
  JSGlobalContextRef context = JSGlobalContextCreateInGroup(group, NULL);
  if (framework) {
    JSValueRef parts[] = {JSValueMakeNumber(framework->home, page), JSContextGetGlobalObject(context)};
    call(framework->home, framework->open, 2, parts);
  } else {
    run(context, stub, "stub");
  }
  run(context, bundle, name);
  return context;
}

// A page in an engine of its own, after a pause as the benchmark of hosts makes it.
static double first_page(int count, char **files, int page, const char *bundle, const char *name) {
  struct timespec pause = {0, 100000000};
  nanosleep(&pause, NULL);
  double start = milliseconds();
  JSContextGroupRef group = JSContextGroupCreate();
  struct framework framework = boot(group, count, files);
  JSGlobalContextRef context = open_page(group, &framework, page, bundle, name);
  double time = milliseconds() - start;
  JSGlobalContextRelease(context);
  JSGlobalContextRelease(framework.home);
  JSContextGroupRelease(group);
  return time;
}

int main(int count, char **arguments) {
  const char *mode = count > 1 ? arguments[1] : "";
  bool is_first = count > 4 && strcmp(mode, "first") == 0;
  bool has_framework = is_first || (count > 4 && strcmp(mode, "framework") == 0);
  int pages = count > 3 ? atoi(arguments[2]) : 0;
  if (pages < 4 || pages > 100000 || !(has_framework || strcmp(mode, "stub") == 0)) {
    fprintf(stderr, "usage: bare-engine stub|framework|first PAGES BUNDLE [FILE...]\n");
    return 64;
  }
  char *bundle = read_file(arguments[3]);
  double *times = calloc((size_t)pages, sizeof *times);
  if (!times) fail("times", "no memory");
  JSContextGroupRef group = JSContextGroupCreate();
  struct framework framework = {NULL, NULL, NULL};
  if (has_framework && !is_first) framework = boot(group, count - 4, arguments + 4);
  for (int page = 0; page < pages; page++) {
    if (is_first) {
      times[page] = first_page(count - 4, arguments + 4, page, bundle, arguments[3]);
      continue;
    }
    double start = milliseconds();
    JSGlobalContextRef context =
        open_page(group, has_framework ? &framework : NULL, page, bundle, arguments[3]);
    if (has_framework) {
      JSValueRef parts[] = {JSValueMakeNumber(framework.home, page)};
      call(framework.home, framework.close, 1, parts);
      run(framework.home, "pending.text = ''", "end");
    }
    JSGlobalContextRelease(context);
    times[page] = milliseconds() - start;
  }
  // Insertion sort: the pages are few, and mostly alike.
  int from = pages / 4;
  for (int index = from + 1; index < pages; index++) {
    double time = times[index];
    int place = index;
    for (; place > from && times[place - 1] > time; place--) times[place] = times[place - 1];
    times[place] = time;
  }
  printf("%.4f\n", times[from + (pages - from) / 2]);
  return 0;
}

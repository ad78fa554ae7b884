#include "CNATS.h"

#include "libnats.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pk_nats_result fail(char *error, size_t room, const char *reason) {
  if (error && room) snprintf(error, room, "%s", reason ? reason : "it gives no reason");
  return PK_NATS_FAILED;
}

// The library's functions, by name.
static struct {
#define PAGEKIT_NATS_MEMBER(result, name, parameters) result(*name) parameters;
  PAGEKIT_NATS_FUNCTIONS(PAGEKIT_NATS_MEMBER)
} library;

// MARK: Loading

static const char libraryName[] = "libnats.so.3.4";
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char failure[512];

static void load(void) {
  void *handle = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    snprintf(
        failure, sizeof failure, "libnats cannot be loaded: install libnats3.4 (%s)",
        reason ? reason : "the loader gives no reason");
    return;
  }
#define PAGEKIT_NATS_FIND(result, name, parameters) \
  *(void **)&library.name = dlsym(handle, #name); \
  if (!library.name && !failure[0]) snprintf(failure, sizeof failure, "%s has no function " #name, libraryName);
  PAGEKIT_NATS_FUNCTIONS(PAGEKIT_NATS_FIND)
}

// MARK: Connections

struct pk_nats {
  natsConnection *connection;
  jsCtx *stream;
  pk_nats_state state;
  void *context;
  pthread_mutex_t lock;
  // Of those who wait until the connection is closed.
  pthread_cond_t closing;
  bool isClosed;
  // Why there is no connection, as a server has said; empty if none has. A later failure that says less does not replace it.
  char reason[256];
};

// Notes why there is no connection.
//
// Where all servers have refused it, libnats goes on to say that there is none.
static void noteReason(pk_nats *nats, natsConnection *connection) {
  const char *text = NULL;
  natsStatus status = library.natsConnection_GetLastError(connection, &text);
  if (status == NATS_OK || status == NATS_NO_SERVER || !text || !text[0]) return;
  pthread_mutex_lock(&nats->lock);
  snprintf(nats->reason, sizeof nats->reason, "%s", text);
  pthread_mutex_unlock(&nats->lock);
}

static pk_nats_result result(pk_nats *nats, natsStatus status, jsErrCode code, char *error, size_t room) {
  if (status == NATS_OK) return PK_NATS_OK;
  if (status == NATS_NOT_FOUND || code == JSStreamNotFoundErr) return PK_NATS_NONE;
  if (code == JSStreamWrongLastSequenceErr) return PK_NATS_CONFLICT;
  // A cluster that has no leader yet.
  if (code == JSClusterNotAvailErr) {
    fail(error, room, "JetStream is not available yet");
    return PK_NATS_AWAY;
  }
  switch (status) {
    case NATS_NO_SERVER:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_CONNECTION_CLOSED:
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_STALE_CONNECTION:
    case NATS_NOT_YET_CONNECTED:
    case NATS_IO_ERROR:
    case NATS_TIMEOUT:
    // The buffer of what is sent once there is a connection has no room.
    case NATS_INSUFFICIENT_BUFFER:
      fail(error, room, "no server answers");
      if (!nats || !nats->connection) return PK_NATS_AWAY;
      noteReason(nats, nats->connection);
      pthread_mutex_lock(&nats->lock);
      if (nats->reason[0]) fail(error, room, nats->reason);
      pthread_mutex_unlock(&nats->lock);
      return PK_NATS_AWAY;
    default: break;
  }
  natsStatus last = NATS_OK;
  const char *text = library.nats_GetLastError(&last);
  bool isReason = text && text[0] && last == status;
  fail(error, room, isReason ? text : library.natsStatus_GetText(status));
  return status == NATS_NO_RESPONDERS ? PK_NATS_AWAY : PK_NATS_FAILED;
}

static void lost(natsConnection *connection, void *context) {
  pk_nats *nats = context;
  noteReason(nats, connection);
  nats->state(nats->context, false);
}

static void made(natsConnection *connection, void *context) {
  pk_nats *nats = context;
  pthread_mutex_lock(&nats->lock);
  nats->reason[0] = 0;
  pthread_mutex_unlock(&nats->lock);
  nats->state(nats->context, true);
}

static void closed(natsConnection *connection, void *context) {
  pk_nats *nats = context;
  pthread_mutex_lock(&nats->lock);
  nats->isClosed = true;
  pthread_cond_broadcast(&nats->closing);
  pthread_mutex_unlock(&nats->lock);
}

// Splits a list with commas, at most as many as there is room for.
static int split(char *text, const char **parts, int room) {
  int count = 0;
  char *rest = NULL;
  for (char *part = strtok_r(text, ",", &rest); part && count < room; part = strtok_r(NULL, ",", &rest)) {
    parts[count++] = part;
  }
  return count;
}

static natsStatus set(natsOptions *options, const pk_nats_settings *settings, pk_nats *nats) {
  const char *servers[64];
  char *list = strdup(settings->servers);
  if (!list) return NATS_NO_MEMORY;
  natsStatus status = library.natsOptions_SetServers(options, servers, split(list, servers, 64));
  bool isSecure = strstr(settings->servers, "tls://") == settings->servers;
  free(list);
#define PAGEKIT_NATS_SET(call) \
  if (status == NATS_OK) status = library.call
  PAGEKIT_NATS_SET(natsOptions_SetName(options, settings->name));
  PAGEKIT_NATS_SET(natsOptions_SetTimeout(options, 2000));
  PAGEKIT_NATS_SET(natsOptions_SetMaxReconnect(options, -1));
  PAGEKIT_NATS_SET(natsOptions_SetReconnectWait(options, 500));
  // What cannot be sent now fails now.
  PAGEKIT_NATS_SET(natsOptions_SetReconnectBufSize(options, 1));
  PAGEKIT_NATS_SET(natsOptions_SetPingInterval(options, 2000));
  PAGEKIT_NATS_SET(natsOptions_SetDisconnectedCB(options, lost, nats));
  PAGEKIT_NATS_SET(natsOptions_SetReconnectedCB(options, made, nats));
  PAGEKIT_NATS_SET(natsOptions_SetClosedCB(options, closed, nats));
  PAGEKIT_NATS_SET(natsOptions_SetRetryOnFailedConnect(options, true, made, nats));
  if (settings->credentials) {
    PAGEKIT_NATS_SET(natsOptions_SetUserCredentialsFromFiles(options, settings->credentials, NULL));
  }
  if (settings->user) PAGEKIT_NATS_SET(natsOptions_SetUserInfo(options, settings->user, settings->password));
  if (settings->token) PAGEKIT_NATS_SET(natsOptions_SetToken(options, settings->token));
  if (isSecure) PAGEKIT_NATS_SET(natsOptions_SetSecure(options, true));
  if (settings->authorities) {
    PAGEKIT_NATS_SET(natsOptions_LoadCATrustedCertificates(options, settings->authorities));
  }
  if (settings->certificate) {
    PAGEKIT_NATS_SET(natsOptions_LoadCertificatesChain(options, settings->certificate, settings->key));
  }
  return status;
}

// Ends a connection that may not have been made, when none of its callbacks can come any more.
static void finish(pk_nats *nats) {
  if (nats->connection) {
    library.natsConnection_Close(nats->connection);
    pthread_mutex_lock(&nats->lock);
    while (!nats->isClosed) pthread_cond_wait(&nats->closing, &nats->lock);
    pthread_mutex_unlock(&nats->lock);
    library.jsCtx_Destroy(nats->stream);
    library.natsConnection_Destroy(nats->connection);
  }
  pthread_cond_destroy(&nats->closing);
  pthread_mutex_destroy(&nats->lock);
  free(nats);
}

pk_nats_result pk_nats_open(
    pk_nats **out, const pk_nats_settings *settings, pk_nats_state state, void *context, char *error, size_t room) {
  pthread_once(&once, load);
  if (failure[0]) {
    fail(error, room, failure);
    return PK_NATS_UNAVAILABLE;
  }
  pk_nats *nats = calloc(1, sizeof *nats);
  natsOptions *options = NULL;
  if (nats) {
    nats->state = state;
    nats->context = context;
    pthread_mutex_init(&nats->lock, NULL);
    pthread_cond_init(&nats->closing, NULL);
  }
  natsStatus status = nats ? library.natsOptions_Create(&options) : NATS_NO_MEMORY;
  if (status == NATS_OK) status = set(options, settings, nats);
  if (status == NATS_OK) status = library.natsConnection_Connect(&nats->connection, options);
  bool isConnected = status == NATS_OK;
  if (status == NATS_NOT_YET_CONNECTED) {
    // It goes on trying.
    status = NATS_OK;
    noteReason(nats, nats->connection);
  }
  library.natsOptions_Destroy(options);
  if (status == NATS_OK) status = library.natsConnection_JetStream(&nats->stream, nats->connection, NULL);
  if (status != NATS_OK) {
    pk_nats_result found = result(nats, status, 0, error, room);
    if (nats) finish(nats);
    return found;
  }
  if (isConnected) state(context, true);
  *out = nats;
  return PK_NATS_OK;
}

bool pk_nats_is_closed(pk_nats *nats) {
  pthread_mutex_lock(&nats->lock);
  bool isClosed = nats->isClosed;
  pthread_mutex_unlock(&nats->lock);
  return isClosed;
}

void pk_nats_close(pk_nats *nats) { finish(nats); }

// MARK: Streams

pk_nats_result pk_nats_make_stream(pk_nats *nats, const pk_nats_stream *stream, char *error, size_t room) {
  jsStreamInfo *info = NULL;
  jsErrCode code = 0;
  natsStatus status = library.js_GetStreamInfo(&info, nats->stream, stream->name, NULL, &code);
  library.jsStreamInfo_Destroy(info);
  if (status != NATS_NOT_FOUND && code != JSStreamNotFoundErr) return result(nats, status, code, error, room);
  jsStreamConfig configuration;
  library.jsStreamConfig_Init(&configuration);
  const char *subjects[] = {stream->subject};
  configuration.Name = stream->name;
  configuration.Subjects = subjects;
  configuration.SubjectsLen = 1;
  configuration.Replicas = stream->replicas;
  if (stream->messages) configuration.MaxMsgs = stream->messages;
  if (stream->bytes) configuration.MaxBytes = stream->bytes;
  if (stream->age) configuration.MaxAge = stream->age;
  code = 0;
  status = library.js_AddStream(&info, nats->stream, &configuration, NULL, &code);
  library.jsStreamInfo_Destroy(info);
  // Another host has made it meanwhile.
  return code == JSStreamNameExistErr ? PK_NATS_OK : result(nats, status, code, error, room);
}

pk_nats_result pk_nats_get_span(
    pk_nats *nats, const char *stream, int64_t milliseconds, pk_nats_span *span, char *error, size_t room) {
  jsOptions options;
  library.jsOptions_Init(&options);
  options.Wait = milliseconds;
  jsStreamInfo *info = NULL;
  jsErrCode code = 0;
  natsStatus status = library.js_GetStreamInfo(&info, nats->stream, stream, &options, &code);
  if (status == NATS_OK) {
    span->made = info->Created;
    // A new stream has no first message yet.
    span->first = info->State.FirstSeq ? info->State.FirstSeq : 1;
    span->last = info->State.LastSeq;
    span->time = info->State.LastTime;
  }
  library.jsStreamInfo_Destroy(info);
  return result(nats, status, code, error, room);
}

pk_nats_result pk_nats_append(
    pk_nats *nats, const char *subject, const char *id, int64_t milliseconds, const void *bytes, int count,
    uint64_t *sequence, char *error, size_t room) {
  jsPubOptions options;
  library.jsPubOptions_Init(&options);
  options.MaxWait = milliseconds;
  options.MsgId = id;
  jsPubAck *answer = NULL;
  jsErrCode code = 0;
  natsStatus status = library.js_Publish(&answer, nats->stream, subject, bytes, count, &options, &code);
  if (status == NATS_OK) *sequence = answer->Sequence;
  library.jsPubAck_Destroy(answer);
  return result(nats, status, code, error, room);
}

// MARK: Keys

pk_nats_result pk_nats_get_key(
    pk_nats *nats, const char *bucket, const char *key, uint64_t *revision, void **bytes, int *count, char *error,
    size_t room) {
  kvStore *store = NULL;
  kvEntry *entry = NULL;
  natsStatus status = library.js_KeyValue(&store, nats->stream, bucket);
  if (status == NATS_OK) status = library.kvStore_Get(&entry, store, key);
  if (status == NATS_OK) {
    *count = library.kvEntry_ValueLen(entry);
    *revision = library.kvEntry_Revision(entry);
    *bytes = malloc(*count > 0 ? (size_t)*count : 1);
    if (*bytes) {
      memcpy(*bytes, library.kvEntry_Value(entry), (size_t)*count);
    } else {
      status = NATS_NO_MEMORY;
    }
  }
  pk_nats_result found = result(nats, status, 0, error, room);
  library.kvEntry_Destroy(entry);
  library.kvStore_Destroy(store);
  return found;
}

// Writes a value if its key has a revision, 0 for a key that is not there.
static natsStatus put(
    pk_nats *nats, const char *subject, uint64_t revision, const void *bytes, int count, uint64_t *next,
    jsErrCode *code) {
  jsPubOptions options;
  library.jsPubOptions_Init(&options);
  options.ExpectNoMessage = revision == 0;
  options.ExpectLastSubjectSeq = revision;
  jsPubAck *answer = NULL;
  *code = 0;
  natsStatus status = library.js_Publish(&answer, nats->stream, subject, bytes, count, &options, code);
  if (status == NATS_OK) *next = answer->Sequence;
  library.jsPubAck_Destroy(answer);
  return status;
}

// The revision of the mark that stands for a removed key, 0 for none.
static uint64_t removal(pk_nats *nats, kvStore *store, const char *stream, const char *subject, const char *key) {
  kvEntry *entry = NULL;
  natsStatus status = library.kvStore_Get(&entry, store, key);
  library.kvEntry_Destroy(entry);
  if (status != NATS_NOT_FOUND) return 0;
  natsMsg *mark = NULL;
  status = library.js_GetLastMsg(&mark, nats->stream, stream, subject, NULL, NULL);
  uint64_t revision = status == NATS_OK ? library.natsMsg_GetSequence(mark) : 0;
  library.natsMsg_Destroy(mark);
  return revision;
}

pk_nats_result pk_nats_replace_key(
    pk_nats *nats, const char *bucket, int replicas, const char *key, uint64_t *revision, const void *bytes, int count,
    char *error, size_t room) {
  // As the buckets of NATS are kept. The functions for them say by text alone that a key has another revision.
  char stream[256], subject[512];
  int streamLength = snprintf(stream, sizeof stream, "KV_%s", bucket);
  int subjectLength = snprintf(subject, sizeof subject, "$KV.%s.%s", bucket, key);
  if (streamLength < 0 || (size_t)streamLength >= sizeof stream || subjectLength < 0
      || (size_t)subjectLength >= sizeof subject) {
    return fail(error, room, "the name of the key is too long");
  }
  kvStore *store = NULL;
  natsStatus status = library.js_KeyValue(&store, nats->stream, bucket);
  if (status == NATS_NOT_FOUND) {
    kvConfig configuration;
    library.kvConfig_Init(&configuration);
    configuration.Bucket = bucket;
    configuration.History = 1;
    configuration.Replicas = replicas;
    status = library.js_CreateKeyValue(&store, nats->stream, &configuration);
  }
  uint64_t next = 0;
  jsErrCode code = 0;
  if (status == NATS_OK) status = put(nats, subject, *revision, bytes, count, &next, &code);
  if (code == JSStreamWrongLastSequenceErr && !*revision) {
    uint64_t removed = removal(nats, store, stream, subject, key);
    if (removed) status = put(nats, subject, removed, bytes, count, &next, &code);
  }
  pk_nats_result found = result(nats, status, code, error, room);
  if (found == PK_NATS_OK) *revision = next;
  library.kvStore_Destroy(store);
  return found;
}

// MARK: Messages

// A subscription. Its callbacks know it by a number: libnats may call after a subscription could not be set up, or was
// ended with its connection, and does not say when it has called for the last time.
struct pk_nats_subscription {
  uintptr_t number;
  pk_nats_subscription *next;
  natsSubscription *value;
  pk_nats_message message;
  pk_nats_end end;
  void *context;
  // The list below, and the callbacks that run. The last one calls `end`.
  int users;
  // The users together, and the one who ends it. The last one frees it.
  int holders;
};

static pthread_mutex_t subscriptionsLock = PTHREAD_MUTEX_INITIALIZER;
// Those that may be called.
static pk_nats_subscription *subscriptions;
static uintptr_t lastNumber;

// Finds a subscription, which is used until it is released; NULL if it is not to be called any more.
//
// `isLast` takes it from those that may be called.
static pk_nats_subscription *use(uintptr_t number, bool isLast) {
  pthread_mutex_lock(&subscriptionsLock);
  pk_nats_subscription **place = &subscriptions;
  while (*place && (*place)->number != number) place = &(*place)->next;
  pk_nats_subscription *found = *place;
  if (found && isLast) *place = found->next;
  if (found && !isLast) found->users += 1;
  pthread_mutex_unlock(&subscriptionsLock);
  return found;
}

static void letGo(pk_nats_subscription *subscription) {
  pthread_mutex_lock(&subscriptionsLock);
  bool isLast = --subscription->holders == 0;
  pthread_mutex_unlock(&subscriptionsLock);
  if (isLast) free(subscription);
}

static void release(pk_nats_subscription *subscription) {
  pthread_mutex_lock(&subscriptionsLock);
  bool isLast = --subscription->users == 0;
  pthread_mutex_unlock(&subscriptionsLock);
  if (!isLast) return;
  subscription->end(subscription->context);
  letGo(subscription);
}

static void receive(natsConnection *connection, natsSubscription *value, natsMsg *message, void *number) {
  pk_nats_subscription *receiver = use((uintptr_t)number, false);
  if (receiver) {
    pk_nats_place place = {0};
    jsMsgMetaData *about = NULL;
    if (library.natsMsg_GetMetaData(&about, message) == NATS_OK) {
      place = (pk_nats_place){
          .sequence = about->Sequence.Stream, .time = about->Timestamp, .delivery = about->Sequence.Consumer};
    }
    library.jsMsgMetaData_Destroy(about);
    receiver->message(
        receiver->context, place, library.natsMsg_GetData(message), library.natsMsg_GetDataLength(message));
    release(receiver);
  }
  library.natsMsg_Destroy(message);
}

static void complete(void *number) {
  pk_nats_subscription *subscription = use((uintptr_t)number, true);
  if (subscription) release(subscription);
}

static pk_nats_subscription *newSubscription(pk_nats_message message, pk_nats_end end, void *context) {
  pk_nats_subscription *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->message = message;
  made->end = end;
  made->context = context;
  made->users = 1;
  made->holders = 2;
  pthread_mutex_lock(&subscriptionsLock);
  made->number = ++lastNumber;
  made->next = subscriptions;
  subscriptions = made;
  pthread_mutex_unlock(&subscriptionsLock);
  return made;
}

static pk_nats_result give(
    pk_nats *nats, pk_nats_subscription *made, pk_nats_subscription **out, natsStatus status, jsErrCode code,
    char *error, size_t room) {
  if (status == NATS_OK) {
    status = library.natsSubscription_SetOnCompleteCB(made->value, complete, (void *)made->number);
    if (status == NATS_OK) {
      *out = made;
      return PK_NATS_OK;
    }
    // It has been closed already, with its connection, and may still be calling.
    library.natsSubscription_Destroy(made->value);
    status = NATS_CONNECTION_CLOSED;
  }
  complete((void *)made->number);
  letGo(made);
  return result(nats, status, code, error, room);
}

pk_nats_result pk_nats_follow(
    pk_nats *nats, const char *stream, const char *subject, uint64_t first, pk_nats_message message, pk_nats_end end,
    void *context, pk_nats_subscription **subscription, char *error, size_t room) {
  pk_nats_subscription *made = newSubscription(message, end, context);
  if (!made) {
    end(context);
    return result(nats, NATS_NO_MEMORY, 0, error, room);
  }
  jsSubOptions options;
  library.jsSubOptions_Init(&options);
  options.Stream = stream;
  options.Ordered = true;
  if (first > 1) {
    options.Config.DeliverPolicy = js_DeliverByStartSequence;
    options.Config.OptStartSeq = first;
  }
  jsErrCode code = 0;
  natsStatus status = library.js_Subscribe(
      &made->value, nats->stream, subject, receive, (void *)made->number, NULL, &options, &code);
  return give(nats, made, subscription, status, code, error, room);
}

pk_nats_result pk_nats_listen(
    pk_nats *nats, const char *subject, pk_nats_message message, pk_nats_end end, void *context,
    pk_nats_subscription **subscription, char *error, size_t room) {
  pk_nats_subscription *made = newSubscription(message, end, context);
  if (!made) {
    end(context);
    return result(nats, NATS_NO_MEMORY, 0, error, room);
  }
  natsStatus status = library.natsConnection_Subscribe(
      &made->value, nats->connection, subject, receive, (void *)made->number);
  return give(nats, made, subscription, status, 0, error, room);
}

void pk_nats_stop(pk_nats_subscription *subscription) {
  library.natsSubscription_Unsubscribe(subscription->value);
  library.natsSubscription_Destroy(subscription->value);
  letGo(subscription);
}

pk_nats_result pk_nats_send(
    pk_nats *nats, const char *subject, const void *bytes, int count, char *error, size_t room) {
  return result(nats, library.natsConnection_Publish(nats->connection, subject, bytes, count), 0, error, room);
}

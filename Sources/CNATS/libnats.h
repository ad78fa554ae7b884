#ifndef PAGEKIT_LIBNATS_H
#define PAGEKIT_LIBNATS_H

#include <stdbool.h>
#include <stdint.h>

// The part of the binary interface of libnats 3.4 that CNATS.c uses. The library is found by this version's name when it
// is loaded, so that building needs neither its headers nor the library itself.
//
// Structures have the members that are used at their places on 64-bit Linux, and room for the others: the library's
// functions that fill them in write all of it.

typedef struct natsConnection natsConnection;
typedef struct natsOptions natsOptions;
typedef struct natsSubscription natsSubscription;
typedef struct natsMsg natsMsg;
typedef struct jsCtx jsCtx;
typedef struct kvStore kvStore;
typedef struct kvEntry kvEntry;

typedef enum {
  NATS_OK = 0,
  NATS_IO_ERROR = 3,
  NATS_CONNECTION_CLOSED = 5,
  NATS_NO_SERVER = 6,
  NATS_STALE_CONNECTION = 7,
  NATS_CONNECTION_DISCONNECTED = 10,
  NATS_CONNECTION_AUTH_FAILED = 11,
  NATS_NOT_FOUND = 13,
  NATS_INSUFFICIENT_BUFFER = 23,
  NATS_NO_MEMORY = 24,
  NATS_TIMEOUT = 26,
  NATS_NOT_YET_CONNECTED = 31,
  NATS_NO_RESPONDERS = 34,
} natsStatus;

// Error codes of JetStream's servers.
typedef enum {
  JSClusterNotAvailErr = 10008,
  JSStreamNameExistErr = 10058,
  JSStreamNotFoundErr = 10059,
  JSStreamWrongLastSequenceErr = 10071,
} jsErrCode;

enum { js_DeliverByStartSequence = 3 };

typedef struct {
  const char *Name;
  int64_t description;
  const char **Subjects;
  int SubjectsLen;
  int retention;
  int64_t consumers;
  int64_t MaxMsgs;
  int64_t MaxBytes;
  int64_t MaxAge;
  int64_t limits[3];
  int64_t Replicas;
  int64_t others[9];
} jsStreamConfig;

typedef struct {
  void *configuration;
  int64_t Created;
  struct {
    uint64_t messages, bytes;
    uint64_t FirstSeq;
    int64_t firstTime;
    uint64_t LastSeq;
    int64_t LastTime;
  } State;
  // The members behind it are not used: the library makes and frees these structures.
} jsStreamInfo;

typedef struct {
  const char *prefix, *domain;
  int64_t Wait;
  int64_t others[11];
} jsOptions;

typedef struct {
  int64_t MaxWait;
  const char *MsgId;
  const char *stream, *lastID;
  uint64_t lastSequence;
  uint64_t ExpectLastSubjectSeq;
  bool ExpectNoMessage;
} jsPubOptions;

typedef struct {
  char *stream;
  uint64_t Sequence;
} jsPubAck;

typedef struct {
  const char *Stream;
  const char *consumer, *queue;
  bool isAcknowledgedByCaller;
  struct {
    const char *name, *durable, *description;
    int DeliverPolicy;
    uint64_t OptStartSeq;
    int64_t others[23];
  } Config;
  bool Ordered;
} jsSubOptions;

typedef struct {
  struct {
    uint64_t Consumer, Stream;
  } Sequence;
  uint64_t deliveries, pending;
  int64_t Timestamp;
} jsMsgMetaData;

typedef struct {
  const char *Bucket;
  const char *description;
  int32_t size;
  uint8_t History;
  int64_t age, bytes;
  int storage;
  int Replicas;
  void *republish;
} kvConfig;

_Static_assert(sizeof(void *) == 8 && sizeof(int) == 4, "the structures are those of 64-bit systems");
_Static_assert(sizeof(jsStreamConfig) == 168, "jsStreamConfig");
_Static_assert(sizeof(jsOptions) == 112, "jsOptions");
_Static_assert(sizeof(jsPubOptions) == 56, "jsPubOptions");
_Static_assert(sizeof(jsSubOptions) == 264, "jsSubOptions");
_Static_assert(sizeof(kvConfig) == 56, "kvConfig");

typedef void (*natsConnectionHandler)(natsConnection *, void *);
typedef void (*natsMsgHandler)(natsConnection *, natsSubscription *, natsMsg *, void *);
typedef void (*natsOnCompleteCB)(void *);

// USE(result, name, parameters) for each function.
#define PAGEKIT_NATS_FUNCTIONS(USE) \
  USE(const char *, natsStatus_GetText, (natsStatus)) \
  USE(const char *, nats_GetLastError, (natsStatus *)) \
  \
  USE(natsStatus, natsOptions_Create, (natsOptions **)) \
  USE(void, natsOptions_Destroy, (natsOptions *)) \
  USE(natsStatus, natsOptions_SetServers, (natsOptions *, const char **, int)) \
  USE(natsStatus, natsOptions_SetName, (natsOptions *, const char *)) \
  USE(natsStatus, natsOptions_SetTimeout, (natsOptions *, int64_t)) \
  USE(natsStatus, natsOptions_SetMaxReconnect, (natsOptions *, int)) \
  USE(natsStatus, natsOptions_SetReconnectWait, (natsOptions *, int64_t)) \
  USE(natsStatus, natsOptions_SetReconnectBufSize, (natsOptions *, int)) \
  USE(natsStatus, natsOptions_SetPingInterval, (natsOptions *, int64_t)) \
  USE(natsStatus, natsOptions_SetDisconnectedCB, (natsOptions *, natsConnectionHandler, void *)) \
  USE(natsStatus, natsOptions_SetReconnectedCB, (natsOptions *, natsConnectionHandler, void *)) \
  USE(natsStatus, natsOptions_SetClosedCB, (natsOptions *, natsConnectionHandler, void *)) \
  USE(natsStatus, natsOptions_SetRetryOnFailedConnect, (natsOptions *, bool, natsConnectionHandler, void *)) \
  USE(natsStatus, natsOptions_SetUserCredentialsFromFiles, (natsOptions *, const char *, const char *)) \
  USE(natsStatus, natsOptions_SetUserInfo, (natsOptions *, const char *, const char *)) \
  USE(natsStatus, natsOptions_SetToken, (natsOptions *, const char *)) \
  USE(natsStatus, natsOptions_SetSecure, (natsOptions *, bool)) \
  USE(natsStatus, natsOptions_LoadCATrustedCertificates, (natsOptions *, const char *)) \
  USE(natsStatus, natsOptions_LoadCertificatesChain, (natsOptions *, const char *, const char *)) \
  \
  USE(natsStatus, natsConnection_Connect, (natsConnection **, natsOptions *)) \
  USE(void, natsConnection_Close, (natsConnection *)) \
  USE(void, natsConnection_Destroy, (natsConnection *)) \
  USE(natsStatus, natsConnection_GetLastError, (natsConnection *, const char **)) \
  USE(natsStatus, natsConnection_JetStream, (jsCtx **, natsConnection *, jsOptions *)) \
  USE(natsStatus, natsConnection_Publish, (natsConnection *, const char *, const void *, int)) \
  USE(natsStatus, natsConnection_Subscribe, \
      (natsSubscription **, natsConnection *, const char *, natsMsgHandler, void *)) \
  \
  USE(natsStatus, natsSubscription_SetOnCompleteCB, (natsSubscription *, natsOnCompleteCB, void *)) \
  USE(natsStatus, natsSubscription_Unsubscribe, (natsSubscription *)) \
  USE(void, natsSubscription_Destroy, (natsSubscription *)) \
  \
  USE(const char *, natsMsg_GetData, (const natsMsg *)) \
  USE(int, natsMsg_GetDataLength, (const natsMsg *)) \
  USE(uint64_t, natsMsg_GetSequence, (natsMsg *)) \
  USE(natsStatus, natsMsg_GetMetaData, (jsMsgMetaData **, natsMsg *)) \
  USE(void, jsMsgMetaData_Destroy, (jsMsgMetaData *)) \
  USE(void, natsMsg_Destroy, (natsMsg *)) \
  \
  USE(void, jsCtx_Destroy, (jsCtx *)) \
  USE(natsStatus, jsOptions_Init, (jsOptions *)) \
  USE(natsStatus, jsStreamConfig_Init, (jsStreamConfig *)) \
  USE(natsStatus, js_AddStream, (jsStreamInfo **, jsCtx *, jsStreamConfig *, jsOptions *, jsErrCode *)) \
  USE(natsStatus, js_GetStreamInfo, (jsStreamInfo **, jsCtx *, const char *, jsOptions *, jsErrCode *)) \
  USE(void, jsStreamInfo_Destroy, (jsStreamInfo *)) \
  USE(natsStatus, jsPubOptions_Init, (jsPubOptions *)) \
  USE(natsStatus, js_Publish, (jsPubAck **, jsCtx *, const char *, const void *, int, jsPubOptions *, jsErrCode *)) \
  USE(void, jsPubAck_Destroy, (jsPubAck *)) \
  USE(natsStatus, js_GetLastMsg, (natsMsg **, jsCtx *, const char *, const char *, jsOptions *, jsErrCode *)) \
  USE(natsStatus, jsSubOptions_Init, (jsSubOptions *)) \
  USE(natsStatus, js_Subscribe, \
      (natsSubscription **, jsCtx *, const char *, natsMsgHandler, void *, jsOptions *, jsSubOptions *, jsErrCode *)) \
  \
  USE(natsStatus, kvConfig_Init, (kvConfig *)) \
  USE(natsStatus, js_CreateKeyValue, (kvStore **, jsCtx *, kvConfig *)) \
  USE(natsStatus, js_KeyValue, (kvStore **, jsCtx *, const char *)) \
  USE(void, kvStore_Destroy, (kvStore *)) \
  USE(natsStatus, kvStore_Get, (kvEntry **, kvStore *, const char *)) \
  USE(uint64_t, kvEntry_Revision, (kvEntry *)) \
  USE(const void *, kvEntry_Value, (kvEntry *)) \
  USE(int, kvEntry_ValueLen, (kvEntry *)) \
  USE(void, kvEntry_Destroy, (kvEntry *))

#endif

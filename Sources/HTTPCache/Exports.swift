// One import is all that an app needs which uses the cache without pages: the cache's own types give and take those of
// these modules.

// The rules of RFC 9111: policies, decisions, stored responses, dates and the cache status.
@_exported import HTTPCaching
// URLs, bodies and the transport protocol.
@_exported import HTTPTransport
// Fields, methods and statuses.
@_exported import HTTPTypes

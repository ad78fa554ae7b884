// One import is all that an app needs. Each module has types that PageHost and HostConfiguration give or take, or protocols
// that an app's handlers implement; declarations that only the package needs have the access level `package`.

// The folder of a store, and its errors.
@_exported import Blobs
// Policies of opening, preloads and stored releases.
@_exported import Bundles
// The transport and the cookie jar that a host has unless told otherwise.
@_exported import CurlTransport
// Requests and responses of pages, and the response cache.
@_exported import HTTPCache
// The rules of RFC 9111: policies, decisions, stored responses, dates and the cache status.
@_exported import HTTPCaching
// URLs, digests, JSON and the transport protocol.
@_exported import HTTPTransport
// Fields, methods and statuses.
@_exported import HTTPTypes
// The boxes of elements, and the protocol that measures texts.
@_exported import PageLayout
// The reasons why a page cannot be drawn.
@_exported import PagePictures
// Pages, elements, modules and handlers.
@_exported import PageRuntime
// Trust in releases, and the reasons for which a manifest is refused.
@_exported import Releases
// Values that go to scripts and come from them.
@_exported import ScriptEngine

// The host's logger.
@_exported import struct Logging.Logger

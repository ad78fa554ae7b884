// One import is all an app needs.
@_exported import CurlTransport
@_exported import HTTPCaching
@_exported import PageCore
@_exported import PageLoading
@_exported import PageRuntime
@_exported import PageStore
@_exported import ScriptEngine
@_exported import WebSocketTransport

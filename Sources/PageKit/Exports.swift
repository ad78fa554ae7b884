// One import is all an app needs.
@_exported import Bundles
@_exported import CurlTransport
@_exported import DiskStorage
@_exported import HTTPCache
@_exported import HTTPCaching
@_exported import HTTPTransport
@_exported import PageRuntime
@_exported import ScriptEngine
@_exported import WebSocketTransport

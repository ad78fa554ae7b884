// What the daemon's readers need of PageKit. The rest would take much longer to build than to fuzz.
@_exported import Bundles
@_exported import HTTPCache
@_exported import HTTPCaching
@_exported import HTTPTransport
@_exported import PageRuntime
@_exported import Releases
@_exported import ScriptEngine

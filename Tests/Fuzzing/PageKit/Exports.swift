// What the daemon's readers need of PageKit. The rest would take much longer to build than to fuzz.
@_exported import HTTPCaching
@_exported import PageCore
@_exported import PageLoading
@_exported import PageRuntime
@_exported import ScriptEngine

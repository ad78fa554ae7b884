import RenderHost

try await RenderHost(Settings()).run()

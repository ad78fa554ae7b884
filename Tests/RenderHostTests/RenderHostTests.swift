import HummingbirdTesting
import Testing

@testable import RenderHost

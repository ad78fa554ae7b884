/// The actor of pages: their lifecycle, their elements, and their calls of handlers.
@globalActor
public actor PageActor {
  /// The one instance.
  public static let shared = PageActor()
}

/// Where pages live: their lifecycle, their elements, and what they ask of handlers.
@globalActor
public actor PageActor {
  public static let shared = PageActor()
}

import HTTPTransport

/// What to fetch, what it is called, and what it must be.
public struct FetchTarget: Hashable, Sendable {
  public let kind: PageBundle.Kind
  public let name: String
  public let url: PageURL
  public let expected: ExpectedContent

  public init(kind: PageBundle.Kind, name: String, url: PageURL, expected: ExpectedContent) {
    self.kind = kind
    self.name = name
    self.url = url
    self.expected = expected
  }

  public init(_ bundle: PageBundle) {
    self.init(kind: bundle.kind, name: bundle.name, url: bundle.url, expected: bundle.expected)
  }
}

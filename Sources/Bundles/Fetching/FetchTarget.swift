import HTTPTransport

/// A bundle or file to fetch: its URL, its name for messages, and its expected digests.
package struct FetchTarget: Hashable, Sendable {
  package let kind: PageBundle.Kind
  package let name: String
  package let url: PageURL
  package let expected: ExpectedContent

  package init(kind: PageBundle.Kind, name: String, url: PageURL, expected: ExpectedContent) {
    self.kind = kind
    self.name = name
    self.url = url
    self.expected = expected
  }

  package init(_ bundle: PageBundle) {
    self.init(kind: bundle.kind, name: bundle.name, url: bundle.url, expected: bundle.expected)
  }
}

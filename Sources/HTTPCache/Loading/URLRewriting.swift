import Foundation
import HTTPTransport

/// Changes the references that pages write into URLs that can be loaded. Rewriters are asked in order, each gets what
/// the one before made.
public protocol URLRewriting: Sendable {
  /// The reference, changed or as it was.
  func rewrite(_ reference: String, for request: ResourceRequest) -> String
}

/// Gives `//host/…` the scheme of the page, or `https`.
package struct SchemeRelativeRewriter: URLRewriting {
  package init() {}

  package func rewrite(_ reference: String, for request: ResourceRequest) -> String {
    guard reference.hasPrefix("//") else { return reference }
    let isPlain = request.base?.text.hasPrefix("http:") ?? false
    return (isPlain ? "http:" : "https:") + reference
  }
}

/// Finds `local:///path` in a folder that comes with the app.
package struct LocalFileRewriter: URLRewriting {
  private let folder: String

  /// - Parameter folder: an absolute path; nothing outside of it can be reached.
  package init(folder: String) { self.folder = URL(fileURLWithPath: folder).standardizedFileURL.path }

  package func rewrite(_ reference: String, for request: ResourceRequest) -> String {
    guard reference.lowercased().hasPrefix("local://") else { return reference }
    let path = reference.dropFirst("local://".count).prefix { $0 != "?" && $0 != "#" }
    let decoded = path.removingPercentEncoding ?? String(path)
    let file = URL(fileURLWithPath: folder).appendingPathComponent(decoded).standardizedFileURL
      .resolvingSymlinksInPath()
    let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
    guard file.path.hasPrefix(root + "/") else { return reference }
    return file.absoluteString
  }
}

/// Resolves relative references against the page's URL.
struct BaseRewriter: URLRewriting {
  func rewrite(_ reference: String, for request: ResourceRequest) -> String {
    guard let base = request.base?.url, let url = URL(string: reference, relativeTo: base) else { return reference }
    return url.absoluteString
  }
}

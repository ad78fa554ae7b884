/// The framework that comes with PageKit. It runs bundles that are written for the document API.
enum BuiltInFramework {
  /// Its files, in the order in which they are evaluated.
  ///
  /// - Parameter isSealed: `true` freezes the classes, so that pages cannot change them. This takes 1 MB: the engine has to
  ///   make each function that is frozen.
  static func sources(isSealed: Bool) -> FrameworkGroup.Source { isSealed ? files + [sealing] : files }

  private static let files: FrameworkGroup.Source = [
    ("nodes.js", text(PackageResources.nodes_js)), ("elements.js", text(PackageResources.elements_js)),
    ("changes.js", text(PackageResources.changes_js)), ("documents.js", text(PackageResources.documents_js)),
    ("tasks.js", text(PackageResources.tasks_js)), ("pages.js", text(PackageResources.pages_js)),
  ]
  /// The functions by which all frameworks change elements.
  static let commands = text(PackageResources.commands_js)
  /// The members of global objects that the language does not have.
  static let globals = text(PackageResources.globals_js)

  private static let sealing = ("sealing.js", text(PackageResources.sealing_js))

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

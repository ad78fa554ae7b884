import ArgumentParser

/// A member of `WXEnvironment` as an argument: `key=value`.
struct EnvironmentMember: ExpressibleByArgument, Hashable {
  let key: String
  let value: String

  init?(argument: String) {
    guard let equals = argument.firstIndex(of: "=") else { return nil }
    key = String(argument[..<equals])
    value = String(argument[argument.index(after: equals)...])
    guard !key.isEmpty else { return nil }
  }
}

/// A server answered, but not with what was wanted.
struct AnswerStatusError: Error, CustomStringConvertible {
  let url: String
  let status: Int

  var description: String { "\(url): the server answers \(status)" }
}

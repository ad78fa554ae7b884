/// An answer with a status that is of no use here.
struct AnswerStatusError: Error, CustomStringConvertible {
  let url: String
  let status: Int

  var description: String { "\(url): the server answers \(status)" }
}

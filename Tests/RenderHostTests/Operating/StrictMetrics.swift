/// Reads the text formats strictly by their grammars; every deviation is an error.
struct StrictMetrics {
  struct Sample: Equatable {
    let name: String
    let labels: [String: String]
    let value: Double
  }

  struct Malformed: Error {
    let line: String
    let reason: String
  }

  private(set) var samples: [Sample] = []
  private var kinds: [String: String] = [:]

  init(_ text: String) throws {
    guard text.hasSuffix("\n") else { throw Malformed(line: "", reason: "no newline at the end") }
    let lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var seen: Set<String> = []
    for (index, line) in lines.enumerated() {
      if line == "# EOF" {
        guard index == lines.count - 1 else { throw Malformed(line: line, reason: "not at the end") }
      } else if line.hasPrefix("# ") {
        try readComment(line)
      } else {
        let sample = try Self.sample(line)
        guard seen.insert("\(sample.name)\(sample.labels.sorted { $0.key < $1.key })").inserted else {
          throw Malformed(line: line, reason: "twice")
        }
        try check(sample, line)
        samples.append(sample)
      }
    }
    try checkHistograms()
  }

  func value(_ name: String, _ labels: [String: String]) -> Double? {
    samples.first { $0.name == name && $0.labels == labels }?.value
  }

  private mutating func readComment(_ line: String) throws {
    let words = line.split(separator: " ", maxSplits: 3).map(String.init)
    guard words.count >= 3 else { throw Malformed(line: line, reason: "too short") }
    if words[1] == "TYPE" {
      guard kinds[words[2]] == nil else { throw Malformed(line: line, reason: "a type twice") }
      guard words.count == 4, ["counter", "gauge", "histogram"].contains(words[3]) else {
        throw Malformed(line: line, reason: "no type")
      }
      kinds[words[2]] = words[3]
    } else if words[1] != "HELP" {
      throw Malformed(line: line, reason: "unknown comment")
    }
  }

  private func check(_ sample: Sample, _ line: String) throws {
    let suffixes = ["", "_total", "_bucket", "_sum", "_count"]
    let isKnown = suffixes.contains { suffix in
      sample.name.hasSuffix(suffix) && kinds[String(sample.name.dropLast(suffix.count))] != nil
    }
    guard isKnown else { throw Malformed(line: line, reason: "a sample without a type") }
    if sample.name.hasSuffix("_total"), sample.value < 0 { throw Malformed(line: line, reason: "negative") }
  }

  /// Buckets ascend, are cumulated, and the last is the count.
  private func checkHistograms() throws {
    for (name, kind) in kinds where kind == "histogram" {
      var series: [[String: String]: [(Double, Double)]] = [:]
      for sample in samples where sample.name == name + "_bucket" {
        var labels = sample.labels
        guard let bound = labels.removeValue(forKey: "le").flatMap(Self.number) else {
          throw Malformed(line: name, reason: "no le")
        }
        series[labels, default: []].append((bound, sample.value))
      }
      for (labels, buckets) in series {
        guard buckets.last?.0 == .infinity, value(name + "_count", labels) == buckets.last?.1,
          value(name + "_sum", labels) != nil,
          zip(buckets, buckets.dropFirst()).allSatisfy({ $0.0 < $1.0 && $0.1 <= $1.1 })
        else { throw Malformed(line: name, reason: "buckets") }
      }
    }
  }

  private static func number(_ text: String) -> Double? {
    switch text {
    case "+Inf": .infinity
    case "-Inf": -.infinity
    case "NaN": .nan
    default: text.allSatisfy { $0.isNumber || "+-.eE".contains($0) } ? Double(text) : nil
    }
  }

  private static func sample(_ line: String) throws -> Sample {
    var rest = Substring(line)
    let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") }
    guard let first = name.first, !first.isNumber else { throw Malformed(line: line, reason: "name") }
    rest = rest.dropFirst(name.count)
    var labels: [String: String] = [:]
    if rest.first == "{" {
      rest.removeFirst()
      while rest.first != "}" {
        let label = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        guard let first = label.first, !first.isNumber, !label.hasPrefix("__") else {
          throw Malformed(line: line, reason: "label")
        }
        rest = rest.dropFirst(label.count)
        guard rest.hasPrefix("=\"") else { throw Malformed(line: line, reason: "label's value") }
        rest = rest.dropFirst(2)
        guard labels.updateValue(try value(&rest, line), forKey: String(label)) == nil else {
          throw Malformed(line: line, reason: "label twice")
        }
        if rest.first == "," {
          rest.removeFirst()
        } else if rest.first != "}" {
          throw Malformed(line: line, reason: "labels")
        }
      }
      rest.removeFirst()
    }
    guard rest.first == " ", let number = number(String(rest.dropFirst())) else {
      throw Malformed(line: line, reason: "value")
    }
    return Sample(name: String(name), labels: labels, value: number)
  }

  private static func value(_ rest: inout Substring, _ line: String) throws -> String {
    var value = ""
    while let character = rest.popFirst() {
      switch character {
      case "\"": return value
      case "\\":
        switch rest.popFirst() {
        case "n": value.append("\n")
        case "\\": value.append("\\")
        case "\"": value.append("\"")
        default: throw Malformed(line: line, reason: "escape")
        }
      default: value.append(character)
      }
    }
    throw Malformed(line: line, reason: "an open value")
  }
}

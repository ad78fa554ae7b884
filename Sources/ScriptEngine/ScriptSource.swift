import CJavaScriptCore

/// The text of a script, and the engine's copy of it: evaluations share the copy. Only for the group's thread.
package final class ScriptSource {
  package let text: String
  let raw: JSStringRef

  package init(_ text: String) {
    self.text = text
    raw = text.makeEngineString()
  }

  deinit { JSStringRelease(raw) }
}

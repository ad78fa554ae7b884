import Testing

/// What takes a processor or much memory: one after the other, so that the tests beside it have their share.
@Suite(.serialized) enum StressTests {}

import Testing

/// Tests that take a processor or much memory run one after the other.
@Suite(.serialized) enum StressTests {}

import HTTPTransport
import Testing

struct S3LocationTests {
  @Test(
    "a location is a bucket and a prefix, which ends with a slash",
    arguments: [
      ("s3://pages", "pages", ""), ("s3://pages/", "pages", ""), ("s3://my.pages-2/app/v1", "my.pages-2", "app/v1/"),
      ("s3://pages/a b/", "pages", "a b/"),
    ])
  func readable(_ text: String, _ bucket: String, _ prefix: String) throws {
    let location = try #require(S3Location(text))
    #expect(location.bucket == bucket && location.prefix == prefix)
    #expect(S3Location(location.description) == location)
  }

  @Test(
    "other texts are no locations",
    arguments: [
      "", "s3:", "s3://", "s3://ab", "s3:///x", "http://pages/x", "s3://Pages/x", "s3://-pages", "s3://pages.",
      "s3://a..b",
      "s3://pages//x", "s3://pages/../x", "s3://pages/./x", "s3://pages/a\nb", "s3://pa_ges/x",
      "s3://\(String(repeating: "a", count: 64))", "s3://pages/\(String(repeating: "a", count: 600))",
    ])
  func unreadable(_ text: String) { #expect(S3Location(text) == nil) }
}

struct S3AccessTests {
  private static let key = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"]

  @Test(
    "the URL of a location is below the endpoint, or on Amazon S3 in the region",
    arguments: [
      ([:], "s3://pages/app", "https://pages.s3.us-east-1.amazonaws.com/app/"),
      (["AWS_REGION": "eu-central-1"], "s3://my.pages", "https://s3.eu-central-1.amazonaws.com/my.pages/"),
      (["AWS_ENDPOINT_URL": "http://127.0.0.1:5000"], "s3://pages/a b", "http://127.0.0.1:5000/pages/a%20b/"),
      (
        ["AWS_ENDPOINT_URL": "http://one", "AWS_ENDPOINT_URL_S3": "https://two.example/s3"], "s3://pages",
        "https://two.example/s3/pages/"
      ),
    ] as [([String: String], String, String)])
  func folders(_ environment: [String: String], _ location: String, _ url: String) throws {
    let place = try #require(S3Location(location))
    #expect(try S3Access(environment: environment).folder(of: place).text == url)
  }

  @Test("the key is that of the environment, and its secret is not shown")
  func key() throws {
    var environment = Self.key
    environment["AWS_SESSION_TOKEN"] = "token"
    environment["AWS_DEFAULT_REGION"] = "eu-west-1"
    let signing = try #require(try S3Access(environment: environment).signing)
    #expect(signing.accessKey == "id" && signing.secretKey == "secret" && signing.sessionToken == "token")
    #expect("\(signing)" == "key id for s3 in eu-west-1")
    #expect(try S3Access(environment: [:]).signing == nil)
  }

  @Test(
    "settings that cannot be are refused with the variable's name",
    arguments: [
      (["AWS_ACCESS_KEY_ID": "id"], "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not"),
      (["AWS_SECRET_ACCESS_KEY": "x"], "AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID is not"),
      (
        ["AWS_ENDPOINT_URL": "minio:9000"],
        "AWS_ENDPOINT_URL is \"minio:9000\", which is no http or https URL of an object store"
      ),
      (["AWS_REGION": "a:b"], "AWS_REGION is \"a:b\", which is no region"),
      (["AWS_REGION": "x@other"], "AWS_REGION is \"x@other\", which is no region"),
    ] as [([String: String], String)])
  func refused(_ environment: [String: String], _ message: String) {
    let error = #expect(throws: DescribedError.self) { try S3Access(environment: environment) }
    #expect(error?.description == message)
  }

  @Test(
    "a line break or another control character is refused, and the text is not shown",
    arguments: [
      "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
      "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",
    ], ["\n", "\r\n", "\0", "\u{7F}", "\u{85}"])
  func controlCharacters(_ name: String, _ text: String) {
    var environment = Self.key
    environment[name] = "http://host/\(text)X-Other: 1"
    let error = #expect(throws: DescribedError.self) { try S3Access(environment: environment) }
    #expect(
      error?.description
        == "\(name) has a line break or another control character, which no key, region or URL has")
  }
}

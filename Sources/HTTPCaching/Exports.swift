// One import is all that a caller needs: decisions take and give requests, responses, fields and statuses.
@_exported import HTTPTypes

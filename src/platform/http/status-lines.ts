/** Returns the status line text of an answer. */
export function statusLine(status: number): string {
  return STATUS_LINES.get(status) ?? String(status);
}

const STATUS_LINES = new Map([
  [200, '200 OK'],
  [201, '201 Created'],
  [204, '204 No Content'],
  [302, '302 Found'],
  [304, '304 Not Modified'],
  [400, '400 Bad Request'],
  [401, '401 Unauthorized'],
  [402, '402 Payment Required'],
  [403, '403 Forbidden'],
  [404, '404 Not Found'],
  [405, '405 Method Not Allowed'],
  [408, '408 Request Timeout'],
  [409, '409 Conflict'],
  [410, '410 Gone'],
  [413, '413 Content Too Large'],
  [415, '415 Unsupported Media Type'],
  [422, '422 Unprocessable Content'],
  [426, '426 Upgrade Required'],
  [429, '429 Too Many Requests'],
  [431, '431 Request Header Fields Too Large'],
  [499, '499 Client Closed Request'],
  [500, '500 Internal Server Error'],
  [502, '502 Bad Gateway'],
  [503, '503 Service Unavailable'],
  [504, '504 Gateway Timeout'],
]);

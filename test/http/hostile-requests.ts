import { HEADER_LINES } from './fixture.ts';

/** A request that two readers may understand differently. */
export interface HostileRequest {
  readonly name: string;
  /** Up to the end of its head. */
  readonly head: string;
  /** The bytes after it. */
  readonly rest: string;
  /**
   * `handler`: uWebSockets.js would serve it, so it is ours to refuse. `library`: its parser
   * refuses it, some with an answer of its own, some by cutting the connection after ten silent
   * seconds.
   */
  readonly refusedBy: 'handler' | 'library';
}

/** Honest requests with which their connection ends, and another one behind each. */
export const LAST_REQUESTS: readonly string[] = [
  `GET /v1/things/last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${HEADER_LINES}\r\n`,
  `POST /v1/things/last/notes HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\nContent-Length: 12\r\n${HEADER_LINES}\r\n{"text":"x"}`,
  // Without a length where there might be one: the parser does not show what stands behind the
  // nameless header.
  `DELETE /v1/things/last HTTP/1.1\r\nHost: a\r\n: x\r\nContent-Length: 100\r\n${HEADER_LINES}\r\n`,
];

/**
 * The request that would run if the previous one ended in the wrong place. A line feed ends any
 * line before it.
 */
export function smuggledIn(id: string): string {
  return `GET /v1/things/smuggled-${id} HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}\r\n`;
}

/** Every variant, each with an id of its own in the paths of itself and of what it smuggles. */
export function hostileRequests(run: string): (HostileRequest & { readonly id: string })[] {
  return VARIANTS.map((variant, index) => {
    const id = `${run}-${index}`;
    const fill = (text: string) => text.replaceAll('{id}', id).replaceAll('{smuggled}', smuggledIn(id));
    return { ...variant, id, head: fill(variant.head), rest: fill(variant.rest) };
  });
}

const NOTE = '{"text":"x"}';
const CHUNKED_NOTE = `c\r\n${NOTE}\r\n0\r\n\r\n`;

/** A POST that would be served but for `lines`. */
function post(lines: string, rest: string, refusedBy: HostileRequest['refusedBy'] = 'handler') {
  return request('POST /v1/things/hostile-{id}/notes HTTP/1.1', `Host: a\r\n${lines}`, rest, refusedBy);
}

function get(lines: string, rest = '{smuggled}', refusedBy: HostileRequest['refusedBy'] = 'handler') {
  return request('GET /v1/things/hostile-{id} HTTP/1.1', lines, rest, refusedBy);
}

function request(
  line: string,
  lines: string,
  rest: string,
  refusedBy: HostileRequest['refusedBy'] = 'handler',
) {
  return { head: `${line}\r\n${HEADER_LINES}${lines}\r\n`, rest, refusedBy };
}

function byLine(line: string, refusedBy: HostileRequest['refusedBy'] = 'library') {
  return request(line, 'Host: a\r\n', '{smuggled}', refusedBy);
}

const LENGTH = `Content-Length: ${NOTE.length}\r\n`;
const ALL = NOTE.length + smuggledIn('').length + 8;

const TABLE: Readonly<Record<string, Omit<HostileRequest, 'name'>>> = {
  // Two lengths.
  'two lengths, the first shorter': post(`${LENGTH}Content-Length: ${ALL}\r\n`, `${NOTE}{smuggled}`),
  'two lengths, the first longer': post(`Content-Length: ${ALL}\r\n${LENGTH}`, `${NOTE}{smuggled}`),
  'two lengths, the same': post(LENGTH + LENGTH, `${NOTE}{smuggled}`),
  'two lengths, in other letters': post(`CONTENT-LENGTH: 12\r\ncontent-length: 90\r\n`, `${NOTE}{smuggled}`),
  'two lengths, far apart': post(`${LENGTH}X-A: b\r\nX-C: d\r\nContent-Length: 0\r\n`, `${NOTE}{smuggled}`),
  'a length and none': post(`${LENGTH}Content-Length:\r\n`, `${NOTE}{smuggled}`),
  'a length of nothing': post('Content-Length:\r\n', `${NOTE}{smuggled}`),
  'a length of blanks': post('Content-Length:   \r\n', `${NOTE}{smuggled}`),
  'a list of lengths': post('Content-Length: 12, 12\r\n', `${NOTE}{smuggled}`),
  'two numbers': post('Content-Length: 1 2\r\n', `${NOTE}{smuggled}`),
  'a length with a sign': post('Content-Length: +12\r\n', `${NOTE}{smuggled}`),
  'a negative length': post('Content-Length: -12\r\n', `${NOTE}{smuggled}`),
  'a hexadecimal length': post('Content-Length: 0xc\r\n', `${NOTE}{smuggled}`),
  'a length with a fraction': post('Content-Length: 12.0\r\n', `${NOTE}{smuggled}`),
  'a length with an exponent': post('Content-Length: 12e0\r\n', `${NOTE}{smuggled}`),
  'a quoted length': post('Content-Length: "12"\r\n', `${NOTE}{smuggled}`),
  'a length beyond 64 bits': post('Content-Length: 18446744073709551628\r\n', `${NOTE}{smuggled}`),
  'a length of twenty digits': post('Content-Length: 00000000000000000012\r\n', `${NOTE}{smuggled}`),

  // Transfer-Encoding, of any kind.
  chunked: post('Transfer-Encoding: chunked\r\n', `${CHUNKED_NOTE}{smuggled}`),
  'chunked in other letters': post('transfer-ENCODING: Chunked\r\n', `${CHUNKED_NOTE}{smuggled}`),
  'chunked with a length before it': post(
    `${LENGTH}Transfer-Encoding: chunked\r\n`,
    `0\r\n\r\n{smuggled}`,
    'library',
  ),
  'chunked with a length behind it': post(
    `Transfer-Encoding: chunked\r\n${LENGTH}`,
    `0\r\n\r\n{smuggled}`,
    'library',
  ),
  'chunked with a length of 0': post(
    'Content-Length: 0\r\nTransfer-Encoding: chunked\r\n',
    `${CHUNKED_NOTE}{smuggled}`,
    'library',
  ),
  xchunked: post('Transfer-Encoding: xchunked\r\n', `${CHUNKED_NOTE}{smuggled}`),
  identity: post('Transfer-Encoding: identity\r\n', `${NOTE}{smuggled}`),
  'gzip, chunked': post('Transfer-Encoding: gzip, chunked\r\n', `${CHUNKED_NOTE}{smuggled}`),
  'chunked, identity': post('Transfer-Encoding: chunked, identity\r\n', `${CHUNKED_NOTE}{smuggled}`),
  'chunked twice': post(
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n',
    `${CHUNKED_NOTE}{smuggled}`,
  ),
  'two encodings': post(
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
    `${CHUNKED_NOTE}{smuggled}`,
  ),
  'an empty encoding': post('Transfer-Encoding:\r\n', `${CHUNKED_NOTE}{smuggled}`),
  'chunked behind a tab': post('Transfer-Encoding:\tchunked\r\n', `${CHUNKED_NOTE}{smuggled}`),
  'a quoted encoding': post('Transfer-Encoding: "chunked"\r\n', `${CHUNKED_NOTE}{smuggled}`),
  'no line end behind a chunk': post('Transfer-Encoding: chunked\r\n', `c\r\n${NOTE}0\r\n\r\n{smuggled}`),
  'chunks with line feeds alone': post('Transfer-Encoding: chunked\r\n', `c\n${NOTE}\n0\n\n{smuggled}`),
  'a chunk with an extension': post(
    'Transfer-Encoding: chunked\r\n',
    `c;a=b\r\n${NOTE}\r\n0\r\n\r\n{smuggled}`,
  ),
  'a chunk extension with a line feed': post(
    'Transfer-Encoding: chunked\r\n',
    `c;a\nb\r\n${NOTE}\r\n0\r\n\r\n{smuggled}`,
  ),
  'a chunk size with 0x': post('Transfer-Encoding: chunked\r\n', `0xc\r\n${NOTE}\r\n0\r\n\r\n{smuggled}`),
  'a chunk size beyond 64 bits': post(
    'Transfer-Encoding: chunked\r\n',
    `1000000000000000c\r\n${NOTE}\r\n0\r\n\r\n{smuggled}`,
  ),
  'a negative chunk size': post('Transfer-Encoding: chunked\r\n', `-c\r\n${NOTE}\r\n0\r\n\r\n{smuggled}`),
  trailers: post('Transfer-Encoding: chunked\r\n', `c\r\n${NOTE}\r\n0\r\nX-A: b\r\n\r\n{smuggled}`),
  'a request in the trailers': post('Transfer-Encoding: chunked\r\n', `c\r\n${NOTE}\r\n0\r\n{smuggled}`),
  'bytes behind the last chunk': post('Transfer-Encoding: chunked\r\n', `${CHUNKED_NOTE}xyz{smuggled}`),
  'chunked on a GET': get('Host: a\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n{smuggled}`),

  // A body where there is none.
  'a body on GET': get('Host: a\r\nContent-Length: 5\r\n', `abcde{smuggled}`),
  'a request as the body of a GET': get(`Host: a\r\nContent-Length: ${ALL}\r\n`),
  'a body on HEAD': request(
    'HEAD /v1/things/hostile-{id} HTTP/1.1',
    'Host: a\r\nContent-Length: 5\r\n',
    'abcde{smuggled}',
  ),
  'a body on OPTIONS': request(
    'OPTIONS /v1/things/hostile-{id} HTTP/1.1',
    'Host: a\r\nContent-Length: 5\r\n',
    'abcde{smuggled}',
  ),

  // Hosts.
  'two hosts': get('Host: a\r\nHost: b\r\n'),
  'two hosts, the same': get('Host: a\r\nHost: a\r\n'),
  'two hosts, in other letters': get('HOST: a\r\nhost: b\r\n'),
  'an empty host': get('Host:\r\n'),
  'a host with a blank': get('Host: a b\r\n'),
  'a host with a path': get('Host: a/b\r\n'),
  'a host with a name before it': get('Host: a@b\r\n'),
  'two hosts in one': get('Host: a, b\r\n'),
  'a host with a port that is none': get('Host: a:x\r\n'),
  'no host': get('', '{smuggled}', 'library'),

  // Headers that decide something, twice.
  'two credentials': get('Host: a\r\nAuthorization: Bearer admin\r\n'),
  'two accounts': get('Host: a\r\nService-Account: acc_2\r\n'),
  'two versions': get('Host: a\r\nService-Version: 1.0.harbor\r\n'),
  'two idempotency keys': post(`Idempotency-Key: a\r\nIdempotency-Key: b\r\n${LENGTH}`, `${NOTE}{smuggled}`),

  // Header lines that are none.
  'a folded header': get('Host: a\r\nX-A: b\r\n c: d\r\n', '{smuggled}', 'library'),
  'a length folded into another header': post(`X-A: b\r\n ${LENGTH}`, `${NOTE}{smuggled}`, 'library'),
  'a header folded with a tab': get('Host: a\r\nX-A: b\r\n\tc\r\n', '{smuggled}', 'library'),
  'a blank before the colon': post('Content-Length : 12\r\n', `${NOTE}{smuggled}`, 'library'),
  'a tab before the colon': post('Content-Length\t: 12\r\n', `${NOTE}{smuggled}`, 'library'),
  'an encoding with a blank before the colon': post(
    'Transfer-Encoding : chunked\r\n',
    `${CHUNKED_NOTE}{smuggled}`,
    'library',
  ),
  'a line feed in a header': get('Host: a\r\nX-A: b\nX-C: d\r\n', '{smuggled}', 'library'),
  'a length behind a line feed': post(`X-A: b\n${LENGTH}`, `${NOTE}{smuggled}`, 'library'),
  'a carriage return in a header': get('Host: a\r\nX-A: b\rX-C: d\r\n', '{smuggled}', 'library'),
  'a length behind a carriage return': post(`X-A: b\r${LENGTH}`, `${NOTE}{smuggled}`, 'library'),
  'U+0000 in a header': get('Host: a\r\nX-A: b\0c\r\n', '{smuggled}', 'library'),
  'a control character in a header': get('Host: a\r\nX-A: b\x01c\r\n', '{smuggled}', 'library'),
  'U+0000 in a name': get('Host: a\r\nX-\0A: b\r\n', '{smuggled}', 'library'),
  'a name of Latin-1': get('Host: a\r\nX-\xe9: b\r\n', '{smuggled}', 'library'),
  'a name with a bracket': get('Host: a\r\nX(A: b\r\n', '{smuggled}', 'library'),
  'a header without a colon': get('Host: a\r\nnothing\r\n', '{smuggled}', 'library'),
  'a blank line that is none': get('Host: a\r\n\r', '{smuggled}', 'library'),
  'headers of 70,000 bytes': get(`Host: a\r\nX-A: ${'b'.repeat(70_000)}\r\n`, '{smuggled}', 'library'),
  'two hundred headers': get(`Host: a\r\n${'A: b\r\n'.repeat(200)}`, '{smuggled}', 'library'),

  // First lines.
  'HTTP/1.0': byLine('GET /v1/things/hostile-{id} HTTP/1.0'),
  'HTTP/1.2': byLine('GET /v1/things/hostile-{id} HTTP/1.2'),
  'HTTP/2.0': byLine('GET /v1/things/hostile-{id} HTTP/2.0'),
  'a version in small letters': byLine('GET /v1/things/hostile-{id} http/1.1'),
  'no version': byLine('GET /v1/things/hostile-{id}'),
  'a version with more': byLine('GET /v1/things/hostile-{id} HTTP/1.1 x'),
  'a tab for a blank': byLine('GET\t/v1/things/hostile-{id}\tHTTP/1.1'),
  'two blanks': byLine('GET  /v1/things/hostile-{id} HTTP/1.1'),
  'a blank before the method': byLine(' GET /v1/things/hostile-{id} HTTP/1.1'),
  'a blank in the target': byLine('GET /v1/things/hostile {id} HTTP/1.1'),
  'an absolute target': byLine('GET http://b/v1/things/hostile-{id} HTTP/1.1'),
  'an authority': byLine('CONNECT b:80 HTTP/1.1'),
  'an asterisk': byLine('OPTIONS * HTTP/1.1'),
  'a control character in the target': byLine('GET /v1/things/hostile-{id}\x01 HTTP/1.1'),
  'a method in small letters': byLine('get /v1/things/hostile-{id} HTTP/1.1', 'handler'),
  'a method with bytes before it': byLine('abcGET /v1/things/hostile-{id} HTTP/1.1', 'handler'),
  'a fragment': byLine('GET /v1/things/hostile-{id}#x HTTP/1.1', 'handler'),
  'a backslash': byLine('GET /v1/things\\hostile-{id} HTTP/1.1', 'handler'),
  'Latin-1 in the target': byLine('GET /v1/things/hostile-{id}\xe9 HTTP/1.1', 'handler'),
  'UTF-8 in the target': byLine('GET /v1/things/hostile-{id}\xc3\xa9 HTTP/1.1', 'handler'),
  'a bracket in the query': byLine('GET /v1/things/hostile-{id}?a=<b> HTTP/1.1', 'handler'),
  'DEL in the query': byLine('GET /v1/things/hostile-{id}?a=\x7f HTTP/1.1', 'handler'),
};

const VARIANTS: readonly HostileRequest[] = Object.entries(TABLE).map(([name, variant]) => ({
  name,
  ...variant,
}));

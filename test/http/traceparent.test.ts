/** W3C Trace Context: the header, and the spans derived from it. */

import { childTrace, formatTraceparent, parseTraceparent } from '@parley/protocol/traceparent.ts';
import { pino } from 'pino';
import t from 'tap';
import { RawClient } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { HEADER_LINES, HEADERS, serve } from './fixture.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${SPAN}-01`;

/** Most cases of the standard's own test suite. */
const INVALID: Readonly<Record<string, string>> = {
  'nothing at all': '',
  'an upper-case trace id': VALID.toUpperCase(),
  'a trace id of zeros': `00-${'0'.repeat(32)}-${SPAN}-01`,
  'a span id of zeros': `00-${TRACE}-${'0'.repeat(16)}-01`,
  'version ff': `ff-${TRACE}-${SPAN}-01`,
  'a version that is not hexadecimal': `.0-${TRACE}-${SPAN}-01`,
  'a version of one digit': `0-${TRACE}-${SPAN}-01`,
  'a short trace id': `00-${TRACE.slice(1)}-${SPAN}-01`,
  'a long trace id': `00-${TRACE}0-${SPAN}-01`,
  'a trace id with another character': `00-${TRACE.slice(1)}.-${SPAN}-01`,
  'a short span id': `00-${TRACE}-${SPAN.slice(1)}-01`,
  'flags of one digit': `00-${TRACE}-${SPAN}-1`,
  'flags that are not hexadecimal': `00-${TRACE}-${SPAN}-.0`,
  'no flags': `00-${TRACE}-${SPAN}`,
  'more fields in version 00': `${VALID}-what-the-future-will-be-like`,
  'a dash behind version 00': `${VALID}-`,
  'fields of a later version without their dash': `cc-${TRACE}-${SPAN}-01.what`,
  'a blank in front': ` ${VALID}`,
  'two in one': `${VALID},${VALID}`,
  'a line behind it': `${VALID}\n`,
};

t.test('a valid traceparent is read', (t) => {
  t.same(parseTraceparent(VALID), { traceId: TRACE, spanId: SPAN, flags: 1 });
  t.same(parseTraceparent(`00-${TRACE}-${SPAN}-ff`)?.flags, 255);
  for (const later of [`01-${TRACE}-${SPAN}-00`, `cc-${TRACE}-${SPAN}-00-what-the-future-will-be-like`]) {
    t.same(parseTraceparent(later), { traceId: TRACE, spanId: SPAN, flags: 0 }, later);
  }
  t.end();
});

t.test('an invalid traceparent is ignored', (t) => {
  for (const [what, text] of Object.entries(INVALID)) t.equal(parseTraceparent(text), undefined, what);
  t.equal(parseTraceparent(null), undefined);
  t.equal(parseTraceparent(undefined), undefined);
  t.end();
});

t.test('the outgoing header has the trace, a span of its own and the known flags', (t) => {
  const parent = parseTraceparent(`cc-${TRACE}-${SPAN}-ff-more`)!;
  t.equal(formatTraceparent(parent), `00-${TRACE}-${SPAN}-03`);
  const [one, other] = [childTrace(parent), childTrace(parent)];
  t.equal(one.traceId, TRACE);
  t.equal(new Set([SPAN, one.spanId, other.spanId]).size, 3);
  t.same(parseTraceparent(formatTraceparent(one)), { ...one, flags: 3 });
  t.end();
});

t.test('lines of a request name its trace; what is invalid changes nothing', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const { url, port } = await serve(t, { log });
  const send = async (traceparent: string, path: string, body: string | null = '{"text":"x"}') =>
    (await fetch(url + path, { method: 'POST', headers: { ...HEADERS, traceparent }, body })).status;
  t.equal(await send(VALID, '/v1/things/1/notes'), 201);
  t.equal(await send(VALID, '/v1/broken', null), 500);
  t.equal(await send(VALID.toUpperCase(), '/v1/things/1/notes'), 201);
  const twice = `Traceparent: ${VALID}\r\n`.repeat(2);
  const head = `DELETE /v1/things/1 HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}${twice}Content-Length: 0\r\n\r\n`;
  const client = new RawClient(port).send(head);
  await until(() => lines.length === 4, { what: 'the lines' });
  client.destroy();
  t.equal(lines[3]!.status, 202, 'sent twice it is as good as not sent');
  t.match(lines.slice(0, 2), [
    { msg: 'request completed', trace_id: TRACE, span_id: SPAN },
    { msg: 'answered internal_error', trace_id: TRACE, span_id: SPAN },
  ]);
  for (const line of lines.slice(2)) t.notOk('trace_id' in line || 'span_id' in line);
});

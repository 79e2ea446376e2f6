import { COMMANDS, type Op } from '../../../../contract/protocol/socket/commands.ts';
import { EVENT_DATA } from '../../../../contract/protocol/socket/event-data.ts';
import { EVENTS, type EventName } from '../../../../contract/protocol/socket/events.ts';
import { SERVER_FRAMES, type ServerFrameType } from '../../../../contract/protocol/socket/server-frames.ts';
import { SOCKET_LIMITS, type SocketLimits } from '../../../../contract/protocol/socket/socket-limits.ts';
import { CLIENT_PATH } from '../client-modules.ts';
import type { Document } from '../documents.ts';
import { FRAME_SUMMARIES } from '../openapi/asyncapi.ts';
import { code, type Html, html, prose, table } from './html.ts';
import { pageOf } from './page.ts';

/** The socket for people; machines read /v1/asyncapi.json. */
export function socketPage(): Document {
  const ops = Object.entries(COMMANDS) as [Op, (typeof COMMANDS)[Op]][];
  const events = Object.keys(EVENTS) as EventName[];
  const frames = Object.keys(SERVER_FRAMES) as ServerFrameType[];
  const limits = Object.entries(SOCKET_LIMITS) as [keyof SocketLimits, number][];
  return pageOf('socket', {
    main: html`<h1>The socket</h1>
<p><code>GET /v1/realtime</code>, upgraded to a WebSocket: text frames, one JSON object each. The whole contract with
every schema is in <a href="/v1/asyncapi.json"><code>/v1/asyncapi.json</code></a> (AsyncAPI 3.0).</p>
<p>The server says <code>hello</code>. Who calls is said by the headers of REST, by <code>?ticket=</code> with a ticket from
<code>POST /v1/realtime/tickets</code>, or by an <code>authenticate</code> frame; then comes <code>ready</code>.</p>
<p>A client for pages, that does all of this, is served here: <code>import { connect } from '${CLIENT_PATH}'</code>.</p>
<h2 id="requests">Requests</h2>
<p>Each has an <code>id</code> of the client's choice, which its <code>reply</code> carries again: with <code>result</code>, or with
the <code>error</code> object of REST.</p>
${table(
  ['type', 'Fields', 'Result', 'What it does'],
  ops.map(([op, { summary, fields, result }]) => [
    code(op),
    fieldsOf(fields),
    result === null ? html`<span class="nothing">another frame</span>` : fieldsOf(result),
    prose(summary),
  ]),
)}
<h2 id="frames">Frames of the server</h2>
${table(
  ['type', 'Fields', 'What it says'],
  frames.map((type) => {
    const { type: _, ...fields } = SERVER_FRAMES[type].properties;
    return [code(type), fieldsOf(fields), prose(FRAME_SUMMARIES[type])];
  }),
)}
<h2 id="events">Events</h2>
<p>Frames of the type <code>event</code>; <code>data</code> is the same JSON that REST would return to this reader. Durable ones are
in the database before they are sent, and come again after a break; the others do not, and slow readers miss them first.</p>
${table(
  ['event', 'Durable', 'Customers', 'Comes with', 'Since', 'What it says'],
  events.map((event) => [
    code(event),
    yesOrNo(EVENTS[event].order !== 'ephemeral'),
    yesOrNo(EVENTS[event].customers),
    html`${EVENTS[event].stream === 'actor' ? 'the own feed' : 'a subscription'}`,
    code(EVENTS[event].since),
    prose(EVENT_DATA[event].summary),
  ]),
)}
<h2 id="ends">Ends</h2>
<p>What a close code asks of the client stands with the <a href="/docs/api/errors#close-codes">errors</a>.</p>
<h2 id="limits">Limits</h2>
<p>By default; each can be set where the server is started.</p>
${table(
  ['Limit', 'Default', 'What it bounds'],
  limits.map(([name, value]) => [code(name), code(value.toLocaleString('en')), html`${LIMIT_TEXTS[name]}`]),
)}`,
  });
}

function fieldsOf(fields: Readonly<Record<string, object>>): Html {
  const names = Object.entries(fields).map(([name, schema]) => code(isOptional(schema) ? `${name}?` : name));
  return names.length === 0 ? html`<span class="nothing">none</span>` : html`${names}`;
}

/** Reads typebox's mark. */
function isOptional(schema: object): boolean {
  return '~optional' in schema;
}

function yesOrNo(value: boolean): Html {
  return html`${value ? 'yes' : 'no'}`;
}

const LIMIT_TEXTS: Readonly<Record<keyof SocketLimits, string>> = {
  subscriptions: 'conversations that one socket is subscribed to',
  requestsPerSecond: 'frames that one socket may send: a burst of so many, refilled at that rate',
  frameBytes: 'bytes of one frame from a client; past it the connection is cut',
  socketsPerActor: 'open sockets of one actor on one node',
  authenticateMs: 'from the start to a valid authenticate, where nothing else said who calls',
  heartbeatMs: 'between two pings',
  pongMs: 'from a ping to its pong',
  ephemeralBytes: 'bytes that wait for a socket over which it gets no ephemeral events',
  durableBytes: 'bytes that wait for a socket over which it is closed',
  cutMs: 'what a closing socket has to take what waits for it',
  presenceMs: 'how long an actor counts as there behind its last socket',
  badFramesPerMinute: 'malformed or unknown frames after which a socket is closed',
  expiryNoticeMs: 'how long before its end a token is announced to expire',
  expiryGraceMs: 'how long a socket outlives its token',
};

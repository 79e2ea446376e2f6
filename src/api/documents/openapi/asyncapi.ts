import { ErrorEnvelope } from '@parley/protocol/errors/error-envelope.ts';
import { describe, Nullable, Timestamp } from '@parley/protocol/schema/schema.ts';
import { SINCE, Since } from '@parley/protocol/schema/since.ts';
import { COMMANDS, commandSchema, type Op, PongFrame } from '@parley/protocol/socket/commands.ts';
import { EVENT_DATA } from '@parley/protocol/socket/event-data.ts';
import { EVENTS, type EventName } from '@parley/protocol/socket/events.ts';
import {
  RETRY_AFTER_SINCE,
  SERVER_FRAMES,
  type ServerFrameType,
} from '@parley/protocol/socket/server-frames.ts';
import { CURRENT_VERSION, SOCKETS_SINCE, VERSIONS, type Version } from '@parley/protocol/versions.ts';
import { type TSchema, Type } from 'typebox';
import { SchemaComponents, type SchemaObject } from './schemas.ts';

/**
 * Returns the socket's AsyncAPI 3.0 document: every frame of protocol/'s tables, and the answers to
 * each. In AsyncAPI, `receive` is an action of the server.
 */
export function asyncApiDocument(): object {
  const frames = new Frames();
  const operations: Record<string, object> = {};
  for (const op of Object.keys(COMMANDS) as Op[]) {
    operations[op] = {
      action: 'receive',
      ...ON_CHANNEL,
      summary: COMMANDS[op].summary,
      messages: [frames.add(`${op}_request`, commandSchema(op), COMMANDS[op].summary)],
      reply: { channel: CHANNEL, messages: [answerTo(op, frames), refusal(frames)] },
    };
  }
  operations.answer_heartbeat = {
    action: 'receive',
    ...ON_CHANNEL,
    summary: 'The answer to `ping`, with its `t`.',
    messages: [frames.add('pong_answer', PongFrame, 'The client is still there.')],
  };
  operations.say = {
    action: 'send',
    ...ON_CHANNEL,
    summary: 'What the server says of itself and of the connection.',
    messages: (Object.keys(SERVER_FRAMES) as ServerFrameType[]).map((type) => serverFrame(type, frames)),
  };
  operations.tell = {
    action: 'send',
    ...ON_CHANNEL,
    summary: "What happens in conversations and on the caller's own feed.",
    messages: (Object.keys(EVENTS) as EventName[]).map((event) => eventFrame(event, frames)),
  };
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Parley',
      version: CURRENT_VERSION,
      description: DESCRIPTION,
      license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
    },
    defaultContentType: 'application/json',
    channels: {
      realtime: {
        address: '/v1/realtime',
        description: 'One WebSocket a client: text frames, one JSON object each, `type` first.',
        messages: frames.references(),
        bindings: { ws: BINDING },
      },
    },
    operations,
    components: frames.components(),
  };
}

const DESCRIPTION = `The socket of Parley. The server speaks first (\`hello\`); who calls is said by the \`Authorization\`
header, by a ticket in the address, or by an \`authenticate\` frame, and answered by \`ready\`.
A socket keeps the version that it was opened with: fields and events of later versions (\`x-since\`) do not come on it.
New optional fields may come with any minor version, so let unknown ones pass.`;

const CHANNEL = { $ref: '#/channels/realtime' };

const ON_CHANNEL = { channel: CHANNEL, security: [{ $ref: '#/components/securitySchemes/bearer' }] };

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key or an access token, once a connection.',
  },
};

const BINDING = {
  method: 'GET',
  query: {
    type: 'object',
    properties: {
      version: { type: 'string', enum: VERSIONS, description: 'As the header Service-Version.' },
      account: { type: 'string', description: 'As the header Service-Account.' },
      ticket: { type: 'string', description: 'From POST /v1/realtime/tickets, for one connection.' },
    },
  },
  bindingVersion: '0.1.0',
};

export const FRAME_SUMMARIES: Readonly<Record<ServerFrameType, string>> = {
  hello: 'First on every socket.',
  ready: 'The caller is known; `expires_at` is null for keys.',
  caught_up: 'Everything of the conversation up to `sequence` has been sent.',
  resync:
    'Something was not replayed. With `conversation_id` it is not subscribed (any more): load it over REST, then subscribe. With `feed` it is the own feed, which goes on: load its lists again over REST.',
  resumed: 'All that `resume` asked for has been sent.',
  ping: 'The heartbeat, with the heads that moved since the last one: answer with `pong` and its `t`.',
  pong: 'In place of a reply to the op `ping`.',
  goaway: 'The node stops: connect again after `reconnect_in_ms`, and keep this socket until then.',
  auth_expiring: 'The credential ends soon: send `refresh`.',
};

class Frames {
  readonly #schemas = new SchemaComponents();
  readonly #messages: Record<string, object> = {};

  constructor() {
    // Refusals have its `error`.
    this.#schemas.convert(ErrorEnvelope.properties.error as SchemaObject);
  }

  /** Returns a reference to the frame, for operations. */
  add(name: string, schema: TSchema, summary: string, since: Version = SOCKETS_SINCE): object {
    const title = name.replaceAll('.', '_');
    const payload = this.#schemas.convert({ ...schema, title: `${title}_frame` } as SchemaObject);
    const newer =
      since === SOCKETS_SINCE ? {} : { description: `Since version \`${since}\`.`, [SINCE]: since };
    this.#messages[title] ??= { name, title: name, summary, ...newer, payload };
    return { $ref: `${CHANNEL.$ref}/messages/${title}` };
  }

  references(): object {
    const names = Object.keys(this.#messages);
    return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }]));
  }

  components(): object {
    return {
      messages: this.#messages,
      schemas: this.#schemas.toJSON(),
      securitySchemes: SECURITY_SCHEMES,
    };
  }
}

function answerTo(op: Op, frames: Frames): object {
  const { result } = COMMANDS[op];
  if (result === null) return serverFrame(op === 'ping' ? 'pong' : 'ready', frames);
  const reply = Type.Object({
    type: Type.Literal('reply'),
    id: Type.String(),
    ok: Type.Literal(true),
    result: Type.Object(result),
  });
  describe(reply, {
    id: 'The `id` of the request.',
    ok: 'The request was carried out.',
    result: 'What the request asked for.',
  });
  return frames.add(`${op}_reply`, reply, `What \`${op}\` is answered with.`);
}

function refusal(frames: Frames): object {
  const frame = Type.Object({
    type: Type.Literal('reply'),
    id: Nullable(Type.String()),
    ok: Type.Literal(false),
    retry_after_ms: Since(RETRY_AFTER_SINCE, Type.Integer({ minimum: 1 })),
    error: ErrorEnvelope.properties.error,
  });
  describe(frame, {
    id: 'The `id` of the request. Null where the request had none that could be read.',
    ok: 'The request was refused.',
    retry_after_ms:
      'Milliseconds after which the request may be accepted. Absent where waiting does not help.',
    error: 'Why, as the error object of REST.',
  });
  return frames.add('refusal', frame, 'The request was refused; `error` is that of REST.');
}

function serverFrame(type: ServerFrameType, frames: Frames): object {
  return frames.add(type, SERVER_FRAMES[type], FRAME_SUMMARIES[type]);
}

/** The events that are about one message. */
const OF_A_MESSAGE = /^(?:message|draft|scheduled)\./;

const OF_DELETED = Type.String({
  description: 'Id of the conversation. Present where it was deleted, for its subscribers.',
});

function eventFrame(event: EventName, frames: Frames): object {
  const { stream, since } = EVENTS[event];
  const { summary, data } = EVENT_DATA[event];
  const frame = Type.Object({
    type: Type.Literal('event'),
    event: Type.Literal(event),
    ...(stream === 'conversation' ? { conversation_id: Type.String() } : {}),
    ...(event === 'conversation.removed' ? { conversation_id: Type.Optional(OF_DELETED) } : {}),
    ...(OF_A_MESSAGE.test(event) ? { sequence: Type.Optional(Type.Integer({ minimum: 1 })) } : {}),
    at: Timestamp,
    data,
  });
  describe(frame, {
    event: `Kind of event: always \`${event}\`.`,
    ...(stream === 'conversation' && {
      conversation_id: 'Id of the conversation that the event is about.',
    }),
    sequence: 'Position in the timeline of the conversation. Present for messages of the timeline.',
    at: 'When it happened.',
    data: summary,
  });
  return frames.add(event, frame, summary, since);
}

import type { CommandFrame } from '@parley/protocol/socket/commands.ts';
import {
  MAX_WAIT_MS,
  type PollBody,
  PRESENCE_DECLARED_SINCE,
  type StreamBody,
} from '@parley/protocol/socket/streams.ts';
import { covers } from '@parley/protocol/versions.ts';
import { type Call, OpenReply } from '../../../api/pipeline/route.ts';
import type { OpenAnswer } from '../../../platform/http/open-body.ts';
import type { Cursors } from '../changes/cursors.ts';
import type { InboxUpdates } from '../inbox-updates.ts';
import type { NodeOptions } from '../options.ts';
import type { Presence } from '../presence/presence.ts';
import type { Admission } from '../session/admission.ts';
import type { HeartbeatCursors } from '../session/heartbeat-cursor.ts';
import type { Session } from '../session/session.ts';
import type { Commands } from '../socket/commands.ts';
import type { OpenSessions } from '../socket/open-sessions.ts';
import type { OwnTopics } from '../stream/own-topics.ts';
import { AnswerWire, type Framing, type WireListener } from './answer-wire.ts';
import { EVENT_STREAM } from './event-stream.ts';
import { Poll } from './poll.ts';
import { readPollCursor } from './poll-cursor.ts';
import type { RecentPolls } from './recent-polls.ts';

export interface AnswersOptions extends Pick<NodeOptions, 'limits'> {
  readonly cursors: Pick<Cursors, 'current' | 'latest'>;
  readonly openSessions: OpenSessions;
  readonly admission: Pick<Admission, 'requireRoom'>;
  readonly commands: Pick<Commands, 'serve'>;
  readonly heartbeatCursors: HeartbeatCursors;
  readonly inboxUpdates: Pick<InboxUpdates, 'repeat'>;
  readonly presence: Pick<Presence, 'repeat'>;
  readonly recentPolls: RecentPolls;
  readonly topics: OwnTopics;
}

/** A request that opens a session. Its body has the requests of a socket after `ready`. */
type Opening<Body extends StreamBody> = Call<unknown, Body>;

/**
 * Sessions whose frames are the body of an HTTP answer, for clients that cannot open a socket
 * (docs/realtime.md#without-websockets). Both methods throw ApiError: `service_unavailable` once
 * the node drains, `limit_exceeded`.
 */
export class Answers {
  readonly #options: AnswersOptions;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /** Opens a session that lasts until one side ends it. */
  stream(opening: Opening<StreamBody>): OpenReply {
    this.#requireRoom(opening);
    const begin = (answer: OpenAnswer) => {
      const wire = this.#wire(answer, EVENT_STREAM);
      void this.#serve(this.#open(wire, opening), opening);
      return wire;
    };
    return replyOf(EVENT_STREAM, begin, { ...UNCHANGED, 'X-Accel-Buffering': 'no' });
  }

  /** Opens a session that is answered with its first event, or when its time is up. */
  poll(opening: Opening<PollBody>): OpenReply {
    const { heartbeatCursors, cursors, recentPolls, inboxUpdates, presence } = this.#options;
    const { body, principal } = opening;
    const cursor = readPollCursor(body.cursor);
    const { pollId } = cursor;
    const { id: actorId } = principal.actor;
    const leaving = recentPolls.has(pollId, actorId) ? 1 : 0;
    this.#requireRoom(opening, leaving);
    let session: Session | undefined;
    const poll = new Poll({
      cursor,
      firstCursor: cursor.base ?? cursors.current(),
      lastCursor: (resumed) => {
        const own = heartbeatCursors.of(session!) ?? cursors.current();
        return cursors.latest(own, [cursor.base, resumed]);
      },
      begun: new Set(body.subscribe?.map(({ conversation_id: id }) => id)),
      waitMs: body.wait_ms ?? MAX_WAIT_MS,
    });
    const begin = (answer: OpenAnswer) => {
      // Ends when its successor follows the conversations too, so that they stay open.
      const before = leaving === 0 ? undefined : recentPolls.take(pollId);
      const wire = this.#wire(answer, poll, {
        left: () => poll.look(),
        complete: () => recentPolls.keep(pollId, actorId, wire),
        over: () => {
          poll.over();
          before?.gone();
        },
      });
      const opened = this.#open(wire, opening);
      session = opened;
      poll.begin(wire);
      void this.#serve(opened, opening, leaving).then(() => {
        before?.gone();
        if (body.cursor !== undefined) {
          // Frames sent to the session between two polls reached no client.
          inboxUpdates.repeat(opened);
          for (const id of opened.conversationIds) presence.repeat(id, opened);
        }
        poll.caughtUp();
      });
      return wire;
    };
    return replyOf(poll, begin, UNCHANGED);
  }

  #requireRoom({ principal }: Opening<StreamBody>, leaving = 0): void {
    const { openSessions, admission } = this.#options;
    openSessions.requireServing();
    admission.requireRoom(principal.actor.id, leaving);
  }

  #wire(answer: OpenAnswer, framing: Framing, on: WireListener = {}): AnswerWire {
    const { topics, limits } = this.#options;
    return new AnswerWire({ answer, framing, topics, maxBytes: limits.durableBytes, ...on });
  }

  #open(wire: AnswerWire, { version }: Opening<StreamBody>): Session {
    const { openSessions } = this.#options;
    const session = openSessions.open(wire, { version, account: undefined });
    wire.carry(session);
    openSessions.greet(session);
    return session;
  }

  #serve(session: Session, { principal, body, version }: Opening<StreamBody>, leaving = 0): Promise<void> {
    const undeclared = covers(version, PRESENCE_DECLARED_SINCE) ? undefined : 'online';
    const asked = { status: body.presence ?? undeclared, requests: requestsOf(body), leaving };
    return this.#options.commands.serve(session, principal, asked);
  }
}

function replyOf(
  { start, filler }: Framing,
  begin: (answer: OpenAnswer) => AnswerWire,
  headers: Readonly<Record<string, string>>,
): OpenReply {
  let wire: AnswerWire | undefined;
  const body = {
    start,
    filler,
    begin: (answer: OpenAnswer) => {
      wire = begin(answer);
    },
    gone: () => wire?.gone(),
  };
  return new OpenReply(body, headers);
}

/** For proxies, which must neither keep an answer nor compress it. */
const UNCHANGED = { 'Cache-Control': 'no-cache, no-transform' };

/**
 * Returns the body's requests in the form of a socket's. Each reply has the id given here. Several
 * names of one conversation follow it once, from the lowest number.
 */
function requestsOf({
  subscribe = [],
  cursor,
  conversations = {},
}: StreamBody): (CommandFrame<'resume'> | CommandFrame<'subscribe'>)[] {
  const known = Object.entries(conversations).map(([conversation_id, after_sequence]): Followed => {
    return { conversation_id, after_sequence };
  });
  const followed = new Map<string, Followed>();
  for (const one of cursor === undefined ? [...subscribe, ...known] : subscribe) {
    const other = followed.get(one.conversation_id);
    if (other === undefined || numberOf(one) < numberOf(other)) followed.set(one.conversation_id, one);
  }
  if (cursor === undefined) return [...followed.values()].map(subscriptionOf);
  for (const { conversation_id: id } of known) followed.delete(id);
  const resume = { type: 'resume', id: RESUME, cursor, conversations } as const;
  return [resume, ...[...followed.values()].map(subscriptionOf)];
}

/** Without a number, only what comes is followed. */
function numberOf({ after_sequence: after = Number.MAX_SAFE_INTEGER }: Followed): number {
  return after;
}

const RESUME = 'resume';

type Followed = Omit<CommandFrame<'subscribe'>, 'type' | 'id'>;

function subscriptionOf(fields: Followed): CommandFrame<'subscribe'> {
  return { type: 'subscribe', id: fields.conversation_id, ...fields };
}

import { ID_PREFIXES } from '@parley/protocol/ids.ts';
import { externalIds } from '../../core/resources/external-ids.ts';
import { Answers } from './answers/answers.ts';
import { RecentPolls } from './answers/recent-polls.ts';
import { Resume } from './catch-up/resume.ts';
import type { Cursors } from './changes/cursors.ts';
import { InboxUpdates } from './inbox-updates.ts';
import type { NodeOptions } from './options.ts';
import { Activity } from './presence/activity.ts';
import { Presence } from './presence/presence.ts';
import { PresenceRecord } from './presence/presence-record.ts';
import { Admission } from './session/admission.ts';
import { HeartbeatCursors } from './session/heartbeat-cursor.ts';
import { Heartbeats } from './session/heartbeats.ts';
import { Revocation } from './session/revocation.ts';
import type { Session } from './session/session.ts';
import { Sessions } from './session/sessions.ts';
import { Commands } from './socket/commands.ts';
import { OpenSessions } from './socket/open-sessions.ts';
import { SocketServer } from './socket/server.ts';
import type { Tickets } from './socket/tickets.ts';
import { Fanout } from './stream/fanout.ts';
import { OwnTopics } from './stream/own-topics.ts';
import type { Broadcast } from './stream/reader.ts';
import { Streams } from './stream/streams.ts';

/** The parts of a node, and those of the gateway that REST shares with it. */
export interface GatewayOptions extends NodeOptions {
  /** The same instance that REST issues tickets from. */
  readonly tickets: Tickets;
  readonly cursors: Pick<Cursors, 'beforeFeed' | 'current' | 'latest' | 'read'>;
}

/** Puts the parts of the gateway together. It serves as soon as the HttpServer listens. */
export class Gateway {
  readonly streams: Streams;
  /** Publishes to the sockets of this node only. */
  readonly broadcast: Broadcast;
  readonly answers: Answers;
  readonly #openSessions: OpenSessions;
  readonly #recentPolls: RecentPolls;
  readonly #parts: readonly { close(): Promise<void> }[];
  readonly #unregister: readonly (() => void)[];

  constructor(options: GatewayOptions) {
    const { rights, authenticator, directory, cursors, http, limits, metrics, log, siblings } = options;
    const sessions = new Sessions<Session>(
      siblings &&
        ((subject, count) => {
          if (subject.startsWith(ACTOR)) siblings.countSockets(subject, count);
        }),
    );
    const topics = new OwnTopics();
    const fanout = new Fanout(http, metrics, topics);
    const presence = new Presence({
      engine: options.engine,
      holdMs: limits.presenceMs,
      deliver: (conversationId, event) => streams.deliverEphemeral(conversationId, event),
      onError: (error) => log.error({ err: error }, 'presence failed'),
    });
    const record = new PresenceRecord({
      database: options.database,
      nodeId: options.engine.nodeId,
      holdMs: limits.presenceMs,
      onError: (error) => log.warn({ err: error }, 'presence could not be written'),
    });
    const streams = new Streams({ ...options, presence, broadcast: fanout.broadcast });
    const heartbeatCursors = new HeartbeatCursors(cursors);
    const heartbeats = new Heartbeats({
      limits,
      cursor: () => cursors.current(),
      onError: (error) => log.error({ err: error }, 'heartbeats failed'),
    });
    const revocation = new Revocation({ rights, authenticator, directory, streams, sessions, log });
    const admission = new Admission({ ...options, sessions, streams, fanout, revocation, record });
    const activity = new Activity({ ...options, presence, record });
    const resume = new Resume({ ...options, streams, heartbeatCursors });
    const commands = new Commands({
      ...options,
      externalIds: externalIds(options.database),
      streams,
      admission,
      revocation,
      activity,
      resume,
      heartbeatCursors,
    });
    const inboxUpdates = new InboxUpdates({ ...options, sessions, broadcast: fanout.broadcast });
    this.#unregister = [
      options.engine.onMissed(({ reason, channels }) => {
        // While the link is away, no other node would hear the question.
        if (reason !== 'away') streams.askOthers(channels, reason === 'frames');
      }),
      rights.onChange((subject) => {
        if (subject.startsWith(ACTOR)) streams.forgetFrames();
      }),
    ];
    this.streams = streams;
    this.broadcast = fanout.broadcast;
    const openSessions = new OpenSessions({
      ...options,
      heartbeats,
      heartbeatCursors,
      sessions,
      streams,
      fanout,
      record,
    });
    this.#openSessions = openSessions;
    this.#recentPolls = new RecentPolls(limits.presenceMs);
    const server = new SocketServer({ ...options, openSessions, admission, commands });
    this.answers = new Answers({
      ...options,
      openSessions,
      admission,
      commands,
      heartbeatCursors,
      inboxUpdates,
      presence,
      recentPolls: this.#recentPolls,
      topics,
    });
    this.#parts = [server, heartbeats, inboxUpdates, presence, record, revocation];
  }

  /**
   * Sends all sockets to other nodes (docs/realtime.md#guarantees, 5). Resolves when no socket is
   * left or time is up.
   */
  drain(reason: string, drainMs: number): Promise<void> {
    this.#recentPolls.close();
    return this.#openSessions.drain(reason, drainMs);
  }

  /** Must be called after `drain`. The HttpServer cuts sockets that are still open. */
  async close(): Promise<void> {
    for (const unregister of this.#unregister) unregister();
    this.#recentPolls.close();
    await Promise.all(this.#parts.map((part) => part.close()));
  }
}

/** The prefix of actor ids. */
const ACTOR = `${ID_PREFIXES.actor}_`;

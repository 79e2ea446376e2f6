import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import type { DeclaredStatus, Typing } from '@parley/protocol/resources/activity.ts';
import type { CommandFrame, CommandResult } from '@parley/protocol/socket/commands.ts';
import { requireUnmoved } from '../../../api/access/account-moves.ts';
import { requirePermission } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { requireSender } from '../../../core/conversations/directory/access.ts';
import type { ConversationFacts } from '../../../core/conversations/directory/directory.ts';
import { markRead, publishRead } from '../../../core/conversations/participants/own-state.ts';
import type { Engine } from '../../../core/frames/engine.ts';
import { publish } from '../../../core/frames/publish.ts';
import { expandConversations } from '../../../core/resources/conversation.ts';
import { isKnownIn } from '../../../core/resources/known-users.ts';
import type { NodeOptions } from '../options.ts';
import type { Session } from '../session/session.ts';
import type { Presence } from './presence.ts';
import type { PresenceRecord } from './presence-record.ts';

export interface ActivityOptions extends Pick<NodeOptions, 'database' | 'engine' | 'directory'> {
  readonly presence: Presence;
  readonly record: Pick<PresenceRecord, 'declare'>;
}

/**
 * The commands by which actors show that they type, how far they have read and that they are
 * online. The events go to the team's subscribers, including the actor's own sockets.
 */
export class Activity {
  readonly #options: ActivityOptions;
  /** The last state in each conversation that a socket has typed in. */
  readonly #typing = new WeakMap<Session, Map<string, Typed>>();

  constructor(options: ActivityOptions) {
    this.#options = options;
  }

  /**
   * Publishes `typing`: at most one `start` a second, and a `stop` only after one. Throws ApiError:
   * `resource_not_found` if not subscribed, `insufficient_permissions` if the caller may not send.
   */
  async type(session: Session, frame: CommandFrame<'typing'>): Promise<CommandResult<'typing'>> {
    const { conversation_id: id, state } = frame;
    const principal = requireFollower(session, id);
    if (!principal.customer) requirePermission(principal, 'messaging:create');
    const facts = await this.#options.directory.facts(id);
    if (facts === undefined) throw notFound('conversation', 'conversation_id');
    requireSender(principal, facts);
    requireFollower(session, id);
    if (this.#isNews(session, id, state)) publishTyping(this.#options.engine, facts, principal, state);
    return {};
  }

  /**
   * Works like the endpoint; throws what markRead throws
   * (core/conversations/participants/own-state.ts).
   */
  async markRead(session: Session, frame: CommandFrame<'mark_read'>): Promise<CommandResult<'mark_read'>> {
    const { conversation_id: id, sequence } = frame;
    const { database, engine } = this.#options;
    const { principal } = session;
    if (principal === undefined) throw notFound('conversation', 'conversation_id');
    requireUnmoved(principal.move);
    if (!principal.customer) requirePermission(principal, 'messaging:read');
    const { movedAt, unread } = await database
      .transaction(async (tx) => {
        const { conversation, movedAt } = await markRead(tx, principal, id, sequence);
        const shown = await expandConversations(tx, principal, [conversation], []);
        return { movedAt, unread: shown.get(id)!.unread };
      })
      .catch((error) => {
        throw error instanceof ApiError && error.condition === 'resource_not_found'
          ? notFound('conversation', 'conversation_id')
          : error;
      });
    if (movedAt !== undefined) publishRead(engine, id, principal.actor, sequence, movedAt);
    return { unread };
  }

  declare(session: Session, status: DeclaredStatus): CommandResult<'presence'> {
    const { principal } = session;
    if (principal !== undefined && !session.closed) {
      const live = [...session.conversationIds].filter((id) => session.subscription(id)?.state === 'live');
      const isShownIn = (id: string) => this.#isShownIn(session, id);
      this.#options.presence.declare(session, principal.actor, status, live, isShownIn);
      // REST shows the presence of users only, and the socket of a customer is noted already.
      if (!principal.customer) this.#options.record.declare(session, principal.actor.id, status);
    }
    return {};
  }

  /** The facts of a conversation that a socket follows are cached, since it has been let in. */
  #isShownIn({ principal }: Session, conversationId: string): boolean {
    const facts = this.#options.directory.facts(conversationId);
    return (
      principal !== undefined && isKnownIn(principal, facts instanceof Promise ? undefined : facts?.members)
    );
  }

  #isNews(session: Session, conversationId: string, state: Typing['state']): boolean {
    const typed = this.#typing.get(session) ?? new Map<string, Typed>();
    this.#typing.set(session, typed);
    if (typed.size >= MAX_REMEMBERED) typed.clear();
    const last = typed.get(conversationId);
    const nowMs = performance.now();
    if (state === 'stop') {
      if (last?.state !== 'start') return false;
      typed.set(conversationId, { ...last, state });
      return true;
    }
    if (last !== undefined && nowMs - last.startedAtMs < START_EVERY_MS) return false;
    typed.set(conversationId, { state, startedAtMs: nowMs });
    return true;
  }
}

/**
 * Publishes to readers who all know the caller. Never throws, and never tries again, because the
 * next event repeats the state.
 */
export function publishTyping(
  engine: Engine,
  { id: conversationId, members }: ConversationFacts,
  principal: Principal,
  state: Typing['state'],
): void {
  if (!isKnownIn(principal, members)) return;
  const { id: actor_id, external_id = null } = principal.actor;
  publish(engine, {
    event: 'typing',
    stream: conversationId,
    conversationId,
    sequence: 0,
    resource: actor_id,
    at: wireTime(Date.now()),
    team: { actor_id, state, external_id } satisfies Typing,
  }).catch(() => {});
}

interface Typed {
  readonly state: Typing['state'];
  readonly startedAtMs: number;
}

const START_EVERY_MS = 1_000;
/** Conversations remembered for a socket; a forgotten one only allows a `start` too early. */
const MAX_REMEMBERED = 1_000;

function requireFollower(session: Session, conversationId: string): Principal {
  const { principal } = session;
  const state = session.subscription(conversationId)?.state;
  if (principal === undefined || (state !== 'live' && state !== 'replaying'))
    throw notFound('conversation', 'conversation_id');
  return principal;
}

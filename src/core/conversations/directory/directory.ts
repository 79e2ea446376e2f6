import { type Actor, type ActorFields, presentActor } from '@parley/protocol/resources/actor.ts';
import type { ConversationAudience, ConversationType } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { RevocableCache } from '../../../api/access/revocable-cache.ts';
import type { Rights } from '../../../api/access/rights.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { GatheredReads } from '../../../platform/db/connection/gathered-reads.ts';
import type { Querier } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { CUSTOMER_SERVICE } from '../../accounts/groups/groups.ts';
import { ACTOR_JSON, isBlockedByTeam } from '../../resources/actor.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import type { ShownParticipant } from '../../resources/participant.ts';
import { ORIGIN_OF_CASE, personaGroup } from './persona.ts';

/** The cached facts of a conversation that each send, subscription and notification needs. */
export interface ConversationFacts {
  readonly id: string;
  readonly accountId: string;
  readonly type: ConversationType;
  readonly audience: ConversationAudience;
  readonly status: 'active' | 'archived';
  readonly title: string | null;
  /** Whether one of the two users of a direct message has blocked the other. */
  readonly isBlocked: boolean;
  /** ISO 8601; null unless the conversation was deleted. */
  readonly deletedAt: string | null;
  /** The active participants by actor id, including members that have hidden the conversation. */
  readonly members: ReadonlyMap<string, Member>;
  /** Whether a member has hidden the conversation; the next message shows it again. */
  readonly hasHidden: boolean;
  readonly agents: readonly AgentMember[];
  /** Whether texts mention users by their addresses: not where the account hides those. */
  readonly namesAddresses: boolean;
  /**
   * The author that customers see: the group of the inbox or the widget, else Customer Service.
   * Null on team conversations.
   */
  readonly persona: Actor | null;
  /** The inbox of a bridged case; null without one, or if it was removed. */
  readonly mailboxId: string | null;
  /** The widget that the case was opened through; null without one, or if it was removed. */
  readonly widgetId: string | null;
  /** The actor id of a user or a group. */
  readonly assigneeId: string | null;
  /** Whether answers that its customer does not read are mailed, from the inbox of the widget. */
  readonly mailsAnswers: boolean;
  /**
   * The least version of the roster in Postgres that `members` and `agents` reflect. A send
   * compares it with the version at its commit (docs/architecture.md#recipients).
   */
  readonly rosterVersion: number;
  /** The number of the last message that was purged. */
  readonly purgedThrough: number;
}

export interface Member {
  readonly participantId: string;
  readonly type: Participant['type'];
  readonly role: Participant['role'];
  /** The end of the member's mute, in milliseconds since 1970; 0 if it is not muted. */
  readonly mutedUntilMs: number;
  /**
   * Whether messages that do not mention the member notify it, if it has not muted them. Who takes
   * part by a group alone leaves them to the assignee (DECISIONS.md#who-is-notified-in-a-case).
   */
  readonly isNotified: boolean;
  /** Whether the actor cannot act until it is activated again. */
  readonly deactivated: boolean;
  /** Whether the team has blocked this customer. */
  readonly blocked: boolean;
  readonly actor: Actor;
}

/** An agent, with the settings that decide what starts it (docs/contract.md#participants). */
export interface AgentMember {
  readonly actorId: string;
  /** The agent's own id, `agt_…`; null if the agent was deleted. */
  readonly id: string | null;
  /** The name by which texts mention the agent. It never changes; null if the agent was deleted. */
  readonly slug: string | null;
  readonly policy: NonNullable<Participant['agent_trigger_policy']>;
  readonly keywords: readonly string[];
}

const MAX_CACHED = 50_000;

/**
 * Cache of conversations by id. A change of a conversation or its participants is announced with
 * the conversation's id, one of an actor or an inbox with its own id. Every node then reads the
 * affected conversations again.
 */
export class ConversationDirectory {
  readonly #cache: RevocableCache<Found>;

  constructor(database: Pick<Database, 'reader'>, rights: Rights) {
    // After a restart thousands of sockets request hundreds of conversations within one second.
    const reads = new GatheredReads((ids: readonly string[]) => loadFacts(database.reader, ids));
    this.#cache = new RevocableCache({
      rights,
      max: MAX_CACHED,
      load: (id: string) => reads.ask(id),
      subjectsOf,
    });
  }

  /** Returns the facts, or undefined for an unknown conversation. Synchronous if cached. */
  facts(conversationId: string): Found | Promise<Found> {
    return this.#cache.get(conversationId);
  }

  /**
   * Like `facts`, but reads again if the cached roster is older than this version, which the caller
   * saw in Postgres. The announcement of that change may still be on its way to this node.
   */
  factsSince(id: string, rosterVersion: number): Found | Promise<Found> {
    const facts = this.#cache.get(id);
    return facts instanceof Promise
      ? facts.then((read) => this.#renewed(id, read, rosterVersion))
      : this.#renewed(id, facts, rosterVersion);
  }

  #renewed(id: string, facts: Found, rosterVersion: number): Found | Promise<Found> {
    if (facts === undefined || facts.rosterVersion >= rosterVersion) return facts;
    this.#cache.invalidate(id);
    return this.#cache.get(id);
  }
}

type Found = ConversationFacts | undefined;

function subjectsOf(facts: Found, id: string): string[] {
  const subjects = [id, ...(facts?.members.keys() ?? [])];
  if (facts !== undefined) subjects.push(facts.accountId);
  if (facts?.mailboxId) subjects.push(facts.mailboxId);
  if (facts?.widgetId) subjects.push(facts.widgetId);
  if (facts?.persona) subjects.push(facts.persona.id);
  if (facts?.assigneeId) subjects.push(facts.assigneeId);
  return subjects;
}

type DirectoryRow = Pick<
  ConversationRow,
  | 'id'
  | 'account_id'
  | 'type'
  | 'audience'
  | 'status'
  | 'title'
  | 'deleted_at'
  | 'is_blocked'
  | 'inbox_id'
  | 'widget_id'
  | 'assignee_id'
  | 'roster_version'
  | 'purged_through'
> & {
  persona: ActorFields | null;
  mails_answers: boolean;
  names_addresses: boolean;
  /** The group that is the assignee of a case with a team, and its members. */
  assigned_group_id: string | null;
  assigned_members: string[] | null;
};

interface MemberRow
  extends ActorFields,
    Pick<
      ShownParticipant,
      | 'role'
      | 'notifications'
      | 'muted_until'
      | 'membership'
      | 'via_group_id'
      | 'agent_trigger_policy'
      | 'agent_trigger_keywords'
    > {
  conversation_id: string;
  participant_id: string;
  participant_type: Participant['type'];
  deactivated: boolean;
  blocked: boolean;
  agent_id: string | null;
  agent_slug: string | null;
}

/** Returns the facts of each conversation, or undefined for an unknown conversation. */
export async function loadFacts(reader: Querier, ids: readonly string[]): Promise<Found[]> {
  // One round trip in this order keeps the members from being older than the version says.
  const [conversations, members] = await Promise.all([
    reader.query(READ_CONVERSATIONS, ids, CUSTOMER_SERVICE),
    reader.query(READ_MEMBERS, ids),
  ]);
  const membersOf = Map.groupBy(members, (row) => row.conversation_id);
  const facts = new Map(conversations.map((row) => [row.id, toFacts(row, membersOf.get(row.id) ?? [])]));
  return ids.map((id) => facts.get(id));
}

function toFacts(row: DirectoryRow, members: readonly MemberRow[]): ConversationFacts {
  const assigned = new Set([row.assignee_id, ...(row.assigned_members ?? [])]);
  // Admins that stand in for the members of a group are assigned with it.
  const isAssigned = ({ id, via_group_id: via }: MemberRow) =>
    assigned.has(id) || (via !== null && via === row.assigned_group_id);
  const isLeftToAssignee = members.some((member) => !member.deactivated && isAssigned(member));
  const isNotified = (member: MemberRow) =>
    member.via_group_id === null || !isLeftToAssignee || isAssigned(member);
  return {
    id: row.id,
    accountId: row.account_id,
    type: row.type,
    audience: row.audience,
    status: row.status,
    title: row.title,
    isBlocked: row.is_blocked,
    deletedAt: row.deleted_at,
    members: new Map(members.map((member) => [member.id, toMember(member, isNotified(member))])),
    hasHidden: members.some(({ membership }) => membership === 'hidden'),
    agents: members.flatMap(toAgents),
    namesAddresses: row.names_addresses,
    persona: row.persona && presentActor(row.persona),
    mailboxId: row.inbox_id,
    widgetId: row.widget_id,
    assigneeId: row.assignee_id,
    mailsAnswers: row.mails_answers,
    rosterVersion: row.roster_version,
    purgedThrough: row.purged_through,
  };
}

function toMember(row: MemberRow, isNotified: boolean): Member {
  const { notifications, muted_until: until } = row;
  const muteEndsMs = until === null ? Infinity : Date.parse(until);
  return {
    participantId: row.participant_id,
    type: row.participant_type,
    role: row.role,
    mutedUntilMs: notifications === 'muted' ? muteEndsMs : 0,
    isNotified,
    deactivated: row.deactivated,
    blocked: row.blocked,
    actor: presentActor(row),
  };
}

function toAgents(row: MemberRow): AgentMember[] {
  const { agent_trigger_policy: policy, agent_trigger_keywords: keywords } = row;
  if (policy === null) return [];
  return [{ actorId: row.id, id: row.agent_id, slug: row.agent_slug, policy, keywords }];
}

const READ_CONVERSATIONS = statement<[ids: readonly string[], personaName: string], DirectoryRow>(
  'read-conversation-facts',
)`
    SELECT c.id, c.account_id, c.type, c.audience, c.status, c.title, c.deleted_at, c.is_blocked, c.roster_version, c.purged_through,
      c.assignee_id, i.id AS inbox_id, w.id AS widget_id, assigned.id AS assigned_group_id,
      (SELECT array_agg(m.actor_id) FROM group_members m WHERE m.group_id = assigned.id) AS assigned_members,
      c.inbox_id IS NULL AND w.inbox_id IS NOT NULL AS mails_answers,
      (SELECT handles = 'everyone' FROM accounts WHERE id = c.account_id) AS names_addresses,
      CASE WHEN c.audience = 'customer' THEN (
        SELECT ${ACTOR_JSON} FROM messaging_groups g JOIN actors a ON a.id = g.actor_id
        WHERE g.id = ${personaGroup('$2')}
      ) END AS persona
    FROM conversations c ${ORIGIN_OF_CASE}
      LEFT JOIN LATERAL (
        SELECT g.id FROM messaging_groups g
        WHERE c.team_group_id IS NOT NULL AND g.account_id = c.account_id AND g.actor_id = c.assignee_id OFFSET 0
      ) assigned ON true
    WHERE c.id = ANY($1)`;

const READ_MEMBERS = statement<[conversationIds: readonly string[]], MemberRow>('read-conversation-members')`
    SELECT p.conversation_id, p.id AS participant_id, p.type AS participant_type, p.role, p.notifications,
      p.muted_until, p.membership, p.via_group_id, a.deactivated_at IS NOT NULL AS deactivated,
      a.customer AND ${isBlockedByTeam('a.id')} AS blocked, p.agent_trigger_policy, p.agent_trigger_keywords,
      a.id, a.type, a.name, a.handle, a.avatar_url, a.external_id, a.username, d.id AS agent_id, d.slug AS agent_slug
    FROM participants p JOIN actors a ON a.id = p.actor_id
      LEFT JOIN agent_definitions d ON p.type = 'agent' AND d.actor_id = p.actor_id
    WHERE p.conversation_id = ANY($1) AND p.${IS_MEMBER}`;

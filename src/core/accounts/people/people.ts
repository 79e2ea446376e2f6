import { type Actor, type ActorFields, presentActor } from '@parley/protocol/resources/actor.ts';
import { type ActorPresence, Person } from '@parley/protocol/resources/person.ts';
import { type Principal, seesWholeAccount } from '../../../api/access/principal.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { type KeysetList, type KeysetOptions, keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { type Acquainted, acquainted, companionsOf, isKnown } from '../../resources/known-users.ts';
import { IS_MEMBER } from '../../resources/membership.ts';
import { presentAs } from '../../resources/present-as.ts';
import { FOLDED } from '../../tables/folded-tables.ts';

/** `sort_name` orders the list: the name, regardless of case. */
export interface PersonRow extends Omit<Person, 'object'> {
  readonly sort_name: string;
}

export function presentPerson(row: PersonRow): Person {
  return presentAs(Person, row);
}

/** Returns the presence of the users among these actors that the caller knows, in their order. */
export async function readPresences(
  db: Db,
  caller: Principal,
  actorIds: readonly string[],
): Promise<ActorPresence[]> {
  const rows = await db.query(READ_PRESENCES, caller.accountId, actorIds, acquainted(caller));
  const byId = new Map(rows.map((row) => [row.actor_id, row]));
  return [...new Set(actorIds)].flatMap((actor_id) => {
    const found = byId.get(actor_id);
    return found === undefined ? [] : { object: 'actor_presence', ...found };
  });
}

/**
 * Returns the actors of the account with these ids that the caller may know of, in their order. A
 * customer is known to the members of its conversations, and to callers that see the whole account;
 * a user as resources/known-users.ts says.
 */
export async function readKnownActors(
  db: Db,
  principal: Principal,
  ids: readonly string[],
): Promise<Actor[]> {
  const { accountId, actor } = principal;
  const seesAll = seesWholeAccount(principal);
  const rows = await db.query(READ_KNOWN_ACTORS, accountId, ids, actor.id, seesAll, acquainted(principal));
  const byId = new Map(rows.map((row) => [row.id, presentActor(row)]));
  return [...new Set(ids)].flatMap((id) => byId.get(id) ?? []);
}

/** The active users and agents of the account, without customers. */
const PEOPLE_ROWS = {
  columns: `t.id, t.type, t.name, CASE t.type WHEN 'user' THEN t.handle END AS handle, t.avatar_url, t.external_id, t.username,
      CASE t.type WHEN 'user' THEN ${presenceOf('t.id')} END AS presence, lower(coalesce(t.name, '')) AS sort_name`,
  from: "actors t LEFT JOIN agent_definitions d ON t.type = 'agent' AND d.actor_id = t.id",
  // These conditions on `t` are those of the index actors_people.
  where: `t.account_id = $1 AND t.type IN ('user', 'agent') AND NOT t.customer AND t.deactivated_at IS NULL
      AND (t.type = 'user' OR d.status = 'active')`,
} as const;

/**
 * The active users and agents of the account by name, without the caller and without customers. The
 * caller may mention and add them, and start conversations with them.
 */
const PEOPLE_LIST = {
  ...PEOPLE_ROWS,
  key: [
    ["lower(coalesce(t.name, ''))", 'text'],
    ['t.id', 'text'],
  ],
  order: 'oldest_first',
  folded: { table: FOLDED.actors, alias: 't' },
} as const;

type People = KeysetList<[accountId: string, caller: string], PersonRow>;

const ALL = searchable({
  name: 'list-people',
  where: `${PEOPLE_ROWS.where} AND t.id <> $2`,
});

/** Begins with the ids, which are few: a walk of all people by name would look each of them up. */
const KNOWN = searchable({
  name: 'list-known-people',
  where: `${PEOPLE_ROWS.where} AND t.id <> $2 AND t.id IN (
        SELECT actor_id FROM agent_definitions WHERE account_id = $1 UNION ALL ${companionsOf('$2')})`,
});

/**
 * Returns the list for callers that see addresses, and for those that find people by name alone.
 */
function searchable(own: Pick<KeysetOptions, 'name' | 'where'>): Record<'whole' | 'named', People> {
  const folded = { ...PEOPLE_LIST.folded, isFirst: true };
  return {
    whole: keysetList({ ...PEOPLE_LIST, ...own }),
    named: keysetList({ ...PEOPLE_LIST, ...own, name: `${own.name}-by-name`, folded }),
  };
}

/** Returns the list of the people that the caller knows. */
export function peopleOf(caller: Principal): People {
  const list = acquainted(caller) === null ? ALL : KNOWN;
  return caller.seesHandles ? list.whole : list.named;
}

/**
 * Returns the person with the id of an actor, the caller too; undefined for an actor that is not
 * among the people that the caller knows.
 */
export async function readPerson(db: Db, caller: Principal, id: string): Promise<Person | undefined> {
  const [row] = await db.query(READ_PERSON, caller.accountId, id, acquainted(caller));
  return row && presentPerson(row);
}

const READ_PERSON = statement<[accountId: string, id: string, caller: Acquainted], PersonRow>('read-person')`
    SELECT ${PEOPLE_ROWS.columns} FROM ${PEOPLE_ROWS.from}
    WHERE ${PEOPLE_ROWS.where} AND t.id = $2 AND ${isKnown('$3', 't')}`;

const READ_PRESENCES = statement<
  [accountId: string, actorIds: readonly string[], caller: Acquainted],
  Omit<ActorPresence, 'object'>
>('read-presences')`
    SELECT u.id AS actor_id, CASE WHEN a.deactivated_at IS NULL THEN ${presenceOf('u.id')} ELSE 'offline' END AS status, a.external_id
    FROM users u JOIN actors a ON a.id = u.id WHERE u.account_id = $1 AND u.id = ANY($2) AND ${isKnown('$3')}`;

const READ_KNOWN_ACTORS = statement<
  [
    accountId: string,
    ids: readonly string[],
    callerId: string,
    seesWholeAccount: boolean,
    caller: Acquainted,
  ],
  ActorFields
>('read-known-actors')`
    SELECT a.id, a.type, a.name, a.handle, a.avatar_url, a.external_id, a.username FROM actors a
    WHERE a.account_id = $1 AND a.id = ANY($2) AND ${isKnown('$5')} AND (NOT a.customer OR $4::boolean OR EXISTS (
      SELECT FROM participants o JOIN participants t ON t.conversation_id = o.conversation_id
      WHERE o.actor_id = $3 AND o.${IS_MEMBER} AND t.actor_id = a.id))`;

/**
 * SQL: the presence of an actor, whose id is an expression, over all nodes
 * (edge/gateway/presence/presence-record.ts). An open socket outranks a closed one, whatever its
 * status; then online outranks away.
 */
export function presenceOf(actorId: string): string {
  return `coalesce((
      SELECT e.status FROM presences e JOIN presence_nodes o ON o.id = e.node_id AND o.until > clock_timestamp()
      WHERE e.actor_id = ${actorId} AND (e.until IS NULL OR e.until > clock_timestamp())
      ORDER BY e.until IS NULL DESC, e.status = 'online' DESC LIMIT 1
    ), 'offline')`;
}

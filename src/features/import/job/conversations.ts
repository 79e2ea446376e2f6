import type { ArchivedMember, ConversationRecord } from '@parley/archives/record.ts';
import { newId } from '@parley/protocol/ids.ts';
import { enqueueRightsChanged } from '../../../core/accounts/rights/rights-changed.ts';
import { audit } from '../../../core/audit/audit.ts';
import { directKeyOf } from '../../../core/conversations/rows/conversation-store.ts';
import { type Change, enqueueChanged } from '../../../core/events/changes.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ImportRow } from '../imports/import-store.ts';
import type { Numbered } from './people.ts';
import type { Refs } from './refs.ts';
import type { Tally } from './tally.ts';

interface Parts {
  readonly row: ImportRow;
  readonly refs: Refs;
  readonly tally: Tally;
}

/**
 * Creates a conversation of an archive with its members, or adds members that are new to the
 * conversation of an earlier import. Two users have one direct message: an archived one becomes the
 * existing one. Only `conversation.added` is sent, to open screens of the members.
 */
export async function importConversation(
  tx: Tx,
  { row, refs, tally }: Parts,
  { record, number }: Numbered<ConversationRecord>,
): Promise<void> {
  const sourceIds = [record.ref, ...record.merged];
  const known = [...(await refs.find(tx, 'conversation', sourceIds)).values()][0];
  const members = await membersOf(tx, refs, record);
  const there = known === undefined ? undefined : await readState(tx, known.id);
  const found = there ?? (await findDirect(tx, row, members, record));
  const became = (id: string, isMade: boolean) =>
    refs.put(
      tx,
      'conversation',
      sourceIds.map((sourceId) => ({ sourceId, id, isMade })),
    );
  if (found !== undefined) {
    // The refs of an earlier import stay, so that no read position is moved back.
    if (known?.id !== found.id || record.merged.length > 0) await became(found.id, false);
    if (found.is_deleted) {
      const detail = `The conversation ${record.title ?? record.ref} was deleted here.`;
      const reason = { reason: 'conversation_deleted', detail, place: record.ref };
      tally.skip('conversations', number, reason, sourceIds.length);
      return;
    }
    tally.add('conversations', 'existed', sourceIds.length);
    if (found.type === 'group') await addMembers(tx, row, found.id, members);
    return;
  }
  const id = newId('conversation');
  const isDirect = members.length === 2 && record.kind === 'direct';
  await tx.query(
    INSERT,
    id,
    row.account_id,
    isDirect ? 'direct_message' : 'group',
    record.title,
    record.archived ? 'archived' : 'active',
    record.audience,
    isDirect ? directKeyOf([members[0]!.actorId, members[1]!.actorId]) : null,
    record.created_at,
    row.source === 'parley' ? record.ref : null,
  );
  await audit(tx, {
    accountId: row.account_id,
    conversationId: id,
    actorId: row.created_by,
    action: 'conversation.created',
    details: { import_id: row.id },
  });
  await addMembers(tx, row, id, isDirect ? members.map((one) => ({ ...one, role: 'member' })) : members);
  if (!isDirect) await tx.query(APPOINT_OWNER, id, await creatorOf(tx, refs, record));
  await became(id, true);
  tally.add('conversations', 'imported', sourceIds.length);
}

interface Member {
  readonly actorId: string;
  readonly role: ArchivedMember['role'];
}

/** Returns the members, each actor once: several people of an archive may be one actor here. */
async function membersOf(tx: Tx, refs: Refs, { members }: ConversationRecord): Promise<readonly Member[]> {
  const people = await refs.find(
    tx,
    'person',
    members.map(({ person }) => person),
  );
  const byActor = new Map<string, Member>();
  for (const { person, role } of members) {
    const actorId = people.get(person)?.id;
    if (actorId !== undefined && !byActor.has(actorId)) byActor.set(actorId, { actorId, role });
  }
  return [...byActor.values()];
}

async function creatorOf(tx: Tx, refs: Refs, { creator }: ConversationRecord): Promise<string | null> {
  if (creator === null) return null;
  return (await refs.find(tx, 'person', [creator])).get(creator)?.id ?? null;
}

interface State {
  readonly id: string;
  readonly type: string;
  readonly is_deleted: boolean;
}

async function readState(tx: Tx, id: string): Promise<State | undefined> {
  const [state] = await tx.query(READ_STATE, id);
  return state;
}

async function findDirect(
  tx: Tx,
  { account_id }: ImportRow,
  members: readonly Member[],
  { kind }: ConversationRecord,
): Promise<State | undefined> {
  const [first, second, ...more] = members;
  if (kind !== 'direct' || first === undefined || second === undefined || more.length > 0) return undefined;
  const [found] = await tx.query(FIND_DIRECT, account_id, directKeyOf([first.actorId, second.actorId]));
  return found;
}

/** Adds members that never were in the conversation, and shows it to them. */
async function addMembers(
  tx: Tx,
  { account_id }: ImportRow,
  conversationId: string,
  members: readonly Member[],
): Promise<void> {
  if (members.length === 0) return;
  const added = await tx.query(
    ADD_MEMBERS,
    members.map(() => newId('participant')),
    account_id,
    conversationId,
    members.map(({ actorId }) => actorId),
    members.map(({ role }) => role),
  );
  if (added.length === 0) return;
  await enqueueRightsChanged(tx, [conversationId]);
  const event = 'conversation.added';
  const changes = added
    .filter(({ is_active }) => is_active)
    .map(({ actor_id: stream }): Change => ({ event, id: conversationId, stream }));
  await enqueueChanged(tx, changes);
}

const READ_STATE = statement<[id: string], State>('read-state-of-imported-conversation')`
    SELECT id, type, deleted_at IS NOT NULL AS is_deleted FROM conversations WHERE id = $1`;

const FIND_DIRECT = statement<[accountId: string, directKey: string], State>('find-direct-for-import')`
    SELECT id, type, deleted_at IS NOT NULL AS is_deleted FROM conversations
    WHERE account_id = $1 AND direct_key = $2`;

const INSERT = statement<
  [
    id: string,
    accountId: string,
    type: string,
    title: string | null,
    status: string,
    audience: string,
    directKey: string | null,
    createdAt: string | null,
    externalId: string | null,
  ]
>('insert-imported-conversation')`
    INSERT INTO conversations (id, account_id, type, title, status, audience, workflow_status, direct_key,
      created_at, external_id)
    SELECT $1, $2, $3, $4, $5, $6, CASE WHEN $6 = 'customer' THEN 'resolved' END, $7,
      coalesce($8::timestamptz, clock_timestamp()), CASE WHEN NOT EXISTS (
        SELECT FROM conversations c WHERE c.account_id = $2 AND c.external_id = $9
      ) THEN $9 END`;

// Customers participate only in cases, and only as members.
const ADD_MEMBERS = statement<
  [
    ids: readonly string[],
    accountId: string,
    conversationId: string,
    actorIds: readonly string[],
    roles: readonly string[],
  ],
  { actor_id: string; is_active: boolean }
>('add-imported-members')`
    WITH added AS (
      INSERT INTO participants (id, account_id, conversation_id, actor_id, type, role)
      SELECT m.id, $2, $3, m.actor_id, CASE WHEN a.customer THEN 'customer' ELSE 'user' END,
        CASE WHEN a.customer AND m.role <> 'viewer' THEN 'member' ELSE m.role END
      FROM unnest($1::text[], $4::text[], $5::text[]) AS m(id, actor_id, role)
      JOIN actors a ON a.id = m.actor_id JOIN conversations c ON c.id = $3
      WHERE NOT a.customer OR c.audience = 'customer'
      ORDER BY m.actor_id
      ON CONFLICT (conversation_id, actor_id) DO NOTHING
      RETURNING actor_id
    )
    SELECT d.actor_id, a.deactivated_at IS NULL AS is_active
    FROM added d JOIN actors a ON a.id = d.actor_id`;

/** Appoints the owner that a group needs: its creator first, active people before placeholders. */
const APPOINT_OWNER = statement<[conversationId: string, creator: string | null]>(
  'appoint-owner-of-imported-conversation',
)`
    UPDATE participants SET role = 'owner' WHERE id = (
      SELECT p.id FROM participants p JOIN actors a ON a.id = p.actor_id
      WHERE p.conversation_id = $1 AND p.type = 'user' AND NOT EXISTS (
        SELECT FROM participants o WHERE o.conversation_id = $1 AND o.role = 'owner')
      ORDER BY a.deactivated_at IS NOT NULL, p.actor_id IS DISTINCT FROM $2, p.id LIMIT 1)`;

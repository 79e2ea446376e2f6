/**
 * The standing of a conversation, derived from its messages: the time of the last one, the newest
 * message that counts as unread, and the newest by another author (src/core/inbox/README.md).
 * Deleted and imported messages do not count; customers see no internal messages.
 *
 * A row of conversation_activity avoids reading the history: up to `scanned_through` all numbers
 * are settled, so that only later messages are read. It does not help once a message was deleted.
 */

type Side = ReturnType<typeof sideOf>;

const TEAM = sideOf('team', 'true', '');
const CUSTOMER = sideOf('customer', "m.visibility <> 'internal'", 'customer_');

/**
 * Returns readers who see the same messages, and their columns of conversation_activity. `seen` is
 * SQL: the condition on a message that they see.
 */
function sideOf(of: string, seen: string, prefix: string) {
  return {
    of,
    seen,
    at: `${prefix}activity_at`,
    last: `${prefix}last_sequence`,
    author: `${prefix}last_author_id`,
    other: `${prefix}other_sequence`,
  };
}

/**
 * SQL: joins that add `s`, with the columns of conversation_activity from `activity_at` to
 * `scanned_through`, and `stored`, the present row of conversation_activity. `due` has the `id` of
 * a conversation and `is_rescan`, whether a message was deleted since that row was written; `c` is
 * an alias of conversations.
 *
 * Messages after the row are read once, for all counts together. A whole history is walked
 * backwards instead, as far as each answer needs.
 */
export function standingOf(due: string, c: string): string {
  const parts = [
    columnsOf(TEAM, c),
    columnsOf(CUSTOMER, c),
    // Without a hole, all numbers up to the head are settled.
    `CASE WHEN known.scanned_through + came.numbers = head.sequence THEN head.sequence
          ELSE greatest(stored.scanned_through, head.sequence - ${SETTLED_BELOW}, 0) END AS scanned_through`,
  ];
  const behind = `m.conversation_id = ${c}.id AND m.sequence > coalesce(known.scanned_through, 0)`;
  const customers = `${c}.audience = 'customer'`;
  return `LEFT JOIN LATERAL (
        SELECT * FROM conversation_activity WHERE conversation_id = ${due}.id OFFSET 0
      ) stored ON true
      LEFT JOIN LATERAL (SELECT stored.* WHERE NOT ${due}.is_rescan) known ON true
      CROSS JOIN LATERAL (
        SELECT ${parts.join(',\n          ')}
        FROM (
          SELECT max(m.sequence) AS sequence FROM messages m
          WHERE m.conversation_id = ${c}.id AND m.sequence IS NOT NULL
        ) head
        ${newestOf(TEAM, behind, 'true')}
        ${newestOf(CUSTOMER, behind, customers)}
        CROSS JOIN LATERAL (
          SELECT count(*) AS numbers, ${otherCame(TEAM, 'true')}, ${otherCame(CUSTOMER, customers)}
          FROM messages m WHERE known.scanned_through IS NOT NULL AND ${behind}
        ) came
        ${otherOf(TEAM, behind, 'true')}
        ${otherOf(CUSTOMER, behind, customers)}
      ) s`;
}

/**
 * The distance below the head beyond which a message is refused a number
 * (core/messages/timeline/timeline-store.ts).
 */
const SETTLED_BELOW = 1_000;

function columnsOf({ of, at, last, author, other }: Side, c: string): string {
  const newest = `${of}_newest`;
  return `greatest(stored.${at}, ${of}_sent.at, ${c}.created_at) AS ${at},
          coalesce(${newest}.sequence, known.${last}, 0) AS ${last},
          CASE WHEN ${newest}.sequence IS NULL THEN known.${author} ELSE ${newest}.author_id END AS ${author},
          coalesce(${of}_other.sequence, came.${of}_other, CASE WHEN ${newest}.sequence IS NOT NULL
            AND known.${author} IS DISTINCT FROM ${newest}.author_id THEN known.${last} ELSE known.${other} END, 0) AS ${other}`;
}

// `holds` is a condition on the conversation. In the WHERE of a subquery it keeps Postgres from
// starting the scan; as a condition of the join it is checked after the scan, which then reads
// every new message.

function newestOf({ of, seen }: Side, behind: string, holds: string): string {
  return `LEFT JOIN LATERAL (
          SELECT moment_of(m) AS at FROM messages m
          WHERE ${holds} AND ${behind} AND m.status = 'sent' AND m.imported IS NULL AND ${seen}
          ORDER BY m.sequence DESC LIMIT 1
        ) ${of}_sent ON true
        LEFT JOIN LATERAL (
          SELECT m.sequence, m.author_id FROM messages m
          WHERE ${holds} AND ${behind} AND ${COUNTED} AND ${seen} ORDER BY m.sequence DESC LIMIT 1
        ) ${of}_newest ON true`;
}

/** SQL: the newest message by another author among the new messages. */
function otherCame({ of, seen }: Side, holds: string): string {
  const isOther = `m.author_id IS DISTINCT FROM ${of}_newest.author_id`;
  return `max(m.sequence) FILTER (WHERE ${holds} AND ${isOther} AND ${COUNTED} AND ${seen}) AS ${of}_other`;
}

/** SQL: the newest message by another author in a whole history. */
function otherOf({ of, seen }: Side, behind: string, holds: string): string {
  return `LEFT JOIN LATERAL (
          SELECT m.sequence FROM messages m
          WHERE known.scanned_through IS NULL AND ${holds} AND ${behind} AND ${COUNTED} AND ${seen}
            AND m.sequence < ${of}_newest.sequence AND m.author_id IS DISTINCT FROM ${of}_newest.author_id
          ORDER BY m.sequence DESC LIMIT 1
        ) ${of}_other ON true`;
}

const COUNTED = "m.status = 'sent' AND m.deleted_at IS NULL AND m.imported IS NULL";

/** SQL: the member's own time of activity. `p` aliases participants, `s` a standing. */
export function activityOf(p: string, s: string): string {
  return `CASE WHEN ${p}.type = 'customer' THEN ${s}.${CUSTOMER.at} ELSE ${s}.${TEAM.at} END`;
}

/** SQL: whether the member has something unread. */
export function isUnread(p: string, s: string): string {
  const of = ({ last, author, other }: Side) =>
    `CASE WHEN ${s}.${author} IS DISTINCT FROM ${p}.actor_id THEN ${s}.${last} ELSE ${s}.${other} END`;
  return `CASE WHEN ${p}.type = 'customer' THEN ${of(CUSTOMER)} ELSE ${of(TEAM)} END > ${p}.read_sequence`;
}

/** The columns of conversation_activity that a standing has. */
export const STANDING_COLUMNS = [TEAM, CUSTOMER]
  .flatMap(({ at, last, author, other }) => [at, last, author, other])
  .concat('scanned_through');

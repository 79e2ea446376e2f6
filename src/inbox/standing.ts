/**
 * How a conversation stands, worked out from its messages: when something was last sent, the newest message that counts
 * as unread, and the newest one by another author than that. From these two each member's unread state follows, whatever
 * the number of members. A deleted message does not count; customers see no internal one.
 *
 * A row of conversation_activity saves the way back through the history: up to `scanned_through` its numbers are all
 * settled, so that only what came behind is read. It does not help once a message was deleted.
 */

/** The columns of conversation_activity that customers have of their own. */
interface Names {
  readonly at: string;
  readonly last: string;
  readonly author: string;
  readonly other: string;
}

const TEAM: Names = {
  at: 'activity_at',
  last: 'last_sequence',
  author: 'last_author_id',
  other: 'other_sequence',
};
const CUSTOMER: Names = {
  at: 'customer_activity_at',
  last: 'customer_last_sequence',
  author: 'customer_last_author_id',
  other: 'customer_other_sequence',
};

/**
 * SQL: a subquery for CROSS JOIN LATERAL, with the columns of conversation_activity from `activity_at` to
 * `scanned_through`. `c` is an alias of conversations; `stored` and `known` of its row of conversation_activity, outer
 * joined, where `known` is null if a message was deleted since.
 */
export function standing(c: string, stored: string, known: string): string {
  const base = `coalesce(${known}.scanned_through, 0)`;
  const behind = `m.conversation_id = ${c}.id AND m.sequence > ${base}`;
  const parts = [
    columnsOf('team', TEAM, c, stored, known),
    columnsOf('customer', CUSTOMER, c, stored, known),
    // Without a hole, all numbers up to the head are settled.
    `CASE WHEN ${known}.scanned_through + came.numbers = came.head THEN came.head
        ELSE greatest(${stored}.scanned_through, came.head - ${SETTLED_BELOW}, 0) END AS scanned_through`,
  ];
  return `(
      SELECT ${parts.join(',\n        ')}
      FROM (
        SELECT (SELECT max(m.sequence) FROM messages m WHERE m.conversation_id = ${c}.id AND m.sequence IS NOT NULL) AS head,
          CASE WHEN ${known}.scanned_through IS NOT NULL
            THEN (SELECT count(*) FROM messages m WHERE ${behind}) END AS numbers
      ) came
      ${newestOf('team', behind, 'true')}
      ${newestOf('customer', behind, `${c}.audience = 'customer'`, "AND m.visibility <> 'internal'")}
    )`;
}

/** A message is refused a number that is farther below the head (messages/timeline/timeline-store.ts). */
const SETTLED_BELOW = 1_000;

function columnsOf(of: string, { at, last, author, other }: Names, c: string, stored: string, known: string) {
  const newest = `${of}_newest`;
  return `greatest(${stored}.${at}, ${of}_sent.at, ${c}.created_at) AS ${at},
        coalesce(${newest}.sequence, ${known}.${last}, 0) AS ${last},
        CASE WHEN ${newest}.sequence IS NULL THEN ${known}.${author} ELSE ${newest}.author_id END AS ${author},
        coalesce(${of}_other.sequence, CASE WHEN ${newest}.sequence IS NOT NULL
          AND ${known}.${author} IS DISTINCT FROM ${newest}.author_id THEN ${known}.${last} ELSE ${known}.${other} END, 0) AS ${other}`;
}

function newestOf(of: string, behind: string, holds: string, seen = ''): string {
  const counted = `${behind} AND m.status = 'sent' AND m.deleted_at IS NULL ${seen}`;
  return `LEFT JOIN LATERAL (
        SELECT moment_of(m) AS at FROM messages m
        WHERE ${behind} AND m.status = 'sent' ${seen} ORDER BY m.sequence DESC LIMIT 1
      ) ${of}_sent ON ${holds}
      LEFT JOIN LATERAL (
        SELECT m.sequence, m.author_id FROM messages m WHERE ${counted} ORDER BY m.sequence DESC LIMIT 1
      ) ${of}_newest ON ${holds}
      LEFT JOIN LATERAL (
        SELECT m.sequence FROM messages m
        WHERE ${counted} AND m.sequence < ${of}_newest.sequence AND m.author_id IS DISTINCT FROM ${of}_newest.author_id
        ORDER BY m.sequence DESC LIMIT 1
      ) ${of}_other ON ${holds}`;
}

/** SQL: the member's own time of activity. `p` is an alias of participants, `s` of a standing. */
export function activityOf(p: string, s: string): string {
  return `CASE WHEN ${p}.type = 'customer' THEN ${s}.${CUSTOMER.at} ELSE ${s}.${TEAM.at} END`;
}

/** SQL: whether the member has something unread. */
export function isUnread(p: string, s: string): string {
  const of = ({ last, author, other }: Names) =>
    `CASE WHEN ${s}.${author} IS DISTINCT FROM ${p}.actor_id THEN ${s}.${last} ELSE ${s}.${other} END`;
  return `CASE WHEN ${p}.type = 'customer' THEN ${of(CUSTOMER)} ELSE ${of(TEAM)} END > ${p}.read_sequence`;
}

/** The columns of conversation_activity that a standing has. */
export const STANDING_COLUMNS = [TEAM, CUSTOMER]
  .flatMap(({ at, last, author, other }) => [at, last, author, other])
  .concat('scanned_through');

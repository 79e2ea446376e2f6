/** A row of the product, column by column, as Postgres writes it in text; null: no value. */
export type SampleRow = readonly SampleColumn[];

interface SampleColumn {
  readonly name: string;
  /** The type's name in Postgres: `timestamp with time zone`. */
  readonly type: string;
  readonly value: string | null;
}

/** The rows that a send of the product made, and a fact about its schema. */
export interface SendSample {
  readonly message: SampleRow;
  readonly notification: SampleRow;
  /**
   * Whether ids of notifications come from the SQL function notification_id(time, cause,
   * recipient).
   */
  readonly hasIdFunction: boolean;
}

/** Number of conversations that sends and inserts are spread over. */
export const CONVERSATIONS = 50;
export const BODY =
  'The build for the release candidate is green again; I will tag it after lunch unless you object.';

/** The clients of pgbench: part of the numbers that its scripts make. */
export const CLIENTS = 16;

/** pgbench's scripts for one send. Each is one transaction. */
export interface InsertScripts {
  /** The message row alone. */
  readonly single: string;
  /** The message row and its notification rows: two statements in one pipeline. */
  readonly pipeline: string;
  /** The same rows by one statement. */
  readonly statement: string;
}

/**
 * Writes the rows that a send leaves, with the columns and values of a sample, into as many
 * conversations and feeds of their own. Ids and numbers grow as the product's do, and no client
 * waits for a number. `recipients`: how many notification rows a message causes.
 */
export function insertScripts(sample: SendSample, recipients: number): InsertScripts {
  const message = insertOf('messages', sample.message, MESSAGE);
  const values = `VALUES (${message.values})`;
  const notification = insertOf('notifications', sample.notification, {
    recipient_id: RECIPIENT,
    id: sample.hasIdFunction ? `notification_id(now(), ${MESSAGE.id}, ${RECIPIENT})` : NOTIFICATION_ID,
    message_id: MESSAGE.id,
    resource_id: MESSAGE.conversation_id,
  });
  const notifications = (from: string) =>
    `${notification.into} SELECT ${notification.values} FROM ${from}generate_series(1, ${recipients}) AS r`;
  return {
    single: script(`${message.into} ${values};`),
    // Without a BEGIN: statements of one pipeline are one transaction.
    pipeline: script(`\\startpipeline\n${message.into} ${values};\n${notifications('')};\n\\endpipeline`),
    statement: script(`WITH m AS (${message.into} ${values} RETURNING id) ${notifications('m, ')};`),
  };
}

/** Returns a script that begins with the numbers of its next row. */
function script(statements: string): string {
  return `
\\set n :n + 1
\\set sequence :n * ${CLIENTS} + :client_id + 1
\\set conversation random(10, ${9 + CONVERSATIONS})
${statements}
`;
}

/** Expressions instead of the sample's values, in ids of the product's lengths. */
const MESSAGE = {
  id: "('msg_' || lpad(:sequence::text, 24, '0'))",
  conversation_id: "('cnv_pgbench000000000000000' || :conversation::text)",
  sequence: ':sequence',
  client_message_id: "('run-' || lpad(:sequence::text, 12, '0'))",
};
const RECIPIENT = "('act_pgbench00000000000000' || (99 + r)::text)";
const NOTIFICATION_ID = "('ntf_' || lpad(:sequence::text, 21, '0') || (99 + r)::text)";

/**
 * Returns the parts of an INSERT with the columns that a row fills, and its values; `own`:
 * expressions in their place, by column.
 */
export function insertOf(table: string, row: SampleRow, own: Readonly<Record<string, string>>) {
  const columns = row.flatMap(({ name, type, value }) => {
    if (value === null) return [];
    return [[name, own[name] ?? OF_THE_INSERT[type] ?? literal(value, type)]];
  });
  return {
    into: `INSERT INTO ${table} (${columns.map(([name]) => name).join(', ')})`,
    values: columns.map(([, expression]) => expression).join(', '),
  };
}

/** Values that the product has from Postgres at the moment of the insert. */
const OF_THE_INSERT: Readonly<Record<string, string>> = {
  'timestamp with time zone': 'now()',
  xid8: 'pg_current_xact_id()',
};

/**
 * Returns a literal with its type, which it lacks outside a VALUES list of an INSERT. A colon would
 * begin a variable of pgbench.
 */
function literal(value: string, type: string): string {
  const parts = value.split(':').map((part) => `'${part.replaceAll("'", "''")}'`);
  return parts.length === 1 ? `${parts[0]}::${type}` : `(${parts.join(' || chr(58) || ')})::${type}`;
}

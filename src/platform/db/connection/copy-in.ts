import pg from 'pg';

/**
 * A statement `COPY … FROM STDIN` with its rows, in the text format of Postgres. The client of `pg`
 * takes it in place of a text and returns it at once; `done` settles with the statement.
 */
export class CopyIn extends QueryOfPg() {
  readonly done: Promise<unknown>;
  readonly #rows: Buffer;

  constructor(text: string, rows: Buffer) {
    super(text);
    this.#rows = rows;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.done = promise;
    // A caller that fails before it awaits this ends the connection as well.
    promise.catch(() => {});
    this.callback = (error, result) => (error ? reject(error) : resolve(result));
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.#rows);
    connection.endCopyFrom();
  }
}

/** A field of a row: null, or its text as Postgres would print it. */
export type CopyField = string | number | boolean | null;

/** Returns the rows in the text format. */
export function copyRows(rows: Iterable<readonly CopyField[]>): Buffer {
  let text = '';
  for (const row of rows) {
    let separator = '';
    for (const field of row) {
      text += separator;
      separator = '\t';
      if (typeof field === 'string') text += SPECIAL.test(field) ? escaped(field) : field;
      else text += field === null ? '\\N' : String(field);
    }
    text += '\n';
  }
  return Buffer.from(text);
}

const SPECIAL = /[\\\t\n\r]/;

function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('\t', '\\t')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r');
}

interface CopyConnection {
  sendCopyFromChunk(rows: Buffer): void;
  endCopyFrom(): void;
}

/** The class of `pg` for one statement, whose types lack what its client calls. */
interface PgQuery {
  callback: (error: Error | null, result?: unknown) => void;
}

function QueryOfPg(): new (text: string) => PgQuery {
  return pg.Query as never;
}

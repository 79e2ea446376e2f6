import pg from 'pg';

/** Returns the error that an ErrorResponse describes, from its content, as pg makes it. */
export function readError(bytes: Buffer, start: number, end: number): pg.DatabaseError {
  const fields = new Map<string, string>();
  let at = start;
  while (at < end && bytes[at] !== 0) {
    const valueEnd = bytes.indexOf(0, at + 1);
    if (valueEnd === -1 || valueEnd >= end) break;
    fields.set(String.fromCharCode(bytes[at]!), bytes.toString('utf8', at + 1, valueEnd));
    at = valueEnd + 1;
  }
  const error = new pg.DatabaseError(fields.get('M') ?? '', 4 + end - start, 'error');
  return Object.assign(error, {
    severity: fields.get('S'),
    code: fields.get('C'),
    detail: fields.get('D'),
    hint: fields.get('H'),
    position: fields.get('P'),
    internalPosition: fields.get('p'),
    internalQuery: fields.get('q'),
    where: fields.get('W'),
    schema: fields.get('s'),
    table: fields.get('t'),
    column: fields.get('c'),
    dataType: fields.get('d'),
    constraint: fields.get('n'),
    file: fields.get('F'),
    line: fields.get('L'),
    routine: fields.get('R'),
  });
}

/** The reader of Postgres' protocol, given bytes that no Postgres sends. */

import t from 'tap';
import { MessageReader, SERVER_MESSAGE } from '../../src/platform/db/connection/wire/message-reader.ts';
import { RowDecoder, readColumns } from '../../src/platform/db/connection/wire/row-decoder.ts';
import { readError } from '../../src/platform/db/connection/wire/session.ts';
import { Random } from '../support/random.ts';

const ROUNDS = 20_000;
const SEED = 1;

t.test('damaged messages end in a value or an Error, and nothing behind them is read', (t) => {
  const random = new Random(SEED);
  let read = 0;
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const bytes = damaged(
      Buffer.concat(Array.from({ length: 1 + random.below(4) }, () => message(random))),
      random,
    );
    const decoders: RowDecoder[] = [];
    const reader = new MessageReader((kind, all, start, end) => {
      if (start > end || end > all.length) throw new RangeError(`round ${round}: ${start} to ${end}`);
      read += 1;
      if (kind === SERVER_MESSAGE.rowDescription) {
        decoders.push(new RowDecoder(readColumns(all, start), { getTypeParser: () => String }));
      } else if (kind === SERVER_MESSAGE.dataRow) decoders.at(-1)?.decode(all, start, end);
      else if (kind === SERVER_MESSAGE.errorResponse) {
        const { message: text } = readError(all, start, end);
        if (Buffer.byteLength(text) > 3 * (end - start)) throw new RangeError(`round ${round}: ${text}`);
      }
    });
    try {
      for (let at = 0; at < bytes.length; ) {
        const to = at + 1 + random.below(bytes.length);
        reader.read(bytes.subarray(at, to));
        at = to;
      }
    } catch (error) {
      if (!(error instanceof Error) || /^round/.test(error.message)) throw error;
      refused += 1;
    }
  }
  t.ok(read > ROUNDS && refused > ROUNDS / 100, `${read} messages were read, ${refused} streams refused`);
  t.end();
});

t.test('an error without the end of a field is read up to the end of its message', (t) => {
  const whole = Buffer.from('C23505\0Mtaken\0Dwithout an end, and then\0Mof the next message\0');
  const { code, message: text, detail } = readError(whole, 0, 24);
  t.strictSame([code, text, detail], ['23505', 'taken', undefined]);
  t.end();
});

function message(random: Random): Buffer {
  const kind = random.pick(['T', 'D', 'E', 'Z', 'C', '1', '2']);
  const content = contentOf(kind, random);
  const head = Buffer.alloc(5);
  head.write(kind, 'latin1');
  head.writeInt32BE(4 + content.length, 1);
  return Buffer.concat([head, content]);
}

function contentOf(kind: string, random: Random): Buffer {
  if (kind === 'E') return Buffer.from('SERROR\0C23505\0Mduplicate key ü\0Dthe key exists\0\0');
  if (kind === 'T') {
    const columns = Array.from({ length: random.below(5) }, (_, index) => {
      const rest = Buffer.alloc(18);
      rest.writeUInt32BE(random.pick([16, 20, 23, 25, 1184, 3802, 17]), 6);
      return Buffer.concat([Buffer.from(`column${index}\0`), rest]);
    });
    return Buffer.concat([counted(columns.length), ...columns]);
  }
  if (kind === 'D') {
    const values = Array.from({ length: random.below(5) }, () => {
      const value = Buffer.from(
        random.pick(['', 't', '42', 'ü', '2026-11-21 01:02:03.123456+00', '{"a": 1}']),
      );
      const length = Buffer.alloc(4);
      length.writeInt32BE(random.below(5) === 0 ? -1 : value.length);
      return length.readInt32BE() === -1 ? length : Buffer.concat([length, value]);
    });
    return Buffer.concat([counted(values.length), ...values]);
  }
  return Buffer.from(kind === 'Z' ? 'I' : 'SELECT 1\0');
}

function counted(count: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(count);
  return bytes;
}

/** Some bytes are others, some are missing, and two thirds of the streams are whole. */
function damaged(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  if (random.below(3) > 0) return copy;
  for (let count = 1 + random.below(4); count > 0; count--) {
    copy[random.below(copy.length)] = random.pick([0, 1, 0x7f, 0xff, random.below(256)]);
  }
  const from = random.below(copy.length);
  return random.below(4) > 0
    ? copy
    : Buffer.concat([copy.subarray(0, from), copy.subarray(from + 1 + random.below(8))]);
}

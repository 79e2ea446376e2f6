import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import type { CreatedFrame, PieceFrame, SnapshotFrame } from '../../src/core/frames/frame.ts';
import type { Reader } from '../../src/edge/gateway/stream/reader.ts';
import { StreamingMessages } from '../../src/edge/gateway/stream/streaming-messages.ts';
import { until } from '../support/until.ts';

const ID = 'msg_1';

t.test('pieces that precede their message are requested with it', async (t) => {
  const { texts, asked, passed } = open();
  texts.onPiece(delta(0, 5));
  t.strictSame([asked.count, passed], [0, []], 'nobody has the message');
  texts.onDurable(created());
  t.equal(asked.count, 1, 'whether or not another piece comes');
  texts.onPiece(delta(5, 9));
  texts.onSnapshot(snapshot(9));
  texts.onPiece(delta(9, 12));
  t.strictSame(passed, ['told 9', 'delta 12']);
});

t.test(
  'a snapshot older than the pieces takes no reader back, and readers that wait for it keep waiting',
  async (t) => {
    const { texts, asked, passed, admit } = open();
    texts.onDurable(created());
    texts.onPiece(delta(0, 5));
    const reader = admit();
    texts.onPiece(delta(5, 9));
    texts.onSnapshot(snapshot(5));
    t.strictSame([passed, reader.sent, asked.count], [['delta 5', 'delta 9'], [], 2]);
    texts.onSnapshot(snapshot(9));
    t.strictSame(reader.sent, ['told 9', 'in']);
    t.equal(passed.length, 2, 'the others have it');
    texts.onSnapshot(snapshot(5));
    t.equal(asked.count, 2, 'nobody waits for it');
  },
);

t.test('a reader that joined without a snapshot gets it when it arrives', async (t) => {
  const { texts, asked, passed, admit } = open();
  texts.onDurable(created());
  texts.onPiece(delta(0, 5));
  const reader = admit();
  await until(() => reader.sent.length > 0, { what: 'its patience to end' });
  t.strictSame([reader.sent, asked.count], [['in'], 2], 'asked once more');
  texts.onPiece(delta(5, 9));
  texts.onSnapshot(snapshot(9));
  t.strictSame(passed, ['delta 5', 'told 9']);
});

t.test(
  'after a break all texts are requested at once, and readers that missed nothing receive nothing',
  async (t) => {
    const { texts, asked, passed } = open();
    texts.addUnfinished(ID);
    texts.onPiece(delta(5, 9));
    texts.onPiece(delta(9, 12));
    t.equal(asked.count, 1, 'one question at a time');
    texts.askAll();
    t.equal(asked.count, 2, 'the answer to it may be lost');
    texts.onSnapshot(snapshot(12));
    texts.askAll();
    texts.onSnapshot(snapshot(12));
    t.strictSame(passed, ['told 12']);
  },
);

/** The texts of one conversation; `passed` is what came onto the topic. */
function open() {
  const asked = { count: 0 };
  const passed: string[] = [];
  const texts = new StreamingMessages({
    ask: () => {
      asked.count += 1;
    },
    broadcast: (frame) => passed.push(frame.team!.toString()),
  });
  t.teardown(() => texts.close());
  const admit = () => {
    const sent: string[] = [];
    const version = NEWEST_VERSION;
    const reader = {
      audience: 'team',
      version,
      hidden: [],
      send: (bytes: Buffer) => sent.push(bytes.toString()),
    };
    texts.admit(
      reader as unknown as Reader,
      () => true,
      () => sent.push('in'),
    );
    return { sent };
  };
  return { texts, asked, passed, admit };
}

function created(): CreatedFrame {
  return {
    kind: 'created',
    stream: 'cnv_1',
    resource: ID,
    sequence: 1,
    updatedAtUs: 0,
    streaming: true,
    erases: false,
    ...bytes('created'),
  };
}

function delta(from: number, to: number): PieceFrame {
  const position = { attempt: 1, from, to };
  return { kind: 'piece', stream: 'cnv_1', messageId: ID, sequence: 1, position, ...bytes(`delta ${to}`) };
}

function snapshot(to: number): SnapshotFrame {
  const position = { attempt: 1, from: 0, to };
  return { kind: 'snapshot', stream: 'cnv_1', messageId: ID, sequence: 1, position, ...bytes(`told ${to}`) };
}

function bytes(text: string) {
  return { team: Buffer.from(text), customer: undefined };
}

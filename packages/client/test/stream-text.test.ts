import { createHash } from 'node:crypto';
import t from 'tap';
import { isSealed } from '../events/seal.ts';
import { StreamText } from '../events/stream-text.ts';

/** `+` a delta, `!` a reset, `=` a snapshot: attempt, then offset or keep, then text. */
type Step =
  | readonly ['+', attempt: number, offset: number, text: string]
  | readonly ['!', attempt: number, keep: number]
  | readonly ['=', attempt: number, body: string];

const FINAL = 'Good morning';

/** How the pieces came → the text at the end, and whether it is known to be whole. */
const HISTORIES: Readonly<
  Record<string, readonly [steps: readonly Step[], body: string, matched: boolean, sealedAttempt?: number]>
> = {
  'in order': [
    [
      ['+', 1, 0, 'Good '],
      ['+', 1, 5, 'morning'],
    ],
    FINAL,
    true,
  ],
  'one twice': [
    [
      ['+', 1, 0, 'Good '],
      ['+', 1, 0, 'Good '],
      ['+', 1, 5, 'morning'],
    ],
    FINAL,
    true,
  ],
  'pieces that overlap': [
    [
      ['+', 1, 0, 'Good mo'],
      ['+', 1, 5, 'morning'],
    ],
    FINAL,
    true,
  ],
  'one missing': [
    [
      ['+', 1, 0, 'Go'],
      ['+', 1, 5, 'morning'],
    ],
    'Go',
    false,
  ],
  swapped: [
    [
      ['+', 1, 5, 'morning'],
      ['+', 1, 0, 'Good '],
    ],
    '',
    false,
  ],
  'an overlap that says something else': [
    [
      ['+', 1, 0, 'Good ev'],
      ['+', 1, 5, 'morning'],
    ],
    'Good ev',
    false,
  ],
  'one of an attempt that nobody announced': [
    [
      ['+', 1, 0, 'Good '],
      ['+', 2, 5, 'morning'],
    ],
    'Good ',
    false,
  ],
  'a reset, then late pieces of the first attempt': [
    [
      ['+', 1, 0, 'Good evening'],
      ['!', 2, 5],
      ['+', 1, 5, 'evening'],
      ['+', 2, 5, 'morning'],
    ],
    FINAL,
    true,
  ],
  'a reset twice': [
    [
      ['+', 1, 0, 'Good e'],
      ['!', 2, 5],
      ['+', 2, 5, 'mor'],
      ['!', 2, 5],
      ['+', 2, 8, 'ning'],
    ],
    FINAL,
    true,
  ],
  'a reset missing between two': [
    [
      ['+', 1, 0, 'Good e'],
      ['!', 3, 5],
      ['+', 3, 5, 'morning'],
    ],
    'Good e',
    false,
  ],
  'a reset to nothing needs nothing before': [
    [
      ['+', 1, 3, 'x'],
      ['!', 3, 0],
      ['+', 3, 0, FINAL],
    ],
    FINAL,
    true,
  ],
  'a reset that keeps more than is there': [
    [
      ['+', 1, 0, 'Go'],
      ['!', 2, 5],
      ['+', 2, 5, 'morning'],
    ],
    'Go',
    false,
  ],
  'a snapshot heals what is missing': [
    [
      ['+', 1, 0, 'Go'],
      ['+', 1, 5, 'mor'],
      ['=', 1, 'Good mo'],
      ['+', 1, 5, 'mor'],
      ['+', 1, 8, 'ning'],
    ],
    FINAL,
    true,
  ],
  'a snapshot older than the text': [
    [
      ['+', 1, 0, 'Good mor'],
      ['=', 1, 'Good'],
      ['+', 1, 8, 'ning'],
    ],
    FINAL,
    true,
  ],
  'a snapshot of an attempt that is over': [
    [
      ['+', 1, 0, 'Good e'],
      ['!', 2, 5],
      ['=', 1, 'Good evening'],
      ['+', 2, 5, 'morning'],
    ],
    FINAL,
    true,
  ],
  'a snapshot of a newer attempt': [
    [
      ['+', 1, 0, 'Bad'],
      ['=', 2, 'Good '],
      ['+', 2, 5, 'morning'],
    ],
    FINAL,
    true,
  ],
  'whole, but not what was sealed': [[['+', 1, 0, 'Good evening']], 'Good evening', false],
  'the right text of the wrong attempt': [
    [
      ['!', 2, 0],
      ['+', 2, 0, FINAL],
    ],
    FINAL,
    false,
    1,
  ],
};

for (const [name, [steps, body, matched, sealedAttempt = steps.at(-1)![1]]] of Object.entries(HISTORIES)) {
  t.test(name, async (t) => {
    const text = new StreamText({ attempt: 1, body: '' });
    for (const step of steps) {
      const before = text.body;
      t.equal(apply(text, step), text.body !== before, `${step} says whether the text has changed`);
    }
    t.equal(text.body, body);
    t.equal(text.matches(FINAL, sealOf(FINAL, sealedAttempt)), matched);
  });
}

t.test('the hash counts, not the length alone', async (t) => {
  const seal = sealOf(FINAL, 1);
  t.ok(await isSealed(FINAL, seal));
  t.notOk(await isSealed(FINAL, { ...seal, sha256: sealOf('Good mourned', 1).sha256 }));
  t.notOk(await isSealed(FINAL, { ...seal, length: 11 }));
  const text = new StreamText({ attempt: 1, body: FINAL });
  t.ok(text.matches(FINAL));
  t.notOk(text.matches('Good mourned', seal), 'the text of the end counts');
});

t.test('a seal is of the UTF-8 bytes', async (t) => {
  for (const text of ['', 'abc', 'ä🚢'.repeat(9)]) t.ok(await isSealed(text, sealOf(text, 1)), text);
});

t.test('a page without TLS, which has no hashes, cannot check a seal', async (t) => {
  Object.defineProperty(crypto, 'subtle', { value: undefined, configurable: true });
  t.teardown(() => Reflect.deleteProperty(crypto, 'subtle'));
  t.notOk(await isSealed(FINAL, sealOf(FINAL, 1)));
});

function apply(text: StreamText, step: Step): boolean {
  switch (step[0]) {
    case '+':
      return text.delta({ attempt: step[1], offset: step[2], text: step[3] });
    case '!':
      return text.reset({ attempt: step[1], keep: step[2] });
    case '=':
      return text.snapshot({ attempt: step[1], body: step[2] });
  }
}

function sealOf(body: string, attempt: number) {
  return { attempt, length: body.length, sha256: createHash('sha256').update(body).digest('hex') };
}

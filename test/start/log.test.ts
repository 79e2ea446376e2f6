import t from 'tap';
import { GatheredLines } from '../../src/platform/log.ts';
import { until } from '../support/until.ts';

/** Lines with a destination that keeps each write. */
function gathered() {
  const writes: string[] = [];
  const lines = new GatheredLines({ write: (text) => void writes.push(text), flushSync() {} });
  const write = (level: number, text: string) => lines.write(`{"level":${level},"msg":"${text}"}\n`);
  const messages = () => writes.map((text) => text.match(/(?<="msg":")\w+/g)?.join(' '));
  return { lines, write, messages };
}

t.test('a line is written at once, and those behind it together', async (t) => {
  const { write, messages } = gathered();
  for (const text of ['a', 'b', 'c']) write(30, text);
  t.same(messages(), ['a']);
  await until(() => messages().length === 2, { what: 'the rest' });
  t.same(messages(), ['a', 'b c']);
});

t.test('a warning takes with it what was gathered before it', (t) => {
  const { write, messages } = gathered();
  write(30, 'a');
  write(20, 'b');
  write(40, 'c');
  write(60, 'd');
  t.same(messages(), ['a', 'b c', 'd']);
  t.end();
});

t.test('the end of the process writes what is left', (t) => {
  const { lines, write, messages } = gathered();
  write(30, 'a');
  write(30, 'b');
  lines.flushSync();
  t.same(messages(), ['a', 'b']);
  t.end();
});

t.test('the gathered lines are bounded', (t) => {
  const { write, messages } = gathered();
  write(30, 'a');
  const long = 'x'.repeat(1_000);
  for (let i = 0; i < 100; i++) write(30, long);
  t.equal(messages().length, 2);
  t.end();
});

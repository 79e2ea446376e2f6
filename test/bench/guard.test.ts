/** The guard's comparison with recorded figures. */

import t from 'tap';
import { judge, type Recorded, type Watched } from '../../bench/lib/guard.ts';

const MACHINE = { cpu: 'a', cores: 2, memory_gb: 8, kernel: '6' };
const RECORDED: Recorded = {
  commit: 'abc',
  recorded_at: '2026-01-01T00:00:00.000Z',
  machine: MACHINE,
  figures: { time: 100, rate: 2, memory: 1_200 },
};
const time: Watched = { name: 'time', unit: 'µs', value: 119, worse: 'more', ofMachine: true };
const rate: Watched = { name: 'rate', unit: '×', value: 1.7, worse: 'less', ofMachine: false };

t.test('warns where a figure is worse by more than a fifth', async (t) => {
  const verdicts = (...watched: Watched[]) => judge(watched, RECORDED, MACHINE);
  t.same(verdicts(time, rate), [
    { line: 'time: 119 µs, 100 µs recorded (+19 %)', warns: false },
    { line: 'rate: 1.7 ×, 2 × recorded (−15 %)', warns: false },
  ]);
  t.same(verdicts({ ...time, value: 121 }, { ...rate, value: 1.6 }), [
    { line: 'time: 121 µs, 100 µs recorded (+21 %): WARNING', warns: true },
    { line: 'rate: 1.6 ×, 2 × recorded (−20 %): WARNING', warns: true },
  ]);
  t.notOk(
    verdicts({ ...time, value: 50 }, { ...rate, value: 4 }).some(({ warns }) => warns),
    'better',
  );
});

t.test('processor time is not compared with that of another machine, memory is', async (t) => {
  const memory: Watched = { name: 'memory', unit: 'B', value: 1_500, worse: 'more', ofMachine: false };
  const verdicts = judge([{ ...time, value: 500 }, memory], RECORDED, { ...MACHINE, cpu: 'b' });
  t.same(verdicts, [
    { line: 'time: 500 µs, 100 µs recorded on another machine', warns: false },
    { line: 'memory: 1,500 B, 1,200 B recorded (+25 %): WARNING', warns: true },
  ]);
});

t.test('a figure with a bound is held against that, whatever was recorded', async (t) => {
  const bounded = { ...time, value: 119, atMost: 120 };
  t.same(judge([bounded, { ...bounded, value: 121 }], RECORDED, { ...MACHINE, cpu: 'b' }), [
    { line: 'time: 119 µs, at most 120 µs', warns: false },
    { line: 'time: 121 µs, at most 120 µs: WARNING', warns: true },
  ]);
});

t.test('what was never recorded is only shown', async (t) => {
  t.same(judge([time], undefined, MACHINE), [{ line: 'time: 119 µs, not recorded', warns: false }]);
});

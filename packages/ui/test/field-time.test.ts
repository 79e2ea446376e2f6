import t from 'tap';
import './english.ts';
import { problemsOf } from '../form/problems.ts';
import { shapeOf } from '../form/shape.ts';
import { fieldTime, skippedTime } from '../text/field-time.ts';

const ownZone = process.env.TZ;
t.teardown(() => {
  if (ownZone === undefined) delete process.env.TZ;
  else process.env.TZ = ownZone;
});

t.test('a time that clocks skip is named, and no other', async (t) => {
  const cases = [
    ['Europe/Berlin', ['02:00', '02:30', '02:59'], ['01:59', '03:00'], '2027-03-28'],
    ['America/Nuuk', ['23:00', '23:30', '23:59'], ['22:59', '00:00'], '2027-03-27'],
    ['Africa/Cairo', ['00:00', '00:30'], ['01:00', '23:59'], '2027-04-30'],
    ['Australia/Lord_Howe', ['02:00', '02:29'], ['01:59', '02:30'], '2027-10-03'],
    ['Antarctica/Troll', ['01:00', '02:59'], ['00:59', '03:00'], '2027-03-28'],
    ['Europe/Berlin', [], ['02:00', '02:30', '03:00'], '2027-10-31'],
    ['UTC', [], ['02:30'], '2027-03-28'],
  ] as const;
  for (const [zone, skipped, shown, day] of cases) {
    process.env.TZ = zone;
    for (const time of skipped)
      t.match(skippedTime(`${day}T${time}`), /^Clocks skip .*2027/, `${zone} ${time}`);
    for (const time of shown) {
      t.equal(skippedTime(`${day}T${time}`), '', `${zone} ${time}`);
      t.equal(fieldTime(new Date(`${day}T${time}`)), `${day}T${time}`);
    }
  }
  t.equal(skippedTime(''), '');
  t.equal(skippedTime('soon'), '');
  t.equal(skippedTime('10000-03-28T02:30:15'), '', 'a year of five digits is no form of Date');
});

t.test('a form says so before it is sent', async (t) => {
  process.env.TZ = 'Europe/Berlin';
  const schema = { type: 'object', properties: { expires_at: { type: 'string', format: 'date-time' } } };
  const shape = shapeOf(schema, () => ({}));
  const problems = (expires_at: string) => problemsOf(shape, { expires_at });
  t.match(problems('2027-03-28T02:30').get('expires_at'), /^Clocks skip/);
  t.equal(problems('2027-03-28T03:30').size, 0);
  t.match(problems('soon').get('expires_at'), /must be a time/);
});

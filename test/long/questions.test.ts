/**
 * Answers while nodes are killed: a short run of the campaign of questions.
 *
 * Without influence: PAGES, ANSWERS, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client, src/features/mail.
 */

import t from 'tap';
import { questions } from '../campaigns/questions.ts';

t.test('one answer of each question counts, and all that waits for it goes on', async (t) => {
  const figures = await questions(t, { seed: 4, rounds: 2, runs: 3 });
  t.strictSame(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.answers[200]! >= 6 && figures.runs.completed! > 0, JSON.stringify(figures));
});

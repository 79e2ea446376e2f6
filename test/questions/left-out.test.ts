/** Builds without questions, or without their callbacks. */

import t from 'tap';
import { FEATURES } from '../../src/app/features.ts';
import { questions as feature } from '../../src/features/questions/feature.ts';
import { refusalOf, startTestApp } from '../support/app.ts';
import { BUTTONS, NEWEST, Questions } from './asked.ts';

t.test('without questions nothing asks, and nothing is answered', async (t) => {
  const app = await startTestApp(t, {}, undefined, { features: FEATURES.filter((it) => it !== feature) });
  const questions = new Questions(app);
  const id = await questions.cases.conversation('internal');
  t.equal(refusalOf(await questions.ask(id)), '422 validation_failed question');
  const { id: messageId } = await questions.cases.sent(id, {}, NEWEST);
  t.equal((await questions.read(messageId)).question, null);
  t.match(await questions.refused('answer', messageId, { revision: 1, option: 'yes' }), /^404 /);
});

t.test('without webhooks nothing is posted', async (t) => {
  const left = FEATURES.filter(({ hooks }) => hooks?.callbacks === undefined);
  t.equal(left.length, FEATURES.length - 1);
  const app = await startTestApp(t, {}, undefined, { features: left });
  const questions = new Questions(app);
  const id = await questions.cases.conversation('internal');
  const question = { ...BUTTONS, callback_url: 'https://hooks.example/' };
  const key = { token: app.demo.api_key };
  t.equal(
    refusalOf(await questions.ask(id, question, {}, key)),
    '422 validation_failed question.callback_url',
  );
  const { id: messageId } = await questions.asked(id);
  await questions.answered(messageId, { revision: 1, option: 'yes' });
});

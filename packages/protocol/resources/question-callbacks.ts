import { type Static, Type } from 'typebox';
import { describe, Nullable, Timestamp } from '../schema/schema.ts';

/** How the callbacks of questions are signed (docs/contract.md#callbacks-of-questions). */
const FIELDS = {
  object: Type.Literal('question_callbacks'),
  has_secret: Type.Boolean(),
  previous_secret_until: Nullable(Timestamp),
  updated_at: Nullable(Timestamp),
};

export const QuestionCallbacks = Type.Object(FIELDS);
export type QuestionCallbacks = Static<typeof QuestionCallbacks>;
const TEXTS = {
  has_secret: 'Whether there is a secret. A question can have a callback only then.',
  previous_secret_until: 'Until when the secret before signs as well. Null where none does.',
  updated_at: 'When the secret was made. Null where there is none.',
};
describe(QuestionCallbacks, TEXTS);

export const NewQuestionCallbacks = Type.Object(
  { ...FIELDS, secret: Type.String() },
  { title: 'new_question_callbacks' },
);
export type NewQuestionCallbacks = Static<typeof NewQuestionCallbacks>;
describe(NewQuestionCallbacks, {
  ...TEXTS,
  secret: 'The secret that signs callbacks, as in Standard Webhooks. It is shown this once.',
});

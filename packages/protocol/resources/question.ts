import { type Static, Type } from 'typebox';
import { IdOf } from '../schema/external-ids.ts';
import { Body, demand, describe, Label, Line, Nullable, OneOf, Text, Timestamp } from '../schema/schema.ts';

/** Sizes of a question (docs/contract.md#questions). */
export const QUESTION_LIMITS = {
  textCharacters: 2_000,
  options: 25,
  valueCharacters: 100,
  labelCharacters: 200,
  fields: 20,
  answerCharacters: 4_000,
  actors: 20,
  /** Bytes of the whole as JSON. */
  bytes: 16_384,
  urlCharacters: 2_048,
  /** Hours for which a question is open unless it states its end. */
  defaultHours: 168,
} as const;

const QUESTION_STATUSES = ['open', 'answered', 'withdrawn', 'expired'] as const;
export type QuestionStatus = (typeof QUESTION_STATUSES)[number];

const QUESTION_TYPES = ['buttons', 'select', 'form'] as const;
const ANSWERABLE_BY = ['readers', 'team', 'customer', 'actors'] as const;
const FIELD_TYPES = ['text', 'number', 'boolean', 'select'] as const;

/** The name of a field, and the key of its value in an answer. */
const NAME = {
  pattern: '^[a-z][a-z0-9_]{0,39}$',
  sentence: 'Must be lower-case letters, digits and _, with a letter first; 40 characters at most.',
};
const EXAMPLES = ['reason'];
const FieldName = Type.String({ ...NAME, examples: EXAMPLES });

const Value = Line(QUESTION_LIMITS.valueCharacters);
const Bound = Type.Number({ minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER });

const OptionInput = Body({ value: Value, label: Type.Optional(Line(QUESTION_LIMITS.labelCharacters)) });
describe(OptionInput, {
  value: 'What an answer names, unique among its options.',
  label: 'What people are shown. Default: the value.',
});

const OptionsInput = Type.Array(OptionInput, { minItems: 1, maxItems: QUESTION_LIMITS.options });

const FieldInput = Body({
  name: FieldName,
  type: OneOf(FIELD_TYPES),
  label: Type.Optional(Line(QUESTION_LIMITS.labelCharacters)),
  required: Type.Optional(Type.Boolean()),
  options: Type.Optional(OptionsInput),
  minimum: Type.Optional(Bound),
  maximum: Type.Optional(Bound),
  max_length: Type.Optional(Type.Integer({ minimum: 1, maximum: QUESTION_LIMITS.answerCharacters })),
});
describe(FieldInput, {
  name: 'Key of the value in the answer, unique in the form.',
  type: 'What the value is.',
  label: 'What people are shown. Default: the name.',
  required: 'Whether an answer needs the field. Default false.',
  options: 'The choices of a `select`, which requires them; no other field has any.',
  minimum: 'The least value of a `number`; no other field has one.',
  maximum: 'The greatest value of a `number`; no other field has one.',
  max_length: 'The most characters of a `text`; no other field has a length. Default 4000.',
});

/** The question of a message that is sent (docs/contract.md#questions). */
export const QuestionInput = Body({
  text: Label(QUESTION_LIMITS.textCharacters),
  type: OneOf(QUESTION_TYPES),
  options: Type.Optional(OptionsInput),
  fields: Type.Optional(Type.Array(FieldInput, { minItems: 1, maxItems: QUESTION_LIMITS.fields })),
  answerable_by: Type.Optional(OneOf(ANSWERABLE_BY)),
  actor_ids: Type.Optional(
    Type.Array(IdOf('actor'), { minItems: 1, maxItems: QUESTION_LIMITS.actors, uniqueItems: true }),
  ),
  expires_at: Type.Optional(Timestamp),
  callback_url: Type.Optional(Text(QUESTION_LIMITS.urlCharacters)),
});
export type QuestionInput = Static<typeof QuestionInput>;
describe(QuestionInput, {
  text: 'What is asked.',
  type: '`buttons` and `select` ask for one of `options`, `form` for the values of `fields`.',
  options: 'The choices. Required for `buttons` and `select`, not with `form`.',
  fields: 'The fields of a `form`, which requires them; no other type has any.',
  answerable_by:
    'Who may answer: `readers`, each reader of the message; the `team`; the `customer` of the case, only in a message to the customer; or the `actors` of `actor_ids`. Never its author, an agent, or a viewer of the conversation. Default `actors` with `actor_ids`, otherwise `readers`.',
  actor_ids:
    'Participants that may answer. They are mentioned, and so notified. Only with `answerable_by` `actors`, which requires them.',
  expires_at: 'The end of the question, a time within the next year. Default: in 7 days.',
  callback_url:
    'An https URL to which the end of the question is posted, once, signed with the secret of the account for callbacks. Requires `webhooks:update`.',
});

export const QuestionOption = Type.Object({ value: Type.String(), label: Type.String() });
describe(QuestionOption, { value: 'What an answer names.', label: 'What people are shown.' });

export const QuestionField = Type.Object({
  name: Type.String({ examples: EXAMPLES }),
  type: OneOf(FIELD_TYPES),
  label: Type.String(),
  required: Type.Boolean(),
  options: Nullable(Type.Array(QuestionOption)),
  minimum: Nullable(Type.Number()),
  maximum: Nullable(Type.Number()),
  max_length: Nullable(Type.Integer()),
});
export type QuestionField = Static<typeof QuestionField>;
describe(QuestionField, {
  name: 'Key of the value in the answer.',
  type: 'What the value is.',
  label: 'What people are shown.',
  required: 'Whether an answer needs the field.',
  options: 'The choices of a `select`. Null for every other type.',
  minimum: 'The least value of a `number`. Null: none.',
  maximum: 'The greatest value of a `number`. Null: none.',
  max_length: 'The most characters of a `text`. Null for every other type.',
});

/** The values of a form, by the names of their fields. */
export type AnswerValues = Readonly<Record<string, string | number | boolean>>;

const Values = Type.Unsafe<AnswerValues>({
  type: 'object',
  maxProperties: QUESTION_LIMITS.fields,
  propertyNames: NAME,
  additionalProperties: { type: ['string', 'number', 'boolean'] },
});

export const QuestionAnswer = Type.Object({
  by: Nullable(Type.String()),
  at: Timestamp,
  revision: Type.Integer({ minimum: 1 }),
  option: Nullable(Type.String()),
  values: Nullable(Values),
});
describe(QuestionAnswer, {
  by: 'Id of the actor that answered. Null to customers, unless `answerable_by` is `customer`.',
  at: 'When it was answered.',
  revision: 'The revision that was answered.',
  option: 'The value of the option that was chosen. Null for a form.',
  values: 'The values of a form by the names of its fields. Null for every other type.',
});

/** The question of a message (docs/contract.md#questions). */
export const Question = Type.Object({
  type: OneOf(QUESTION_TYPES),
  text: Type.String(),
  options: Nullable(Type.Array(QuestionOption)),
  fields: Nullable(Type.Array(QuestionField)),
  answerable_by: OneOf(ANSWERABLE_BY),
  actor_ids: Nullable(Type.Array(Type.String())),
  revision: Type.Integer({ minimum: 1 }),
  status: OneOf(QUESTION_STATUSES),
  expires_at: Timestamp,
  ended_at: Nullable(Timestamp),
  answer: Nullable(QuestionAnswer),
});
export type Question = Static<typeof Question>;
describe(Question, {
  type: '`buttons` and `select` ask for one of `options`, `form` for the values of `fields`.',
  text: 'What is asked.',
  options: 'The choices. Null for a form.',
  fields: 'The fields of a form. Null for every other type.',
  answerable_by:
    'Who may answer: each of the `readers` of the message, the `team`, the `customer` of the case, or the `actors` of `actor_ids`.',
  actor_ids: 'Ids of the actors that may answer. Null where others may, and to customers.',
  revision: 'What an answer names: an edit of the message raises it.',
  status: 'Where the question stands. Only an `open` one can be answered; the others are final.',
  expires_at: 'The end of the question: it expires then if it is open.',
  ended_at: 'When it was answered or withdrawn, or expired. Null while it is open.',
  answer: 'The answer. Null unless there is one.',
});

/** Body of Answer Question (docs/contract.md#questions). */
export const AnswerQuestionBody = Body({
  revision: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  option: Type.Optional(Text(QUESTION_LIMITS.valueCharacters)),
  values: Type.Optional(Values),
});
export type AnswerQuestionBody = Static<typeof AnswerQuestionBody>;
describe(AnswerQuestionBody, {
  revision:
    'The `revision` of the question as the caller was shown it. Another one answers `resource_conflict`.',
  option: 'The value of the chosen option. Required for `buttons` and `select`, not for a form.',
  values:
    'The values of a form, by the names of its fields: texts, numbers, true or false, and the value of an option. Required for a form alone.',
});

demand(AnswerQuestionBody, [{ required: ['option'] }, { required: ['values'] }]);

/** The data of the event `message.question_ended`. */
export const QuestionEnd = Type.Object({
  object: Type.Literal('question_end'),
  message_id: Type.String(),
  conversation_id: Type.String(),
  status: OneOf(['answered', 'withdrawn', 'expired']),
  ended_at: Timestamp,
  answer: Nullable(QuestionAnswer),
});
export type QuestionEnd = Static<typeof QuestionEnd>;
describe(QuestionEnd, {
  status: 'How the question ended.',
  ended_at: 'When it ended.',
  answer: 'The answer. Null unless there is one, and once the message was deleted.',
});
